import type { JsonValue } from "./json.ts";

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

/** Fetches a JSON document. @param reach `private`: private addresses and this machine too. Never rejects. */
export type FetchJson = (
  url: string,
  reach: "public" | "private",
) => Promise<{ readonly json: JsonValue } | { readonly failure: KeyFetchFailure }>;
