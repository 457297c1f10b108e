import { type DecisionRecord, type OutcomeRecord, asIdentifier } from "../evidence/record.ts";
import {
  type EvidenceHead,
  DuplicateDecisionError,
  EvidenceUnavailableError,
  type EvidenceUnavailableReason,
  type EvidenceHealth,
} from "../evidence/evidence-store.ts";
import { CommitTimer } from "./commit-timer.ts";
import { OUTCOME_FIELDS, type DecisionFields, type OutcomeFields } from "./evidence-batch.ts";
import { unknownOutcome } from "./stored-evidence.ts";

/** How long the queue waits, and how much it keeps. Milliseconds and records. */
export interface EvidenceLimits {
  /**
   * Longest time that decisions gather while turns of the event loop are long, so while other requests are at work. Each
   * batch costs about 200 µs of CPU, so that batches of one decision would cost a loaded process as much as all the rest.
   */
  readonly gathering: number;
  /** Longest time that outcomes wait for a decision to share a commit with. */
  readonly outcomeDelay: number;
  /** A commit that takes longer is given up: who waits is refused, until the store answers again. */
  readonly maxWait: number;
  /** Decisions kept in memory; more are refused. Of outcomes twice as many: so much is left for those of decisions on disk. */
  readonly maxWaiting: number;
}

export const DEFAULT_EVIDENCE_LIMITS: EvidenceLimits = {
  gathering: 5,
  outcomeDelay: 100,
  maxWait: 1_000,
  maxWaiting: 10_000,
};

export interface Appended {
  /** Positions of the decisions whose request id is recorded already. */
  readonly duplicates: readonly number[];
  readonly lost: number;
  /** The newest row of the log after the batch. */
  readonly head: EvidenceHead;
}

/** Writes one batch; resolves when it is on disk. */
export type Append = (decisions: DecisionFields, outcomes: OutcomeFields) => Promise<Appended>;

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * What gathers while the batch before is being written. Each item of `waiters` belongs to one decision, in order; `null`
 * where no request waits any more: the decision is late, and written nevertheless. Those come before the others.
 */
interface Batch {
  readonly decisions: DecisionFields;
  readonly outcomes: OutcomeFields;
  readonly waiters: (Waiter | null)[];
  readonly flushes: Waiter[];
}

/** Requests whose outcomes were lost that are remembered; those beyond stay open until their process ends. */
const MOST_UNENDED = 50_000;

/** Requests refused at once and still running that are remembered; outcomes of those beyond count as lost. */
const MOST_DROPPED = 50_000;

const emptyBatch = (): Batch => ({ decisions: [], outcomes: [], waiters: [], flushes: [] });

/**
 * Group commit: one batch is being written, the next one gathers and is sent when the one before has landed. A lone
 * decision of an idle process does not wait for others. Turning a record into text and appending it to a list
 * is all that a request costs the main thread.
 */
export class EvidenceQueue {
  readonly #append: Append;
  readonly #limits: EvidenceLimits;
  #gathering = emptyBatch();
  #flying: Batch | null = null;
  readonly #timer: CommitTimer;
  #available = true;
  #late = false;
  #closed = false;
  #refused = 0;
  #lost = 0;
  /** Requests with a decision on disk or on its way there, whose outcomes could not be kept. */
  #unended: string[] = [];
  /** Requests whose decisions were not taken, until they end. */
  readonly #dropped = new Set<string>();
  #head: EvidenceHead | null;

  /** @param head the newest row of the log as far as is known */
  constructor(append: Append, limits: EvidenceLimits, head: EvidenceHead | null = null) {
    this.#append = append;
    this.#limits = limits;
    this.#head = head;
    const isFlushed = (): boolean => this.#gathering.flushes.length > 0;
    this.#timer = new CommitTimer(limits.gathering, isFlushed, () => this.#send());
  }

  /**
   * Resolves when the record is on disk. Once taken it is written, however late: when its caller is refused meanwhile, a
   * provider may have been called already.
   */
  decide(record: DecisionRecord): Promise<void> {
    return new Promise((resolve, reject) => {
      const { decisions, waiters } = this.#gathering;
      const obstacle = this.#obstacle();
      if (obstacle !== null) {
        this.#refused += 1;
        this.#drop(record.requestId);
        reject(new EvidenceUnavailableError(obstacle));
        return;
      }
      // A sum of refusals that was refused comes again with the same id; its outcome has to be written then.
      if (this.#dropped.size > 0) this.#dropped.delete(record.requestId);
      const isFirst = !isAwaited(this.#gathering);
      // The column holds whole milliseconds; a fraction would be refused by the database, and with it the whole batch.
      decisions.push(Math.trunc(record.at), record.requestId, record.workspace, JSON.stringify(record));
      waiters.push({ resolve, reject });
      if (isFirst) this.#sendSoon();
    });
  }

  /** The outcome of a decision that was not taken goes with it. */
  settle(record: OutcomeRecord): void {
    // A set puts each new text into V8's table of texts before it looks for it.
    if (this.#dropped.size > 0 && this.#dropped.delete(record.requestId)) return;
    const { outcomes } = this.#gathering;
    if (this.#closed || this.#outcomeRoom() <= 0) return this.#lose(record.requestId);
    outcomes.push(Math.trunc(record.at), record.requestId, JSON.stringify(record));
    if (outcomes.length === OUTCOME_FIELDS) this.#sendLater();
  }

  flush(): Promise<void> {
    if (this.#late) return Promise.reject(new EvidenceUnavailableError("late"));
    const { decisions, outcomes } = this.#gathering;
    const gathers = decisions.length + outcomes.length > 0;
    const batch = gathers ? this.#gathering : this.#flying;
    if (batch === null) return Promise.resolve();
    return new Promise((resolve, reject) => {
      batch.flushes.push({ resolve, reject });
      if (gathers) this.#sendSoon();
    });
  }

  /** Takes nothing more; what is here can still be flushed. */
  close(): void {
    this.#closed = true;
  }

  /** A decision would be refused at once: the batch being written is late, too many wait, or the queue is closed. */
  get refusing(): boolean {
    return this.#obstacle() !== null;
  }

  health(): EvidenceHealth {
    return {
      state: this.#available && !this.refusing ? "ok" : "unavailable",
      waiting: this.#waiting(),
      refused: this.#refused,
      lost: this.#lost,
      head: this.#head,
    };
  }

  #waiting(): number {
    return this.#gathering.waiters.length + (this.#flying?.waiters.length ?? 0);
  }

  #obstacle(): EvidenceUnavailableReason | null {
    if (this.#closed) return "closed";
    if (this.#late) return "late";
    return this.#waiting() >= this.#limits.maxWaiting ? "full" : null;
  }

  /** Whatever gathers while a batch is being written follows it. */
  #sendSoon(): void {
    if (this.#flying === null) this.#timer.sendSoon();
  }

  /** Sends outcomes that no decision takes along. */
  #sendLater(): void {
    if (this.#flying === null) this.#timer.sendLater(this.#limits.outcomeDelay);
  }

  #send(): void {
    const batch = this.#gathering;
    this.#gathering = emptyBatch();
    this.#flying = batch;
    this.#timer.clear();
    const deadline = setTimeout(() => this.#giveUp(batch), this.#limits.maxWait);
    const land = (finish: () => void): void => {
      clearTimeout(deadline);
      this.#late = false;
      // Before the callers are resolved: one that then flushes at once must not wait for a batch that is written already.
      this.#flying = null;
      finish();
      this.#scheduleNext();
    };
    void this.#append(batch.decisions, batch.outcomes).then(
      (appended) => land(() => this.#written(batch, appended)),
      () => land(() => this.#failed(batch)),
    );
  }

  #written(batch: Batch, { duplicates, lost, head }: Appended): void {
    this.#available = true;
    this.#head = head;
    this.#lost += lost;
    // One without a waiting request was written by an attempt of which only the confirmation was missing.
    for (const position of duplicates) batch.waiters[position]?.reject(new DuplicateDecisionError());
    for (const waiter of batch.waiters) waiter?.resolve();
    for (const { resolve } of batch.flushes) resolve();
    this.#endUnended();
  }

  /** The callers are refused; what they decided, and the outcomes, are tried again, before what has come since. */
  #failed(batch: Batch): void {
    this.#available = false;
    this.#refuse(batch, "failed");
    const { decisions, outcomes, waiters, flushes } = this.#gathering;
    const room = Math.max(0, this.#outcomeRoom());
    for (let position = room; position < batch.outcomes.length; position += OUTCOME_FIELDS) {
      this.#lose(String(batch.outcomes[position + 1]));
    }
    this.#gathering = {
      decisions: batch.decisions.concat(decisions),
      outcomes: batch.outcomes.slice(0, room).concat(outcomes),
      waiters: batch.waiters.concat(waiters),
      flushes,
    };
  }

  /** The store is late: everybody is refused, new ones at once, so that requests neither hang nor pile up. */
  #giveUp(batch: Batch): void {
    this.#late = true;
    this.#refuse(batch, "late");
    this.#refuse(this.#gathering, "late");
  }

  /** Fails everything that waits for the batch; its decisions are kept. */
  #refuse({ waiters, flushes }: Batch, reason: EvidenceUnavailableReason): void {
    const error = new EvidenceUnavailableError(reason);
    for (const [position, waiter] of waiters.entries()) {
      if (waiter === null) continue;
      this.#refused += 1;
      waiter.reject(error);
      waiters[position] = null;
    }
    for (const { reject } of flushes.splice(0)) reject(error);
  }

  /** Fields of outcomes that still may gather. */
  #outcomeRoom(): number {
    return 2 * this.#limits.maxWaiting * OUTCOME_FIELDS - this.#gathering.outcomes.length;
  }

  #drop(requestId: string): void {
    if (this.#dropped.size < MOST_DROPPED) this.#dropped.add(requestId);
  }

  #lose(requestId: string): void {
    this.#lost += 1;
    if (this.#unended.length < MOST_UNENDED) this.#unended.push(requestId);
  }

  /** A decision without an end would be open for as long as the process lives, and nothing after it could be pruned. */
  #endUnended(): void {
    if (this.#unended.length === 0) return;
    const at = Date.now();
    const room = Math.max(0, Math.floor(this.#outcomeRoom() / OUTCOME_FIELDS));
    for (const requestId of this.#unended.splice(0, room)) {
      this.#gathering.outcomes.push(at, requestId, JSON.stringify(unknownOutcome(asIdentifier(requestId), at)));
    }
  }

  #scheduleNext(): void {
    const { decisions, outcomes, flushes } = this.#gathering;
    // The closing caller writes once more by `flush`; after that the process must be able to end.
    if (this.#closed && !this.#available && flushes.length === 0) return;
    if (flushes.length > 0 || isAwaited(this.#gathering)) this.#sendSoon();
    else if (decisions.length + outcomes.length > 0) this.#sendLater();
  }
}

/** Somebody waits for the batch: the newest decision is not late. */
function isAwaited({ waiters }: Batch): boolean {
  return (waiters.at(-1) ?? null) !== null;
}
