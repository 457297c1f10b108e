import type { UpstreamFailure } from "../failure.ts";
import type { DroppedField } from "./edit.ts";
import type { JsonObject } from "../json.ts";

/**
 * Token counts of the provider (docs/protocols.md#usage); `null`, and never 0, where it gave none.
 * `input` includes cached tokens and `output` includes reasoning.
 */
export interface TokenUsage {
  readonly input: number | null;
  readonly output: number | null;
  /** Part of `input` that came from a cache. */
  readonly cacheRead: number | null;
  /** Part of `input` that was written to a cache. */
  readonly cacheWrite: number | null;
  /** Part of `output` that was reasoning. */
  readonly reasoning: number | null;
  /**
   * Part of `cacheWrite` that was written for an hour; absent where there was none, or where the
   * provider does not report it.
   */
  readonly cacheWriteHour?: number;
}

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
  /** `null` for an answer that has not ended, or has failed. */
  readonly finish: { readonly reason: FinishReason; readonly stopSequence: string | null } | null;
  readonly failure: UpstreamFailure | null;
}

/**
 * Why an answer ended properly (docs/protocols.md#finish-reasons). Every other reason of a provider
 * is a failure, on every surface. `pause` (the client is to send the same request again) and
 * `other` exist on native relays only.
 */
export type FinishReason =
  | "stop"
  | "stop_sequence"
  | "length"
  | "context_window"
  | "tool_calls"
  | "refusal"
  | "content_filter"
  | "pause"
  | "other";

/**
 * Finish reasons after which the answer is shorter than it would have been, or may be: the
 * provider's finish reason is unknown, or there was none.
 */
export const INCOMPLETE_REASONS: ReadonlySet<FinishReason> = new Set([
  "length",
  "context_window",
  "content_filter",
  "other",
]);

/**
 * One thing that happened while an answer was made. Laws, for every dialect: `start` first; blocks
 * have contiguous indices from 0 and do not overlap (each is closed before the next is opened);
 * deltas come between `open` and `close` of their block and are of its kind; exactly one of
 * `finish` and `failure`, last; no block is open at a `finish`.
 */
export type InferenceEvent =
  | { readonly type: "start"; readonly model: string | null }
  | { readonly type: "open"; readonly index: number; readonly block: OpenBlock }
  | {
      readonly type: "text";
      readonly index: number;
      readonly text: string;
      readonly logprobs: readonly TokenLogprob[];
    }
  | { readonly type: "refusal"; readonly index: number; readonly text: string }
  | { readonly type: "reasoning"; readonly index: number; readonly text: string }
  /** At most one a reasoning block, after its text. */
  | {
      readonly type: "signature";
      readonly index: number;
      readonly signature: string;
      readonly family: string;
    }
  /** A fragment of the JSON text of a tool call's arguments. */
  | { readonly type: "arguments"; readonly index: number; readonly json: string }
  | { readonly type: "citation"; readonly index: number; readonly citation: Citation }
  | { readonly type: "close"; readonly index: number }
  /** Counts replace those of earlier events; `null` ones do not (`mergeUsage`). */
  | { readonly type: "usage"; readonly usage: TokenUsage }
  | { readonly type: "dropped"; readonly field: DroppedField }
  | { readonly type: "finish"; readonly reason: FinishReason; readonly stopSequence: string | null }
  | { readonly type: "failure"; readonly failure: UpstreamFailure };

export type OpenBlock =
  | { readonly kind: "text" }
  | { readonly kind: "refusal" }
  /** `summary`: the text is a summary of reasoning that is not shown. */
  | { readonly kind: "reasoning"; readonly summary: boolean }
  | { readonly kind: "tool_call"; readonly id: string; readonly name: string };

/** One token with its natural logarithm of probability, as OpenAI's two protocols write it. */
export interface TokenLogprob {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: readonly number[] | null;
  readonly top: readonly JsonObject[];
}

/**
 * Where a piece of text comes from. Positions are code points into the block's text, `null` where
 * the provider gives none.
 */
export interface Citation {
  readonly url: string | null;
  readonly title: string | null;
  readonly start: number | null;
  readonly end: number | null;
}
