import { expect } from "vitest";
import type { GenerateRequest } from "../../../src/canon/generate/generate-request.ts";
import type { JsonObject, JsonValue } from "../../../src/canon/json.ts";
import { endpointFeatures } from "../../../src/compile/resolve/endpoints.ts";
import type { DialectFacts, Target } from "../../../src/dialects/dialect.ts";
import { DIALECTS } from "../../../src/dialects/table.ts";
import { chatSurface } from "../../../src/dialects/openai-chat/dialect.ts";
import { NO_EDITS, targetOf } from "../laws/target.ts";
import { parse, toCanon } from "./bodies.ts";
import { canon } from "./canon.ts";
import { upstreamFor } from "../../../src/dialects/exchange-plan.ts";

const chatUpstream = upstreamFor("generate", "openai-chat");

/** A target whose provider has the flags, with the features that the compiler leaves it. */
export function targetWith(flags: readonly string[]): Target {
  const facts: DialectFacts = DIALECTS["openai-chat"];
  for (const flag of flags) expect(Object.keys(facts.flags)).toContain(flag);
  const target = targetOf("openai-chat");
  const provider = { ...target.provider, flags };
  const features = endpointFeatures(facts, target.model, provider);
  return {
    ...target,
    provider,
    endpoint: {
      ...target.endpoint,
      features: features.translated,
      nativeFeatures: features.native,
    },
  };
}

export function relayed(more: JsonObject, flags: readonly string[], edits = NO_EDITS) {
  const { endpoint, provider } = targetWith(flags);
  return chatSurface.relay.edit(parse(more), endpoint, provider, "forward", edits);
}

export function translated(more: JsonObject, flags: readonly string[]) {
  const { request, dropped } = toCanon(more);
  const made = chatUpstream.format(request, targetWith(flags));
  if ("code" in made) throw new Error(made.message);
  return { ...made, dropped: [...dropped, ...made.dropped] };
}

export function formatted(more: Partial<GenerateRequest>, flags: readonly string[]) {
  const made = chatUpstream.format(canon(more), targetWith(flags));
  if ("code" in made) throw new Error(made.message);
  return made;
}

export const tool = {
  type: "function",
  function: { name: "f", parameters: { type: "object", properties: {} } },
};
export const other = {
  type: "function",
  function: { name: "g", parameters: { type: "object", properties: {} } },
};
export const called = (id: string): JsonObject => ({
  id,
  type: "function",
  function: { name: "f", arguments: "{}" },
});
export const assistant = (more: JsonObject): JsonObject => ({
  role: "assistant",
  content: "a",
  ...more,
});
export const result = (id: string): JsonObject => ({
  role: "tool",
  tool_call_id: id,
  content: "r",
});
export const choice = (mode: string, ...names: readonly string[]): JsonObject => ({
  type: "allowed_tools",
  allowed_tools: { mode, tools: names.map((name) => ({ type: "function", function: { name } })) },
});
export const texts = (...contents: readonly string[]): JsonValue =>
  contents.map((text) => ({ type: "text", text }));
