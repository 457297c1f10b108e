import { getHeapStatistics } from "node:v8";

/** The time of a simulation is up, or the memory that its thread may use is full. */
export class TimeUpError extends Error {
  override readonly name = "TimeUpError";
}

/** Looking at the heap takes microseconds. */
const CHECKS_PER_LOOK = 16;

/**
 * Share of the memory for old objects. Near the limit V8 ends the process; an incomplete report is
 * better.
 */
const FULL = 0.85;
/** Bytes of V8's limit that are for young objects. */
const YOUNG = 116 * 1024 * 1024;

function isHeapFull(): boolean {
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
  return used >= FULL * Math.max(limit - YOUNG, limit / 2);
}

export type Budget = ReturnType<typeof budgetUntil>;

/**
 * The time that deciding may take, and the evaluations that used it.
 *
 * @param deadline milliseconds since the epoch.
 */
export function budgetUntil(deadline: number) {
  let evaluations = new Map<string, number>();
  let checks = 0;
  let isFull = false;
  const isExhausted = () => isFull || Date.now() >= deadline;
  /** @throws {TimeUpError} */
  const check = () => {
    checks += 1;
    if (checks % CHECKS_PER_LOOK === 0) isFull ||= isHeapFull();
    if (isExhausted()) throw new TimeUpError("the time of the simulation is up");
  };
  return {
    isExhausted,
    /** Whether memory has ended deciding. */
    isFull: () => isFull,
    check,
    /** Counts an evaluation of a policy. @throws {TimeUpError} */
    spend(policy: string): void {
      check();
      evaluations.set(policy, (evaluations.get(policy) ?? 0) + 1);
    },
    /** Evaluations of each policy since the last call. */
    takeEvaluations(): Map<string, number> {
      const counts = evaluations;
      evaluations = new Map();
      return counts;
    },
  };
}
