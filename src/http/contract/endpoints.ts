import type { Scope } from "../../canon/scope.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { Operation } from "../../canon/operation.ts";
import type { Surface } from "../../dialects/dialect.ts";
import { chatSurface } from "../../dialects/openai-chat/dialect.ts";
import { CHAT_COMPLETIONS_SCHEMA } from "../../dialects/openai-chat/schema.ts";
import { CHAT_COMPLETION, MODEL, MODEL_LIST, SIMULATION, STATUS } from "./answer-schemas.ts";
import { SIMULATE_SCHEMA } from "./simulate-schema.ts";

interface EndpointFacts {
  readonly method: "GET" | "POST";
  /** Path as h3 and OpenAPI both can be told it: `{name}` for a parameter. */
  readonly path: string;
  readonly id: string;
  readonly summary: string;
  readonly listener: "public" | "admin";
  /** `null`: anybody may call. */
  readonly scope: Scope | null;
  /** JSON Schema of the request body; `null` where there is none. It validates, and it stands in /openapi.json. */
  readonly body: JsonObject | null;
  /** Required query parameters by name. */
  readonly query: Readonly<Record<string, JsonObject>>;
  /** JSON Schema of the 200 body. */
  readonly answer: JsonObject;
  readonly streams: boolean;
}

/** An endpoint whose requests go to a model provider. */
export interface InferenceEndpoint extends EndpointFacts {
  readonly kind: "inference";
  readonly operation: Operation;
  readonly surface: Surface;
}

export const CONTROL_HANDLERS = ["simulate", "models", "model", "status", "openapi", "livez", "readyz"] as const;

/** An endpoint that the router answers by itself. */
export interface ControlEndpoint extends EndpointFacts {
  readonly kind: "control";
  readonly handler: (typeof CONTROL_HANDLERS)[number];
}

export type Endpoint = InferenceEndpoint | ControlEndpoint;

const PUBLIC = { listener: "public", query: {}, body: null, streams: false } as const;
const PLAIN: JsonObject = { type: "object" };

/** Every endpoint: the routes of the server, the validation of requests, /openapi.json and `contract_sha256` come from these rows. */
export const ENDPOINTS: readonly Endpoint[] = [
  {
    ...PUBLIC,
    kind: "inference",
    method: "POST",
    path: "/v1/chat/completions",
    id: "createChatCompletion",
    summary: "Chat completions, whole or as a stream of chunks",
    scope: "inference",
    operation: "chat.completions",
    surface: chatSurface,
    body: CHAT_COMPLETIONS_SCHEMA,
    answer: CHAT_COMPLETION,
    streams: true,
  },
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
    query: { operation: { enum: ["chat.completions"] } },
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
