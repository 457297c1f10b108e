import type { ErrorKind } from "../../../canon/error.ts";
import { ERROR_ANSWERS } from "../../../canon/errors/coded-error.ts";
import { FAILURE_KINDS, isTimeout } from "../../../canon/failure.ts";
import { REASONS } from "../../../canon/reasons.ts";
import type { Endpoint } from "../endpoint.ts";
import { BODY_CODES, CONFLICT_CODES, INFERENCE_CODES } from "./refusal-codes.ts";

/** One thing that can go wrong: what is answered, and where. */
export interface ErrorRow {
  /** HTTP status, 400 to 599. */
  readonly status: number;
  readonly kind: ErrorKind;
  /** The code, or a regular expression (ECMA-262) of codes that are not ours to list. */
  readonly code: string | { readonly pattern: string; readonly like: string };
  /** A sentence for readers: what has happened, and what to do. */
  readonly when: string;
  readonly isAnsweredBy: (endpoint: Endpoint) => boolean;
}

type Where = ErrorRow["isAnsweredBy"];
type Sentences = Readonly<Record<string, string>>;

const everywhere: Where = () => true;
const keyed: Where = ({ scope }) => scope !== null;
const withBody: Where = ({ body }) => body !== null;
const inference: Where = ({ kind }) => kind === "inference";
const asked: Where = (endpoint) => inference(endpoint) || endpoint.id === "simulateRoute";
const idempotent: Where = (endpoint) => endpoint.kind === "inference" && endpoint.surface.kind === "unary";
const tagged =
  (...tags: readonly Endpoint["tag"][]): Where =>
  ({ tag }) =>
    tags.includes(tag);
const only =
  (...ids: readonly string[]): Where =>
  ({ id }) =>
    ids.includes(id);
const conflicting: Where = ({ conflicts }) => conflicts === true;
const preconditioned: Where = ({ ifMatch }) => ifMatch !== undefined;
const both =
  (...all: readonly Where[]): Where =>
  (endpoint) =>
    all.every((one) => one(endpoint));
const either =
  (...some: readonly Where[]): Where =>
  (endpoint) =>
    some.some((one) => one(endpoint));

function rows(status: number, kind: ErrorKind, isAnsweredBy: Where, sentences: Sentences): readonly ErrorRow[] {
  return Object.entries(sentences).map(([code, when]) => ({ status, kind, code, when, isAnsweredBy }));
}

/** Rows whose status and kind stand in the table that the answers are made from. */
function coded(isAnsweredBy: Where, sentences: Sentences): readonly ErrorRow[] {
  return Object.entries(sentences).map(([code, when]) => {
    const answer = ERROR_ANSWERS.get(code);
    if (answer === undefined) throw new Error(`no answer for the code ${code}`);
    return { status: answer.status, kind: answer.kind, code, when, isAnsweredBy };
  });
}

/** The reasons that the router itself denies for, each with its own status. */
function reasons(): readonly ErrorRow[] {
  return Object.entries(REASONS).map(([code, { status, kind, sentence }]) => ({
    status,
    kind,
    code,
    when: `${kind === "policy_denied" ? "Denied" : "Refused"}: ${sentence.replaceAll(/\{(subject|feature|failing)\}/g, "…")}.`,
    // A simulation answers a denial with 200; what cannot be carried out it refuses as a call would.
    isAnsweredBy: status === 400 ? asked : inference,
  }));
}

const ENDS = FAILURE_KINDS.filter(
  (kind) => !["rejected", "credentials_missing", "saturated", "server_stopping", "key_revoked"].includes(kind),
);

/** Everything that an endpoint can answer instead of a 200. A test holds the codes in the sources against it. */
export const ERROR_ROWS: readonly ErrorRow[] = [
  ...rows(400, "invalid_request", everywhere, {
    malformed_url: "The path is not a valid URL: check its % escapes.",
    missing_host: "An HTTP/1.1 request has to have the Host header.",
  }),
  ...rows(400, "invalid_request", withBody, BODY_CODES),
  ...rows(400, "invalid_request", ({ acceptsForm }) => acceptsForm === true, {
    invalid_form: "The form names a parameter twice; send each once.",
  }),
  ...rows(400, "invalid_request", inference, {
    invalid_timeout: "x-request-timeout-ms is not a number of milliseconds, at least 1.",
    invalid_max_attempts: "x-max-attempts is not a whole number, at least 1.",
    invalid_max_batch_size: "x-max-batch-size is not a whole number, at least 1.",
  }),
  ...rows(400, "invalid_request", asked, INFERENCE_CODES),
  {
    status: 400,
    kind: "invalid_request",
    code: { pattern: "^[a-z][a-z0-9_]*$", like: "context_length_exceeded" },
    when: "The provider refused the request as invalid: its own code where the router knows it, else `upstream_rejected`.",
    isAnsweredBy: inference,
  },
  ...rows(400, "invalid_request", idempotent, {
    invalid_idempotency_key: "Idempotency-Key is not 1 to 255 visible ASCII characters.",
    idempotency_key_in_use: "A request with this Idempotency-Key and another body is still running.",
  }),
  ...rows(400, "invalid_request", only("simulateRoute"), {
    invalid_operation: "The query parameter operation is missing, or names none.",
  }),
  ...rows(400, "invalid_request", only("listKeys", "listAnthropicModels"), {
    invalid_limit: "limit is not a whole number within its bounds.",
    invalid_cursor: "The cursor names nothing of the workspace, or two cursors exclude each other.",
  }),
  ...rows(400, "invalid_request", only("listModels", "listAnthropicModels"), {
    invalid_all: "all is neither true nor false.",
  }),
  ...rows(400, "invalid_request", only("listAnthropicModels"), {
    invalid_lifecycle: "lifecycle[] is none of its words.",
  }),
  ...rows(
    400,
    "invalid_request",
    both(tagged("Policies", "Governance"), ({ body }) => body === null),
    {
      invalid_value: "A query parameter is not as it should be; `param` names it.",
      unknown_parameter: "There is no query parameter of this name.",
    },
  ),
  ...rows(400, "invalid_request", only("rotateKey", "revokeKey"), {
    key_not_active: "The key is revoked or expired; create a new one.",
  }),
  ...rows(400, "invalid_request", only("createKey", "rotateKey"), {
    too_many_keys: "The workspace has as many good keys as it may; revoke those that nobody uses.",
  }),
  ...rows(401, "authentication", keyed, {
    invalid_api_key: "No service key, or one that is mistyped, unknown or revoked; or a token that is not valid.",
    expired_api_key: "The service key has expired; ask the team that issued it for a new one.",
  }),
  ...rows(401, "authentication", both(keyed, either(inference, withBody)), {
    key_revoked:
      "The service key was revoked while the request was under way; ask the team that issued it for a new one.",
  }),
  ...rows(403, "insufficient_scope", keyed, {
    insufficient_scope: "The key or token does not have the scope, or the token was not made for this.",
    service_key_in_browser:
      "A web page sent a service key (`Origin` with `Sec-Fetch-Mode: cors`). Revoke the key, and exchange another for a token for the page.",
    origin_not_allowed: "The token is bound to another web origin.",
  }),
  ...rows(400, "insufficient_scope", only("exchangeKey"), {
    exchange_not_granted: "The key may not be exchanged; make one with an exchange grant.",
  }),
  ...rows(403, "insufficient_scope", either(conflicting, only("retrievePolicySimulation")), {
    not_managed_here: "Policies are managed by other workspaces (policies.managed_by of routes.yaml).",
  }),
  ...rows(403, "insufficient_scope", conflicting, {
    origin_too_far: "The key comes from too many others to tell whose it is; make one at the terminal.",
  }),
  ...reasons(),
  {
    status: 403,
    kind: "policy_denied",
    code: { pattern: "^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*$", like: "REGION_OUTSIDE_EU" },
    when: "Denied by a policy: the reason that its constraint declares, EVALUATION_INDETERMINATE where it came to no verdict, or POLICY_TIMEOUT where its evaluation took more than it may.",
    isAnsweredBy: inference,
  },
  ...rows(404, "not_found", only("retrieveModel", "retrieveAnthropicModel"), {
    model_not_found: "No route of this name is available to the workspace.",
  }),
  ...rows(
    404,
    "not_found",
    both(tagged("Service keys"), ({ path }) => path.includes("{")),
    {
      key_not_found: "The workspace has no key with this id.",
    },
  ),
  ...rows(404, "not_found", only("createKey"), {
    workspace_not_found: "A key manages its own workspace only; leave workspace out.",
  }),
  ...rows(
    404,
    "not_found",
    both(tagged("Policies"), ({ path }) => path.includes("{")),
    {
      policy_not_found: "There is no policy with this id.",
      content_not_found: "The policy has no content with this digest, or it is not kept any more.",
    },
  ),
  ...rows(404, "not_found", ({ path }) => path.includes("{"), {
    unknown_path: "The path parameter is empty, or the path goes on after it.",
  }),
  ...coded(withBody, { body_timeout: "The body did not arrive in time." }),
  ...coded(either(conflicting, only("retrievePolicyShadow", "retrievePolicySimulation")), {
    no_candidate: "Nothing waits for a promotion.",
  }),
  ...coded(conflicting, CONFLICT_CODES),
  ...coded(only("rotateKey"), {
    key_already_rotated: "The key has been rotated already; `service_key` says how it is, and which key replaced it.",
  }),
  ...coded(only("retrievePolicySimulation"), {
    nothing_to_simulate: "The content is enforced already.",
    assertions_invalid: "The assertions file of the server has errors.",
    simulation_too_large: "The simulation takes more time or memory than the server gives it.",
  }),
  ...rows(412, "precondition", preconditioned, {
    precondition_failed: "The policy is not as the caller has seen it any more; `current` says how it is.",
  }),
  ...rows(413, "too_large", withBody, { request_too_large: "The body is larger than this server takes." }),
  {
    status: 413,
    kind: "too_large",
    code: { pattern: "^[a-z][a-z0-9_]*$", like: "upstream_rejected" },
    when: "The provider refused the request as too large.",
    isAnsweredBy: inference,
  },
  ...rows(414, "too_large", everywhere, { url_too_long: "The URL is longer than the server takes." }),
  ...rows(415, "invalid_request", withBody, {
    unsupported_media_type: "The body is of another media type than those listed.",
    unsupported_encoding: "The body has a Content-Encoding; send it without.",
  }),
  ...rows(417, "invalid_request", everywhere, {
    unsupported_expectation: "Leave the Expect header out, or send 100-continue.",
  }),
  ...rows(428, "precondition", preconditioned, {
    precondition_required: "Send If-Match with the ETag of the policy as the caller has seen it.",
  }),
  ...rows(431, "too_large", everywhere, {
    too_many_headers: "The request has more header fields than the server takes.",
  }),
  ...coded(inference, {
    budget_exhausted:
      "The budget of the period, or the ceiling of the token, does not suffice; the message says when a budget renews.",
    exceeds_limit: "This request alone may use more than a whole limit.",
  }),
  ...coded(either(inference, only("simulateRoute")), {
    requests_per_minute: "As many requests as a minute allows have been made.",
  }),
  ...coded(inference, {
    tokens_per_minute: "The tokens of this minute do not suffice for what the request may use.",
    concurrency: "As many requests are under way as may be.",
    budget_reserved: "What is left of the budget is reserved by requests under way.",
  }),
  ...coded(only("getGovernanceSummary", "retrievePolicyShadow"), {
    summaries_waiting: "Other summaries of the workspace are being made; ask one after the other.",
  }),
  ...coded(everywhere, {
    internal_error: "The router failed; the request id identifies the incident.",
  }),
  ...coded(inference, {
    upstream_exhausted: "Every provider that was tried failed; the message names each with its failure.",
    ...Object.fromEntries(
      ENDS.filter((kind) => !isTimeout(kind)).map((kind) => [`upstream_${kind}`, `The provider failed: ${kind}.`]),
    ),
  }),
  {
    status: 502,
    kind: "upstream",
    code: { pattern: "^[a-z][a-z0-9_]*$", like: "unknown_finish_reason" },
    when: "The provider's answer is not what its protocol says, in a way that has a name.",
    isAnsweredBy: inference,
  },
  ...coded(keyed, {
    evidence_unavailable: "The decision could not be recorded, and nothing is answered without a record.",
  }),
  ...coded(inference, {
    no_healthy_endpoint: "The request is allowed, but no endpoint that may serve it is usable now.",
    saturated: "Every endpoint that may serve it has as many calls under way as routes.yaml allows.",
    limits_unavailable: "What is left of the limits could not be found out.",
  }),
  ...coded(either(inference, withBody), {
    fair_share_exceeded: "The workspace or its key has as much under way as the server leaves to one of several.",
    server_overloaded: "As many requests are under way as the server takes; try again after `retry-after`.",
  }),
  ...coded(either(inference, withBody), {
    server_stopping: "The server is being stopped and the request's time is over; send it again.",
  }),
  ...coded(tagged("Service keys", "Policies"), {
    store_unavailable: "The store cannot be read or written now. Look before you try again.",
  }),
  ...coded(only("retrievePolicySimulation", "approvePolicy"), {
    simulation_busy: "Other simulations of promotions are waiting already; nothing was done.",
  }),
  ...coded(conflicting, {
    policies_not_applied: "The change is made and stands, but this server could not load it yet.",
  }),
  ...coded(only("getGovernanceSummary", "retrievePolicyShadow"), {
    summary_unavailable: "The counts cannot be read from the store now.",
  }),
  ...coded(only("getReadiness"), {
    not_ready: "The server is starting, draining, or cannot write evidence.",
  }),
  ...coded(
    inference,
    Object.fromEntries(ENDS.filter(isTimeout).map((kind) => [`upstream_${kind}`, `A deadline passed: ${kind}.`])),
  ),
];
