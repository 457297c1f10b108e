import type { Candidate } from "../canon/decision.ts";
import type { ServiceError } from "../canon/error.ts";
import type { AnswerEdits, EditSet } from "../canon/generate/edit.ts";
import type { FinishReason } from "../canon/generate/event.ts";
import type { DroppedField } from "../canon/generate/dropped-field.ts";
import type { TokenUsage } from "../canon/generate/usage.ts";
import type { InferenceRequest } from "../canon/request.ts";
import type { ExchangePlan } from "../dialects/translation/exchange-plan.ts";
import type { AttemptReport, WalkJob } from "./attempt.ts";
import type { StopReason } from "./limiters/stop-order.ts";

/** One request to be answered by the first candidate of its plan that can. */
export interface RelayJob extends WalkJob {
  readonly request: InferenceRequest;
  /** The way to a candidate. */
  readonly exchangePlanFor: (candidate: Candidate) => ExchangePlan;
  /**
   * The request's tokens count against a limit: a stream whose client disconnects is read on for a moment, until the provider reports its count.
   */
  readonly countsTokens: boolean;
  /** Largest answer that is collected, bytes. A stream may have eight times as many. */
  readonly maxAnswerBytes: number;
  /**
   * Resolves when the decision is on disk; nothing may be sent to the client before. Where it rejects nothing is sent at all,
   * calls are given up, and the outcome is `failed` without an error: the caller knows why.
   */
  readonly durable: Promise<void>;
  /**
   * Headers of an answer by this candidate at this attempt; names and values by turns.
   *
   * @param known what was changed in its request and, as far as it has been read, in its answer.
   */
  readonly answerHeaders: (candidate: Candidate, attempt: number, known: AnswerEdits) => readonly string[];
}

export interface RelayOutcome {
  readonly terminal: "completed" | "incomplete" | "failed" | "client_closed";
  /** The error that the client must still be sent, where nothing has been sent; `null` where the answer has been sent. */
  readonly error: ServiceError | null;
  readonly attempts: readonly AttemptReport[];
  readonly finish: FinishReason | null;
  readonly usage: TokenUsage | null;
  /** Characters of output of a stream; `null` for an answer in one piece and where none arrived. */
  readonly outputCharacters: number | null;
  /** Why the router itself has ended the request; absent where it did not. */
  readonly ended?: StopReason;
  /** On the clock of `performance.now()`; `null` where no byte was sent. */
  readonly firstByteAt: number | null;
  /** Names of members taken out of the request. */
  readonly stripped: readonly string[];
  /** What translations of request and answer left out or changed; each once. */
  readonly dropped: readonly DroppedField[];
  /** What was changed in requests and answer besides. */
  readonly edits: EditSet;
}
