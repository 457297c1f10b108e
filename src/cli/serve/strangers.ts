import { asWord, type DecisionRecord, type OutcomeRecord } from "../../evidence/record.ts";
import type { Runtime } from "../../http/runtime.ts";
import { DuplicateDecisionError } from "../../store/errors.ts";

/** Refusals without an accepted key that are written one by one at most: at once, and lasting a second. */
const AT_ONCE = 100;
const PER_SECOND = 10;

/** How often those beyond it are written as one, milliseconds. */
const INTERVAL = 10_000;

/** Nothing of it was read or answered. */
const NOTHING = { request: 0, answer: 0 };

type Evidence = Runtime["evidence"];

interface Sum {
  readonly decision: DecisionRecord;
  readonly outcome: OutcomeRecord;
}

export interface StrangerEvidence {
  readonly evidence: Evidence;
  /** Writes what has been added up; call it when no request runs any more. */
  readonly close: () => Promise<void>;
}

/**
 * Evidence in which requests that nobody answers for have a small share: what anybody can send must not take the room of decisions and outcomes. Beyond
 * the share, and while the store is in trouble, refusals are added up by operation, code and status, and written as one record for each.
 *
 * @param isWritable whether the store takes records now
 * @param clock milliseconds since the epoch
 */
export function strangerEvidence(
  evidence: Evidence,
  isWritable: () => boolean,
  newRequestId: () => string,
  clock: () => number,
): StrangerEvidence {
  const left = new Map<string, DecisionRecord>();
  const sums = new Map<string, Sum>();
  /** Handed over and not known to be written; handed over again with the same id. */
  let unwritten: readonly Sum[] = [];
  let timer: ReturnType<typeof setTimeout> | null = null;
  let share = AT_ONCE;
  let sharedAt = clock();

  const takeShare = (): boolean => {
    const now = clock();
    share = Math.min(AT_ONCE, share + (Math.max(0, now - sharedAt) / 1_000) * PER_SECOND);
    sharedAt = now;
    if (share < 1 || !isWritable()) return false;
    share -= 1;
    return true;
  };

  const add = (decision: DecisionRecord, outcome: OutcomeRecord): void => {
    const key = `${decision.operation} ${decision.reason ?? ""} ${outcome.status} ${outcome.terminal}`;
    const requestId = sums.get(key)?.decision.requestId ?? asWord(newRequestId());
    const repeated = (sums.get(key)?.decision.repeated ?? 0) + 1;
    // Of the newest of them, but for what tells one client's request from another's.
    sums.set(key, {
      decision: { ...decision, requestId, retryCount: 0, clientRequestDigest: null, repeated },
      outcome: { ...outcome, requestId },
    });
    timer ??= setTimeout(() => void write(), INTERVAL);
  };

  const write = async (): Promise<void> => {
    timer = null;
    if (isWritable()) {
      if (unwritten.length === 0) {
        unwritten = [...sums.values()];
        sums.clear();
      }
      const written = await Promise.all(unwritten.map((sum) => writeOne(evidence, sum)));
      unwritten = unwritten.filter((_, index) => written[index] === false);
    }
    if (unwritten.length + sums.size > 0) timer ??= setTimeout(() => void write(), INTERVAL);
  };

  return {
    evidence: {
      decide(record) {
        if (record.workspace !== null || record.outcome !== "refuse" || takeShare()) return evidence.decide(record);
        left.set(record.requestId, record);
        return Promise.resolve();
      },
      settle(record, sizes) {
        const decision = left.get(record.requestId);
        if (decision === undefined) return evidence.settle(record, sizes);
        left.delete(record.requestId);
        return add(decision, record);
      },
    },
    async close() {
      if (unwritten.length > 0) await write();
      if (sums.size > 0) await write();
      if (timer !== null) clearTimeout(timer);
    },
  };
}

/** Whether it is known to be on disk. */
async function writeOne(evidence: Evidence, { decision, outcome }: Sum): Promise<boolean> {
  try {
    await evidence.decide(decision);
  } catch (error) {
    // It was late and has landed after all; only its outcome may be missing.
    if (!(error instanceof DuplicateDecisionError)) return false;
  }
  evidence.settle(outcome, NOTHING);
  return true;
}
