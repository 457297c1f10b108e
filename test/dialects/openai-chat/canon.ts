import type {
  GenerateRequest,
  InputPart,
  Turn,
} from "../../../src/canon/generate/generate-request.ts";

export function text(content: string): Extract<InputPart, { kind: "text" }> {
  return { kind: "text", text: content, cache: null };
}

export function userTurn(...content: readonly InputPart[]): Turn {
  return { role: "user", name: null, content };
}

/** A request that says nothing but `hi`. */
export function canon(more: Partial<GenerateRequest> = {}): GenerateRequest {
  return {
    purpose: "generate",
    turns: [userTurn(text("hi"))],
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
