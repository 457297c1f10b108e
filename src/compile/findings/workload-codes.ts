import { error, type CodeFacts } from "./code-facts.ts";

/** What can be wrong with the section `workload_identity`. */
export const WORKLOAD_CODES = {
  UNKNOWN_ISSUER: error(
    "A rule of `workload_identity` names an issuer that `issuers` does not have.",
    "Correct the name, or add the issuer.",
  ),
  UNKNOWN_CALLER_VALUE: error(
    "A rule of `workload_identity` has an environment, workload or label that `vocabulary` does not list, so policies would read `other`.",
    "Add the value to `vocabulary`, or correct its spelling.",
  ),
  ISSUER_KEYS: error(
    "Where the keys of an issuer of workloads come from is contradictory or unknown.",
    "Name `jwks_uri` or `jwks_file`, or an `issuer` that is an https URL, and each `issuer` once. `network` is for keys that are fetched.",
  ),
  RULE_COVERED: error(
    "A rule of `workload_identity` matches nothing but what another rule matches too. A JWT that two rules match gets no token.",
    "Make the claims of the two exclusive, or remove one.",
  ),
  RULE_ROUTE_NOT_APPROVED: error(
    "A rule of `workload_identity` names a route that its workspace does not approve, so no token could use it.",
    "Approve the route, or leave it out of the rule.",
  ),
} as const satisfies Record<string, CodeFacts>;
