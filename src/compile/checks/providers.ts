import type { ProviderRow } from "../../canon/table.ts";
import { describeSafely, quote } from "../authored/literal-secrets.ts";
import type { Path } from "../authored/tree.ts";
import type { CompileContext } from "../compile-context.ts";
import type { Report } from "../findings/findings.ts";
import { awsHost } from "../normalised/normalise.ts";
import { LONGEST_DURATION, milliseconds } from "../normalised/defaults.ts";
import type { AuthoredProvider } from "../routes-schema.ts";
import { hostKind } from "../../network/address.ts";

/**
 * Headers that HTTP or the router sets itself; a secret there would be overwritten, or break the
 * request's framing.
 */
const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "cookie",
  "expect",
  "host",
  "keep-alive",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "user-agent",
]);

/** Addresses, credentials, times and protocol settings of the providers. */
export function checkProviders(context: CompileContext): void {
  const { file, normalised, report } = context;
  for (const provider of normalised.providers.values()) {
    const { auth, id } = provider;
    const authored = file.providers[id];
    if (authored === undefined) continue;
    checkBaseUrl(report, provider);
    checkPlaintext(report, provider);
    checkPlaceholder(report, provider, authored);
    checkTimes(report, provider, authored);
    checkSigning(report, provider, authored);
    checkProtocol(context, provider);
    if (auth.kind === "header" && RESERVED_HEADERS.has(auth.header))
      report.value(
        "HEADER_RESERVED",
        ["providers", id, "auth", "header"],
        `provider ${quote(id)} would send its secret as \`${auth.header}\`, which HTTP or the router sets itself`,
      );
  }
}

/**
 * Reports a duration that is longer than any may be. @returns whether it may be compared with
 * others.
 */
export function checkDuration(report: Report, path: Path, duration: string): boolean {
  if (milliseconds(duration) <= LONGEST_DURATION) return true;
  report.value("WRONG_VALUE", path, `${describeSafely(path)} must be at most 24h`, "");
  return false;
}

/** Checks times against the limits of timers and against each other. */
function checkTimes(
  report: Report,
  { id, timeouts, queue, health }: ProviderRow,
  { timeouts: times = {}, queue: waiting, health: ejecting = {} }: AuthoredProvider,
) {
  const at = (...path: Path) => ["providers", id, ...path];
  const owner = `of provider ${quote(id)}`;
  for (const [name, duration] of Object.entries(times)) {
    const path = at("timeouts", name);
    if (checkDuration(report, path, duration) && milliseconds(duration) > timeouts.total)
      report.value(
        "TIMEOUT_ORDER",
        path,
        `\`${name}\` ${owner} is longer than its \`total\``,
        "shorten it, or lengthen `total`",
      );
  }
  if (timeouts.firstToken < timeouts.connect)
    report.value(
      "TIMEOUT_ORDER",
      at("timeouts", times.first_token === undefined ? "connect" : "first_token"),
      `\`first_token\` ${owner} is shorter than its \`connect\``,
      "lengthen `first_token`, or shorten `connect`",
    );
  const wait = at("queue", "wait");
  if (
    waiting !== undefined &&
    (waiting.wait === undefined || checkDuration(report, wait, waiting.wait)) &&
    queue.wait > timeouts.total
  )
    report.value(
      "TIMEOUT_ORDER",
      wait,
      `requests may wait longer in the queue ${owner} than its \`timeouts.total\``,
      "shorten `wait`, or lengthen `total`",
    );
  for (const name of ["window", "ejection", "longest_ejection"] as const)
    if (ejecting[name] !== undefined) checkDuration(report, at("health", name), ejecting[name]);
  const interval = ejecting.probe?.interval;
  if (interval !== undefined) checkDuration(report, at("health", "probe", "interval"), interval);
  if (health.ejection > health.longestEjection)
    report.value(
      "EJECTION_ORDER",
      at("health", ejecting.ejection === undefined ? "longest_ejection" : "ejection"),
      `\`ejection\` ${owner} is longer than its \`longest_ejection\``,
      "shorten it, or lengthen `longest_ejection`",
    );
}

/** An unused version misleads, and a flag without the version that it needs fails at every call. */
function checkProtocol(
  { dialect: factsOf, report }: CompileContext,
  { id, dialect, apiVersion, betas, flags }: ProviderRow,
) {
  const facts = factsOf(dialect);
  if (facts === undefined) return;
  if (apiVersion !== null && facts.supportsApiVersion !== true)
    report.value(
      "API_VERSION_UNUSED",
      ["providers", id, "api_version"],
      `provider ${quote(id)} has an \`api_version\`, which requests of its dialect \`${dialect}\` do not carry`,
      "remove it",
    );
  const demanding = flags.find((flag) => facts.flags[flag]?.demandsApiVersion === true);
  if (apiVersion === null && demanding !== undefined)
    report.value(
      "API_VERSION_MISSING",
      ["providers", id, "flags"],
      `provider ${quote(id)} has the flag \`${demanding}\`, but no \`api_version\``,
      "add `api_version`, such as `2024-10-21`",
    );
  if (betas.length > 0 && !facts.supportsBetas)
    report.value(
      "BETA_FLAGS_UNUSED",
      ["providers", id, "beta_flags"],
      `provider ${quote(id)} lists beta flags, which its dialect \`${dialect}\` does not have`,
      "remove them",
    );
}

/**
 * Checks the address as it is written; the addresses behind names are checked at each connection.
 */
function checkBaseUrl(report: Report, { id, baseUrl, network, plaintext }: ProviderRow): void {
  const path = ["providers", id, "base_url"];
  const where = `the base_url of provider ${quote(id)}`;
  const invalid = (
    fault: string,
    hint = "write scheme, host and path only, such as `https://api.example.com/v1`",
  ) => report.value("BASE_URL_INVALID", path, `${where} ${fault}`, hint);
  const url = URL.parse(baseUrl);
  if (url === null) return invalid("is not an absolute URL");
  if (url.protocol !== "https:" && url.protocol !== "http:") invalid("is not an http(s) URL");
  // The text is checked as well: an empty query or user leaves no trace in the parsed URL.
  if (url.username !== "" || url.password !== "" || /^[a-z]+:\/\/[^/]*@/i.test(baseUrl))
    invalid("carries credentials", "put them under `auth`, as a reference");
  if (baseUrl.includes("?")) invalid("has a query");
  if (baseUrl.includes("#")) invalid("has a fragment");
  if (/[\s\\]/.test(baseUrl)) invalid("contains white space or a backslash");
  if (url.protocol === "http:" && !isLoopback(url.hostname) && plaintext !== true)
    report.value(
      "BASE_URL_INSECURE",
      path,
      `${where} is http, so prompts and keys would cross the network in clear text`,
      "use https; for a server in a network of your own, write `network: private` and `plaintext: true` in this row",
    );
  const kind = hostKind(url.hostname);
  if (kind === "forbidden")
    report.value(
      "BASE_URL_FORBIDDEN",
      path,
      `${where} is not an address of a provider: link-local, multicast, reserved, or a metadata service`,
      "write the provider's host",
    );
  else if (kind === "private" && network !== "private")
    report.value(
      "BASE_URL_PRIVATE",
      path,
      `${where} is on this machine or in a private network`,
      "if that is intended, write `network: private` in this row",
    );
}

/**
 * The permission for http is bound to one's own network, and is an error where nothing needs it.
 */
function checkPlaintext(
  report: Report,
  { id, baseUrl, network, plaintext, auth }: ProviderRow,
): void {
  if (plaintext !== true) return;
  const path = ["providers", id, "plaintext"];
  const has = `provider ${quote(id)} has \`plaintext: true\``;
  const url = URL.parse(baseUrl);
  if (network !== "private")
    return report.value(
      "PLAINTEXT_PUBLIC",
      path,
      `${has} without \`network: private\``,
      "write `network: private` too, or use https",
    );
  if (url !== null && hostKind(url.hostname) === "public")
    return report.value(
      "PLAINTEXT_PUBLIC",
      path,
      `${has} for an address of the internet`,
      "use https",
    );
  if (url?.protocol === "https:")
    return report.value(
      "PLAINTEXT_UNUSED",
      path,
      `${has} and an https address`,
      "remove `plaintext`",
    );
  const exposed =
    auth.kind === "none" ? "prompts and answers" : "prompts, answers and the provider's key";
  report.value(
    "PLAINTEXT_PROVIDER",
    path,
    `provider ${quote(id)}: ${exposed} cross your network unencrypted`,
    "use https where the server can; who reads the network reads them",
  );
}

/**
 * `URL` writes every spelling of an IPv4 address as four decimal numbers, so that no other form can
 * pass here.
 */
function isLoopback(hostname: string) {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

/**
 * Names that presets, `signalbox init` and docs/providers.md write where only the reader knows the
 * right one. In capitals no provider has such a name: hosts are written small, and of the others
 * (project, account, deployment) none may or would be one of these names alone.
 */
export const PLACEHOLDERS = [
  "RESOURCE",
  "PROJECT",
  "ACCOUNT",
  "WORKSPACE",
  "REGION",
  "DEPLOYMENT",
  "EMBED_DEPLOYMENT",
] as const;

const IN_ADDRESS = new RegExp(`[/.](${PLACEHOLDERS.join("|")})(?=[/.:]|$)`);

/**
 * A row that was written from a preset or by an import and is not finished: every call would fail.
 * Without any address (`.invalid`, which an import writes) a row is an error, unless the simulated
 * provider answers until the secret is set.
 */
function checkPlaceholder(
  report: Report,
  { id, baseUrl }: ProviderRow,
  { auth }: AuthoredProvider,
) {
  const placeholder = IN_ADDRESS.exec(baseUrl)?.[1];
  if (placeholder === undefined) return;
  const isSimulated = typeof auth === "object" && auth.on_missing_secret === "simulate";
  const isMissing = URL.parse(baseUrl)?.hostname.endsWith(".invalid") === true;
  report.value(
    "PLACEHOLDER_LEFT",
    ["providers", id, "base_url"],
    `the base_url of provider ${quote(id)} still has the placeholder ${quote(placeholder)}`,
    "replace it with your own name",
    isMissing && !isSimulated ? "error" : "warning",
  );
}

/**
 * Compares the region and service of signatures with the host: AWS rejects every call signed for
 * another one.
 */
function checkSigning(report: Report, { id, auth, baseUrl }: ProviderRow, row: AuthoredProvider) {
  if (auth.kind !== "aws_sigv4") return;
  const path = ["providers", id, "auth", "aws_sigv4"];
  const where = `provider ${quote(id)}`;
  const host = awsHost(baseUrl);
  // REGION in the host is reported as a placeholder.
  if (host === null && IN_ADDRESS.test(baseUrl)) return;
  if (auth.region === "")
    report.value(
      "SIGNING_REGION_MISSING",
      path,
      `${where} signs its calls, but neither \`region\` nor the host of its base_url gives the region`,
      "add `region`, such as `region: eu-west-1`",
    );
  else if (host !== null && host.region !== auth.region)
    report.value(
      "SIGNING_CONTRADICTED",
      [...path, "region"],
      `${where} would sign for ${quote(auth.region)}, but its host is in \`${host.region}\``,
      "leave `region` out, or correct the host",
    );
  const service = host?.service ?? auth.service;
  if (service !== auth.service)
    report.value(
      "SIGNING_CONTRADICTED",
      [...path, "service"],
      `${where} would sign for the service ${quote(auth.service)}, but its host expects \`${service}\``,
      `write \`service: ${service}\``,
    );
  const profile = typeof row.auth === "object" ? row.auth.aws_sigv4?.profile : undefined;
  if (profile !== undefined && auth.credentials !== "shared_file")
    report.value(
      "WRONG_VALUE",
      [...path, "profile"],
      `${where} names a profile, but its credentials do not come from the shared files`,
      "remove it, or write `credentials: shared_file`",
    );
}
