import { COHERE_CHAT } from "../../../src/dialects/cohere-chat/facts.ts";
import type { GenerateRequest } from "../../../src/canon/generate/generate-request.ts";
import type { ModelRow } from "../../../src/canon/table.ts";
import { endpointFeatures } from "../../../src/compile/resolve/endpoints.ts";
import type { DialectFacts, Target } from "../../../src/dialects/dialect.ts";
import { endpoint, model, provider } from "../../support/table.ts";

/** The protocol's facts. */
export const FACTS: DialectFacts = COHERE_CHAT;

/** A target that speaks the protocol; its model has every capability that the protocol carries. */
export function targetWith(more: Partial<ModelRow> = {}, capabilities = FACTS.expresses): Target {
  const row = model("m", { capabilities, ...more });
  const chosenProvider = provider("p", { dialect: "cohere-chat", baseUrl: "https://p.example" });
  const { translated, native } = endpointFeatures(FACTS, row, chosenProvider);
  return {
    model: row,
    provider: chosenProvider,
    endpoint: endpoint("e", {
      dialect: "cohere-chat",
      upstreamModel: "command-a",
      capabilities,
      features: translated,
      nativeFeatures: native,
    }),
  };
}

export const target = targetWith();

/** The smallest request with other members. */
export function asking(more: Partial<GenerateRequest> = {}): GenerateRequest {
  return {
    purpose: "generate",
    turns: [{ role: "user", name: null, content: [{ kind: "text", text: "hello", cache: null }] }],
    tools: [],
    toolChoice: null,
    parallelToolCalls: null,
    format: null,
    maxOutputTokens: null,
    temperature: null,
    topP: null,
    topK: null,
    frequencyPenalty: null,
    presencePenalty: null,
    logitBias: null,
    seed: null,
    stop: [],
    logprobs: null,
    reasoning: null,
    verbosity: null,
    hints: { serviceTier: null, promptCacheKey: null, promptCacheRetention: null },
    stream: false,
    ...more,
  };
}
