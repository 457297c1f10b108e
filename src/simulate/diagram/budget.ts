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

/** The time that deciding may take, and the evaluations that used it. */
export class Budget {
  readonly #deadline: number;
  readonly #evaluations = new Map<string, number>();

  #checks = 0;
  #isFull = false;

  /** @param deadline milliseconds since the epoch. */
  constructor(deadline: number) {
    this.#deadline = deadline;
  }

  get isOver(): boolean {
    return this.#isFull || Date.now() >= this.#deadline;
  }

  /** Whether memory has ended deciding. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** @throws {TimeUpError} */
  check(): void {
    this.#checks += 1;
    if (this.#checks % CHECKS_PER_LOOK === 0) this.#isFull ||= isHeapFull();
    if (this.isOver) throw new TimeUpError("the time of the simulation is up");
  }

  /** Counts an evaluation of a policy. @throws {TimeUpError} */
  spend(policy: string): void {
    this.check();
    this.#evaluations.set(policy, (this.#evaluations.get(policy) ?? 0) + 1);
  }

  /** Evaluations of each policy since they were last taken. */
  takeEvaluations(): ReadonlyMap<string, number> {
    const counts = new Map(this.#evaluations);
    this.#evaluations.clear();
    return counts;
  }
}
