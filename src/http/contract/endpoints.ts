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

/**
 * Every endpoint: the routes of the server, the validation of requests, /openapi.json and
 * `contract_sha256` come from these rows.
 */
export const ENDPOINTS: readonly Endpoint[] = [
  ...INFERENCE_ENDPOINTS,
  {
    ...READING,
    path: "/v1/models",
    id: "listModels",
    tag: "Models",
    summary: "Routes that the key can use with a plain request",
    scopes: ["catalogue:read"],
    isNeverStored: true,
    optionalQuery: ALL_QUERY,
    answer: MODEL_LIST,
  },
  {
    ...READING,
    path: "/v1/models/{id}",
    id: "retrieveModel",
    tag: "Models",
    summary: "One route that the key's workspace may use",
    scopes: ["catalogue:read"],
    isNeverStored: true,
    answer: MODEL,
  },
  {
    ...READING,
    path: "/api/v1/models",
    id: "listAnthropicModels",
    tag: "Models",
    summary: "The same routes as the messages protocol lists models, in pages",
    scopes: ["catalogue:read"],
    isNeverStored: true,
    optionalQuery: { ...ALL_QUERY, ...PAGE_QUERY },
    answer: ANTHROPIC_MODEL_PAGE,
  },
  {
    ...READING,
    path: "/api/v1/models/{id}",
    id: "retrieveAnthropicModel",
    tag: "Models",
    summary: "One of them",
    scopes: ["catalogue:read"],
    isNeverStored: true,
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
    ...READING,
    path: "/v1/governance/summary",
    id: "getGovernanceSummary",
    tag: "Governance",
    summary:
      "Summary of the workspace's requests: counts, latencies, denials, policies; no content and no bill",
    scopes: ["governance:read"],
    isNeverStored: true,
    optionalQuery: SUMMARY_QUERY,
    answer: GOVERNANCE_SUMMARY,
  },
  {
    ...READING,
    path: "/v1/health",
    id: "getHealth",
    tag: "Governance",
    summary: "Health of the endpoints of the workspace's routes, and of the answering process",
    scopes: ["governance:read"],
    optionalQuery: READING_QUERY,
    answer: HEALTH,
    isNeverStored: true,
  },
  {
    ...READING,
    path: "/v1/spend",
    id: "getSpend",
    tag: "Governance",
    summary:
      "What the workspace's requests cost, and its budgets: an estimate from list prices; CSV with Accept: text/csv",
    scopes: ["spend:read"],
    isNeverStored: true,
    optionalQuery: SPEND_QUERY,
    answer: SPEND,
    otherAnswerType: "text/csv",
  },
  {
    ...READING,
    path: "/v1/decisions",
    id: "listDecisions",
    tag: "Governance",
    summary: "The workspace's decisions and how their requests ended, newest first; never content",
    scopes: ["governance:read"],
    optionalQuery: DECISION_QUERY,
    answer: DECISION_LIST,
    isNeverStored: true,
  },
  {
    ...READING,
    path: "/v1/decisions/{id}",
    id: "retrieveDecision",
    tag: "Governance",
    summary: "One of them, by the request's id, with every attempt",
    scopes: ["governance:read"],
    optionalQuery: READING_QUERY,
    answer: DECISION,
    isNeverStored: true,
  },
  {
    ...READING,
    path: "/v1/decisions/{id}/explanation",
    id: "explainDecision",
    tag: "Governance",
    summary:
      "Why each candidate was taken or passed over: the recorded request, decided again without a call",
    scopes: ["governance:read"],
    optionalQuery: READING_QUERY,
    answer: DECISION_EXPLANATION,
    isNeverStored: true,
  },
  {
    ...READING,
    path: "/status",
    id: "getStatus",
    tag: "Service",
    summary: "The deployed version and its degraded parts",
    scopes: [],
    answer: STATUS,
  },
  {
    ...READING,
    path: "/openapi.json",
    id: "getContract",
    tag: "Service",
    summary: "This contract",
    scopes: [],
    answer: OPENAPI_DOCUMENT,
  },
  {
    ...READING,
    path: "/livez",
    id: "getLiveness",
    tag: "Service",
    summary: "The process runs",
    listener: "admin",
    scopes: [],
    answer: LIVE,
  },
  {
    ...READING,
    path: "/readyz",
    id: "getReadiness",
    tag: "Service",
    summary: "The process takes requests; 503 while it starts, drains, or cannot write evidence",
    listener: "admin",
    scopes: [],
    answer: READINESS,
  },
  {
    ...READING,
    path: "/metrics",
    id: "getMetrics",
    tag: "Service",
    summary: "Metrics in Prometheus' text format, or OpenMetrics where Accept names it",
    listener: "admin",
    scopes: [],
    answer: TEXT,
    answerType: "text/plain",
  },
];
