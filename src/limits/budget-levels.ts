import { budgetStep, type BudgetStep } from "../canon/budget-step.ts";
import { counterLimits, type LimitedSubject } from "./accounts.ts";
import { counterId, type LimitStore, windowStart } from "./limit-store.ts";

/** After this time the counters are read again, while requests go on with what is known. Milliseconds. */
const FRESH = 5_000;

/** Older figures decide nothing: the store has failed for too long. Milliseconds. */
const OLDEST = 60_000;

/**
 * What is left of budgets, for policies that read it. The counters of all replicas are in memory as they were seconds ago: a request looks them up and
 * waits for the store only where none have been read lately.
 */
export class BudgetLevels {
  readonly #store: Pick<LimitStore, "read">;
  readonly #now: () => number;
  #used: ReadonlyMap<string, number> = new Map();
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | null = null;

  /** @param now milliseconds since the epoch. */
  constructor(store: Pick<LimitStore, "read">, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /** The step of the tightest budget of these; `null` where the store does not say. Never rejects. */
  stepOf(subjects: readonly LimitedSubject[]): BudgetStep | Promise<BudgetStep | null> {
    if (!subjects.some((subject) => budgetsOf(subject).length > 0)) return "unlimited";
    if (this.#isReadWithin(FRESH)) return this.#tightest(subjects);
    const reading = this.#read();
    if (this.#isReadWithin(OLDEST)) return this.#tightest(subjects);
    return reading.then(() => (this.#isReadWithin(OLDEST) ? this.#tightest(subjects) : null));
  }

  #isReadWithin(age: number): boolean {
    const elapsed = this.#now() - this.#readAt;
    return elapsed >= 0 && elapsed < age;
  }

  #read(): Promise<void> {
    this.#reading ??= this.#readOnce().finally(() => (this.#reading = null));
    return this.#reading;
  }

  async #readOnce(): Promise<void> {
    const now = this.#now();
    try {
      const { counters } = await this.#store.read(now);
      this.#used = new Map(counters.map((counter) => [counterId(counter), counter.used]));
      this.#readAt = now;
    } catch {
      // What was read before holds until it is too old; then `stepOf` says that nothing is known.
    }
  }

  #tightest(subjects: readonly LimitedSubject[]): BudgetStep {
    const now = this.#now();
    let least = 1;
    for (const subject of subjects) {
      for (const { measure, window, ceiling } of budgetsOf(subject)) {
        const start = windowStart(window, now);
        const counter = counterId({ subject: `${subject.kind}:${subject.id}`, measure, window, start });
        // A counter that is not there has not been used in its window.
        const left = ceiling - (this.#used.get(counter) ?? 0);
        least = Math.min(least, ceiling === 0 ? 0 : left / ceiling);
      }
    }
    return budgetStep(least);
  }
}

function budgetsOf({ limits }: LimitedSubject) {
  return counterLimits(limits).filter(({ window }) => window !== "minute");
}
