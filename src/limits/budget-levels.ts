import { budgetStep, type BudgetStep } from "../canon/limits.ts";
import { counterLimits, type LimitedSubject } from "./accounts.ts";
import {
  counterId,
  type LimitMeasure,
  type LimitStore,
  type LimitWindow,
  windowStart,
} from "./limit-store.ts";

/**
 * After this time the counters are read again, while requests go on with what is known.
 * Milliseconds.
 */
const FRESH = 5_000;

/** Older figures decide nothing: the store has failed for too long. Milliseconds. */
const OLDEST = 60_000;

/**
 * What is left of budgets, for policies that read it. The counters of all replicas are in memory as
 * they were seconds ago: a request looks them up and waits for the store only where none have been
 * read lately.
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

  /**
   * The step of the tightest budget of these; `null` where the store does not say. Never rejects.
   */
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

  /**
   * Use of each budget of these subjects, at most a minute old; empty where the store does not
   * answer. Older figures are renewed for the next call.
   */
  usesOf(subjects: readonly LimitedSubject[]): readonly BudgetUse[] {
    if (!this.#isReadWithin(FRESH)) void this.#read();
    return this.#isReadWithin(OLDEST) ? this.#uses(subjects) : [];
  }

  #uses(subjects: readonly LimitedSubject[]): readonly BudgetUse[] {
    const now = this.#now();
    return subjects.flatMap((subject) =>
      budgetsOf(subject).map(({ measure, window, ceiling }) => {
        const start = windowStart(window, now);
        const counter = counterId({
          subject: `${subject.kind}:${subject.id}`,
          measure,
          window,
          start,
        });
        // A counter that is not there has not been used in its window.
        const used = this.#used.get(counter) ?? 0;
        return { id: subject.id, measure, window, ceiling, used };
      }),
    );
  }

  #tightest(subjects: readonly LimitedSubject[]): BudgetStep {
    const left = this.#uses(subjects).map(({ ceiling, used }) =>
      ceiling === 0 ? 0 : (ceiling - used) / ceiling,
    );
    return budgetStep(Math.min(1, ...left));
  }
}

/** One budget of a workspace or key, and how much of it all replicas have used. */
export interface BudgetUse {
  /** Of the workspace or key. */
  readonly id: string;
  readonly measure: LimitMeasure;
  readonly window: LimitWindow;
  /** In the measure's unit. */
  readonly ceiling: number;
  /** Above the ceiling where requests cost more than their estimate. */
  readonly used: number;
}

function budgetsOf({ limits }: LimitedSubject) {
  return counterLimits(limits).filter(({ window }) => window !== "minute");
}
