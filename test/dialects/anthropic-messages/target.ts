import type { GenerateRequest } from "../../../src/canon/generate/generate-request.ts";
import type { JsonObject } from "../../../src/canon/json.ts";
import type { InferenceRequest, ProtocolHeaders } from "../../../src/canon/request.ts";
import type { ModelRow, ProviderRow } from "../../../src/canon/table.ts";
import { messagesSurface } from "../../../src/dialects/anthropic-messages/dialect.ts";
import type { AnswerContext, Surface, Target } from "../../../src/dialects/dialect.ts";
import { nativeFamilyOf } from "../../support/dialects.ts";
import { endpoint, model, provider } from "../../support/table.ts";

export const NO_HEADERS: ProtocolHeaders = { version: null, betas: [] };
export const NEWEST: ProtocolHeaders = { version: "2026-10-21", betas: [] };
export const NO_EDITS = { maxOutputTokens: null, stripFields: [] } as const;

export const hello: JsonObject = {
  model: "r",
  max_tokens: 100,
  messages: [{ role: "user", content: "hello" }],
};

/** The smallest body with other members. */
export function body(more: JsonObject): JsonObject {
  return { ...hello, ...more };
}

/** A user's message with these blocks. */
export function saying(...content: readonly JsonObject[]): JsonObject {
  return body({ messages: [{ role: "user", content }] });
}

/** A history in which the assistant said these blocks. */
export function answered(...content: readonly JsonObject[]): JsonObject {
  return body({
    messages: [
      { role: "user", content: "hello" },
      { role: "assistant", content },
      { role: "user", content: "go on" },
    ],
  });
}

export function read(
  value: JsonObject,
  headers: ProtocolHeaders = NO_HEADERS,
  surface: Surface = messagesSurface,
): InferenceRequest {
  const request = surface.parse(value, 100, headers);
  if ("code" in request) throw new Error(`${request.code} ${request.param} ${request.message}`);
  return request;
}

export function canon(value: JsonObject, surface: Surface = messagesSurface): GenerateRequest {
  const made = surface.translation.toCanon(read(value, NO_HEADERS, surface), "reject", NO_EDITS);
  if ("code" in made) throw new Error(`${made.code} ${made.param} ${made.message}`);
  return made.request;
}

export function targetWith(
  modelRow: Partial<ModelRow> = {},
  providerRow: Partial<ProviderRow> = {},
): Target {
  return {
    endpoint: endpoint("a", { dialect: "anthropic-messages" }),
    model: model("m", { signatureFamily: "anthropic", defaultMaxOutputTokens: 4_096, ...modelRow }),
    provider: provider("p", { dialect: "anthropic-messages", ...providerRow }),
  };
}

export function contextOf(
  request: InferenceRequest = read(hello),
  signatureFamily: string | null = nativeFamilyOf(request),
): AnswerContext {
  return {
    request,
    requestId: "req_1",
    answerId: "1",
    model: "upstream-a",
    signatureFamily,
    now: () => 0,
  };
}

export const encoder = new TextEncoder();
export const decoder = new TextDecoder();

export function frame(value: JsonObject & { readonly type: string }): Uint8Array {
  return encoder.encode(`event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`);
}
