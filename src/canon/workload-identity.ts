import type { Identity } from "./identity.ts";
import type { JsonObject, JsonValue } from "./json.ts";
import type { Operation } from "./operation.ts";
import type { Scope } from "./scope.ts";

/**
 * What a token of a workload can be for (docs/keys.md#workloads-without-keys): it manages nothing
 * and reads nothing of the operator's.
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

/** Who signs the JWTs of workloads. */
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

/** Which workloads get a token, and for what. */
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
  /** What policies read of the caller, as of a key. */
  readonly environment: string;
  readonly workload: string;
  /** `null`: none. */
  readonly owner: string | null;
  readonly labels: readonly string[];
}

export interface ClaimRule {
  /** Name of the claim, or a JSON pointer (RFC 6901) to one that is deeper. */
  readonly claim: string;
  /** One of them has to match; texts may have `*` (`matchesPattern`). */
  readonly values: readonly (string | number | boolean)[];
}

const PREFIX = "workload_";

/**
 * What evidence, limits and counts call the callers of a rule. No key has such an id: the public id
 * of a key has no `_`.
 */
export function workloadCaller(rule: string): string {
  return `${PREFIX}${rule}`;
}

/** The rule of a caller's id; `null` where the caller is none of a rule. */
export function ruleOfCaller(id: string): string | null {
  return id.startsWith(PREFIX) ? id.slice(PREFIX.length) : null;
}

/** A workload that may get a token. */
export interface AdmittedWorkload {
  /** Of the one rule that matches; it ends with the JWT. */
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
const KEY_FETCH_FAILURES = [
  /** No answer in time, or no connection. */
  "unreachable",
  /** The host has an address that routes.yaml does not allow. */
  "address_refused",
  /** A status other than 200, a redirect among them. */
  "status",
  "too_large",
  "not_json",
  /** No JWK Set. */
  "not_a_key_set",
  /** The discovery document is another issuer's, or names no https URL of keys. */
  "discovery_mismatch",
] as const;

export type KeyFetchFailure = (typeof KEY_FETCH_FAILURES)[number];

/**
 * Fetches a JSON document. @param reach `private`: private addresses and this machine too. Never
 * rejects.
 */
export type FetchJson = (
  url: string,
  reach: "public" | "private",
) => Promise<{ readonly json: JsonValue } | { readonly failure: KeyFetchFailure }>;
