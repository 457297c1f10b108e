import type { Candidate } from "../../canon/decision.ts";
import type { ServiceError } from "../../canon/error.ts";
import type { Loss } from "../../canon/generate/loss.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { Target } from "../../dialects/dialect.ts";
import type { PartEnd, UnaryTask } from "../../dialects/unary/surface.ts";
import type { WalkJob } from "../attempt.ts";
import type { StopReason } from "../limiters/stop-order.ts";
import type { AttemptReport } from "../relay-job.ts";

/**
 * One request whose parts are to be answered, each by the first candidate of the plan that can. The bound of attempts is each part's. A stop order only
 * keeps calls from beginning: those under way are ended by {@link Gathering.cancel}.
 */
export interface GatherJob extends WalkJob {
  readonly task: UnaryTask;
  /** The body as the caller sent it. */
  readonly callersBody: JsonObject;
  /** The wire protocol of the caller. */
  readonly ownDialect: string;
  readonly targetOf: (candidate: Candidate) => Target;
  /** Bytes of all answers together. */
  readonly maxAnswerBytes: number;
}

export interface Gathered {
  /** In the order of the parts; `null` where the request failed. */
  readonly ends: readonly PartEnd[] | null;
  /** The caller's error where there is no answer; `null` too where the request was given up. */
  readonly error: ServiceError | null;
  /** One line for each endpoint and way to end. */
  readonly attempts: readonly AttemptReport[];
  /** How many calls were made. */
  readonly calls: number;
  /** The candidates that gave the answers which are kept, each once, in the order of the first part that each gave. */
  readonly answeredBy: readonly Candidate[];
  readonly losses: readonly Loss[];
  /** Tokens of the parts that were answered, kept or not; `null` where a provider did not count, or none was. */
  readonly spentTokens: number | null;
  /** Why some parts were not got, where the router itself kept them from it. */
  readonly ended: StopReason | null;
}
