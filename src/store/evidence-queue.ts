import type { ChainLink } from "../evidence/chain.ts";
import {
  DuplicateDecisionError,
  type EvidenceHealth,
  EvidenceUnavailableError,
  type EvidenceUnavailableReason,
  type PendingDecision,
} from "../evidence/evidence-store.ts";
import type { DecisionRecord, OutcomeRecord } from "../evidence/record.ts";
import type { NewRecord } from "./batch/batch-lines.ts";
import { decisionOf, outcomeOf, unknownRecord } from "./stored-evidence.ts";

/** Waiting times in milliseconds, and capacities in records. */
export interface EvidenceLimits {
  /**
   * Longest time that needed decisions gather while turns of the event loop are long, so while
   * other requests are at work. Each batch costs about 200 µs of CPU, so that batches of one
   * decision would cost a loaded process as much as all the rest.
   */
  readonly gathering: number;
  /** Longest time that a decision gathers which no answer needs yet; 0: it is written at once. */
  readonly delay: number;
  /** Longest time that outcomes wait for a decision to share a commit with. */
  readonly outcomeDelay: number;
  /** Longest time that an answer waits. Then the store is late, and refuses further decisions. */
  readonly maxWait: number;
  /** Decisions kept in memory, and twice as many outcomes; more are refused. */
  readonly maxWaiting: number;
}

export const DEFAULT_EVIDENCE_LIMITS: EvidenceLimits = {
  gathering: 5,
  delay: 0,
  outcomeDelay: 250,
  maxWait: 1_000,
  maxWaiting: 10_000,
};

export interface Appended {
  /** Positions of the decisions whose request id is recorded already. */
  readonly duplicates: readonly number[];
  readonly lost: number;
  /** The newest row of the log after the batch. */
  readonly head: ChainLink;
}

/** Writes one batch, decisions first; resolves when it is on disk. */
export type Append = (records: readonly NewRecord[]) => Promise<Appended>;

/** One decision of a batch. */
class Waiter implements PendingDecision {
  readonly #need: () => void;
  readonly #settled: (error: Error | null) => void;
  /** When an answer began to wait, on the clock of `performance.now()`. */
  neededAt: number | null = null;
  isSettled = false;
  /** An attempt whose batch failed may have written it: a duplicate is this very decision then. */
  wasTried = false;

  constructor(need: () => void, settled: (error: Error | null) => void) {
    this.#need = need;
    this.#settled = settled;
  }

  needed(): void {
    if (this.isSettled || this.neededAt !== null) return;
    this.neededAt = performance.now();
    this.#need();
  }

  settle(error: Error | null): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.#settled(error);
  }
}

/** Records that gather. Each waiter belongs to the decision at its index. */
interface Batch {
  readonly decisions: NewRecord[];
  readonly outcomes: NewRecord[];
  readonly waiters: Waiter[];
  readonly flushes: PromiseWithResolvers<void>[];
}

/** A larger batch would delay the others: it is written even if no answer needs it. */
const LARGE_BATCH = 256;

/** Requests with lost outcomes that are remembered; more stay open until their process ends. */
const MOST_UNENDED = 50_000;

/** Running requests without a decision that are remembered; outcomes beyond count as lost. */
const MOST_DROPPED = 50_000;

const emptyBatch = (): Batch => ({ decisions: [], outcomes: [], waiters: [], flushes: [] });

export type EvidenceQueue = ReturnType<typeof evidenceQueue>;

/**
 * Group commit: one batch is being written, the next one gathers. It is sent at the end of the turn
 * of the event loop in which an answer needs one of its decisions, or when its oldest decision or
 * outcome has waited for its delay. Turning a record into text and appending it to a list is all
 * that a request costs the main thread.
 *
 * @param newest row of the log as far as is known
 */
export function evidenceQueue(
  append: Append,
  limits: EvidenceLimits,
  newest: ChainLink | null = null,
) {
  let gathered = emptyBatch();
  let inFlight: Batch | null = null;
  /** When the batch that is being written was sent, on the clock of `performance.now()`. */
  let sentAt = 0;
  /** Start of the oldest unconfirmed write, failed attempts included, on the same clock. */
  let owingSince: number | null = null;
  let available = true;
  let isLate = false;
  /** Runs while a batch is being written that is not late, and while an answer waits. */
  let lateTimer: ReturnType<typeof setTimeout> | null = null;
  let closed = false;
  let refusedCount = 0;
  let lostCount = 0;
  /** Requests with a decision on disk or on its way there, whose outcomes could not be kept. */
  let unended: string[] = [];
  /** Requests with rejected decisions, until they end. */
  const dropped = new Set<string>();
  const isFlushed = () => gathered.flushes.length > 0;
  const timer = commitTimer(limits.gathering, isFlushed, () => send());

  /** Milliseconds. */
  const owing = () => (owingSince === null ? 0 : performance.now() - owingSince);
  const unavailable = (reason: EvidenceUnavailableReason) =>
    new EvidenceUnavailableError(reason, owing());
  const waiting = () => gathered.waiters.length + (inFlight?.waiters.length ?? 0);
  /** Outcomes that still may gather. */
  const outcomeRoom = () => 2 * limits.maxWaiting - gathered.outcomes.length;

  function findObstacle(): EvidenceUnavailableReason | null {
    if (closed) return "closed";
    if (isLate) return "late";
    return waiting() >= limits.maxWaiting ? "full" : null;
  }

  /** Records that gather while a batch is being written follow it. */
  function sendSoon() {
    if (inFlight === null) timer.sendSoon();
  }

  function sendLater(delay: number) {
    if (inFlight === null) timer.sendLater(delay);
  }

  function need() {
    if (inFlight !== null) lookForLateAfter(limits.maxWait);
    sendSoon();
  }

  function send() {
    const batch = gathered;
    gathered = emptyBatch();
    inFlight = batch;
    timer.clear();
    sentAt = performance.now();
    owingSince ??= sentAt;
    lookForLateAfter(limits.maxWait);
    const land = (finish: () => void) => {
      isLate = false;
      // Before callers resolve: a flush from one of them must not wait for a written batch.
      inFlight = null;
      finish();
      scheduleNext();
    };
    void append([...batch.decisions, ...batch.outcomes]).then(
      (appended) => land(() => confirmBatch(batch, appended)),
      () => land(() => failed(batch)),
    );
  }

  function confirmBatch(batch: Batch, { duplicates, lost, head }: Appended) {
    available = true;
    owingSince = null;
    newest = head;
    lostCount += lost;
    for (const position of duplicates) {
      const waiter = batch.waiters[position];
      if (waiter?.wasTried === false) waiter.settle(new DuplicateDecisionError());
    }
    for (const waiter of batch.waiters) waiter.settle(null);
    for (const { resolve } of batch.flushes) resolve();
    endUnended();
  }

  /** Waiting answers are refused; all records are tried again, ahead of newer ones. */
  function failed(batch: Batch) {
    available = false;
    refuseWaiters(batch, "failed", Number.POSITIVE_INFINITY);
    for (const waiter of batch.waiters) waiter.wasTried = true;
    for (const { reject } of batch.flushes) reject(unavailable("failed"));
    const { decisions, outcomes, waiters, flushes } = gathered;
    const room = Math.max(0, outcomeRoom());
    for (const { requestId } of batch.outcomes.slice(room)) lose(requestId);
    gathered = {
      decisions: batch.decisions.concat(decisions),
      outcomes: batch.outcomes.slice(0, room).concat(outcomes),
      waiters: batch.waiters.concat(waiters),
      flushes,
    };
  }

  /** @param delay milliseconds; ignored if a check is scheduled already */
  function lookForLateAfter(delay: number) {
    if (lateTimer !== null) return;
    // After a pause of the process, timers fire before answers that have arrived: read those first.
    lateTimer = setTimeout(() => setImmediate(refuseLateAnswers), delay).unref();
  }

  /** Refuses answers. Requests at providers continue: they may be on disk before they end. */
  function refuseLateAnswers() {
    lateTimer = null;
    const flying = inFlight;
    if (flying === null) return;
    const since = performance.now() - limits.maxWait;
    isLate = sentAt <= since;
    let oldest = isLate ? Number.POSITIVE_INFINITY : sentAt;
    for (const batch of [flying, gathered]) {
      oldest = Math.min(oldest, refuseWaiters(batch, "late", since));
      if (!isLate) continue;
      for (const { reject } of batch.flushes.splice(0)) reject(unavailable("late"));
    }
    if (!Number.isFinite(oldest)) return;
    lookForLateAfter(Math.max(1, Math.ceil(oldest - since)));
  }

  /** Refuses answers that wait since `until`. @returns since when the longest other waits */
  function refuseWaiters(
    { waiters }: Batch,
    reason: EvidenceUnavailableReason,
    until: number,
  ): number {
    let oldest = Number.POSITIVE_INFINITY;
    for (const waiter of waiters) {
      const { neededAt } = waiter;
      if (neededAt === null || waiter.isSettled) continue;
      if (neededAt > until) {
        oldest = Math.min(oldest, neededAt);
        continue;
      }
      refusedCount += 1;
      waiter.settle(unavailable(reason));
    }
    return oldest;
  }

  function drop(requestId: string) {
    if (dropped.size < MOST_DROPPED) dropped.add(requestId);
  }

  function lose(requestId: string) {
    lostCount += 1;
    if (unended.length < MOST_UNENDED) unended.push(requestId);
  }

  /** A decision without an outcome stays open, and nothing after it could be pruned. */
  function endUnended() {
    if (unended.length === 0) return;
    const at = Date.now();
    for (const requestId of unended.splice(0, Math.max(0, outcomeRoom())))
      gathered.outcomes.push(unknownRecord([requestId, at]));
  }

  function scheduleNext() {
    const { decisions, outcomes, waiters, flushes } = gathered;
    const isDue = available && isDueBatch(gathered);
    const isNeeded = waiters.some(({ neededAt, isSettled }) => neededAt !== null && !isSettled);
    if (flushes.length > 0 || isNeeded || isDue) sendSoon();
    // The caller of `close` flushes once more; afterwards no timer may keep the process alive.
    else if (closed && !available) return;
    else if (decisions.length > 0 && available) sendLater(limits.delay);
    else if (decisions.length + outcomes.length > 0) sendLater(limits.outcomeDelay);
  }

  function isDueBatch({ waiters }: Batch) {
    return waiters.length >= LARGE_BATCH || (waiters.length > 0 && limits.delay === 0);
  }

  return {
    /**
     * An accepted decision is written, however late: a provider may have been called even if the
     * answer is refused.
     *
     * @param settled called once: with `null` when the record is on disk
     */
    begin(record: DecisionRecord, settled: (error: Error | null) => void): PendingDecision {
      const waiter = new Waiter(need, settled);
      const obstacle = findObstacle();
      if (obstacle !== null) {
        refusedCount += 1;
        drop(record.requestId);
        waiter.settle(unavailable(obstacle));
        return waiter;
      }
      // A sum of refusals is submitted again with its id; then its outcome must be written.
      if (dropped.size > 0) dropped.delete(record.requestId);
      const { decisions, waiters } = gathered;
      decisions.push(decisionOf(record));
      waiters.push(waiter);
      if (isDueBatch(gathered)) sendSoon();
      else sendLater(limits.delay);
      return waiter;
    },
    /** The outcome of a rejected decision is dropped with it. */
    settle(record: OutcomeRecord): void {
      // A set look-up adds each new string to V8's string table first.
      if (dropped.size > 0 && dropped.delete(record.requestId)) return;
      const { outcomes } = gathered;
      if (closed || outcomeRoom() <= 0) return lose(record.requestId);
      outcomes.push(outcomeOf(record));
      if (outcomes.length === 1) sendLater(limits.outcomeDelay);
    },
    flush(): Promise<void> {
      if (isLate) return Promise.reject(unavailable("late"));
      const { decisions, outcomes } = gathered;
      const gathers = decisions.length + outcomes.length > 0;
      const batch = gathers ? gathered : inFlight;
      if (batch === null) return Promise.resolve();
      const flush = Promise.withResolvers<void>();
      batch.flushes.push(flush);
      if (gathers) sendSoon();
      return flush.promise;
    },
    /** Accepts nothing more; the rest can still be flushed. */
    close(): void {
      closed = true;
    },
    /** A decision would be refused at once: late, full, or closed. */
    get refusing() {
      return findObstacle() !== null;
    },
    health(): EvidenceHealth {
      return {
        state: available && findObstacle() === null ? "ok" : "unavailable",
        waiting: waiting(),
        refused: refusedCount,
        lost: lostCount,
        head: newest,
        owing: owing(),
      };
    },
  };
}

/** A longer turn of the event loop has served other requests. Milliseconds. */
const LONG_TURN = 0.1;

/**
 * When a batch is sent: once the event loop has nothing else to do, or later.
 *
 * @param gathering longest wait, milliseconds. @param isUrgent sends at the end of the turn
 */
function commitTimer(gathering: number, isUrgent: () => boolean, send: () => void) {
  let soon: ReturnType<typeof setImmediate> | null = null;
  let later: ReturnType<typeof setTimeout> | null = null;
  let laterDelay = 0;
  let since = 0;
  let turnBegan = 0;

  function endTurn() {
    const now = performance.now();
    const isBusy = now - turnBegan > LONG_TURN && now - since < gathering;
    turnBegan = now;
    if (isBusy && !isUrgent()) soon = setImmediate(endTurn);
    else send();
  }

  return {
    /** Records that arrive before the event loop is idle share the commit. */
    sendSoon(): void {
      if (soon !== null) return;
      since = performance.now();
      turnBegan = since;
      soon = setImmediate(endTurn);
    },
    /** Unless it is sent earlier; the shortest delay counts. @param delay milliseconds */
    sendLater(delay: number): void {
      if (later !== null && laterDelay <= delay) return;
      if (later !== null) clearTimeout(later);
      later = setTimeout(send, delay);
      laterDelay = delay;
    },
    /** Sends nothing until the next call. */
    clear(): void {
      if (soon !== null) clearImmediate(soon);
      if (later !== null) clearTimeout(later);
      soon = null;
      later = null;
    },
  };
}
