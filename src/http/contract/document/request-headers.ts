import { TEXT } from "../../../canon/json/schema.ts";
import type { JsonObject } from "../../../canon/json.ts";
import { acceptsTokens, type Endpoint } from "../endpoint.ts";
import { INFERENCE_ENDPOINTS } from "../inference-endpoints.ts";

/** A header of requests that the router itself reads. */
interface RequestHeader {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonObject;
  readonly isReadBy: (endpoint: Endpoint) => boolean;
  /** Absent: it may be left out everywhere. */
  readonly isRequiredBy?: (endpoint: Endpoint) => boolean;
}

const isInference = (endpoint: Endpoint) => endpoint.kind === "inference";

/** Headers that belong to one of the protocols. */
const PROTOCOL_HEADERS: readonly RequestHeader[] = [
  ...new Set(INFERENCE_ENDPOINTS.flatMap(({ surface }) => surface.headers?.facts ?? [])),
].map((facts) => ({
  ...facts,
  isReadBy: (endpoint) =>
    endpoint.kind === "inference" && endpoint.surface.headers?.facts.includes(facts) === true,
}));

/** Optional request headers. */
export const REQUEST_HEADERS: readonly RequestHeader[] = [
  {
    name: "x-client-request-id",
    description:
      "The caller's own id of the request; the answer repeats it. One that is not 1 to 128 visible ASCII characters is ignored.",
    schema: TEXT,
    isReadBy: () => true,
  },
  {
    name: "traceparent",
    description: "The trace that the request is part of (W3C Trace Context).",
    schema: TEXT,
    isReadBy: () => true,
  },
  {
    name: "tracestate",
    description: "Vendor data of `traceparent`.",
    schema: TEXT,
    isReadBy: () => true,
  },
  {
    name: "Origin",
    description:
      "Set by browsers: the origin of the page. A token that is bound to an origin works from that origin only.",
    schema: TEXT,
    isReadBy: acceptsTokens,
  },
  {
    name: "x-request-timeout-ms",
    description:
      "Milliseconds until the request must have ended. The operator's maximum applies if it is lower.",
    schema: { type: "number", minimum: 1 },
    isReadBy: isInference,
  },
  {
    name: "x-stainless-timeout",
    description:
      "The same in seconds, as official clients send it; x-request-timeout-ms takes precedence. An invalid value is ignored.",
    schema: TEXT,
    isReadBy: isInference,
  },
  {
    name: "x-stainless-retry-count",
    description:
      "How often the client has tried before, as official clients send it; it is recorded.",
    schema: TEXT,
    isReadBy: isInference,
  },
  {
    name: "x-max-attempts",
    description:
      "Maximum number of provider calls, for each part of a batch. More than 10 means 10.",
    schema: { type: "integer", minimum: 1 },
    isReadBy: isInference,
  },
  {
    name: "x-session-id",
    description:
      "Keeps requests of one conversation at one endpoint, if the route's balance is `sticky`. session_id, session-id and x-claude-code-session-id do the same.",
    schema: TEXT,
    isReadBy: isInference,
  },
  ...PROTOCOL_HEADERS,
  {
    name: "If-Match",
    description:
      "The ETag of the policy as the caller has read it. If the policy has changed since, nothing is done. `*` and weak tags are rejected, because they do not identify a state.",
    schema: TEXT,
    isReadBy: (endpoint) => endpoint.ifMatch !== undefined,
    isRequiredBy: (endpoint) => endpoint.ifMatch === "always",
  },
  {
    name: "x-max-batch-size",
    description: "Maximum number of inputs in one call of a provider.",
    schema: { type: "integer", minimum: 1 },
    isReadBy: (endpoint) => endpoint.kind === "inference" && endpoint.operation === "embeddings",
  },
];
