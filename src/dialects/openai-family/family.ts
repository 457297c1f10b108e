import type { JsonObject } from "../../canon/json.ts";
import { DENIAL, ERROR_MESSAGE } from "../contract/error-members.ts";
import { limitSubject, type ProtocolFamily } from "../contract/protocol-family.ts";
import { OPENAI_TYPES, renderOpenAiError } from "./errors.ts";

const text = { type: "string" } as const;
const count = { type: "integer", minimum: 0 } as const;

/** The error in schemas of streams. */
export const OPENAI_ERROR = { $ref: "#/components/schemas/Error" } as const;

/** Errors and limits as OpenAI's clients read them, and those of Cohere, Jina and Voyage, whose requests have the same paths' errors. */
export const OPENAI_FAMILY: ProtocolFamily = {
  errorTypes: OPENAI_TYPES,
  renderError: renderOpenAiError,
  errorSchema,
  narrowedError: (type, code) => ({ properties: { error: { properties: { type, code } } } }),
  errorExample: ({ kind, code, message }, requestId) => ({
    error: { message: `${message} (request id ${requestId})`, type: OPENAI_TYPES[kind], param: null, code },
  }),
  limitHeaders: (measure, { limit, remaining, untilReset }) => [
    `x-ratelimit-limit-${measure}`,
    String(limit),
    `x-ratelimit-remaining-${measure}`,
    String(remaining),
    `x-ratelimit-reset-${measure}`,
    formatDuration(untilReset),
  ],
  limitHeaderFacts: (measure) => {
    const whose = limitSubject(measure);
    return [
      { name: `x-ratelimit-limit-${measure}`, description: `${whose}: the most in its period.`, schema: count },
      { name: `x-ratelimit-remaining-${measure}`, description: `${whose}: what is left.`, schema: count },
      {
        name: `x-ratelimit-reset-${measure}`,
        description: `${whose}: the time until it is whole, such as 1m30s.`,
        schema: text,
      },
    ];
  },
};

function errorSchema(facts: Readonly<Record<string, JsonObject>>): JsonObject {
  return {
    title: "Error",
    type: "object",
    required: ["error"],
    properties: {
      error: {
        type: "object",
        required: ["message", "type", "param", "code"],
        properties: {
          message: ERROR_MESSAGE,
          type: { ...text, description: "The kind of error, as this protocol names it." },
          param: { type: ["string", "null"], description: "Path of the member, parameter or header concerned." },
          code: { ...text, description: "For programs; docs/api.md says what each means." },
          ...DENIAL,
          ...facts,
        },
      },
    },
  };
}

/** `1h2m3s`, with `0m` only between hours and seconds; rounded up to whole seconds. @param milliseconds at least 0. */
export function formatDuration(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  const rest = `${seconds % 60}s`;
  if (hours > 0) return `${hours}h${minutes}m${rest}`;
  return minutes > 0 ? `${minutes}m${rest}` : rest;
}
