import {
  FORBIDDEN,
  INVALID,
  NOT_FOUND,
  UNAVAILABLE,
  final,
  passing,
  type ErrorRow,
} from "./error.ts";

const UNAUTHENTICATED = final(401, "authentication");
const QUOTA = final(402, "quota");
/** RFC 8693 §2.2.2: an exchange that is refused answers 400. */
const NOT_GRANTED = final(400, "insufficient_scope");
/** Passes as soon as running requests end. */
const BUSY = passing(429, "rate_limit", 1000);

/** The connection, the address, the caller and the state of the server. */
export const SERVICE_ERRORS = {
  malformed_request: {
    ...INVALID,
    at: [],
    meaning: "The bytes received are not an HTTP/1.1 request.",
    example: "TLS bytes sent to a plain port.",
    fix: "Check scheme and port; look for a proxy that changes requests.",
  },
  malformed_url: {
    ...INVALID,
    at: ["everywhere"],
    meaning: "The path cannot be decoded.",
    example: "`GET /v1/routes/%zz`.",
    fix: "Percent-encode the path correctly.",
  },
  missing_host: {
    ...INVALID,
    at: ["everywhere"],
    meaning: "An HTTP/1.1 request has no single Host header.",
    example: "Two `Host` headers.",
    fix: "Send one.",
  },
  body_timeout: {
    ...passing(408, "timeout"),
    at: ["with_body"],
    meaning: "The body did not arrive in time.",
    example: "A connection that stalls in the middle of a body.",
    fix: "Send again; look at the network between client and server.",
  },
  header_timeout: {
    ...passing(408, "timeout"),
    at: [],
    meaning: "The headers did not arrive in time.",
    example: "A connection opened and left alone.",
    fix: "Send again; close connections that are not used.",
  },
  headers_too_large: {
    ...final(431, "too_large"),
    at: [],
    meaning: "The headers are larger than the server takes.",
    example: "A cookie of many kilobytes.",
    fix: "Send fewer and shorter headers.",
  },
  too_many_headers: {
    ...final(431, "too_large"),
    at: ["everywhere"],
    meaning: "The request has more header fields than the server takes.",
    example: "A proxy that adds a field at every hop.",
    fix: "Send fewer header fields; check the proxies between client and server.",
  },
  url_too_long: {
    ...final(414, "too_large"),
    at: ["everywhere"],
    meaning: "The request's URL is longer than the server takes.",
    example: "`GET /v1/policies/…` with a query of many kilobytes.",
    fix: "Send a shorter URL.",
  },
  server_overloaded: {
    ...UNAVAILABLE,
    at: ["with_body"],
    meaning:
      "The process has as many requests under way, or as many bytes of bodies in memory, as it allows.",
    example: "More requests at once than `--max-in-flight` allows.",
    fix: "Try again after `retry-after`; operators add memory or replicas, or raise `--max-in-flight`.",
  },
  fair_share_exceeded: {
    ...BUSY,
    at: ["with_body"],
    meaning:
      "The workspace or its key has as many requests under way as one process allows to one of several workspaces.",
    example: "A client that opens hundreds of connections and sends its bodies slowly.",
    fix: "Send fewer requests at once, and whole bodies; operators see the bounds in docs/operations.md.",
  },
  request_too_large: {
    ...final(413, "too_large"),
    at: ["with_body"],
    meaning: "The body is larger than the server or the provider accepts.",
    example: "A conversation with many images.",
    fix: "Send less; operators may raise the limit of bodies.",
  },
  unsupported_media_type: {
    ...final(415, "invalid_request"),
    at: ["with_body"],
    meaning: "The body is not application/json.",
    example: "`content-type: text/plain`.",
    fix: "Send `content-type: application/json`.",
  },
  unsupported_encoding: {
    ...final(415, "invalid_request"),
    at: ["with_body"],
    meaning: "The body is compressed.",
    example: "`content-encoding: br`.",
    fix: "Send it as it is.",
  },
  unsupported_expectation: {
    ...final(417, "invalid_request"),
    at: ["everywhere"],
    meaning: "`Expect` has a value other than `100-continue`.",
    example: "`Expect: 200-ok`.",
    fix: "Leave the header out.",
  },
  unknown_path: {
    ...NOT_FOUND,
    at: ["path_parameter"],
    meaning: "No endpoint has this method and path, or a path parameter is empty.",
    example: "`POST /v1/chat/completion`.",
    fix: "Compare with /openapi.json; check whether your client needs the base URL with or without `/v1` (docs/api.md).",
  },
  not_supported: {
    ...NOT_FOUND,
    at: [],
    meaning: "The path belongs to a supported protocol, but Signalbox does not serve it.",
    example: "`POST /v1/files`.",
    fix: "Use another endpoint; the message names the alternatives.",
  },
  invalid_api_key: {
    ...UNAUTHENTICATED,
    at: ["keyed"],
    meaning:
      "The service key is missing, mistyped, unknown or revoked; or the token is no longer valid.",
    example: "A request without `Authorization`.",
    fix: "Send `Authorization: Bearer sbx_…`; make keys with `signalbox keys create`.",
  },
  expired_api_key: {
    ...UNAUTHENTICATED,
    at: ["keyed"],
    meaning: "The service key has expired.",
    example: "A key made with `--expires-in 30d`, a month later.",
    fix: "Request a new one from the team that issued it: `signalbox keys rotate`.",
  },
  insufficient_scope: {
    ...FORBIDDEN,
    at: ["keyed"],
    meaning: "The key or token is valid and lacks the scope that the endpoint requires.",
    example: "`POST /v1/keys` with a key of `inference:invoke`.",
    fix: "Use a key with the scope that the message names.",
  },
  service_key_in_browser: {
    ...FORBIDDEN,
    at: ["keyed"],
    meaning:
      "A web page sent a service key (`Origin` with `Sec-Fetch-Mode: cors`). Every visitor of the page can read it.",
    example: "A service key as `apiKey` of an SDK in a page, with `dangerouslyAllowBrowser`.",
    fix: "Revoke the key. Let a backend exchange another key for a token for the page.",
  },
  origin_not_allowed: {
    ...FORBIDDEN,
    at: ["keyed"],
    meaning: "The token is bound to another origin.",
    example: "A token for one site, used from a page of another.",
    fix: "Exchange a token for the origin.",
  },
  origin_too_far: {
    ...FORBIDDEN,
    at: ["policy_change"],
    meaning: "The chain of keys that created this key is too long to identify its owner.",
    example:
      "A promotion with a key that was made by a key that was made by another, many times over.",
    fix: "Create a key at the terminal, for a workspace that manages policies.",
  },
  exchange_not_granted: {
    ...NOT_GRANTED,
    at: ["exchangeKey"],
    meaning: "The key may not be exchanged for tokens.",
    example: "A token exchange with a key that was made without `--exchange`.",
    fix: "Create a key with an exchange grant: `signalbox keys create --exchange 10m`.",
  },
  subject_token_invalid: {
    ...INVALID,
    at: ["exchangeKey"],
    meaning:
      "The JWT of a workload is malformed, its issuer is none of routes.yaml, or its issuer has not signed it.",
    example: "A JWT of another cluster, or one that was cut off.",
    fix: "Compare the claim `iss` with `workload_identity.issuers`, and the header `kid` with the issuer's keys.",
  },
  subject_token_expired: {
    ...INVALID,
    at: ["exchangeKey"],
    meaning:
      "The JWT of a workload has expired, or is not valid yet. Clocks may differ by 30 seconds.",
    example: "A projected token of Kubernetes that was read once, when the pod started.",
    fix: "Read the token from its file for each exchange. If it is new, compare the clocks.",
  },
  workload_not_granted: {
    ...NOT_GRANTED,
    at: ["exchangeKey"],
    meaning:
      "The JWT of a workload is genuine, but no rule of routes.yaml has its audience and its claims.",
    example:
      "A service account of another namespace, or a token for the audience of the Kubernetes API.",
    fix: "Compare `aud` and the claims with `workload_identity.rules`.",
  },
  workload_ambiguous: {
    ...NOT_GRANTED,
    at: ["exchangeKey"],
    meaning: "Several rules of routes.yaml match the JWT of a workload, so none of them is used.",
    example:
      "One rule for `system:serviceaccount:shop:*`, and one for the namespace `shop` by another claim.",
    fix: "Make the claims of the rules that the message names exclude each other.",
  },
  issuer_unavailable: {
    ...passing(503, "unavailable", 5_000),
    at: ["exchangeKey"],
    meaning:
      "The keys of the issuer of a JWT cannot be fetched, and those that were fetched are older than an hour.",
    example: "An issuer behind a firewall, or a private address without `network: private`.",
    fix: "Operators: the log event `issuer_keys_unavailable` has the cause; an issuer that cannot be reached needs `jwks_file`.",
  },
  evidence_unavailable: {
    ...UNAVAILABLE,
    at: ["keyed"],
    meaning:
      "The decision was not on disk in time (a second, or the request's own deadline), so no answer was given; a provider may have been called.",
    example: "A full disk, a PostgreSQL that is not reachable, or `x-request-timeout-ms: 2`.",
    fix: "Operators: look at the store (`evidence` of `/status`, `/readyz`, docs/storage.md). Callers: try again later.",
  },
  internal_error: {
    ...passing(500, "internal"),
    at: ["everywhere"],
    meaning: "A bug in Signalbox. The log line has the same decision id.",
    example: "None is known.",
    fix: "Operators: report it with the log line.",
  },
  not_ready: {
    ...passing(503, "unavailable"),
    at: ["getReadiness"],
    meaning: "The server is starting, draining or cannot write evidence.",
    example: "`GET /readyz` during a drain.",
    fix: "Send requests to another replica; the body names what is missing.",
  },
  no_healthy_endpoint: {
    ...passing(503, "unavailable", 5000),
    at: ["inference"],
    meaning:
      "The request is allowed, and no endpoint that may serve it can be used now: ejected, or without credentials.",
    example: "Every provider of a route failed within its `health` limits.",
    fix: "Try again after `retry-after`; operators look at `/metrics` and at the providers' secrets.",
  },
  key_revoked: {
    ...UNAUTHENTICATED,
    at: ["keyed_body"],
    meaning:
      "The service key was revoked while the request was under way: no provider is called for it any more. A stream gets it as its last event.",
    example: "A key that was revoked while it was in use, or the key of an exchanged token.",
    fix: "Request a new key from the team that issued it. Operators let running answers finish with `on_revoke: finish` of the workspace.",
  },
  server_stopping: {
    ...UNAVAILABLE,
    at: ["with_body"],
    meaning:
      "The server is being stopped, and the time limit for requests under way has passed. A stream gets it as its last event.",
    example: "A long answer during a deployment.",
    fix: "Try again: another process answers. Operators give more time with `--drain`.",
  },
  saturated: {
    ...UNAVAILABLE,
    at: ["inference"],
    meaning: "Every endpoint of the plan has as many calls under way as routes.yaml allows.",
    example: "`max_concurrency: 1` and two requests at once.",
    fix: "Try again; operators raise `max_concurrency` or add endpoints.",
  },
  store_unavailable: {
    ...UNAVAILABLE,
    at: ["by_session"],
    meaning: "The store could not be reached. Nothing was changed, or the result is unknown.",
    example: "`POST /v1/keys` while PostgreSQL is not reachable.",
    fix: "Check whether the change was made, then try again.",
  },
  summary_unavailable: {
    ...UNAVAILABLE,
    at: ["getGovernanceSummary", "retrievePolicyShadow"],
    meaning: "The counts could not be read.",
    example: "`GET /v1/governance/summary` while the store is not reachable.",
    fix: "Try again later.",
  },
  decisions_unavailable: {
    ...UNAVAILABLE,
    at: ["listDecisions", "retrieveDecision", "explainDecision"],
    meaning: "The decisions could not be read.",
    example: "`GET /v1/decisions` while the store is not reachable.",
    fix: "Try again later.",
  },
  summaries_waiting: {
    ...BUSY,
    at: ["getGovernanceSummary", "retrievePolicyShadow"],
    meaning: "Too many summaries are being added up at once.",
    example: "A dashboard that requests thirty days twenty times at once.",
    fix: "Try again after `retry-after`.",
  },
} as const satisfies Readonly<Record<string, ErrorRow>>;

/** Failures of providers together; `dispatch` has one code for each kind besides. */
export const PROVIDER_ERRORS = {
  upstream_exhausted: {
    ...passing(502, "upstream"),
    at: ["inference"],
    meaning: "Every provider that was tried failed; the message names each with its failure.",
    example: "A route with two endpoints whose providers are both down.",
    fix: "Try again; add a fallback to the route. `signalbox evidence` shows every attempt.",
  },
} as const satisfies Readonly<Record<string, ErrorRow>>;

/** Sessions of the console, and signing in to it. */
export const SESSION_ERRORS = {
  session_ended: {
    ...UNAUTHENTICATED,
    at: ["by_session"],
    meaning:
      "The console's session was ended, was not used for too long, or its key is revoked or expired.",
    example: "A request of the console's page, half an hour after the last one.",
    fix: "Sign in again.",
  },
  csrf_failed: {
    ...FORBIDDEN,
    at: ["by_session"],
    meaning:
      "A request with a session does not come from a page of the console, or lacks the header of its session.",
    example: "A form of another site, sent by a browser that is signed in.",
    fix: "Send `x-signalbox-csrf` as `GET /console/session` answers it, from the console's own origin; scripts use a key.",
  },
  sign_in_failed: {
    ...FORBIDDEN,
    at: [],
    meaning:
      "The identity provider refused a sign-in to the console, or its answer does not belong to a sign-in that the console began.",
    example: "A sign-in page that was left open for longer than ten minutes.",
    fix: "Start again at `/console/`.",
  },
  no_role: {
    ...FORBIDDEN,
    at: [],
    meaning:
      "The person is signed in at the identity provider, but none of their groups has a role in `console.roles` of routes.yaml.",
    example: "The first sign-in of a new colleague.",
    fix: "Ask for one of the groups that the message names; operators look at `groups_claim`.",
  },
  sign_in_unavailable: {
    ...UNAVAILABLE,
    at: [],
    meaning: "The identity provider could not be reached.",
    example: "A provider that is down, or an `issuer` that this machine cannot reach.",
    fix: "Try again later; operators look at `console.oidc` of routes.yaml.",
  },
  workspace_not_allowed: {
    ...FORBIDDEN,
    at: ["by_session"],
    meaning: "`x-signalbox-workspace` names a workspace that the session may not see.",
    example: "`x-signalbox-workspace: payments` in a session for `search`.",
    fix: "Name one of `workspaces` of `GET /console/session`.",
  },
} as const satisfies Readonly<Record<string, ErrorRow>>;

const LIMIT_FIX =
  "Wait for `retry-after`; operators look with `signalbox limits` and change `limits` of the workspace.";

/** Limits of workspaces and keys. */
export const LIMIT_ERRORS = {
  requests_per_minute: {
    ...passing(429, "rate_limit", 60000),
    at: ["inference", "simulateRoute", "explainDecision"],
    meaning: "The requests of this minute are used up.",
    example: "`requests_per_minute: 1` and two requests.",
    fix: LIMIT_FIX,
  },
  tokens_per_minute: {
    ...passing(429, "rate_limit", 60000),
    at: ["inference"],
    meaning: "The tokens left in this minute are fewer than the request may use.",
    example: "A request with a large output limit.",
    fix: `${LIMIT_FIX} A smaller \`max_tokens\` reserves less.`,
  },
  budget_exhausted: {
    ...QUOTA,
    at: ["inference"],
    meaning:
      "The budget of the period is used up; or an exchanged token has used up its own limit.",
    example: "`budget: {usd: 1, per: day}` in the afternoon.",
    fix: "Wait until the budget renews (the message says when), or have it raised. A token does not renew: exchange the key for a new one.",
  },
  exceeds_remaining_budget: {
    ...QUOTA,
    at: ["inference"],
    meaning: "The rest of the budget is less than this request may use, but not spent.",
    example: "`budget: {usd: 1, per: day}` in the afternoon, and a request with a long output.",
    fix: "Lower `max_tokens` or send less input; or wait until the budget renews.",
  },
  budget_reserved: {
    ...BUSY,
    at: ["inference"],
    meaning:
      "The rest of the budget is reserved by requests under way, which may not need all of it.",
    example: "Four requests at once near the end of a budget.",
    fix: "Try again after `retry-after`. A smaller `max_tokens` reserves less.",
  },
  exceeds_limit: {
    ...QUOTA,
    at: ["inference"],
    meaning: "This request alone may use more than a whole limit, so waiting does not help.",
    example: "`tokens_per_minute: 1000` and a request with `max_tokens: 5000`.",
    fix: "Lower `max_tokens`, send less input, or have the limit raised.",
  },
  concurrency: {
    ...BUSY,
    at: ["inference"],
    meaning: "The workspace or key has as many requests under way as its limit allows.",
    example: "`concurrency: 1` and two requests at once.",
    fix: LIMIT_FIX,
  },
  limits_unavailable: {
    ...UNAVAILABLE,
    at: ["inference"],
    meaning: "The router could not read the limit counters, so it does not send the request.",
    example: "The database of the shared counters is not reachable.",
    fix: "Try again; operators look at the store.",
  },
} as const satisfies Readonly<Record<string, ErrorRow>>;
