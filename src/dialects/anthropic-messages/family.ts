import { DENIAL, ERROR_MESSAGE } from "../contract/error-members.ts";
import { limitSubject, type ProtocolFamily } from "../contract/protocol-family.ts";
import { ANTHROPIC_TYPES, renderAnthropicError } from "./errors.ts";

const text = { type: "string" } as const;
const count = { type: "integer", minimum: 0 } as const;

/** JSON Schema of an error, in answers and in streams. */
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
        message: ERROR_MESSAGE,
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

/** Errors and limits as Anthropic's clients read them. */
export const ANTHROPIC_FAMILY: ProtocolFamily = {
  errorTypes: ANTHROPIC_TYPES,
  renderError: renderAnthropicError,
  errorSchema: () => ANTHROPIC_ERROR,
  narrowedError: (type, code) => ({
    properties: { error: { properties: { type, details: { properties: { error_code: code } } } } },
  }),
  errorExample: ({ kind, code, message }, requestId) => ({
    type: "error",
    error: { type: ANTHROPIC_TYPES[kind], message, details: { error_code: code } },
    request_id: requestId,
  }),
  limitHeaders: (measure, { limit, remaining, resetAt }) => [
    `anthropic-ratelimit-${measure}-limit`,
    String(limit),
    `anthropic-ratelimit-${measure}-remaining`,
    String(remaining),
    `anthropic-ratelimit-${measure}-reset`,
    resetAt(),
  ],
  limitHeaderFacts: (measure) => {
    const whose = limitSubject(measure);
    return [
      { name: `anthropic-ratelimit-${measure}-limit`, description: `${whose}: the most in its period.`, schema: count },
      { name: `anthropic-ratelimit-${measure}-remaining`, description: `${whose}: what is left.`, schema: count },
      {
        name: `anthropic-ratelimit-${measure}-reset`,
        description: `${whose}: when it is whole, RFC 3339.`,
        schema: text,
      },
    ];
  },
};
