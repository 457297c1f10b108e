import type { ProviderRow } from "../../canon/table.ts";
import { describeSafely, quote } from "../authored/literal-secrets.ts";
import type { Path } from "../authored/tree.ts";
import type { CompileContext } from "../compile-context.ts";
import type { Report } from "../findings/findings.ts";
import { awsHost } from "../normalised/normalise.ts";
import { LONGEST_DURATION, milliseconds } from "../normalised/defaults.ts";
import type { ResolvedContext } from "../resolve/routes.ts";
import type { AuthoredProvider } from "../routes-schema.ts";
import { hostKind } from "../../network/address.ts";

/** Checks provider timeouts against the limits of timers and against each other. */
export function checkTimes({ file, normalised, report }: CompileContext): void {
  for (const provider of normalised.providers.values()) {
    const authored = file.providers[provider.id];
    if (authored === undefined) continue;
    checkTimeouts(report, provider, authored);
    checkQueue(report, provider, authored);
    checkHealth(report, provider, authored);
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

function checkTimeouts(
  report: Report,
  { id, timeouts }: ProviderRow,
  { timeouts: authored = {} }: AuthoredProvider,
) {
  const path = ["providers", id, "timeouts"];
  for (const [name, duration] of Object.entries(authored)) {
    const location = [...path, name];
    if (
      !checkDuration(report, location, duration) ||
      name === "total" ||
      milliseconds(duration) <= timeouts.total
    )
      continue;
    report.value(
      "TIMEOUT_ORDER",
      location,
      `\`${name}\` of provider ${quote(id)} is longer than its \`total\``,
      "shorten it, or lengthen `total`",
    );
  }
  if (timeouts.firstToken >= timeouts.connect) return;
  const location = [...path, authored.first_token === undefined ? "connect" : "first_token"];
  report.value(
    "TIMEOUT_ORDER",
    location,
    `\`first_token\` of provider ${quote(id)} is shorter than its \`connect\``,
    "lengthen `first_token`, or shorten `connect`",
  );
}

function checkQueue(
  report: Report,
  { id, timeouts, queue }: ProviderRow,
  { queue: authored }: AuthoredProvider,
) {
  const path = ["providers", id, "queue", "wait"];
  if (authored === undefined) return;
  if (authored.wait !== undefined && !checkDuration(report, path, authored.wait)) return;
  if (queue.wait <= timeouts.total) return;
  report.value(
    "TIMEOUT_ORDER",
    path,
    `requests may wait longer in the queue of provider ${quote(id)} than its \`timeouts.total\``,
    "shorten `wait`, or lengthen `total`",
  );
}

function checkHealth(
  report: Report,
  { id, health }: ProviderRow,
  { health: authored = {} }: AuthoredProvider,
) {
  const path = ["providers", id, "health"];
  for (const name of ["window", "ejection", "longest_ejection"] as const) {
    const duration = authored[name];
    if (duration !== undefined) checkDuration(report, [...path, name], duration);
  }
  const interval = authored.probe?.interval;
  if (interval !== undefined) checkDuration(report, [...path, "probe", "interval"], interval);
  if (health.ejection <= health.longestEjection) return;
  const location = [...path, authored.ejection === undefined ? "longest_ejection" : "ejection"];
  report.value(
    "EJECTION_ORDER",
    location,
    `\`ejection\` of provider ${quote(id)} is longer than its \`longest_ejection\``,
    "shorten it, or lengthen `longest_ejection`",
  );
}

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

/** Addresses and headers of the providers. */
export function checkProviders(context: CompileContext): void {
  for (const provider of context.normalised.providers.values()) {
    checkBaseUrl(context, provider);
    checkPlaintext(context, provider);
    checkNetwork(context, provider);
    if (provider.auth.kind === "header" && RESERVED_HEADERS.has(provider.auth.header)) {
      context.report.value(
        "HEADER_RESERVED",
        ["providers", provider.id, "auth", "header"],
        `provider ${quote(provider.id)} would send its secret as \`${provider.auth.header}\`, which HTTP or the router sets itself`,
      );
    }
  }
}

function checkBaseUrl({ report }: CompileContext, { id, baseUrl, plaintext }: ProviderRow): void {
  const path = ["providers", id, "base_url"];
  const where = `the base_url of provider ${quote(id)}`;
  const invalid = (
    fault: string,
    hint = "write scheme, host and path only, such as `https://api.example.com/v1`",
  ) => report.value("BASE_URL_INVALID", path, `${where} ${fault}`, hint);
  if (!URL.canParse(baseUrl)) return invalid("is not an absolute URL");
  const url = new URL(baseUrl);
  if (url.protocol !== "https:" && url.protocol !== "http:") invalid("is not an http(s) URL");
  // The text is checked as well: an empty query or user leaves no trace in the parsed URL.
  if (url.username !== "" || url.password !== "" || /^[a-z]+:\/\/[^/]*@/i.test(baseUrl))
    invalid("carries credentials", "put them under `auth`, as a reference");
  if (baseUrl.includes("?")) invalid("has a query");
  if (baseUrl.includes("#")) invalid("has a fragment");
  if (/[\s\\]/.test(baseUrl)) invalid("contains white space or a backslash");
  if (url.protocol === "http:" && !isLoopback(url.hostname) && plaintext !== true) {
    const https =
      "use https; for a server in a network of your own, write `network: private` and `plaintext: true` in this row";
    report.value(
      "BASE_URL_INSECURE",
      path,
      `${where} is http, so prompts and keys would cross the network in clear text`,
      https,
    );
  }
}

/**
 * The permission for http is bound to one's own network, and is an error where nothing needs it.
 */
function checkPlaintext(
  { report }: CompileContext,
  { id, baseUrl, network, plaintext, auth }: ProviderRow,
): void {
  if (plaintext !== true) return;
  const path = ["providers", id, "plaintext"];
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (network !== "private") {
    return report.value(
      "PLAINTEXT_PUBLIC",
      path,
      `provider ${quote(id)} has \`plaintext: true\` without \`network: private\``,
      "write `network: private` too, or use https",
    );
  }
  if (url !== null && hostKind(url.hostname) === "public") {
    return report.value(
      "PLAINTEXT_PUBLIC",
      path,
      `provider ${quote(id)} has \`plaintext: true\` for an address of the internet`,
      "use https",
    );
  }
  if (url?.protocol === "https:") {
    return report.value(
      "PLAINTEXT_UNUSED",
      path,
      `provider ${quote(id)} has \`plaintext: true\` and an https address`,
      "remove `plaintext`",
    );
  }
  const sent =
    auth.kind === "none" ? "prompts and answers" : "prompts, answers and the provider's key";
  report.value(
    "PLAINTEXT_PROVIDER",
    path,
    `provider ${quote(id)}: ${sent} cross your network unencrypted`,
    "use https where the server can; who reads the network reads them",
  );
}

/**
 * Checks a literal address; the addresses behind names are checked at each connection.
 */
function checkNetwork({ report }: CompileContext, { id, baseUrl, network }: ProviderRow) {
  const kind = URL.canParse(baseUrl) ? hostKind(new URL(baseUrl).hostname) : null;
  const path = ["providers", id, "base_url"];
  const where = `the base_url of provider ${quote(id)}`;
  if (kind === "forbidden") {
    report.value(
      "BASE_URL_FORBIDDEN",
      path,
      `${where} is not an address of a provider: link-local, multicast, reserved, or a metadata service`,
      "write the provider's host",
    );
  } else if (kind === "private" && network !== "private") {
    report.value(
      "BASE_URL_PRIVATE",
      path,
      `${where} is on this machine or in a private network`,
      "if that is intended, write `network: private` in this row",
    );
  }
}

/**
 * `URL` writes every spelling of an IPv4 address as four decimal numbers, so that no other form can
 * pass here.
 */
function isLoopback(hostname: string) {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

/**
 * Compares the region and service of signatures with the host: AWS rejects every call signed for
 * another one.
 */
export function checkSigning({ file, normalised, report }: CompileContext): void {
  for (const { id, auth, baseUrl } of normalised.providers.values()) {
    if (auth.kind !== "aws_sigv4") continue;
    const path = ["providers", id, "auth", "aws_sigv4"];
    const where = `provider ${quote(id)}`;
    const host = awsHost(baseUrl);
    // REGION in the host is reported as a placeholder.
    if (host === null && IN_ADDRESS.test(baseUrl)) continue;
    if (auth.region === "") {
      report.value(
        "SIGNING_REGION_MISSING",
        path,
        `${where} signs its calls, but neither \`region\` nor the host of its base_url gives the region`,
        "add `region`, such as `region: eu-west-1`",
      );
    } else if (host !== null && host.region !== auth.region) {
      report.value(
        "SIGNING_CONTRADICTED",
        [...path, "region"],
        `${where} would sign for ${quote(auth.region)}, but its host is in \`${host.region}\``,
        "leave `region` out, or correct the host",
      );
    }
    if (host !== null && host.service !== null && host.service !== auth.service) {
      report.value(
        "SIGNING_CONTRADICTED",
        [...path, "service"],
        `${where} would sign for the service ${quote(auth.service)}, but its host expects \`${host.service}\``,
        `write \`service: ${host.service}\``,
      );
    }
    const authored = file.providers[id]?.auth;
    const profile = typeof authored === "object" ? authored.aws_sigv4?.profile : undefined;
    if (profile !== undefined && auth.credentials !== "shared_file") {
      report.value(
        "WRONG_VALUE",
        [...path, "profile"],
        `${where} names a profile, but its credentials do not come from the shared files`,
        "remove it, or write `credentials: shared_file`",
      );
    }
  }
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
const ALONE = new RegExp(`^(${PLACEHOLDERS.join("|")})$`);

/**
 * Rows that were written from a preset or by an import and are not finished: every call would fail.
 * Without any address (`.invalid`, which an import writes) a row is an error, unless the simulated
 * provider answers until the secret is set.
 */
export function checkPlaceholders({ endpoints, file, normalised, report }: ResolvedContext): void {
  for (const { id, baseUrl } of normalised.providers.values()) {
    const placeholder = IN_ADDRESS.exec(baseUrl)?.[1];
    if (placeholder === undefined) continue;
    const auth = file.providers[id]?.auth;
    const isSimulated = typeof auth === "object" && auth.on_missing_secret === "simulate";
    const isMissing = new URL(baseUrl).hostname.endsWith(".invalid");
    const severity = isMissing && !isSimulated ? "error" : "warning";
    const path = ["providers", id, "base_url"];
    report.value(
      "PLACEHOLDER_LEFT",
      path,
      `the base_url of provider ${quote(id)} still has the placeholder ${quote(placeholder)}`,
      "replace it with your own name",
      severity,
    );
  }
  for (const [id, { row, index }] of endpoints) {
    if (!ALONE.test(row.upstreamModel)) continue;
    report.value(
      "PLACEHOLDER_LEFT",
      ["endpoints", index, "upstream_model"],
      `the upstream_model of endpoint ${quote(id)} is still the placeholder ${quote(row.upstreamModel)}`,
      "write the name under which the provider serves the model to you",
    );
  }
}
