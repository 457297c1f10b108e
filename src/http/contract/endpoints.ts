import { MODEL, MODEL_LIST, SIMULATION, STATUS } from "./answer-schemas.ts";
import type { Endpoint } from "./endpoint.ts";
import { INFERENCE_ENDPOINTS } from "./inference-endpoints.ts";
import { SIMULATE_SCHEMA } from "./simulate-schema.ts";

const PUBLIC = { listener: "public", query: {}, body: null, streams: false } as const;
const PLAIN = { type: "object" } as const;

/** Every endpoint: the routes of the server, the validation of requests, /openapi.json and `contract_sha256` come from these rows. */
export const ENDPOINTS: readonly Endpoint[] = [
  ...INFERENCE_ENDPOINTS,
  {
    ...PUBLIC,
    kind: "control",
    method: "GET",
    path: "/v1/models",
    id: "listModels",
    summary: "Routes that the key's workspace may use",
    scope: "catalogue:read",
    handler: "models",
    answer: MODEL_LIST,
  },
  {
    ...PUBLIC,
    kind: "control",
    method: "GET",
    path: "/v1/models/{id}",
    id: "retrieveModel",
    summary: "One route that the key's workspace may use",
    scope: "catalogue:read",
    handler: "model",
    answer: MODEL,
  },
  {
    ...PUBLIC,
    kind: "control",
    method: "POST",
    path: "/v1/route/simulate",
    id: "simulateRoute",
    summary: "The decision that a request would get, explained; calls no provider and reserves nothing",
    scope: "route:simulate",
    handler: "simulate",
    query: { operation: { enum: INFERENCE_ENDPOINTS.map(({ operation }) => operation) } },
    body: SIMULATE_SCHEMA,
    answer: SIMULATION,
  },
  {
    ...PUBLIC,
    kind: "control",
    method: "GET",
    path: "/status",
    id: "getStatus",
    summary: "What is deployed, and what of it is degraded",
    scope: null,
    handler: "status",
    answer: STATUS,
  },
  {
    ...PUBLIC,
    kind: "control",
    method: "GET",
    path: "/openapi.json",
    id: "getContract",
    summary: "This contract",
    scope: null,
    handler: "openapi",
    answer: PLAIN,
  },
  {
    ...PUBLIC,
    kind: "control",
    method: "GET",
    path: "/livez",
    id: "getLiveness",
    summary: "The process runs",
    listener: "admin",
    scope: null,
    handler: "livez",
    answer: PLAIN,
  },
  {
    ...PUBLIC,
    kind: "control",
    method: "GET",
    path: "/readyz",
    id: "getReadiness",
    summary: "The process takes requests; 503 while it starts, drains, or cannot write evidence",
    listener: "admin",
    scope: null,
    handler: "readyz",
    answer: PLAIN,
  },
];
