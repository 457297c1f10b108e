import type { CallTraceEnd, CallTracer } from "../canon/tracing/call-trace.ts";
import type { Candidate } from "../canon/decision.ts";
import { NO_EDITS, type AnswerEdits, type EditSet } from "../canon/generate/edit.ts";
import type { ServiceError } from "../canon/error.ts";
import type { UpstreamFailure } from "../canon/failure.ts";
import { INCOMPLETE_REASONS, type FinishReason } from "../canon/generate/event.ts";
import type { Loss } from "../canon/generate/loss.ts";
import type { TokenUsage } from "../canon/generate/usage.ts";
import type { InferenceRequest } from "../canon/request.ts";
import type { Passage } from "../dialects/translation/passage.ts";
import { learnt, NOTHING_LEARNT, notTried, type AttemptResult } from "./attempt-result.ts";
import type { ClientAnswer } from "./client/client-answer.ts";
import type { Connection } from "./connections.ts";
import { failureError, stoppedError, wasAsked } from "./failure-error.ts";
import type { Leave } from "./gates/gate.ts";
import { Itinerary, NOT_WAITED, type Step } from "./itinerary.ts";
import { Pause } from "./pause.ts";
import type { CallOutcome, PlaceBook } from "./places/places.ts";
import { RelayAttempt } from "./relay-attempt.ts";
import type { Stop, StopReason, StopSource } from "./gates/stop-order.ts";

/** One request to be answered by the first candidate of its plan that can. */
export interface RelayJob {
  readonly request: InferenceRequest;
  /** In the order to try them; at least one. */
  readonly plan: readonly Candidate[];
  /** How many of them, from the first, are in service: those behind are out for their health, and tried last. */
  readonly inService: number;
  /** The way to a candidate. */
  readonly passageTo: (candidate: Candidate) => Passage;
  readonly connections: ReadonlyMap<string, Connection>;
  /** On the clock of `performance.now()`. */
  readonly deadline: number;
  /** Calls that reach a provider, at least 1. */
  readonly maxAttempts: number;
  /** A request that its provider may have read is sent to the same provider again. */
  readonly resends: boolean;
  /** From 0 to 1; spreads repetitions. */
  readonly random: () => number;
  /** Told how every call went. */
  readonly places: PlaceBook;
  /** Puts calls into the request's trace. */
  readonly callTracer?: CallTracer | null;
  /**
   * The request's tokens count against a limit: a stream whose client leaves is read on for a moment, until the provider says what it counted.
   */
  readonly countsTokens: boolean;
  /** Largest answer that is collected, bytes. A stream may have eight times as many. */
  readonly maxAnswerBytes: number;
  /**
   * Resolves when the decision is on disk; nothing may be sent to the client before. Where it rejects nothing is sent at all,
   * calls are given up, and the outcome is `failed` without an error: the caller knows why.
   */
  readonly durable: Promise<void>;
  /** Ends the request where it stands, or keeps it from calling anybody else; never given where absent. */
  readonly stopOrder?: StopSource | undefined;
  /**
   * Headers of an answer by this candidate at this attempt; names and values by turns.
   *
   * @param known what was changed in its request and, as far as it has been read, in its answer.
   */
  readonly answerHeaders: (candidate: Candidate, attempt: number, known: AnswerEdits) => readonly string[];
}

/** How one candidate fared. */
export interface AttemptReport {
  readonly candidate: Candidate;
  readonly simulated: boolean;
  /** The candidate speaks another dialect than the caller. */
  readonly translated: boolean;
  readonly failure: UpstreamFailure | null;
  readonly status: number | null;
  /** Milliseconds; the longest where several calls are told of together. */
  readonly duration: number;
  /** Calls that ended alike, where a request was sent in parts; one where absent. */
  readonly calls?: number;
}

export interface RelayOutcome {
  readonly terminal: "completed" | "incomplete" | "failed" | "client_closed";
  /** What the client must still be told, where nothing has been sent; `null` where the answer has been sent. */
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
  readonly losses: readonly Loss[];
  /** What was changed in requests and answer besides. */
  readonly edits: EditSet;
}

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
    let step: Step | null = { place: 0, pause: 0 };
    while (step !== null && !this.#stopped) {
      if (step.pause > 0) await this.#pause.of(step.pause);
      if (this.#stopped) break;
      const candidate = plan[step.place];
      if (candidate === undefined) throw new Error("relay: no such place");
      const result = await this.#tryPlace(candidate, itinerary.hasFresh(this.#isWorthTrying));
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

  /** Nobody passes a queue by for a place that is out, or that cannot be called at all. */
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

  /** @param hasOther another place is fresh: then this one's queue is not waited in. */
  async #tryPlace(candidate: Candidate, hasOther: boolean): Promise<AttemptResult> {
    const startedAt = performance.now();
    const connection = this.#job.connections.get(candidate.endpoint.provider);
    const leave = connection === undefined ? null : await this.#enter(candidate, connection, hasOther);
    let result: AttemptResult;
    let translated = false;
    if (connection === undefined) {
      result = notTried("credentials_missing");
    } else if (this.#stopped) {
      // In a queue, or in the moment in which a place became free: nobody was called.
      leave?.();
      return notTried(this.#gone ? "client_closed" : (this.#stop ?? "abandoned"));
    } else if (leave === null) {
      result = notTried("saturated", hasOther ? NOT_WAITED : null);
    } else {
      try {
        const passage = this.#job.passageTo(candidate);
        ({ translated } = passage);
        for (const name of passage.stripped) this.#stripped.add(name);
        for (const loss of passage.losses) this.#losses.add(loss);
        this.#edits |= passage.edits;
        result = await this.#attempt(candidate, connection, passage);
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

  async #attempt(candidate: Candidate, connection: Connection, passage: Passage): Promise<AttemptResult> {
    // Places that were not asked are no attempts.
    const number = 1 + this.#attempts.filter(({ failure }) => failure === null || wasAsked(failure)).length;
    const trace = this.#job.callTracer?.(candidate, connection.provider) ?? null;
    const traced = trace === null ? passage.headers : [...passage.headers, ...trace.headers];
    const attempt = new RelayAttempt(this.#job, candidate, connection, passage, traced, number, this.#client);
    this.#current = attempt;
    const { places } = this.#job;
    const { id } = candidate.endpoint;
    const startedAt = performance.now();
    places.begin(id, startedAt);
    let outcome: CallOutcome = NOTHING_LEARNT;
    let traceEnd: CallTraceEnd = notTried("abandoned");
    try {
      const result = await attempt.run();
      outcome = learnt(result, performance.now() - startedAt);
      traceEnd = result;
      return result;
    } finally {
      this.#current = null;
      places.end(id, outcome, performance.now());
      trace?.end(traceEnd);
    }
  }

  /** A free place among the endpoint's calls, at once or by its queue; `null` where there is none. */
  async #enter(candidate: Candidate, connection: Connection, hasOther: boolean): Promise<Leave | null> {
    const gate = connection.gateOf(candidate.endpoint);
    const leave = gate.tryEnter();
    if (leave !== null || hasOther) return leave;
    this.#left ??= new AbortController();
    return gate.enter(this.#job.deadline, this.#left.signal);
  }
}
