import { error, type CodeFacts, warning } from "../../canon/diagnostic.ts";

/** Findings about rows that name a preset or were written from one. */
export const PRESET_CODES = {
  UNKNOWN_PRESET: error(
    "A preset that this release does not have.",
    "Use one of docs/presets.md, or write the row out.",
  ),
  PRESET_REGION: error(
    "A preset has no address for the region of its row, or the row has `preset_region` without a preset.",
    "Name one of the preset's regions with `preset_region`, or write `base_url`; `region` keeps your own name.",
  ),
  PRESET_ADDRESS: error(
    "The host of the preset contains a name of your account, so the preset has no complete host.",
    "Write `base_url`; everything else comes from the preset.",
  ),
  PLACEHOLDER_LEFT: warning(
    "A row still has a placeholder of a preset, an import or `signalbox init`, so every call would fail; `RESOURCE.invalid` is an error, unless it is simulated.",
    "Replace it with your own name: of the resource, the project or the deployment.",
  ),
} as const satisfies Record<string, CodeFacts>;

/** Findings about the files that routes.yaml includes, and about overlays. */
export const FILE_CODES = {
  INCLUDE_NOT_FOUND: error(
    "An entry of `include` names no file: the file does not exist, or no file matches the pattern.",
    "Correct the path; it is relative to the folder of routes.yaml.",
  ),
  INCLUDE_OUTSIDE: error(
    "An included file, or an overlay, is a link that points out of the folder of routes.yaml.",
    "Put the file itself into the folder, so that it is reviewed together with routes.yaml.",
  ),
  INCLUDE_SELF: error(
    "An entry of `include` names routes.yaml itself or an overlay.",
    "Remove it; overlays are chosen with `--environment`.",
  ),
  INCLUDE_NESTED: error(
    "An included file or an overlay includes further files. Only routes.yaml can, so that one file lists all files.",
    "Move the entries to `include` of routes.yaml.",
  ),
  INCLUDE_DUPLICATE: error(
    "Two files define the same key, so it is unclear which value applies.",
    "Keep one of the two. Put values that differ by environment into an overlay.",
  ),
  SECTION_MISPLACED: error(
    "An included file or an overlay has `policies.dir`, which only routes.yaml can have.",
    "Move it to routes.yaml.",
  ),
  ENVIRONMENT_UNKNOWN: error(
    "The environment in `--environment` or SIGNALBOX_ENVIRONMENT has no overlay beside routes.yaml.",
    "Correct the name, or write `routes.NAME.yaml`.",
  ),
  OVERLAY_REMOVES_NOTHING: error(
    "An overlay sets a key to `null` to remove it, but the key does not exist.",
    "Correct the spelling, or remove the line.",
  ),
  JWKS_INVALID: error(
    "The file with the keys of an issuer of workloads is not a JWK Set of public keys.",
    "Save what the issuer publishes at its `jwks_uri`, for Kubernetes `kubectl get --raw /openid/v1/jwks`.",
  ),
} as const satisfies Record<string, CodeFacts>;

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
    "The source of an issuer's keys is contradictory or unknown.",
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
