import type { ServiceError } from "../../../src/canon/error.ts";
import type { JsonObject, JsonValue } from "../../../src/canon/json.ts";
import type { Operation } from "../../../src/canon/operation.ts";
import type { InferenceRequest, ProtocolHeaders } from "../../../src/canon/request.ts";
import {
  COUNT_TOKENS_FIELDS,
  MESSAGES_FIELDS,
} from "../../../src/dialects/anthropic-messages/request-facts.ts";
import type { Surface, Target, Upstream } from "../../../src/dialects/dialect.ts";
import type { FieldRegistry } from "../../../src/dialects/request-reading.ts";
import type { GenerateDialect } from "../../../src/dialects/table.ts";
import { CHAT_FIELDS } from "../../../src/dialects/openai-chat/parse-request.ts";
import { COMPLETIONS_FIELDS } from "../../../src/dialects/openai-completions/dialect.ts";
import { RESPONSES_FIELDS } from "../../../src/dialects/openai-responses/request-facts.ts";
import { INFERENCE_ENDPOINTS } from "../../../src/http/contract/inference-endpoints.ts";
import { bodyValidator } from "../../../src/http/validate-body.ts";
import type { Telling } from "./normal/answer.ts";
import { DIALECT_NAMES, MODEL, NO_HEADERS, targetOf } from "./target.ts";
import { upstreamFor } from "../../../src/dialects/exchange-plan.ts";

/** What the laws need to know of a surface besides its code. */
interface SurfaceFacts {
  readonly fields: FieldRegistry;
  /** The smallest body: one user's text. */
  readonly body: JsonObject;
}

const text = "What is the weather in Ghent?";
const message = { role: "user", content: text };

const FACTS: Readonly<Partial<Record<Operation, SurfaceFacts>>> = {
  "chat.completions": { fields: CHAT_FIELDS, body: { model: "r", messages: [message] } },
  completions: { fields: COMPLETIONS_FIELDS, body: { model: "r", prompt: text } },
  responses: { fields: RESPONSES_FIELDS, body: { model: "r", input: text } },
  messages: {
    fields: MESSAGES_FIELDS,
    body: { model: "r", max_tokens: 2_048, messages: [message] },
  },
  "messages.count_tokens": {
    fields: COUNT_TOKENS_FIELDS,
    body: { model: "r", messages: [message] },
  },
};

/** A surface as callers meet it: the contract's schema, the registry, the parser. */
export interface Spoken extends SurfaceFacts {
  readonly operation: Operation;
  readonly surface: Surface;
  /** What the door makes of a body on a route that rejects unknown members. */
  readonly read: (body: JsonObject, headers?: ProtocolHeaders) => InferenceRequest | ServiceError;
}

/**
 * Every surface of the contract that generates. One without facts above breaks the laws' tests, so
 * that none is forgotten.
 */
export const SURFACES: readonly Spoken[] = INFERENCE_ENDPOINTS.flatMap(
  ({ operation, surface, body: schema }) => {
    if (surface.kind === "unary") return [];
    const facts = FACTS[operation];
    if (facts === undefined)
      throw new Error(`test/dialects/laws/table.ts knows nothing of ${operation}`);
    if (schema === null) throw new Error(`${operation} takes any body`);
    const validate = bodyValidator(schema);
    return [
      {
        operation,
        surface,
        ...facts,
        read: (body: JsonObject, headers = NO_HEADERS) => {
          // As JSON, which has no members without a value.
          const parsed: JsonValue = JSON.parse(JSON.stringify(body));
          const sound = validate(parsed) ?? surface.refuseUnknown(body, "reject");
          return sound ?? surface.parse(body, 100, headers);
        },
      },
    ];
  },
);

/** A wire protocol that is both a surface and an upstream: what one half says, the other reads. */
export interface Protocol {
  readonly name: GenerateDialect;
  readonly spoken: Spoken;
  readonly upstream: Upstream;
  /** A target that speaks it; its model signs as the protocol's own family does. */
  readonly target: Target;
  /**
   * The same target with a model of another family: signatures that cross protocols are tagged with
   * it.
   */
  readonly signing: Target;
  readonly telling: Telling;
}

const EVERYTHING: Telling = {
  order: true,
  reasoning: true,
  summaries: true,
  refusals: true,
  calls: true,
  unknownCounts: true,
};

/** A protocol that is a surface needs a row; one that is only an upstream has none. */
const TELLINGS: Readonly<Partial<Record<GenerateDialect, Telling>>> = {
  // `reasoning_content`, `content`, `refusal` and `tool_calls` stand side by side in one message.
  "openai-chat": { ...EVERYTHING, order: false, summaries: false },
  // One text, and why it ended.
  "openai-completions": {
    ...EVERYTHING,
    reasoning: false,
    summaries: false,
    refusals: false,
    calls: false,
  },
  "openai-responses": EVERYTHING,
  // A refusal is text with a stop reason of its own; thinking is thinking, summed up or not.
  "anthropic-messages": { ...EVERYTHING, summaries: false, refusals: false, unknownCounts: false },
};

/**
 * Who reads untagged signatures in a protocol's history (issue 4: the surface's own native family).
 */
const NATIVE_FAMILIES: Readonly<Partial<Record<GenerateDialect, string>>> = {
  "openai-responses": "openai",
  "anthropic-messages": "anthropic",
};

/**
 * Protocols that are only upstreams have no other half to be read by: the rows of
 * `features.test.ts` and the matrix are about them too.
 */
export const PROTOCOLS: readonly Protocol[] = DIALECT_NAMES.flatMap((name) => {
  const spoken = SURFACES.find(
    ({ surface, operation }) => surface.dialect === name && operation !== "messages.count_tokens",
  );
  if (spoken === undefined) return [];
  const telling = TELLINGS[name];
  if (telling === undefined)
    throw new Error(`test/dialects/laws/table.ts does not say what ${name} reports of an answer`);
  const signatureFamily = NATIVE_FAMILIES[name] ?? null;
  const target = targetOf(name, { ...MODEL, signatureFamily });
  return [
    {
      name,
      spoken,
      upstream: upstreamFor("generate", name),
      target,
      signing: targetOf(name),
      telling,
    },
  ];
});
