import type { KeyLimits, WorkspaceLimits } from "../canon/limits.ts";
import type { LimitUsage } from "./limit-store.ts";
import { effectiveLimits, type EffectiveLimits, counterLimits } from "./accounts.ts";
import { windowEnd, windowStart, type LimitMeasure, type LimitWindow } from "./windows.ts";

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

export interface LimitedKey {
  readonly id: string;
  readonly workspace: string;
  /** The key's own, beside which those of its workspace's `per_key` hold. */
  readonly limits?: KeyLimits | null;
}

/** Every limit of the workspaces and of their keys, in the order given, with what is used of it in the window of the moment. */
export function limitRows(
  workspaces: readonly { readonly id: string; readonly limits: WorkspaceLimits }[],
  keys: readonly LimitedKey[],
  usage: LimitUsage,
  now: number,
): readonly LimitRow[] {
  const used = new Map(
    usage.counters.map(({ subject, measure, window, start, used: count }) => [
      `${subject} ${measure} ${window} ${start}`,
      count,
    ]),
  );
  const held = new Map(usage.slots.map(({ subject, held: count }) => [subject, count]));
  const rowsOf = (workspace: string, key: string | null, limits: EffectiveLimits): readonly LimitRow[] => {
    const subject = key === null ? `workspace:${workspace}` : `key:${key}`;
    const counters = counterLimits(limits).map(({ measure, window, ceiling }): LimitRow => {
      const start = windowStart(window, now);
      const count = used.get(`${subject} ${measure} ${window} ${start}`) ?? 0;
      return { workspace, key, measure, window, used: count, limit: ceiling, resetsAt: windowEnd(window, start) };
    });
    if (limits.concurrency === null) return counters;
    const candidates = { measure: "concurrency", window: null, limit: limits.concurrency, resetsAt: null } as const;
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
