import type { JsonObject } from "../json.ts";
import type { ReasoningEffort } from "../request.ts";
import type { Tool, ToolChoice, Turn } from "./message.ts";

/**
 * A request for generation in no vendor's format. Made from a surface's body only where an endpoint
 * of another dialect may get it; everything that two dialects express has a member here, and
 * everything else has been refused by name or recorded as dropped.
 */
export interface GenerateRequest {
  /** `count`: how many tokens the request would have; nothing is generated. */
  readonly purpose: "generate" | "count";
  /** At least one. */
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice | null;
  readonly parallelToolCalls: boolean | null;
  /** `null`: plain text. */
  readonly format: OutputFormat | null;
  /** Tokens; `null` where neither caller nor policy gave a limit. */
  readonly maxOutputTokens: number | null;
  /** Each `null` where the caller gave none. */
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly topK: number | null;
  readonly frequencyPenalty: number | null;
  readonly presencePenalty: number | null;
  readonly logitBias: JsonObject | null;
  readonly seed: number | null;
  readonly stop: readonly string[];
  /** How many alternatives for each token, 0 to 20; `null`: no log probabilities. */
  readonly logprobs: number | null;
  readonly reasoning: ReasoningRequest | null;
  readonly verbosity: string | null;
  readonly hints: Hints;
  readonly stream: boolean;
}

export type OutputFormat =
  | { readonly kind: "json_object" }
  | {
      readonly kind: "json_schema";
      readonly name: string | null;
      readonly description: string | null;
      readonly schema: JsonObject;
      readonly strict: boolean | null;
    };

export interface ReasoningRequest {
  /** `unspecified` where the caller requests reasoning in another way only. */
  readonly effort: ReasoningEffort;
  /** Tokens; `null` where the caller gave none. */
  readonly budget: number | null;
  /** The model decides how much to think. */
  readonly adaptive: boolean;
  /** How reasoning is shown: an enum value for summaries, `null` where the caller does not say. */
  readonly display: "auto" | "concise" | "detailed" | "summarized" | "omitted" | null;
}

/** May help, may be left out; what is left out is recorded. */
export interface Hints {
  readonly serviceTier: string | null;
  readonly promptCacheKey: string | null;
  readonly promptCacheRetention: string | null;
}
