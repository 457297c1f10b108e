import {
  BOOLEAN,
  complete,
  COUNT,
  described,
  listOf,
  NULLABLE_TEXT,
  TEXT,
  titled,
} from "../../canon/json/schema.ts";
import { TOKEN_LIFETIME } from "../../canon/credentials/service-key.ts";
import { OPERATIONS } from "../../canon/operation.ts";
import { GRANTABLE_SCOPES, SCOPES } from "../../canon/identity.ts";
import { BUDGET_PERIODS, SMALLEST_BUDGET } from "../../canon/limits.ts";

const time = described(TEXT, "RFC 3339.");
const count = { type: ["integer", "null"], minimum: 1 } as const;

const exchange = {
  type: ["object", "null"],
  description: "Permission to exchange the key for short-lived tokens; null: none.",
  additionalProperties: false,
  required: ["maximum_lifetime"],
  properties: {
    maximum_lifetime: {
      type: "integer",
      ...TOKEN_LIFETIME,
      description: "Longest life of a token, seconds.",
    },
    operations: {
      type: ["array", "null"],
      items: { enum: OPERATIONS },
      minItems: 1,
      description: "Operations that tokens may use; null: all that the key may use.",
    },
    routes: {
      type: ["array", "null"],
      items: TEXT,
      minItems: 1,
      maxItems: 256,
      description: "Routes that tokens may use; null: all that the workspace may.",
    },
    origins: {
      type: ["array", "null"],
      items: TEXT,
      minItems: 1,
      maxItems: 32,
      description: "Web origins, one of which every token must be bound to; null: any, or none.",
    },
  },
} as const;

const limits = {
  type: ["object", "null"],
  description: "Limits of the key, in addition to its workspace's; null: none.",
  additionalProperties: false,
  properties: {
    requests_per_minute: count,
    tokens_per_minute: count,
    concurrency: count,
    budget: {
      type: ["object", "null"],
      additionalProperties: false,
      description: "US dollars or tokens, one of the two, for each calendar period.",
      required: ["per"],
      minProperties: 2,
      maxProperties: 3,
      properties: {
        usd: { type: "number", minimum: SMALLEST_BUDGET },
        tokens: { type: "integer", minimum: 1 },
        per: { enum: BUDGET_PERIODS, description: "Weeks begin on Monday." },
        time_zone: described(
          TEXT,
          "IANA name of the zone of days, weeks and months; UTC unless given.",
        ),
      },
    },
  },
} as const;

const expiry = {
  expires_at: described(TEXT, "RFC 3339, at most 400 days ahead; excludes `expires_in`."),
  expires_in: {
    type: "integer",
    minimum: 1,
    description: "Seconds from now; excludes `expires_at`.",
  },
} as const;

/** JSON Schema of POST /v1/keys. */
export const CREATE_KEY_SCHEMA = {
  title: "CreateKeyRequest",
  type: "object",
  additionalProperties: false,
  required: ["scopes", "owner"],
  parserRules: { oneOf: [{ required: ["expires_at"] }, { required: ["expires_in"] }] },
  properties: {
    name: {
      ...TEXT,
      maxLength: 64,
      description: "A name for people, such as `checkout-prod`; rotations keep it.",
    },
    workspace: described(
      TEXT,
      "The caller's own workspace unless given; any other gets 404, unless the key has `platform:manage`.",
    ),
    scopes: {
      type: "array",
      items: { enum: GRANTABLE_SCOPES },
      minItems: 1,
      maxItems: GRANTABLE_SCOPES.length,
      uniqueItems: true,
    },
    owner: {
      ...TEXT,
      minLength: 1,
      maxLength: 128,
      description: "Owner of the key, such as group:payments.",
    },
    ...expiry,
    environment: {
      ...TEXT,
      maxLength: 16,
      description: "1 to 16 characters of a–z and 0–9; `production` unless given.",
    },
    workload: { ...TEXT, maxLength: 64 },
    labels: { type: "array", items: TEXT, maxItems: 32 },
    exchange,
    limits,
  },
} as const;

const {
  name: _name,
  workspace: _workspace,
  expires_in: _seconds,
  ...granted
} = CREATE_KEY_SCHEMA.properties;

/**
 * JSON Schema of PUT /v1/workspaces/{workspace}/keys/{name}. The expiry is a time: a repeated
 * request must mean the same.
 */
export const PUT_KEY_SCHEMA = {
  title: "PutKeyRequest",
  type: "object",
  additionalProperties: false,
  required: ["scopes", "owner", "expires_at"],
  properties: {
    ...granted,
    expires_at: described(TEXT, "RFC 3339, at most 400 days ahead."),
  },
} as const;

/** JSON Schema of POST /v1/keys/{id}/rotate, which may be sent without a body. */
export const ROTATE_KEY_SCHEMA = {
  title: "RotateKeyRequest",
  type: "object",
  additionalProperties: false,
  parserRules: { not: { required: ["expires_at", "expires_in"] } },
  properties: {
    overlap_seconds: described(
      COUNT,
      "How long the replaced key still works; a day unless given, 0: not at all.",
    ),
    ...expiry,
  },
} as const;

export const SERVICE_KEY = titled(
  "ServiceKey",
  complete({
    object: { const: "service_key" },
    id: described(TEXT, "The key's public id; it is part of the key's text and may be logged."),
    name: described(NULLABLE_TEXT, "The name that it got when it was made; null: none."),
    status: { enum: ["active", "expired", "revoked"] },
    workspace: TEXT,
    environment: TEXT,
    workload: TEXT,
    scopes: listOf({ enum: SCOPES }),
    labels: listOf(TEXT),
    owner: TEXT,
    expires_at: time,
    created_at: time,
    created_by: TEXT,
    last_used_at: described(NULLABLE_TEXT, "Approximate: can be a few minutes behind."),
    rotated_from: NULLABLE_TEXT,
    replaced_by: described(
      NULLABLE_TEXT,
      "The key that replaced it in a rotation; null: not rotated.",
    ),
    revoked_at: NULLABLE_TEXT,
    exchange,
    limits,
  }),
);

/** The answer to making a key: the only one that ever holds its text. */
export const CREATED_KEY = titled(
  "CreatedServiceKey",
  complete({
    ...SERVICE_KEY.properties,
    key: described(TEXT, "The whole key. It is shown only once and never stored."),
  }),
);

/** The same for a rotation. */
export const ROTATED_KEY = titled(
  "RotatedServiceKey",
  complete({ ...CREATED_KEY.properties, previous: SERVICE_KEY }),
);

export const KEY_LIST = titled(
  "ServiceKeyList",
  complete({
    object: { const: "list" },
    data: listOf(SERVICE_KEY),
    has_more: BOOLEAN,
    first_id: NULLABLE_TEXT,
    last_id: NULLABLE_TEXT,
  }),
);

export const PUT_KEY = {
  ...SERVICE_KEY,
  title: "PutServiceKey",
  properties: {
    ...SERVICE_KEY.properties,
    key: described(TEXT, "The whole key, in the answer that makes it and in no other."),
  },
} as const;

const names = {
  anyOf: [
    { type: "string", maxLength: 16_384, description: "Between spaces." },
    { type: "array", items: { type: "string", maxLength: 256 }, maxItems: 256 },
  ],
} as const;

const numberOrText = { anyOf: [{ type: "integer" }, { type: "string", maxLength: 12 }] } as const;

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
      enum: [
        "urn:ietf:params:oauth:token-type:access_token",
        "urn:ietf:params:oauth:token-type:jwt",
      ],
      description: "The second one for the JWT of a workload.",
    },
    requested_token_type: { enum: ["urn:ietf:params:oauth:token-type:access_token"] },
    scope: described(names, "Default: inference; for a workload all scopes of its rule."),
    operations: described(
      names,
      "Operations of the token; all that the grant allows unless given.",
    ),
    routes: described(
      names,
      "Routes that the token may use; all that the grant allows unless given.",
    ),
    origin: {
      type: "string",
      maxLength: 255,
      description: "The web origin that its requests must come from.",
    },
    lifetime: described(numberOrText, "Seconds, at least 60; the grant's longest unless given."),
    max_requests: described(
      numberOrText,
      "Requests that it may start, in each process of the router.",
    ),
    max_tokens: described(
      numberOrText,
      "Tokens, input and output, after which it starts no request more.",
    ),
  },
} as const;

/** RFC 8693 §2.2.1. */
export const EXCHANGED_TOKEN = titled(
  "ExchangedToken",
  complete({
    access_token: TEXT,
    issued_token_type: { const: "urn:ietf:params:oauth:token-type:access_token" },
    token_type: { const: "Bearer" },
    expires_in: { type: "integer", description: "Seconds." },
    scope: TEXT,
    token_id: described(TEXT, "The id of the token in the evidence."),
  }),
);
