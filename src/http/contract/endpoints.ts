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
import type { Endpoint } from "./endpoint.ts";
import { INFERENCE_ENDPOINTS } from "./inference-endpoints.ts";
import { KEY_ENDPOINTS } from "./key-endpoints.ts";
import { POLICY_ENDPOINTS } from "./policy-endpoints.ts";

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
