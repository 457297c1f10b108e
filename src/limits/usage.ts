import {
  budgetStep,
  type BudgetStep,
  type KeyLimits,
  type WorkspaceLimits,
  type LimitMeasure,
  type LimitWindow,
} from "../canon/limits.ts";
import {
  counterLimits,
  effectiveLimits,
  type EffectiveLimits,
  type LimitedSubject,
} from "./accounts.ts";
import { counterId, type LimitStore, type LimitUsage } from "./limit-store.ts";
import { windowAt } from "./windows.ts";

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
      // The last reading holds until it is too old; then `stepOf` gives `null`.
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
      budgetsOf(subject).map(({ measure, window, zone, ceiling }) => {
        const { start } = windowAt(window, now, zone);
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

/** One limit and what is used of it now. */
export interface LimitRow {
  readonly workspace: string;
  /** Public id; `null` for the limits of the workspace. */
  readonly key: string | null;
  readonly measure: LimitMeasure | "concurrency";
  /** `null` for concurrency. */
  readonly window: LimitWindow | null;
  /** With what processes hold and have not used yet. Money in millionths of a US dollar. */
  readonly used: number;
  readonly limit: number;
  /** Of the window, milliseconds since the epoch; `null` for concurrency. */
  readonly startsAt: number | null;
  readonly resetsAt: number | null;
}

interface LimitedKey {
  readonly id: string;
  readonly workspace: string;
  /** The key's own, beside which those of its workspace's `per_key` hold. */
  readonly limits?: KeyLimits | null;
}

/**
 * Every limit of the workspaces and of their keys, in the order given, with what is used of it in
 * the window of the moment.
 */
export function limitRows(
  workspaces: readonly { readonly id: string; readonly limits: WorkspaceLimits }[],
  keys: readonly LimitedKey[],
  usage: LimitUsage,
  now: number,
): readonly LimitRow[] {
  const used = new Map(usage.counters.map((counter) => [counterId(counter), counter.used]));
  const held = new Map(usage.slots.map(({ subject, held: count }) => [subject, count]));
  const rowsOf = (
    workspace: string,
    key: string | null,
    limits: EffectiveLimits,
  ): readonly LimitRow[] => {
    const subject = key === null ? `workspace:${workspace}` : `key:${key}`;
    const counters = counterLimits(limits).map(({ measure, window, zone, ceiling }): LimitRow => {
      const { start, end } = windowAt(window, now, zone);
      const count = used.get(counterId({ subject, measure, window, start })) ?? 0;
      return {
        workspace,
        key,
        measure,
        window,
        used: count,
        limit: ceiling,
        startsAt: start,
        resetsAt: end,
      };
    });
    if (limits.concurrency === null) return counters;
    const candidates = {
      measure: "concurrency",
      window: null,
      limit: limits.concurrency,
      startsAt: null,
      resetsAt: null,
    } as const;
    return [...counters, { workspace, key, ...candidates, used: held.get(subject) ?? 0 }];
  };
  return workspaces.flatMap(({ id, limits }) => [
    ...rowsOf(id, null, limits),
    ...keys
      .filter(({ workspace }) => workspace === id)
      .flatMap((key) => {
        const own = effectiveLimits(key.limits ?? null, limits.perKey);
        return own === null ? [] : rowsOf(id, key.id, own);
      }),
  ]);
}

/** A budget in money of a workspace, in the window of the moment. */
export interface BudgetLine {
  /** "usd/day". */
  readonly name: string;
  readonly workspace: string;
  readonly limit_usd: number;
  /** With what processes hold and have not used yet. */
  readonly spent_usd: number;
  /** RFC 3339. */
  readonly window_start: string;
  readonly window_end: string;
  /** At the end of the window, by the share of it that is over; `null` in its first 5 %. */
  readonly projected_usd: number | null;
}

/** A projection needs at least this share of a window. */
const LEAST_SHARE = 0.05;

/**
 * The budgets in money of a workspace, not of its keys. @param now milliseconds since the epoch.
 */
export function budgetLines(
  workspace: { readonly id: string; readonly limits: WorkspaceLimits },
  usage: LimitUsage,
  now: number,
): readonly BudgetLine[] {
  return limitRows([workspace], [], usage, now).flatMap(
    ({ measure, window, used, limit, startsAt: start, resetsAt }) => {
      if (measure !== "micro_usd" || start === null || resetsAt === null) return [];
      const share = (now - start) / (resetsAt - start);
      return {
        name: `usd/${window}`,
        workspace: workspace.id,
        limit_usd: limit / MICRO,
        spent_usd: used / MICRO,
        window_start: instant(start),
        window_end: instant(resetsAt),
        projected_usd: share < LEAST_SHARE ? null : Math.round(used / share) / MICRO,
      };
    },
  );
}

const MICRO = 1_000_000;

const instant = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`;
