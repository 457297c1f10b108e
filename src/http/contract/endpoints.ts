import { TEXT } from "../../canon/json/schema.ts";
import { ALL_QUERY, PAGE_QUERY } from "../control/catalogue-handlers.ts";
import { HEALTH, LIVE, OPENAPI_DOCUMENT, READINESS, STATUS } from "./service-schemas.ts";
import {
  ANTHROPIC_MODEL,
  ANTHROPIC_MODEL_PAGE,
  MODEL,
  MODEL_LIST,
  SIMULATION,
} from "./answer-schemas.ts";
import { DECISION_QUERY } from "../control/decision-handlers.ts";
import { GOVERNANCE_SUMMARY, SPEND } from "../../governance/summary-answer.ts";
import { READING_QUERY } from "../control/query.ts";
import { SPEND_QUERY } from "../control/spend.ts";
import { SUMMARY_QUERY } from "../control/governance-summary.ts";
import {
  DECISION,
  DECISION_EXPLANATION,
  DECISION_LIST,
  SIMULATE_SCHEMA,
} from "./decision-schemas.ts";
import type { ControlEndpoint, Endpoint } from "./endpoint.ts";
import { INFERENCE_ENDPOINTS } from "./inference-endpoints.ts";
import {
  CREATE_KEY_SCHEMA,
  CREATED_KEY,
  EXCHANGE_SCHEMA,
  EXCHANGED_TOKEN,
  KEY_LIST,
  PUT_KEY,
  PUT_KEY_SCHEMA,
  ROTATE_KEY_SCHEMA,
  ROTATED_KEY,
  SERVICE_KEY,
} from "./key-schemas.ts";
import { KEY_PAGE_QUERY } from "../control/service-keys/key-page.ts";
import {
  CONTENT_QUERY,
  LIST_QUERY,
  SIMULATION_QUERY,
  TRANSITIONS_QUERY,
} from "../control/policies/change-handlers.ts";
import {
  APPROVE_SCHEMA,
  POLICY,
  POLICY_CONTENT,
  POLICY_LIST,
  POLICY_SHADOW,
  POLICY_SIMULATION,
  POLICY_TRANSITIONS,
  POLICY_VIEW,
  PROMOTE_SCHEMA,
  RELEASE_SCHEMA,
  ROLL_BACK_SCHEMA,
  WITHDRAW_SCHEMA,
} from "./policy-answers.ts";
import { SHADOW_QUERY } from "../control/policy-shadow.ts";

const NAMED_KEY = "/v1/workspaces/{workspace}/keys/{name}";

const SERVICE_KEYS = {
  kind: "control",
  listener: "public",
  query: {},
  body: null,
  uniqueMembers: true,
  tag: "Service keys",
  isNeverStored: true,
} as const;

const MANAGED = { ...SERVICE_KEYS, scopes: ["operations:manage", "platform:manage"] } as const;

/**
 * Service keys of the caller's own workspace, or of all with `platform:manage`
 * (docs/keys.md#over-http).
 */
const KEY_ENDPOINTS: readonly ControlEndpoint[] = [
  {
    ...MANAGED,
    method: "POST",
    path: "/v1/keys",
    id: "createKey",
    summary: "Makes a service key and shows it, once",
    body: CREATE_KEY_SCHEMA,
    answer: CREATED_KEY,
  },
  {
    ...MANAGED,
    method: "GET",
    path: "/v1/keys",
    id: "listKeys",
    summary: "The workspace's keys, newest first, in pages; never a secret",
    optionalQuery: KEY_PAGE_QUERY,
    answer: KEY_LIST,
  },
  {
    ...MANAGED,
    method: "GET",
    path: "/v1/keys/{id}",
    id: "retrieveKey",
    summary: "One of them, by its public id",
    answer: SERVICE_KEY,
  },
  {
    ...MANAGED,
    method: "POST",
    path: "/v1/keys/{id}/rotate",
    id: "rotateKey",
    summary: "Makes a key with the same grants; the old one works until the overlap ends",
    body: ROTATE_KEY_SCHEMA,
    isBodyOptional: true,
    answer: ROTATED_KEY,
  },
  {
    ...MANAGED,
    method: "POST",
    path: "/v1/keys/{id}/revoke",
    id: "revokeKey",
    summary: "Ends a key at once and for good",
    answer: SERVICE_KEY,
  },
  {
    ...MANAGED,
    method: "PUT",
    path: NAMED_KEY,
    id: "putNamedKey",
    summary: "Makes the key of a name, or answers the one that is there; shows a new key, once",
    body: PUT_KEY_SCHEMA,
    answer: PUT_KEY,
  },
  {
    ...MANAGED,
    method: "GET",
    path: NAMED_KEY,
    id: "retrieveNamedKey",
    summary: "The key of a name; never a secret",
    answer: SERVICE_KEY,
  },
  {
    ...MANAGED,
    method: "DELETE",
    path: NAMED_KEY,
    id: "deleteNamedKey",
    summary: "Revokes the key of a name, at once and for good; the name is free again",
    answer: SERVICE_KEY,
  },
  {
    ...SERVICE_KEYS,
    method: "POST",
    path: "/v1/credentials/exchange",
    id: "exchangeKey",
    summary:
      "A token of minutes that can do less than the key (RFC 8693), for keys with an exchange grant",
    scopes: ["inference"],
    body: EXCHANGE_SCHEMA,
    acceptsForm: true,
    answer: EXCHANGED_TOKEN,
  },
];

const GET = {
  kind: "control",
  method: "GET",
  listener: "public",
  query: {},
  body: null,
  tag: "Policies",
  isNeverStored: true,
} as const;

const READ = { ...GET, scopes: ["governance:read", "operations:manage"] } as const;

const CHANGE = {
  kind: "control",
  method: "POST",
  listener: "public",
  scopes: ["operations:manage"],
  query: {},
  uniqueMembers: true,
  conflicts: true,
  hasEntityTag: true,
  answer: POLICY_VIEW,
  tag: "Policies",
  isNeverStored: true,
} as const;

/** Status of policies, and their changes (docs/policy-lifecycle.md). */
const POLICY_ENDPOINTS: readonly ControlEndpoint[] = [
  {
    ...READ,
    path: "/v1/policies",
    id: "listPolicies",
    summary: "Every policy with its slots, approvals and requirements",
    optionalQuery: LIST_QUERY,
    answer: POLICY_LIST,
  },
  {
    ...READ,
    path: "/v1/policies/{id}",
    id: "retrievePolicy",
    summary: "One of them, and what a promotion by the caller would lack",
    hasEntityTag: true,
    answer: POLICY,
  },
  {
    ...READ,
    path: "/v1/policies/{id}/content",
    id: "retrievePolicyContent",
    summary: "Rules of one content, for approvers to read",
    optionalQuery: CONTENT_QUERY,
    answer: POLICY_CONTENT,
  },
  {
    ...READ,
    path: "/v1/policies/{id}/shadow",
    id: "retrievePolicyShadow",
    summary:
      "Verdicts of the candidate in shadow, with counts and example requests; never any content",
    optionalQuery: SHADOW_QUERY,
    answer: POLICY_SHADOW,
  },
  {
    ...GET,
    path: "/v1/policies/{id}/simulation",
    id: "retrievePolicySimulation",
    summary: "The server's own simulation report of a promotion; approvals name its SHA-256",
    scopes: ["operations:manage", "policies:approve"],
    optionalQuery: SIMULATION_QUERY,
    answer: POLICY_SIMULATION,
  },
  {
    ...READ,
    path: "/v1/policies/{id}/transitions",
    id: "listPolicyTransitions",
    summary: "Its history, oldest first, from the policy log",
    optionalQuery: TRANSITIONS_QUERY,
    answer: POLICY_TRANSITIONS,
  },
  {
    ...CHANGE,
    path: "/v1/policies/{id}/approvals",
    id: "approvePolicy",
    scopes: ["operations:manage", "policies:approve"],
    summary: "Approves exactly one content",
    body: APPROVE_SCHEMA,
    answer: POLICY,
  },
  {
    ...CHANGE,
    path: "/v1/policies/{id}/promotions",
    id: "promotePolicy",
    summary: "Promotes the candidate: it is enforced from now on",
    ifMatch: "always",
    body: PROMOTE_SCHEMA,
  },
  {
    ...CHANGE,
    path: "/v1/policies/{id}/rollbacks",
    id: "rollBackPolicy",
    summary:
      "Rolls back to content that was enforced before, and holds the content rolled back; needs no approval",
    ifMatch: "always",
    body: ROLL_BACK_SCHEMA,
  },
  {
    ...CHANGE,
    path: "/v1/policies/{id}/withdrawals",
    id: "withdrawPolicy",
    scopes: ["operations:manage", "policies:approve"],
    summary: "Withdraws an approval or the candidate",
    ifMatch: "sometimes",
    body: WITHDRAW_SCHEMA,
  },
  {
    ...CHANGE,
    path: "/v1/policies/{id}/releases",
    id: "releasePolicy",
    summary: "Releases content that was rolled back or withdrawn, so that it can be promoted again",
    ifMatch: "always",
    body: RELEASE_SCHEMA,
  },
];

const READING = {
  kind: "control",
  method: "GET",
  listener: "public",
  query: {},
  body: null,
} as const;

const MODELS = {
  ...READING,
  tag: "Models",
  scopes: ["catalogue:read"],
  isNeverStored: true,
} as const;

const GOVERNANCE = {
  ...READING,
  tag: "Governance",
  scopes: ["governance:read"],
  isNeverStored: true,
} as const;

const SERVICE = { ...READING, tag: "Service", scopes: [] } as const;

/**
 * Every endpoint: the routes of the server, the validation of requests, /openapi.json and
 * `contract_sha256` come from these rows.
 */
export const ENDPOINTS: readonly Endpoint[] = [
  ...INFERENCE_ENDPOINTS,
  {
    ...MODELS,
    path: "/v1/models",
    id: "listModels",
    summary: "Routes that the key can use with a plain request",
    optionalQuery: ALL_QUERY,
    answer: MODEL_LIST,
  },
  {
    ...MODELS,
    path: "/v1/models/{id}",
    id: "retrieveModel",
    summary: "One route that the key's workspace may use",
    answer: MODEL,
  },
  {
    ...MODELS,
    path: "/api/v1/models",
    id: "listAnthropicModels",
    summary: "The same routes as the messages protocol lists models, in pages",
    optionalQuery: { ...ALL_QUERY, ...PAGE_QUERY },
    answer: ANTHROPIC_MODEL_PAGE,
  },
  {
    ...MODELS,
    path: "/api/v1/models/{id}",
    id: "retrieveAnthropicModel",
    summary: "One of them",
    answer: ANTHROPIC_MODEL,
  },
  {
    ...READING,
    method: "POST",
    path: "/v1/route/simulate",
    id: "simulateRoute",
    tag: "Routing",
    summary:
      "The decision that a request would get, explained; calls no provider and reserves nothing",
    scopes: ["route:simulate"],
    isNeverStored: true,
    query: {
      operation: {
        enum: [...new Set(INFERENCE_ENDPOINTS.map(({ operation }) => operation))],
        description: "The request to decide about.",
      },
    },
    body: SIMULATE_SCHEMA,
    answer: SIMULATION,
  },
  ...KEY_ENDPOINTS,
  ...POLICY_ENDPOINTS,
  {
    ...GOVERNANCE,
    path: "/v1/governance/summary",
    id: "getGovernanceSummary",
    summary:
      "Summary of the workspace's requests: counts, latencies, denials, policies; no content and no bill",
    optionalQuery: SUMMARY_QUERY,
    answer: GOVERNANCE_SUMMARY,
  },
  {
    ...GOVERNANCE,
    path: "/v1/health",
    id: "getHealth",
    summary: "Health of the endpoints of the workspace's routes, and of the answering process",
    optionalQuery: READING_QUERY,
    answer: HEALTH,
  },
  {
    ...GOVERNANCE,
    path: "/v1/spend",
    id: "getSpend",
    summary:
      "What the workspace's requests cost, and its budgets: an estimate from list prices; CSV with Accept: text/csv",
    scopes: ["spend:read"],
    optionalQuery: SPEND_QUERY,
    answer: SPEND,
    otherAnswerType: "text/csv",
  },
  {
    ...GOVERNANCE,
    path: "/v1/decisions",
    id: "listDecisions",
    summary: "The workspace's decisions and how their requests ended, newest first; never content",
    optionalQuery: DECISION_QUERY,
    answer: DECISION_LIST,
  },
  {
    ...GOVERNANCE,
    path: "/v1/decisions/{id}",
    id: "retrieveDecision",
    summary: "One of them, by the request's id, with every attempt",
    optionalQuery: READING_QUERY,
    answer: DECISION,
  },
  {
    ...GOVERNANCE,
    path: "/v1/decisions/{id}/explanation",
    id: "explainDecision",
    summary:
      "Why each candidate was taken or passed over: the recorded request, decided again without a call",
    optionalQuery: READING_QUERY,
    answer: DECISION_EXPLANATION,
  },
  {
    ...SERVICE,
    path: "/status",
    id: "getStatus",
    summary: "The deployed version and its degraded parts",
    answer: STATUS,
  },
  {
    ...SERVICE,
    path: "/openapi.json",
    id: "getContract",
    summary: "This contract",
    answer: OPENAPI_DOCUMENT,
  },
  {
    ...SERVICE,
    path: "/livez",
    id: "getLiveness",
    summary: "The process runs",
    listener: "admin",
    answer: LIVE,
  },
  {
    ...SERVICE,
    path: "/readyz",
    id: "getReadiness",
    summary: "The process takes requests; 503 while it starts, drains, or cannot write evidence",
    listener: "admin",
    answer: READINESS,
  },
  {
    ...SERVICE,
    path: "/metrics",
    id: "getMetrics",
    summary: "Metrics in Prometheus' text format, or OpenMetrics where Accept names it",
    listener: "admin",
    answer: TEXT,
    answerType: "text/plain",
  },
];
