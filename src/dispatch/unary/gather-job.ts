import type { Candidate } from "../../canon/decision.ts";
import type { ServiceError } from "../../canon/error.ts";
import type { Loss } from "../../canon/generate/loss.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { CallTracer } from "../../canon/call-trace.ts";
import type { Target } from "../../dialects/dialect.ts";
import type { PartEnd, UnaryTask } from "../../dialects/unary/surface.ts";
import type { Connection } from "../connections.ts";
import type { StopReason, StopSource } from "../limiters/stop-order.ts";
import type { CallTracker } from "../endpoints/endpoint-tracker.ts";
import type { AttemptReport } from "../relay-job.ts";

/** One request whose parts are to be answered, each by the first candidate of the plan that can. */
export interface GatherJob {
  readonly task: UnaryTask;
  /** The body as the caller sent it. */
  readonly callersBody: JsonObject;
  readonly plan: readonly Candidate[];
  /** How many of them, from the first, are in service; the others are out for their health. */
  readonly inService: number;
  /** The wire protocol of the caller. */
  readonly ownDialect: string;
  readonly targetOf: (candidate: Candidate) => Target;
  readonly connections: ReadonlyMap<string, Connection>;
  /** On the clock of `performance.now()`. */
  readonly deadline: number;
  /** Calls for one part, at least 1. */
  readonly maxAttempts: number;
  /** A request that its provider may have read is sent to the same provider again. */
  readonly resends: boolean;
  /** Milliseconds after which a part without an answer is asked for at a second candidate too; `null`: never. */
  readonly hedgeAfter: number | null;
  /** Bytes of all answers together. */
  readonly maxAnswerBytes: number;
  /** Told how every call went. */
  readonly endpoints: CallTracker;
  /** Puts calls into the request's trace. */
  readonly callTracer?: CallTracer | null;
  /** From 0 to 1; spreads repetitions. */
  readonly random: () => number;
  /** Once it is given no call begins any more; never given where absent. Those under way are ended by {@link Gathering.cancel}. */
  readonly stopOrder?: StopSource | undefined;
}

export interface Gathered {
  /** In the order of the parts; `null` where the request failed. */
  readonly ends: readonly PartEnd[] | null;
  /** What the caller is told where there is no answer; `null` too where the request was given up. */
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
