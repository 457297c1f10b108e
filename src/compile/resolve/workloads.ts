import { posix } from "node:path";
import {
  coversClaims,
  type IssuerKeys,
  type WorkloadIdentity,
  type WorkloadIssuer,
  type WorkloadRule,
} from "../../canon/workload-identity.ts";
import { DEFAULT_KEY_ENVIRONMENT, TOKEN_LIFETIME } from "../../canon/credentials/service-key.ts";
import type { Path } from "../authored/tree.ts";
import { checkName, type CompileContext } from "../compile-context.ts";
import { describeSafely, quote, suggest } from "../authored/literal-secrets.ts";
import { milliseconds } from "../normalised/defaults.ts";
import type { AuthoredWorkloads } from "../routes-schema.ts";
import { createPublicKey } from "node:crypto";
import {
  isJsonObject,
  parseJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";

const SECTION = "workload_identity";

/**
 * The section `workload_identity` with defaults, and with keys from files. Reports its faults.
 *
 * @param keySets texts of those files, by path; an issuer whose file is not there has no keys.
 * @returns `undefined` where the file has no such section.
 */
export function resolveWorkloads(
  context: CompileContext,
  keySets: ReadonlyMap<string, string>,
): WorkloadIdentity | undefined {
  const authored = context.file.workload_identity;
  if (authored === undefined) return undefined;
  const issuers = Object.entries(authored.issuers).map(([id, row]): [string, WorkloadIssuer] => [
    id,
    {
      issuer: row.issuer,
      keys: keysOf(context, id, row, keySets),
      ...(row.network === "private" && { network: "private" }),
    },
  ]);
  const rules = Object.entries(authored.rules).map(
    ([id, row]) => [id, resolveRule(context, id, row)] as const,
  );
  reportSameIssuer(context, authored);
  reportCovered(
    context,
    rules.map(([, rule]) => rule),
  );
  return { issuers: Object.fromEntries(issuers), rules: Object.fromEntries(rules) };
}

type AuthoredIssuer = AuthoredWorkloads["issuers"][string];
type AuthoredRule = AuthoredWorkloads["rules"][string];

function keysOf(
  { report }: CompileContext,
  id: string,
  { issuer, jwks_uri: uri, jwks_file: file, network }: AuthoredIssuer,
  keySets: ReadonlyMap<string, string>,
): IssuerKeys {
  const path = [SECTION, "issuers", id];
  if (uri !== undefined && file !== undefined) {
    report.value(
      "ISSUER_KEYS",
      [...path, "jwks_file"],
      `issuer ${quote(id)} has \`jwks_uri\` too`,
      "keep one of them",
    );
  }
  if (file !== undefined) {
    if (network !== undefined) {
      report.value(
        "ISSUER_KEYS",
        [...path, "network"],
        `the keys of issuer ${quote(id)} are in a file`,
        "remove it",
      );
    }
    const text = keySets.get(posix.normalize(file));
    const keys = text === undefined ? [] : readKeySet(text);
    if (typeof keys !== "string") return { kind: "file", file, keys };
    report.value(
      "JWKS_INVALID",
      [...path, "jwks_file"],
      `the file with the keys of issuer ${quote(id)} ${keys}`,
      "save what the issuer publishes at its `jwks_uri`",
    );
    return { kind: "file", file, keys: [] };
  }
  if (uri !== undefined) return { kind: "uri", uri };
  if (
    !/^https:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?$/.test(issuer) &&
    !/^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])[:/]/.test(issuer)
  ) {
    report.value(
      "ISSUER_KEYS",
      [...path, "issuer"],
      `issuer ${quote(id)} is not an https URL, so its keys cannot be discovered`,
      "add `jwks_uri` or `jwks_file`",
    );
  }
  return { kind: "discovery" };
}

/** A mistyped name gives no token, or one with another caller's attributes in policies. */
function resolveRule(context: CompileContext, id: string, row: AuthoredRule): WorkloadRule {
  const { file, normalised, report } = context;
  const { workspace, issued_by: issuedBy, workload = "" } = row;
  const { environment = DEFAULT_KEY_ENVIRONMENT, labels = [], owner = null } = row;
  const at = (...path: Path) => [SECTION, "rules", id, ...path];
  const rule = `rule ${quote(id)}`;
  const issuers = Object.keys(file.workload_identity?.issuers ?? {});
  if (!issuers.includes(issuedBy))
    report.value(
      "UNKNOWN_ISSUER",
      at("issued_by"),
      `${rule} names the issuer ${quote(issuedBy)}, which does not exist`,
      suggest(issuedBy, issuers),
    );
  checkName(context, "workspaces", workspace, at("workspace"), `${rule} names the workspace`);
  const approved = normalised.workspaces.get(workspace)?.approve.routes;
  for (const [index, name] of (row.routes ?? []).entries()) {
    const path = at("routes", index);
    const exists = checkName(context, "routes", name, path, `${rule} names the route`);
    if (exists && approved?.includes(name) === false)
      report.value(
        "RULE_ROUTE_NOT_APPROVED",
        path,
        `${rule} names the route ${quote(name)}, which its workspace ${quote(workspace)} does not approve`,
        "approve it, or leave it out",
      );
  }
  const { vocabulary } = normalised;
  const checkDeclared = (
    value: string,
    list: "environments" | "workloads" | "labels",
    ...path: Path
  ) => {
    if (vocabulary[list].includes(value)) return;
    report.value(
      "UNKNOWN_CALLER_VALUE",
      at(...path),
      `${rule} has ${quote(value)}, which \`vocabulary.${list}\` does not list`,
      suggest(value, vocabulary[list]) || `add it: \`vocabulary: {${list}: […]}\``,
    );
  };
  if (row.environment !== undefined) checkDeclared(environment, "environments", "environment");
  // Without a list, no policy can name a workload.
  if (vocabulary.workloads.length > 0 && workload !== "")
    checkDeclared(workload, "workloads", "workload");
  for (const [index, label] of labels.entries()) checkDeclared(label, "labels", "labels", index);
  const { minimum, maximum } = TOKEN_LIFETIME;
  const lifetime = row.lifetime === undefined ? maximum : milliseconds(row.lifetime) / 1_000;
  if (lifetime < minimum || lifetime > maximum || !Number.isInteger(lifetime))
    report.value(
      "WRONG_VALUE",
      at("lifetime"),
      `${describeSafely(at("lifetime"))} must be 1m to 15m, in whole seconds`,
      "",
    );
  return {
    id,
    issuedBy,
    audience: row.audience,
    claims: Object.entries(row.claims)
      .map(([claim, value]) => ({ claim, values: typeof value === "object" ? value : [value] }))
      .toSorted((left, right) => (left.claim < right.claim ? -1 : 1)),
    workspace,
    scopes: (row.scopes ?? ["inference"]).toSorted(),
    operations: row.operations?.toSorted() ?? null,
    routes: row.routes?.toSorted() ?? null,
    lifetime,
    environment,
    workload,
    owner,
    labels: labels.toSorted(),
  };
}

/** With two rows for one issuer, the row that verifies a token would depend on their order. */
function reportSameIssuer({ report }: CompileContext, { issuers }: AuthoredWorkloads) {
  const first = new Map<string, string>();
  for (const [id, { issuer }] of Object.entries(issuers)) {
    const other = first.get(issuer);
    if (other === undefined) first.set(issuer, id);
    else {
      report.value(
        "ISSUER_KEYS",
        [SECTION, "issuers", id, "issuer"],
        `issuers ${quote(other)} and ${quote(id)} have the same \`issuer\``,
        "keep one of them",
      );
    }
  }
}

/**
 * A rule that matches only what another one matches too never gives a token: a JWT that two rules
 * match gets none.
 */
function reportCovered({ report }: CompileContext, rules: readonly WorkloadRule[]) {
  for (const narrow of rules) {
    const wide = rules.find(
      (other) =>
        other !== narrow &&
        other.issuedBy === narrow.issuedBy &&
        other.audience === narrow.audience &&
        coversClaims(other.claims, narrow.claims),
    );
    if (wide === undefined) continue;
    report.value(
      "RULE_COVERED",
      [SECTION, "rules", narrow.id, "claims"],
      `every JWT that rule ${quote(narrow.id)} matches is matched by rule ${quote(wide.id)} too, so it gets no token`,
      "make the claims exclusive",
    );
  }
}

/** Keys of one issuer: two while it rotates them. */
const MOST_KEYS = 64;

/** Members of keys that are secret (RFC 7518 §6). */
const SECRET_MEMBERS = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] as const;

/**
 * Kinds of keys whose public half verifies signatures. A file with an `oct` key would have a shared
 * secret in it.
 */
const KINDS: ReadonlySet<JsonValue | undefined> = new Set(["RSA", "EC", "OKP"]);

/**
 * The keys of a JWK Set (RFC 7517 §5), or its fault without content of the file.
 */
export function readKeySet(text: string): readonly JsonObject[] | string {
  const keys = parseJsonObject(text)?.keys;
  if (!Array.isArray(keys)) return "is not a JWK Set: an object with a list `keys`";
  if (keys.length === 0 || keys.length > MOST_KEYS) return `must have 1 to ${MOST_KEYS} keys`;
  for (const [index, key] of keys.entries()) {
    const wrong = keyFault(key);
    if (wrong !== null) return `has ${wrong} at keys[${index}]`;
  }
  return keys.filter(isJsonObject);
}

function keyFault(key: JsonValue): string | null {
  if (!isJsonObject(key) || !KINDS.has(key.kty)) return "a key other than RSA, EC or OKP";
  if (SECRET_MEMBERS.some((name) => Object.hasOwn(key, name)))
    return "a private key, which belongs to the issuer alone,";
  try {
    createPublicKey({ key, format: "jwk" });
    return null;
  } catch {
    // Node's message may quote the key.
    return "a key that cannot be read";
  }
}
