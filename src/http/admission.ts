import type { BudgetStep } from "../canon/limits.ts";
import type { Candidate, RouteDecision } from "../canon/decision.ts";
import type { ServiceError } from "../canon/error.ts";
import type { Identity } from "../canon/identity.ts";
import type { InferenceRequest, RequestShape } from "../canon/request.ts";
import type { ArrangedPlan } from "../dispatch/arrange.ts";
import type { CallTracker } from "../dispatch/endpoint-tracker.ts";
import type { AttemptReport, Recording, RelayOutcome } from "../dispatch/attempt.ts";
import {
  effectiveLimits,
  type LimitCode,
  type LimitedSubject,
  type LimitRefusal,
  type Meters,
} from "../limits/accounts.ts";
import {
  type Estimate,
  estimateRequest,
  type Used,
  usedBy,
  usedByParts,
} from "../limits/estimate.ts";
import {
  type AnsweredPart,
  type EndedAttempt,
  type EndedRequest,
  inputOfParts,
  plausibleParts,
  plausibleUsage,
  reportedCost,
  reportedCostOfParts,
  type Settlement,
} from "../limits/cost.ts";
import type { Quotas, Reservation } from "../limits/quotas.ts";
import { beforeDeadline, waitError } from "./heads.ts";
import type { InferenceCall } from "./inference-call.ts";
import type { LimitMeasure, ProtocolFamily } from "../dialects/protocol-family.ts";
import type { CounterAccount } from "../limits/counter-account.ts";
import { codedError } from "../canon/error-codes.ts";
import type { TokenUsage } from "../canon/generate/event.ts";
import type { RoutingTable, RouteRow } from "../canon/table.ts";
import type { Snapshot } from "./snapshot.ts";
import type { RequestRuntime } from "./runtime.ts";

/** Whose limits a request counts against: its workspace's and its key's. */
function limitedSubjects(
  { workspaces }: RoutingTable,
  { workspace, keyId, lineage, limits }: Identity,
): readonly LimitedSubject[] {
  const ofWorkspace = workspaces[workspace]?.limits;
  const ofKey = effectiveLimits(limits ?? null, ofWorkspace?.perKey ?? null);
  const subjects: LimitedSubject[] = [];
  if (ofWorkspace !== undefined)
    subjects.push({ kind: "workspace", id: workspace, limits: ofWorkspace });
  if (ofKey !== null) subjects.push({ kind: "key", id: lineage ?? keyId, limits: ofKey });
  return subjects;
}

type Budget = BudgetStep | undefined | ServiceError;

/**
 * Remaining part of a caller's budgets, as policies read it; `undefined` where none does. Where the
 * counters cannot be read: the error of a limit.
 *
 * @param deadline of the wait for the counters, on the clock of `performance.now()`; `null`: none.
 */
export function callerBudget(
  runtime: Pick<RequestRuntime, "budgets">,
  { decider: { table, policies } }: Snapshot,
  identity: Identity,
  deadline: number | null = null,
): Budget | Promise<Budget> {
  if (!policies.readsBudget) return undefined;
  const step = runtime.budgets.stepOf(limitedSubjects(table, identity));
  if (!(step instanceof Promise)) return step;
  return new Promise((resolve) => {
    beforeDeadline(step, deadline, (budget) =>
      resolve(budget ?? waitError(deadline, UNKNOWN_BUDGET)),
    );
  });
}

const UNKNOWN_BUDGET = codedError(
  "limits_unavailable",
  "The router could not read the limit counters, which its policies need, so it does not send the request. Try again later.",
);

/** The members of a request that its use depends on. */
type SettledShape = Pick<RequestShape, "operation" | "stream">;

/** @property usage known token counts of the request at its end. */
export type RelaySettlement = Settlement & Pick<RelayOutcome, "usage">;

/** A request that may be sent to providers. */
export interface AdmittedRequest {
  readonly request: InferenceRequest;
  readonly route: RouteRow;
  readonly recording: Recording;
  readonly admission: Admission;
  /** The endpoints' health and measurements for calls of this kind. */
  readonly endpoints: CallTracker;
  /** The order in which candidates are tried. */
  readonly arranged: ArrangedPlan;
}

type Estimator = (candidates: readonly Candidate[]) => Estimate;

/** A request that names no route counts as a request only. */
export const NO_ROUTE: LimitedDecision = {
  plan: [],
  edits: { maxOutputTokens: null, stripFields: [] },
};

interface LimitedDecision extends Pick<RouteDecision, "edits"> {
  readonly plan: readonly Candidate[];
}

/**
 * Reserves the most that a request may use from the limits of its workspace and key, before
 * anything is sent to a provider. Synchronous where the process has leased enough. The headers of
 * the answer, or of the refusal, name the remaining limits.
 *
 * @param bytes of the body. @param calls that the request is cut into.
 */
export function admitToLimits(
  call: InferenceCall,
  request: InferenceRequest,
  { plan, edits }: LimitedDecision,
  { bytes, calls }: { readonly bytes: number; readonly calls: number },
): Admission | ServiceError | Promise<Admission | ServiceError> {
  const { quotas } = call.runtime;
  const { deadline } = call.bounds;
  const { models } = call.snapshot.decider.table;
  const { body, reader, shape } = request;
  const compute: Estimator = (candidates) =>
    estimateRequest(
      { operation: shape.operation, body, reader, bytes, needs: shape.needs, edits, calls },
      candidates.map(({ endpoint }) => ({ endpoint, model: models[endpoint.model] })),
    );
  const subjects = limitedSubjects(call.snapshot.decider.table, call.identity);
  let ofPlan: Estimate | undefined;
  // Most plans have one candidate: its estimate is that of the plan.
  const estimateFor: Estimator = (candidates) =>
    candidates.length === plan.length ? (ofPlan ??= compute(plan)) : compute(candidates);
  const unlimited = () => new Admission(quotas, null, plan, estimateFor);
  if (subjects.length === 0) return unlimited();
  const { amounts } = estimateFor(plan);
  const decided = quotas.reserve(subjects, amounts, deadline - performance.now());
  const admitted = (result: Reservation | LimitRefusal | null): Admission | ServiceError => {
    if (result === null) return unlimited();
    const now = quotas.now();
    const isRefused = "refused" in result;
    const headers = limitHeaders(call.endpoint.surface.family, result.meters, now);
    call.recorder.limited(headers, isRefused ? result.limit : null);
    if (isRefused) {
      const error = limitError(result, now);
      return result.refused === "limits_unavailable" ? waitError(deadline, error) : error;
    }
    return new Admission(quotas, result, plan, estimateFor);
  };
  return decided instanceof Promise ? decided.then(admitted) : admitted(decided);
}

/** One request's reservation of its limits. It is settled once; later settlements do nothing. */
class Admission {
  readonly #quotas: Quotas;
  readonly #reservation: Reservation | null;
  readonly #plan: readonly Candidate[];
  readonly #estimateFor: Estimator;

  /** @param reservation `null` where nothing limits the request. @param plan all candidates. */
  constructor(
    quotas: Quotas,
    reservation: Reservation | null,
    plan: readonly Candidate[],
    estimateFor: Estimator,
  ) {
    this.#quotas = quotas;
    this.#reservation = reservation;
    this.#plan = plan;
    this.#estimateFor = estimateFor;
  }

  /** Something counts the request's tokens. */
  get countsTokens(): boolean {
    const meters = this.#reservation?.meters ?? [];
    return meters.some(({ counters }) => counters.some(({ measure }) => measure !== "requests"));
  }

  /** Settles the use of a relayed request. */
  relayed(outcome: RelayOutcome, shape: SettledShape): RelaySettlement {
    const ended = endedRequest(outcome, shape, this.#estimateFor);
    const { usage } = ended;
    const cost = reportedCost(ended);
    const isReplaced = usage !== null && usage !== outcome.usage;
    const isEstimated = this.#settle((estimate) => usedBy(estimate, ended, cost));
    return { usage, estimated: isEstimated || isReplaced, cost };
  }

  /** The same for a request in parts. */
  gathered(
    attempts: readonly AttemptReport[],
    answeredParts: readonly AnsweredPart[],
  ): RelaySettlement {
    const ended = attempts.map(toEnded);
    const parts = plausibleParts(answeredParts, this.#estimateFor(this.#plan).bounds);
    const cost = reportedCostOfParts(ended, parts);
    const isEstimated = this.#settle((estimate) => usedByParts(estimate, ended, parts, cost));
    return { usage: usageOfParts(parts), estimated: isEstimated || parts !== answeredParts, cost };
  }

  /** Nothing was sent to a provider. */
  releaseReservation(): void {
    if (this.#reservation !== null) this.#quotas.releaseReservation(this.#reservation);
  }

  /** The request has ended: a reservation that is not settled counts in full. */
  settleInFull(): void {
    this.#settle(({ amounts }) => ({ amounts, estimated: false }));
  }

  /** Whether tokens that limits count were estimated. */
  #settle(usedOf: (estimate: Estimate) => Used | null): boolean {
    if (this.#reservation === null) return false;
    const used = usedOf(this.#estimateFor(this.#plan));
    if (used === null) this.releaseReservation();
    else void this.#quotas.settle(this.#reservation, used.amounts);
    return this.countsTokens && (used?.estimated ?? false);
  }
}

function endedRequest(
  { terminal, attempts, finish, usage, outputCharacters }: RelayOutcome,
  { operation, stream }: SettledShape,
  estimateFor: Estimator,
): EndedRequest {
  // A stream whose client left, and that was read on to its end, is whole.
  const whole = terminal === "completed" || terminal === "incomplete" || finish !== null;
  const ended = {
    countsOnly: operation === "messages.count_tokens",
    whole,
    attempts: attempts.map(toEnded),
    usage,
    streamed: stream,
    outputCharacters,
  };
  const last = attempts.at(-1)?.candidate;
  return last === undefined
    ? ended
    : { ...ended, usage: plausibleUsage(ended, estimateFor([last]).bounds) };
}

function usageOfParts(parts: readonly AnsweredPart[]): TokenUsage | null {
  const input = inputOfParts(parts);
  return input === null
    ? null
    : { input, output: null, cacheRead: null, cacheWrite: null, reasoning: null };
}

function toEnded({ candidate, failure, status, calls }: AttemptReport): EndedAttempt {
  return {
    endpoint: candidate.endpoint,
    failure: failure?.kind ?? null,
    status,
    calls: calls ?? 1,
  };
}

/**
 * Remaining part of the limits that a request counts against, in the headers of its protocol's
 * family (docs/limits.md). Of several limits the one of which least is left. Nothing where there
 * are none. Names and values by turns.
 *
 * @param now milliseconds since the epoch.
 */
function limitHeaders(
  family: ProtocolFamily,
  meters: readonly Meters[],
  now: number,
): readonly string[] {
  let headers: readonly string[] = [];
  for (const measure of ["requests", "tokens"] as const) {
    const counter = tightest(meters, measure);
    if (counter === null) continue;
    const { ceiling: limit, remaining, end } = counter;
    const untilReset = Math.max(0, end - now);
    const resetAt = () => timestamp(now + untilReset);
    headers = headers.concat(
      family.limitHeaders(measure, { limit, remaining, untilReset, resetAt }),
    );
  }
  return headers;
}

function tightest(meters: readonly Meters[], measure: LimitMeasure): CounterAccount | null {
  let found: CounterAccount | null = null;
  for (const { counters } of meters) {
    for (const counter of counters) {
      if (counter.measure === measure && (found === null || counter.remaining < found.remaining))
        found = counter;
    }
  }
  return found;
}

const LESS = "Lower max_tokens or send less input.";

const FEWER = "Send fewer inputs at once, or batches in fewer calls (x-max-batch-size).";

const NAMES = {
  requests: "requests",
  tokens: "tokens",
  micro_usd: "USD",
  concurrency: "requests at once",
} as const;

const WAIT = "Try again after the seconds in retry-after.";

const SENTENCES: Readonly<
  Record<Exclude<LimitCode, "exceeds_limit">, (renewal: string) => string>
> = {
  requests_per_minute: () => `the requests of this minute are used up. ${WAIT}`,
  tokens_per_minute: () =>
    `the tokens left in this minute are fewer than the request may use. ${WAIT}`,
  budget_reserved: () =>
    `the rest of the budget is reserved by requests under way, which may not need all of it. ${WAIT}`,
  concurrency: () => `the maximum number of requests is under way. ${WAIT}`,
  budget_exhausted: (renewal) => `the budget of this period is used up. It renews at ${renewal}.`,
  exceeds_remaining_budget: (renewal) =>
    `this request may use more than the rest of the budget. ${LESS} It renews at ${renewal}.`,
};

/**
 * The error of a limit of ours (docs/limits.md#what-a-client-sees): 402 for a spent budget and for
 * a request that exceeds a whole limit, 429 for a limit that passes within a minute, 503 for limits
 * that cannot be counted.
 *
 * @param now milliseconds since the epoch, on the clock of the limits.
 */
function limitError({ refused, limit, retryAfter }: LimitRefusal, now: number): ServiceError {
  if (refused === "limits_unavailable") {
    return codedError(
      refused,
      "The router could not read the limit counters, so it does not send the request. Try again later.",
    );
  }
  const whose = limit?.subject === "key" ? "this key" : "the workspace";
  const beginning = `Limit of ${whose} (${refused})`;
  if (refused === "exceeds_limit") {
    const whole = limit === null ? "limit" : `limit of ${NAMES[limit.measure]} per ${limit.window}`;
    const fix = limit?.measure === "requests" ? FEWER : LESS;
    return codedError(
      refused,
      `${beginning}: this request alone may use more than the whole ${whole}. ${fix}`,
    );
  }
  const message = `${beginning}: ${SENTENCES[refused](timestamp(now + (retryAfter ?? 0)))}`;
  // A budget has the time of its renewal in its message: agents wait in silence for the end of a
  // `retry-after` of hours.
  const isFinal = refused === "budget_exhausted" || refused === "exceeds_remaining_budget";
  return codedError(refused, message, isFinal ? {} : { retryAfter });
}

/** RFC 3339, whole seconds, rounded up. @param at milliseconds since the epoch. */
function timestamp(at: number) {
  return new Date(Math.ceil(at / 1000) * 1000).toISOString().replace(".000Z", "Z");
}
