import type { JsonObject } from "../../canon/json.ts";
import type { Endpoint } from "./endpoint.ts";

/** A header of requests that the router itself reads. */
export interface RequestHeader {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonObject;
  readonly isReadBy: (endpoint: Endpoint) => boolean;
}

const isInference = (endpoint: Endpoint): boolean => endpoint.kind === "inference";

const isUnary = (endpoint: Endpoint): boolean => endpoint.kind === "inference" && endpoint.surface.kind === "unary";

/** What may be sent beside a body and a key; none of it has to be. */
export const REQUEST_HEADERS: readonly RequestHeader[] = [
  {
    name: "x-client-request-id",
    description: "The caller's own name of the request; the answer has it again. One of another form is passed over.",
    schema: { type: "string", pattern: "^[!-~]{1,128}$" },
    isReadBy: () => true,
  },
  {
    name: "x-request-timeout-ms",
    description: "Milliseconds until the request must have ended. The operator's ceiling holds where this is more.",
    schema: { type: "number", minimum: 1 },
    isReadBy: isInference,
  },
  {
    name: "x-max-attempts",
    description: "Most calls of providers, for each part of a batch. More than 10 means 10.",
    schema: { type: "integer", minimum: 1 },
    isReadBy: isInference,
  },
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
  },
  {
    name: "x-max-batch-size",
    description: "Most inputs in one call of a provider.",
    schema: { type: "integer", minimum: 1 },
    isReadBy: (endpoint) => endpoint.kind === "inference" && endpoint.operation === "embeddings",
  },
];
