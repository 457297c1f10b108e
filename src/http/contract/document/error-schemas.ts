import { OAUTH_CODES } from "../../credentials/oauth-error.ts";
import { REVISION_PATTERN } from "../../../canon/policy.ts";
import { SERVICE_KEY } from "../key-schemas.ts";
import { MISSING_REQUIREMENT } from "../policies/policy-answers.ts";

const text = { type: "string" } as const;

/** What a denial says beside its code, in both families. */
const DENIAL = {
  policy: {
    type: "object",
    description:
      "Which policy denied, of which revision (`r7`). `approvals` is the routing table, with the SHA-256 of the table as its revision.",
    required: ["id", "revision", "mode"],
    properties: { id: text, revision: text, mode: { const: "enforce" } },
  },
  failed_constraint: text,
  reason_code: text,
  decision_id: text,
} as const;

const message = { ...text, description: "One sentence for people. It never repeats a value of the request." } as const;

/** Of `POST /v1/credentials/exchange`: RFC 6749 §5.2. */
export const OAUTH_ERROR = {
  title: "OAuthError",
  type: "object",
  required: ["error", "error_description"],
  properties: {
    error: { enum: OAUTH_CODES, description: "Of RFC 6749 and RFC 8693; for programs." },
    error_description: {
      ...text,
      pattern: "^[ !#-\\[\\]-~]+$",
      description:
        "One sentence for people, and in brackets the router's own code and the request id. It never repeats a value of the request.",
    },
  },
} as const;

/** Of every other endpoint whose path does not begin with `/api/`. */
export const ERROR = {
  title: "Error",
  type: "object",
  required: ["error"],
  properties: {
    error: {
      type: "object",
      required: ["message", "type", "param", "code"],
      properties: {
        message,
        type: { ...text, description: "The kind of error, as this protocol names it." },
        param: { type: ["string", "null"], description: "Path of the member, parameter or header concerned." },
        code: { ...text, description: "For programs; docs/api.md says what each means." },
        ...DENIAL,
        missing: { type: "array", items: MISSING_REQUIREMENT, description: "What a promotion lacks." },
        current: {
          type: "object",
          description: "How the policy is now, where it is not as the caller has seen it.",
          required: ["etag", "candidate_revision", "enforced_revision"],
          properties: {
            etag: text,
            candidate_revision: { type: ["string", "null"], pattern: REVISION_PATTERN },
            enforced_revision: { type: ["string", "null"], pattern: REVISION_PATTERN },
          },
        },
        service_key: SERVICE_KEY,
      },
    },
  },
} as const;

/** Of every endpoint whose path begins with `/api/`. */
export const ANTHROPIC_ERROR = {
  title: "AnthropicError",
  type: "object",
  required: ["type", "error", "request_id"],
  properties: {
    type: { const: "error" },
    error: {
      type: "object",
      required: ["type", "message", "details"],
      properties: {
        type: { ...text, description: "The kind of error, as this protocol names it." },
        message,
        details: {
          type: "object",
          required: ["error_code"],
          properties: {
            error_code: { ...text, description: "For programs; docs/api.md says what each means." },
            param: { ...text, description: "Path of the member, parameter or header concerned." },
            ...DENIAL,
          },
        },
      },
    },
    request_id: text,
  },
} as const;
