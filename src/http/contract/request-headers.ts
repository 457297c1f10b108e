import type { JsonObject } from "../../canon/json.ts";
import { takesTokens, type Endpoint } from "./endpoint.ts";
import { INFERENCE_ENDPOINTS } from "./inference-endpoints.ts";

/** A header of requests that the router itself reads. */
export interface RequestHeader {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonObject;
  readonly isReadBy: (endpoint: Endpoint) => boolean;
  /** Absent: it may be left out everywhere. */
  readonly isRequiredBy?: (endpoint: Endpoint) => boolean;
}

const isInference = (endpoint: Endpoint): boolean => endpoint.kind === "inference";

/** Headers that belong to one of the protocols. */
const PROTOCOL_HEADERS: readonly RequestHeader[] = [
  ...new Set(INFERENCE_ENDPOINTS.flatMap(({ surface }) => surface.headers?.facts ?? [])),
].map((facts) => ({
  ...facts,
  isReadBy: (endpoint) => endpoint.kind === "inference" && endpoint.surface.headers?.facts.includes(facts) === true,
}));

const isUnary = (endpoint: Endpoint): boolean => endpoint.kind === "inference" && endpoint.surface.kind === "unary";

/** What may be sent beside a body and a key. */
export const REQUEST_HEADERS: readonly RequestHeader[] = [
  {
    name: "x-client-request-id",
    description:
      "The caller's own name of the request; the answer has it again. One that is not 1 to 128 visible ASCII characters is passed over.",
    schema: { type: "string" },
    isReadBy: () => true,
  },
  {
    name: "traceparent",
    description: "The trace that the request is part of (W3C Trace Context).",
    schema: { type: "string" },
    isReadBy: () => true,
  },
  {
    name: "tracestate",
    description: "What belongs to `traceparent`.",
    schema: { type: "string" },
    isReadBy: () => true,
  },
  {
    name: "Origin",
    description: "Set by browsers: the origin of the page. A token that is bound to one works from there only.",
    schema: { type: "string" },
    isReadBy: takesTokens,
  },
  {
    name: "x-request-timeout-ms",
    description: "Milliseconds until the request must have ended. The operator's ceiling holds where this is more.",
    schema: { type: "number", minimum: 1 },
    isReadBy: isInference,
  },
  {
    name: "x-stainless-timeout",
    description:
      "The same in seconds, as official clients send it; x-request-timeout-ms wins. An odd value is passed over.",
    schema: { type: "string" },
    isReadBy: isInference,
  },
  {
    name: "x-stainless-retry-count",
    description: "How often the client has tried before, as official clients send it; it is recorded.",
    schema: { type: "string" },
    isReadBy: isInference,
  },
  {
    name: "x-max-attempts",
    description: "Most calls of providers, for each part of a batch. More than 10 means 10.",
    schema: { type: "integer", minimum: 1 },
    isReadBy: isInference,
  },
  {
    name: "x-session-id",
    description:
      "Keeps requests of one conversation at one endpoint, where the route is balanced so. session_id, session-id and x-claude-code-session-id do the same.",
    schema: { type: "string" },
    isReadBy: isInference,
  },
  ...PROTOCOL_HEADERS,
  {
    name: "Idempotency-Key",
    description:
      "A request with the key of one that is still running, from the same service key and with the same body, gets that one's answer; with another body it is a 400. Nothing is kept once the answer has been given.",
    schema: { type: "string", pattern: "^[!-~]{1,255}$" },
    isReadBy: isUnary,
  },
  {
    name: "If-Match",
    description:
      "The ETag of the policy as the caller has seen it: nothing is done where it is not so any more. `*` and weak tags do not say what was seen.",
    schema: { type: "string" },
    isReadBy: (endpoint) => endpoint.ifMatch !== undefined,
    isRequiredBy: (endpoint) => endpoint.ifMatch === "always",
  },
  {
    name: "x-max-batch-size",
    description: "Most inputs in one call of a provider.",
    schema: { type: "integer", minimum: 1 },
    isReadBy: (endpoint) => endpoint.kind === "inference" && endpoint.operation === "embeddings",
  },
];
