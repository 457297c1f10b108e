import { error, warning, type CodeFacts } from "../../canon/diagnostic.ts";

/** Findings about the text of routes.yaml and the shape of its values, whatever they mean. */
export const TEXT_CODES = {
  SOURCE_UNREADABLE: error(
    "The file cannot be read, is not UTF-8 text, is not a regular file below the folder of routes.yaml, or is larger than 4 MiB.",
    "Check the path, its permissions and the file's encoding. If a link points out of the folder, put the file itself there.",
  ),
  SOURCE_TOO_LARGE: error(
    "The file is larger than one megabyte.",
    "Split it into files with `include`; where one alone is as large, into several routers.",
  ),
  YAML_SYNTAX: error(
    "The text is not valid YAML 1.2.",
    "Correct the line named; most often an indentation, a quote or a bracket.",
  ),
  YAML_DUPLICATE_KEY: error(
    "A mapping has the same key twice; one of the two would be ignored.",
    "Keep one of them.",
  ),
  YAML_MULTIPLE_DOCUMENTS: error(
    "The file has more than one YAML document; all but the first would be ignored.",
    "Remove the `---` between them and merge the documents.",
  ),
  YAML_ALIAS: error(
    "An alias names no anchor, contains itself, or expands to far more than the file contains.",
    "Write the value out.",
  ),
  YAML_MERGE_KEY: error(
    "`<<` merges mappings, which YAML 1.2 does not have and which hides the values of a row.",
    "Write the members out, or use an alias for a whole value.",
  ),
  YAML_TAG: error(
    "A tag (`!something`) names a type that this file does not use.",
    "Remove the tag.",
  ),
  YAML_KEY: error("A key is a list or a mapping instead of a name.", "Use a plain name as key."),
  RESERVED_NAME: error(
    "A name that JavaScript objects use themselves, such as `constructor`.",
    "Choose another name.",
  ),
  UNKNOWN_KEY: error(
    "A key that is not allowed here. Signalbox reports every unknown key.",
    "Correct its spelling or remove it; `docs/configuration.md` lists all keys.",
  ),
  MISSING_KEY: error("A required key is absent.", "Add it."),
  WRONG_TYPE: error(
    "A value has the wrong type for its key.",
    "Write the value in the type named.",
  ),
  WRONG_VALUE: error(
    "A value has the right type but is out of range, misspelt or of the wrong form.",
    "Use one of the values named.",
  ),
  DUPLICATE_ITEM: error("A list has the same item twice.", "Remove the repetition."),
  DUPLICATE_ID: error("Two endpoints have the same id.", "Give one of them another id."),
  VERSION_UNSUPPORTED: error(
    "The file is written for another version of the format.",
    "Write `version: 1`, or run the release of Signalbox that supports the version.",
  ),
  LITERAL_SECRET: error(
    "The file contains a credential, or a value that looks like one. Messages never repeat the value.",
    "Revoke the credential if it was committed, then refer to it: `{env: NAME}` or `{file: path}`.",
  ),
} as const satisfies Record<string, CodeFacts>;

export type TextCode = keyof typeof TEXT_CODES;

/** Findings about rows that name a preset or were written from one. */
const PRESET_CODES = {
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

/** Findings of the section `workload_identity`. */
const WORKLOAD_CODES = {
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

/**
 * Every finding of the compiler of routes.yaml. `docs/diagnostics.md` and the rules of a SARIF
 * report are written from it, so each has a meaning and a fix.
 */
export const ROUTE_CODES = {
  ...TEXT_CODES,
  ...FILE_CODES,
  ...PRESET_CODES,
  ...WORKLOAD_CODES,
  AUTH_INCOMPLETE: error(
    "`auth` must be exactly one of `none`, `bearer`, `header` with `secret`, `aws_sigv4` and `google_oauth`.",
    "Write `auth: none`, `auth: {bearer: {env: NAME}}`, `auth: {header: x-api-key, secret: {env: NAME}}`, `auth: {aws_sigv4: {service: bedrock, credentials: env}}` or `auth: {google_oauth: {credentials: adc}}`.",
  ),
  SIGNING_REGION_MISSING: error(
    "Calls are signed, but neither `region` nor the host of `base_url` gives the region.",
    "Add `region` to `aws_sigv4`.",
  ),
  SIGNING_CONTRADICTED: error(
    "Calls would be signed for another region or service than the host's, so the provider would reject each of them.",
    "Leave `region` out or correct it; use the service name that the host expects.",
  ),
  UNKNOWN_PROVIDER: error(
    "A provider is named that the file does not declare.",
    "Correct the name, or add the provider.",
  ),
  UNKNOWN_MODEL: error(
    "A model is named that the file does not declare.",
    "Correct the name, or add the model.",
  ),
  UNKNOWN_ENDPOINT: error(
    "An endpoint is named that the file does not declare.",
    "Correct the name, or add the endpoint.",
  ),
  UNKNOWN_ROUTE: error(
    "A route is named that the file does not declare.",
    "Correct the name, or add the route.",
  ),
  UNKNOWN_REGION: error(
    "A region (or, where groups are allowed, a region group) is named that `regions` does not declare.",
    "Correct the name, or add the region to a group under `regions`.",
  ),
  UNKNOWN_DIALECT: error(
    "A dialect that this release does not have.",
    "Use one of the dialects named.",
  ),
  UNKNOWN_FLAG: error(
    "A flag that the provider's dialect does not have.",
    "Use one of the flags named, or remove it.",
  ),
  FLAGS_CONTRADICTED: error(
    "A provider has two flags that exclude each other, so one of them would have no effect.",
    "Keep the one that matches how the provider is called.",
  ),
  API_VERSION_MISSING: error(
    "A flag of the provider's row needs `api_version`, without which the provider would reject every call.",
    "Write the version of the interface that the resource is to be called with.",
  ),
  API_VERSION_UNUSED: error(
    "A provider has an `api_version`, but requests of its dialect carry none.",
    "Remove it, or correct the dialect.",
  ),
  UNKNOWN_CAPABILITY: error(
    "A capability that does not exist.",
    "Use one of the capabilities of `docs/configuration.md`.",
  ),
  UNKNOWN_WORKSPACE: error(
    "`policies.managed_by`, a role of the console or a rule of `workload_identity` names a workspace that the file does not declare, so no key of it can exist.",
    "Correct the name, or add the workspace.",
  ),
  UNKNOWN_LABEL: error(
    "A workspace has a label that `vocabulary.labels` does not list, so policies could not read it; or a promotion requires a role that it does not list.",
    "Add the label to `vocabulary.labels`, or correct its spelling.",
  ),
  UNKNOWN_POLICY: error(
    "`policies.initial_mode` names a policy that is not in the policy folder.",
    "Correct the id; a misspelt policy would start in shadow.",
  ),
  PROMOTION_WITHOUT_POLICY: warning(
    "`policies.promotion` names a policy that is not in the policy folder. If its removal waits for a promotion, the removal has to meet this row.",
    "Correct the id where it is misspelt; keep the row until the end of a deleted policy has been promoted.",
  ),
  PROMOTION_CONTRADICTED: error(
    "A promotion requires roles, a report or assertions of its approvals, but no approvals.",
    "Set `approvals` to at least 1, or remove the requirements on them.",
  ),
  UNKNOWN_DIMENSION: warning(
    "A workspace approves a vector length that no model makes.",
    "Correct the number, or remove it.",
  ),
  BASE_URL_INVALID: error(
    "`base_url` is not an absolute http(s) URL, or carries credentials, a query or a fragment.",
    "Write scheme, host and path only, such as `https://api.example.com/v1`.",
  ),
  BASE_URL_INSECURE: error(
    "`base_url` is not https, so prompts and the provider's key would cross the network in clear text.",
    "Use https. Plain http is allowed for loopback addresses, and in a network of your own with `network: private` and `plaintext: true`.",
  ),
  PLAINTEXT_PUBLIC: error(
    "A provider has `plaintext: true` and is not bound to a private network, so prompts and keys could cross the internet in clear text.",
    "Write `network: private` in the row, or use https and remove `plaintext`.",
  ),
  PLAINTEXT_UNUSED: warning(
    "A provider has `plaintext: true` although its `base_url` is https.",
    "Remove `plaintext`; otherwise a later change to http gets no error.",
  ),
  PLAINTEXT_PROVIDER: warning(
    "Calls to a provider are unencrypted http: prompts, answers and the provider's key can be read in the network between.",
    "Use https where the model server or a proxy before it can. Otherwise keep the network to the router and the server.",
  ),
  BASE_URL_PRIVATE: error(
    "`base_url` is on this machine or in a private network, and the row does not allow that.",
    "If the provider is your own, write `network: private` in its row; otherwise correct the host.",
  ),
  BASE_URL_FORBIDDEN: error(
    "`base_url` is not an address of a provider: link-local, multicast or reserved, or a cloud's metadata service.",
    "Write the provider's host. There is no key that allows this address.",
  ),
  HEADER_RESERVED: error(
    "`auth.header` names a header that the router or HTTP itself sets.",
    "Use the header that the provider documents for its key.",
  ),
  REGION_AMBIGUOUS: error(
    "A region group has the name of a region that it does not contain.",
    "Rename the group, or list the region in it.",
  ),
  REGION_CONTRADICTED: error(
    "The host or the upstream model id names another region than the row declares.",
    "Declare the region that the provider really uses, or use the provider's host for the declared region.",
  ),
  REGION_NOT_PINNED: warning(
    "The host or the upstream model id lets the provider process in a wider area than the row declares.",
    "Declare the wider area, or use a host or model id that pins the region.",
  ),
  REGION_UNVERIFIED: warning(
    "The host or the upstream model id names a region, but the declared region has a name that cannot be compared with it.",
    "List the region in a group named after its area, such as `eu` or `us`.",
  ),
  TIMEOUT_ORDER: warning(
    "Two times of a provider contradict each other: a timeout or the wait in its queue is longer than `timeouts.total`, or `first_token` is shorter than `connect`.",
    "Shorten the longer one, or lengthen the other.",
  ),
  EJECTION_ORDER: error(
    "`health.ejection` is longer than `health.longest_ejection`.",
    "Shorten the first, or lengthen the second.",
  ),
  CONCURRENCY_ORDER: warning(
    "An endpoint's `max_concurrency` is above its provider's, so it can never be reached.",
    "Lower it, or raise the provider's.",
  ),
  OUTPUT_LIMIT_ORDER: error(
    "`default_max_output_tokens` is above `max_output_tokens`; the provider would reject every request without a limit.",
    "Lower the default.",
  ),
  OUTPUT_LIMIT_MISSING: error(
    "A dialect demands an output limit, and a model served over it has no default for callers that give none.",
    "Set `default_max_output_tokens` on the model.",
  ),
  DIMENSIONS_MISMATCH: error(
    "A model that makes vectors lists no lengths, or one that makes none lists some.",
    "Set `dimensions` exactly on models whose operations contain `embed`, and `default_dimensions` to one of them.",
  ),
  CONTEXT_WINDOW_MISSING: warning(
    "A model that makes vectors has no context window, so no workspace can approve it for embeddings.",
    "Add `context_window`: the tokens that one input may have.",
  ),
  BATCH_TOO_LARGE: error(
    "An endpoint allows several inputs a call, and its protocol takes one at a time.",
    "Remove `batch.inputs`.",
  ),
  CATEGORIES_UNUSED: warning(
    "A model has `moderation_categories` and does not moderate.",
    "Remove them, or add `moderate` to its operations.",
  ),
  CAPABILITY_UNREACHABLE: warning(
    "A model declares a capability that none of its endpoints' dialects can carry.",
    "Remove the capability, or serve the model over a dialect that carries it.",
  ),
  FEATURE_UNREACHABLE: warning(
    "A model's `accepts` or `refuses` names a feature that the dialects of its endpoints fix for all models.",
    "Remove it, or serve the model over a dialect that has the feature.",
  ),
  SIGNATURE_FAMILY_MISSING: warning(
    "A model reasons over a dialect whose reasoning is signed, but has no `signature_family`, which states who can read it.",
    "Name the family. Without one, its reasoning goes back to any model of the same protocol that names none.",
  ),
  BETA_FLAGS_UNUSED: error(
    "A provider lists beta flags, but its dialect has no header for them.",
    "Remove the list, or correct the dialect.",
  ),
  CAPABILITY_WIDENED: error(
    "An endpoint lists a capability that its model does not have. Endpoints narrow, they never widen.",
    "Add it to the model if the model has it everywhere, otherwise remove it.",
  ),
  ENDPOINT_OPERATIONS: error(
    "The provider's dialect carries none of the model's operations, so the endpoint can serve nothing.",
    "Serve the model over a dialect that carries one of its operations.",
  ),
  PEER_IS_PRIMARY: error("A route names its primary in its `peers`.", "Remove it from `peers`."),
  WEIGHT_UNKNOWN: error(
    "A weight is given to an endpoint that is neither the route's primary nor in its `peers`.",
    "Correct the name, add the endpoint to `peers`, or remove the weight.",
  ),
  WEIGHTS_ZERO: error(
    "All weights of a route are 0, so that no endpoint has a share of its requests.",
    "Give at least one of them a weight above 0.",
  ),
  WEIGHTS_UNUSED: warning(
    "A route has weights, but its `balance` reads none.",
    "Write `balance: weighted`, or remove them.",
  ),
  BALANCE_UNUSED: warning(
    "A route has a `balance` but no `peers` to choose from.",
    "Add `peers`, or remove it.",
  ),
  HEDGE_OPERATIONS: error(
    "A route has `hedge_after` but neither embeds nor reranks; other operations are never sent twice.",
    "Remove it.",
  ),
  FALLBACK_REPEATED: error("A route lists the same fallback twice.", "Remove the second."),
  FALLBACK_IS_PRIMARY: error(
    "A route falls back to its own primary.",
    "Remove the fallback; the dispatcher retries the primary itself.",
  ),
  FALLBACK_IS_PEER: error(
    "A route has an endpoint in its `peers` and in its `fallbacks`.",
    "Keep it in one of the two; all of the load-balanced group are tried when one of them fails.",
  ),
  FALLBACK_CYCLE: error(
    "Routes are fallbacks of each other in a circle.",
    "Break the circle at one of the routes named.",
  ),
  FALLBACK_CHAIN: error(
    "More than 16 routes follow each other as fallbacks.",
    "Name the endpoints themselves instead of a route of routes.",
  ),
  FALLBACK_OPERATIONS: error(
    "An endpoint of `peers` or `fallbacks` cannot do an operation that the route serves.",
    "Use another endpoint, or narrow the route's `operations`.",
  ),
  ROUTE_OPERATIONS: error(
    "A route lists an operation that its primary cannot do.",
    "Remove it, or choose another primary.",
  ),
  FALLBACK_EMBED_MODEL: error(
    "An embedding route has an endpoint of another model in `peers` or `fallbacks`; vectors of two models cannot be compared.",
    "Use endpoints of the same model only.",
  ),
  FALLBACK_CAPABILITY_GAP: warning(
    "An endpoint of `peers` or `fallbacks` lacks a capability that the primary has and a workspace approves; with `on_gap: deny` every request that needs it is denied.",
    "Choose an equal endpoint, approve less, or set `on_gap: narrow`.",
  ),
  FALLBACK_SIGNATURE_GAP: warning(
    "An endpoint of `peers` or `fallbacks` cannot read the signed reasoning of the primary; with `on_gap: deny` every conversation that carries some is denied.",
    "Choose an endpoint of the same signature family, or set `on_gap: narrow`.",
  ),
  PRICE_GAP: warning(
    "Some endpoints of a route have a price and others have none, so cost and price preferences are wrong for part of its traffic.",
    "Add the missing price.",
  ),
  PRICE_UNUSED: warning(
    "An endpoint has a rate that no operation of its model is charged by, such as `search` without rerank.",
    "Remove it.",
  ),
  BUDGET_UNPRICED: error(
    "A workspace has a budget in money and may use an endpoint without a price: the cost could not be counted.",
    "Add the price.",
  ),
  PRIMARY_NOT_APPROVED: error(
    "A workspace approves a route but not its primary's provider or region: every request would be denied.",
    "Approve provider and region, or withdraw the route.",
  ),
  FALLBACK_NOT_APPROVED: error(
    "A workspace approves a route with `on_gap: deny` but not the provider or region of an endpoint of `peers` or `fallbacks`: every request would be denied.",
    "Approve provider and region, withdraw the route, or set `on_gap: narrow`.",
  ),
  CEILING_LEAVES_NONE: error(
    "A workspace approves a route, but its `approve.data_collection` and `approve.retention` leave no endpoint of it: every request would be denied.",
    "Withdraw the route, or add an endpoint whose provider's `trains_on_data` and `retention` fit.",
  ),
  DIMENSIONS_NOT_APPROVED: warning(
    "A workspace approves an embedding route but none of the vector lengths of its model.",
    "Add a length to `approve.dimensions`.",
  ),
  CONTEXT_NOT_APPROVED: warning(
    "A workspace approves an embedding route but not the context window of its model: every embedding would be denied.",
    "Raise `approve.context_window`.",
  ),
  APPROVAL_EMPTY: warning(
    "A workspace approves no route, so its keys cannot send any request.",
    "Approve a route, or remove the workspace.",
  ),
  MODERATION_ROUTE: error(
    "The default moderation route cannot moderate, or the workspace does not approve it.",
    "Name an approved route whose operations contain `moderate`.",
  ),
  LIMITS_IMPLAUSIBLE: warning(
    "A workspace's limits contradict each other, or a single request on one of its routes may need more than they allow.",
    "Raise the smaller limit, or remove it.",
  ),
  UNREACHABLE_ROUTE: warning("No workspace approves the route.", "Approve it, or remove it."),
  UNUSED_ENDPOINT: warning("No route uses the endpoint.", "Use it, or remove it."),
  UNUSED_MODEL: warning("No endpoint serves the model.", "Add an endpoint, or remove the model."),
  UNUSED_PROVIDER: warning(
    "No endpoint uses the provider.",
    "Add an endpoint, or remove the provider.",
  ),
} as const satisfies Record<string, CodeFacts>;

export type RouteCode = keyof typeof ROUTE_CODES;

export function isRouteCode(code: string): code is RouteCode {
  return Object.hasOwn(ROUTE_CODES, code);
}
