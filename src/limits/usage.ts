import type { KeyLimits, WorkspaceLimits } from "../canon/limits.ts";
import {
  counterId,
  type LimitUsage,
  windowEnd,
  windowStart,
  type LimitMeasure,
  type LimitWindow,
} from "./limit-store.ts";
import { effectiveLimits, type EffectiveLimits, counterLimits } from "./accounts.ts";

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
  /** Milliseconds since the epoch; `null` for concurrency. */
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
    const counters = counterLimits(limits).map(({ measure, window, ceiling }): LimitRow => {
      const start = windowStart(window, now);
      const count = used.get(counterId({ subject, measure, window, start })) ?? 0;
      return {
        workspace,
        key,
        measure,
        window,
        used: count,
        limit: ceiling,
        resetsAt: windowEnd(window, start),
      };
    });
    if (limits.concurrency === null) return counters;
    const candidates = {
      measure: "concurrency",
      window: null,
      limit: limits.concurrency,
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

/** Shares of a window before this one say too little. */
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
    ({ measure, window, used, limit, resetsAt }) => {
      if (measure !== "micro_usd" || window === null || resetsAt === null) return [];
      const start = windowStart(window, now);
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
