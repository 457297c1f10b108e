import type { UpstreamFailure } from "../failure.ts";
import type { Citation, FinishReason, TokenLogprob } from "./event.ts";
import type { TokenUsage } from "./usage.ts";

/** A block whose deltas have been joined. */
export type AnswerBlock =
  | {
      readonly kind: "text";
      text: string;
      readonly logprobs: TokenLogprob[];
      readonly citations: Citation[];
    }
  | { readonly kind: "refusal"; text: string }
  | {
      readonly kind: "reasoning";
      text: string;
      readonly summary: boolean;
      signature: string | null;
      family: string | null;
    }
  | { readonly kind: "tool_call"; readonly id: string; readonly name: string; arguments: string };

/** A whole answer: the fold of its events. */
export interface Answer {
  readonly model: string | null;
  readonly blocks: readonly AnswerBlock[];
  readonly usage: TokenUsage | null;
  /** `null` while the answer goes on, and where it failed. */
  readonly finish: { readonly reason: FinishReason; readonly stopSequence: string | null } | null;
  readonly failure: UpstreamFailure | null;
}
