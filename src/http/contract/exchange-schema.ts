import { complete } from "../../canon/json/schema.ts";

const names = {
  anyOf: [
    { type: "string", maxLength: 16_384, description: "Between spaces." },
    { type: "array", items: { type: "string", maxLength: 256 }, maxItems: 256 },
  ],
} as const;

const count = { anyOf: [{ type: "integer" }, { type: "string", maxLength: 12 }] } as const;

/** JSON Schema of POST /v1/credentials/exchange. In a form every value is text. */
export const EXCHANGE_SCHEMA = {
  title: "ExchangeKeyRequest",
  type: "object",
  additionalProperties: false,
  required: ["grant_type"],
  properties: {
    grant_type: { enum: ["urn:ietf:params:oauth:grant-type:token-exchange"] },
    subject_token: {
      type: "string",
      maxLength: 16_384,
      description:
        "The key that is the bearer of the request, once more; may be left out. Or, in a request without an Authorization header, the JWT of a workload.",
    },
    subject_token_type: {
      enum: ["urn:ietf:params:oauth:token-type:access_token", "urn:ietf:params:oauth:token-type:jwt"],
      description: "The second one for the JWT of a workload.",
    },
    requested_token_type: { enum: ["urn:ietf:params:oauth:token-type:access_token"] },
    scope: { ...names, description: "Default: inference; for a workload all scopes of its rule." },
    operations: { ...names, description: "Operations of the token; all that the grant allows unless given." },
    routes: { ...names, description: "Routes that the token may use; all that the grant allows unless given." },
    origin: { type: "string", maxLength: 255, description: "The web origin that its requests must come from." },
    lifetime: { ...count, description: "Seconds, at least 60; the grant's longest unless given." },
    max_requests: { ...count, description: "Requests that it may start, in each process of the router." },
    max_tokens: { ...count, description: "Tokens, input and output, after which it starts no request more." },
  },
} as const;

/** RFC 8693 §2.2.1. */
export const EXCHANGED_TOKEN = {
  title: "ExchangedToken",
  ...complete({
    access_token: { type: "string" },
    issued_token_type: { const: "urn:ietf:params:oauth:token-type:access_token" },
    token_type: { const: "Bearer" },
    expires_in: { type: "integer", description: "Seconds." },
    scope: { type: "string" },
    token_id: { type: "string", description: "The id of the token in the evidence." },
  }),
} as const;
