import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";
import type { Operation } from "./operation.ts";
import type { Identity, Scope } from "./identity.ts";

/** Characters of a claim that are compared with a pattern; a longer one matches nothing. */
const LONGEST_CLAIM = 2_048;

/** Most items of a list that are compared. */
const MOST_ITEMS = 256;

/**
 * Whether the claims meet every rule.
 *
 * @example matchesClaims({ sub: "repo:acme/app" }, [{ claim: "sub", values: ["repo:acme/*"] }]) // true
 */
export function matchesClaims(claims: JsonObject, rules: readonly ClaimRule[]): boolean {
  // A rule without claims would admit every workload of the issuer.
  return (
    rules.length > 0 &&
    rules.every(({ claim, values }) => {
      const value = claimAt(claims, claim);
      const items = Array.isArray(value) ? value.slice(0, MOST_ITEMS) : [value];
      return items.some((item) => values.some((expected) => matchesValue(item, expected)));
    })
  );
}

/**
 * The claim with this name, or at this JSON pointer (RFC 6901); `undefined` if absent. Pointers
 * cannot pass through lists.
 */
function claimAt(claims: JsonObject, claim: string): JsonValue | undefined {
  const names = claim.startsWith("/")
    ? claim
        .slice(1)
        .split("/")
        .map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"))
    : [claim];
  return names.reduce<JsonValue | undefined>(
    (value, name) => (isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined),
    claims,
  );
}

/** Types must be equal: `"true"` does not match `true`. */
function matchesValue(item: JsonValue | undefined, expected: ClaimRule["values"][number]): boolean {
  if (typeof expected !== "string") return item === expected;
  return typeof item === "string" && item.length <= LONGEST_CLAIM && matchesPattern(item, expected);
}

/**
 * Whether a whole text matches a pattern. `*` matches one or more characters other than `/` and
 * `:`, which separate the parts of names.
 */
function matchesPattern(text: string, pattern: string): boolean {
  if (!pattern.includes("*")) return text === pattern;
  const parts = text.split(SEPARATOR);
  const patterns = pattern.split(SEPARATOR);
  return (
    parts.length === patterns.length &&
    parts.every((part, index) => matchesPart(part, patterns[index] ?? ""))
  );
}

/** Parts and separators alternate. */
const SEPARATOR = /([/:])/;

/**
 * The first match of each piece between stars leaves most text for the later ones, so there is no
 * backtracking.
 */
function matchesPart(part: string, pattern: string): boolean {
  const [first = "", ...pieces] = pattern.split("*");
  const last = pieces.pop();
  if (last === undefined) return part === pattern;
  if (!part.startsWith(first)) return false;
  let at = first.length;
  for (const piece of pieces) {
    // A star matches at least one character.
    const found = part.indexOf(piece, at + 1);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return part.length > at + last.length && part.endsWith(last);
}

/**
 * Whether every token that `narrow` admits is admitted by `wide` too. False negatives are possible,
 * false positives are not.
 *
 * @example coversClaims(before.claims, after.claims)
 */
export function coversClaims(wide: readonly ClaimRule[], narrow: readonly ClaimRule[]): boolean {
  return wide.every(({ claim, values }) => {
    const narrower = narrow.find((rule) => rule.claim === claim);
    return (
      narrower?.values.every((value) => values.some((other) => coversValue(other, value))) === true
    );
  });
}

/** A `*` of the narrow pattern is a character that only a `*` of the wide one matches. */
function coversValue(wide: ClaimRule["values"][number], narrow: ClaimRule["values"][number]) {
  return typeof wide === "string" && typeof narrow === "string"
    ? matchesPattern(narrow, wide)
    : wide === narrow;
}

/**
 * Scopes that a token of a workload can have (docs/keys.md#workloads-without-keys): none to manage
 * or to read the operator's data.
 */
export const WORKLOAD_SCOPES = [
  "inference",
  "catalogue:read",
  "route:simulate",
] as const satisfies readonly Scope[];

/** The section `workload_identity` of routes.yaml, its rows by id. */
export interface WorkloadIdentity {
  readonly issuers: Readonly<Record<string, WorkloadIssuer>>;
  readonly rules: Readonly<Record<string, WorkloadRule>>;
}

/** Issuer of the JWTs of workloads. */
export interface WorkloadIssuer {
  /** `iss` of its tokens, exactly. */
  readonly issuer: string;
  readonly keys: IssuerKeys;
  /** Its keys may be at a private address. */
  readonly network?: "private";
}

export type IssuerKeys =
  /**
   * `jwks_uri` of the issuer's `/.well-known/openid-configuration` (OpenID Connect Discovery §4).
   */
  | { readonly kind: "discovery" }
  | { readonly kind: "uri"; readonly uri: string }
  /** Public keys only; the compiler has read them from a file. */
  | { readonly kind: "file"; readonly file: string; readonly keys: readonly JsonObject[] };

/** Admits workloads to a workspace, with these rights. */
export interface WorkloadRule {
  readonly id: string;
  /** Id of its issuer. */
  readonly issuedBy: string;
  /** One of the values of `aud`. */
  readonly audience: string;
  /** All of them have to match; at least one. */
  readonly claims: readonly ClaimRule[];
  readonly workspace: string;
  readonly scopes: readonly Scope[];
  /** `null`: every operation. */
  readonly operations: readonly Operation[] | null;
  /** `null`: every route of the workspace. */
  readonly routes: readonly string[] | null;
  /** Longest life of a token, seconds. */
  readonly lifetime: number;
  /** Attributes of the caller in policies, as of a key. */
  readonly environment: string;
  readonly workload: string;
  /** `null`: none. */
  readonly owner: string | null;
  readonly labels: readonly string[];
}

interface ClaimRule {
  /** Name of the claim, or a JSON pointer (RFC 6901) to one that is deeper. */
  readonly claim: string;
  /** One of them has to match; texts may have `*` (`matchesPattern`). */
  readonly values: readonly (string | number | boolean)[];
}

const PREFIX = "workload_";

/**
 * Id of the callers of a rule in evidence, limits and counts. No key has such an id: public ids of
 * keys have no `_`.
 *
 * @example workloadCaller("ci") // "workload_ci"
 */
export function workloadCaller(rule: string): string {
  return `${PREFIX}${rule}`;
}

/**
 * The rule of a caller's id; `null` for callers without a rule.
 *
 * @example ruleOfCaller("workload_ci") // "ci"
 */
export function ruleOfCaller(id: string): string | null {
  return id.startsWith(PREFIX) ? id.slice(PREFIX.length) : null;
}

/** A workload that may get a token. */
export interface AdmittedWorkload {
  /** By the one rule that matches; it expires with the JWT. */
  readonly identity: Identity;
  /**
   * SHA-256 of issuer and subject, hexadecimal: an auditor who knows both finds the workload by it,
   * and the value does not reveal them.
   */
  readonly subject: string;
}

/**
 * `invalid`: malformed, of an unknown issuer, or not signed by it. `expired`: or not valid yet.
 * `not_granted`: no rule has its audience and claims. `ambiguous`: several have. `unavailable`: its
 * issuer's keys cannot be fetched.
 */
export type WorkloadFault =
  | { readonly fault: "invalid" | "expired" | "not_granted" | "unavailable" }
  | { readonly fault: "ambiguous"; readonly rules: readonly string[] };

/** Why the keys of an issuer of workloads could not be fetched; for logs. */
export type KeyFetchFailure =
  /** No answer in time, or no connection. */
  | "unreachable"
  /** The host has an address that routes.yaml does not allow. */
  | "address_refused"
  /** A status other than 200, a redirect among them. */
  | "status"
  | "too_large"
  | "not_json"
  /** No JWK Set. */
  | "not_a_key_set"
  /** The discovery document is another issuer's, or names no https URL of keys. */
  | "discovery_mismatch";

/**
 * Fetches a JSON document. @param reach `private`: private addresses and this machine too. Never
 * rejects.
 */
export type FetchJson = (
  url: string,
  reach: "public" | "private",
) => Promise<{ readonly json: JsonValue } | { readonly failure: KeyFetchFailure }>;
