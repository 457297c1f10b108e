import type { CallTraceEnd } from "../canon/call-trace.ts";
import type { Candidate } from "../canon/decision.ts";
import { NO_EDITS, type EditSet } from "../canon/generate/edit.ts";
import type { UpstreamFailure } from "../canon/failure.ts";
import { INCOMPLETE_REASONS } from "../canon/generate/event.ts";
import type { Loss } from "../canon/generate/loss.ts";
import type { ExchangePlan } from "../dialects/translation/exchange-plan.ts";
import { learnt, NOTHING_LEARNT, notTried, type AttemptResult } from "./attempt-result.ts";
import type { ClientAnswer } from "./client/client-answer.ts";
import type { Connection } from "./connections.ts";
import { failureError, stoppedError, wasAsked } from "./failure-error.ts";
import type { Leave } from "./limiters/concurrency-limiter.ts";
import { Itinerary, NOT_WAITED, type Step } from "./itinerary.ts";
import { Pause } from "./pause.ts";
import type { CallOutcome } from "./endpoints/endpoint-tracker.ts";
import { RelayAttempt } from "./relay-attempt.ts";
import type { Stop, StopReason } from "./limiters/stop-order.ts";
import type { AttemptReport, RelayJob, RelayOutcome } from "./relay-job.ts";

/**
 * Tries the candidates of the plan until one commits (docs/dispatch.md#the-commit-point). Before the first byte to the client a failed call may be tried at
 * another candidate or again; after it the stream ends with the protocol's failure.
 */
export async function relayPlan(job: RelayJob, client: ClientAnswer): Promise<RelayOutcome> {
  return new PlanRun(job, client).run();
}

/** One request on its way through its plan (`itinerary.ts`). */
class PlanRun {
  readonly #job: RelayJob;
  readonly #client: ClientAnswer;
  readonly #attempts: AttemptReport[] = [];
  readonly #stripped = new Set<string>();
  readonly #losses = new Set<Loss>();
  #edits: EditSet = NO_EDITS;
  #current: RelayAttempt | null = null;
  #gone: boolean;
  /** The decision is not on disk in time: nobody else is called. */
  #unrecorded = false;
  /** Why nobody else is called. */
  #stop: StopReason | null = null;
  /** Ends a wait in a queue; made where there is one. */
  #left: AbortController | null = null;
  readonly #pause = new Pause();

  constructor(job: RelayJob, client: ClientAnswer) {
    this.#job = job;
    this.#client = client;
    this.#gone = client.closed;
    job.durable.catch(() => {
      this.#unrecorded = true;
      this.#left?.abort();
      this.#pause.end();
    });
    client.onClose(() => {
      this.#gone = true;
      this.#left?.abort();
      this.#current?.cancel();
      this.#pause.end();
    });
    client.onDrain(() => this.#current?.resume());
  }

  async run(): Promise<RelayOutcome> {
    const forget = this.#job.stopOrder?.onGiven((stop) => this.#end(stop));
    try {
      return await this.#run();
    } finally {
      forget?.();
    }
  }

  #end({ reason, running }: Stop): void {
    this.#stop ??= reason;
    this.#left?.abort();
    if (running === "end") this.#current?.stop(reason);
    this.#pause.end();
  }

  async #run(): Promise<RelayOutcome> {
    const { plan, maxAttempts, deadline, resends, random } = this.#job;
    const itinerary = new Itinerary(plan.length, maxAttempts, deadline, resends);
    let step: Step | null = { destination: 0, pause: 0 };
    while (step !== null && !this.#stopped) {
      if (step.pause > 0) await this.#pause.of(step.pause);
      if (this.#stopped) break;
      const candidate = plan[step.destination];
      if (candidate === undefined) throw new Error("relay: no such candidate");
      const result = await this.#tryCandidate(candidate, itinerary.hasFresh(this.#isWorthTrying));
      const { finish, usage, outputCharacters, firstByteAt, failure } = result;
      const known = { ...this.#known(), finish, usage, outputCharacters, firstByteAt };
      if (this.#gone) return { ...known, terminal: "client_closed", error: null };
      if (this.#unrecorded) return { ...known, terminal: "failed", error: null };
      if (failure === null) {
        const incomplete = finish !== null && INCOMPLETE_REASONS.has(finish);
        return { ...known, terminal: incomplete ? "incomplete" : "completed", error: null };
      }
      if (firstByteAt !== null) return { ...known, ...this.#ended(failure), terminal: "failed", error: null };
      step = itinerary.next(failure, performance.now(), random());
    }
    return this.#failed();
  }

  /** A queue is not passed by for a candidate that is out, or that cannot be called at all. */
  readonly #isWorthTrying = (place: number): boolean => {
    const { plan, inService, connections } = this.#job;
    const candidate = plan[place];
    return candidate !== undefined && place < inService && connections.has(candidate.endpoint.provider);
  };

  async #failed(): Promise<RelayOutcome> {
    // An error is an answer too.
    if (!this.#gone) await this.#job.durable.catch(() => {});
    const failed = this.#attempts.flatMap(({ candidate, failure }) =>
      failure === null ? [] : [{ endpoint: candidate.endpoint.id, failure }],
    );
    return {
      ...this.#known(),
      terminal: this.#gone ? "client_closed" : "failed",
      error:
        this.#gone || this.#unrecorded ? null : this.#stop !== null ? stoppedError(this.#stop) : failureError(failed),
      ...(this.#stop !== null && { ended: this.#stop }),
      finish: null,
      usage: null,
      outputCharacters: null,
      firstByteAt: null,
    };
  }

  get #stopped(): boolean {
    return this.#gone || this.#unrecorded || this.#stop !== null;
  }

  /** A stream that was let run on can fail for a reason of its own. */
  #ended({ kind }: UpstreamFailure): Pick<RelayOutcome, "ended"> {
    return kind === this.#stop ? { ended: kind } : {};
  }

  #known(): Pick<RelayOutcome, "attempts" | "stripped" | "losses" | "edits"> {
    return { attempts: this.#attempts, stripped: [...this.#stripped], losses: [...this.#losses], edits: this.#edits };
  }

  /** @param hasOther another candidate is fresh: then this one's queue is not waited in. */
  async #tryCandidate(candidate: Candidate, hasOther: boolean): Promise<AttemptResult> {
    const startedAt = performance.now();
    const connection = this.#job.connections.get(candidate.endpoint.provider);
    const leave = connection === undefined ? null : await this.#enter(candidate, connection, hasOther);
    let result: AttemptResult;
    let translated = false;
    if (connection === undefined) {
      result = notTried("credentials_missing");
    } else if (this.#stopped) {
      // In a queue, or in the moment in which a slot became free: no provider was called.
      leave?.();
      return notTried(this.#gone ? "client_closed" : (this.#stop ?? "abandoned"));
    } else if (leave === null) {
      result = notTried("saturated", hasOther ? NOT_WAITED : null);
    } else {
      try {
        const exchangePlan = this.#job.exchangePlanFor(candidate);
        ({ translated } = exchangePlan);
        for (const name of exchangePlan.stripped) this.#stripped.add(name);
        for (const loss of exchangePlan.losses) this.#losses.add(loss);
        this.#edits |= exchangePlan.edits;
        result = await this.#attempt(candidate, connection, exchangePlan);
        for (const loss of result.losses) this.#losses.add(loss);
        this.#edits |= result.edits;
      } finally {
        leave();
      }
    }
    if (result.unsent === true) return result;
    const { failure, status } = result;
    const duration = performance.now() - startedAt;
    const simulated = connection?.simulated === true;
    this.#attempts.push({ candidate, simulated, translated, failure, status, duration });
    return result;
  }

  async #attempt(candidate: Candidate, connection: Connection, exchangePlan: ExchangePlan): Promise<AttemptResult> {
    // Candidates that were not asked are no attempts.
    const number = 1 + this.#attempts.filter(({ failure }) => failure === null || wasAsked(failure)).length;
    const trace = this.#job.callTracer?.(candidate, connection.provider) ?? null;
    const traced = trace === null ? exchangePlan.headers : [...exchangePlan.headers, ...trace.headers];
    const attempt = new RelayAttempt(this.#job, candidate, connection, exchangePlan, traced, number, this.#client);
    this.#current = attempt;
    const { endpoints } = this.#job;
    const { id } = candidate.endpoint;
    const startedAt = performance.now();
    endpoints.begin(id, startedAt);
    let outcome: CallOutcome = NOTHING_LEARNT;
    let traceEnd: CallTraceEnd = notTried("abandoned");
    try {
      const result = await attempt.run();
      outcome = learnt(result, performance.now() - startedAt);
      traceEnd = result;
      return result;
    } finally {
      this.#current = null;
      endpoints.end(id, outcome, performance.now());
      trace?.end(traceEnd);
    }
  }

  /** A free slot among the endpoint's calls, at once or by its queue; `null` where there is none. */
  async #enter(candidate: Candidate, connection: Connection, hasOther: boolean): Promise<Leave | null> {
    const limiter = connection.limiterOf(candidate.endpoint);
    const leave = limiter.tryEnter();
    if (leave !== null || hasOther) return leave;
    this.#left ??= new AbortController();
    return limiter.enter(this.#job.deadline, this.#left.signal);
  }
}
