import { budgetStep, type BudgetStep, type KeyLimits } from "../canon/limits.ts";
import type { RoutingTable, WorkspaceRow } from "../canon/table.ts";
import {
  counterLimits,
  effectiveLimits,
  type EffectiveLimits,
  type LimitedSubject,
} from "./accounts.ts";
import type { CounterLimit } from "./counter-account.ts";
import { counterId, type LimitStore, type LimitUsage } from "./limit-store.ts";
import { windowAt } from "./windows.ts";

/**
 * After this time the counters are read again; meanwhile requests use the last reading.
 * Milliseconds.
 */
const FRESH = 5_000;

/** Older figures decide nothing: the store has failed for too long. Milliseconds. */
const OLDEST = 60_000;

export type BudgetLevels = ReturnType<typeof budgetLevels>;

/**
 * Remaining part of budgets, for policies that read it. The counters of all replicas are in memory
 * as they were seconds ago: a request looks them up and waits for the store only where none have
 * been read lately.
 *
 * @param now milliseconds since the epoch.
 */
export function budgetLevels(store: Pick<LimitStore, "read">, now: () => number) {
  let used: ReadonlyMap<string, number> = new Map();
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | null = null;

  function isFresherThan(age: number): boolean {
    const elapsed = now() - readAt;
    return elapsed >= 0 && elapsed < age;
  }

  function read(): Promise<void> {
    reading ??= readOnce().finally(() => (reading = null));
    return reading;
  }

  async function readOnce() {
    const at = now();
    try {
      used = usedOf(await store.read(at));
      readAt = at;
    } catch {
      // The last reading holds until it is too old; then `stepOf` gives `null`.
    }
  }

  const uses = (subjects: readonly LimitedSubject[]) =>
    subjects.flatMap(({ kind, id, limits }) =>
      countedUses(`${kind}:${id}`, budgetsOf(limits), used, now()).map((use) => ({ id, ...use })),
    );

  function tightest(subjects: readonly LimitedSubject[]): BudgetStep {
    const shares = uses(subjects).map((use) =>
      use.limit === 0 ? 0 : (use.limit - use.used) / use.limit,
    );
    return budgetStep(Math.min(1, ...shares));
  }

  /**
   * The step of the tightest budget of these; `null` where the store does not answer. Never
   * rejects.
   */
  function stepOf(subjects: readonly LimitedSubject[]): BudgetStep | Promise<BudgetStep | null> {
    if (!subjects.some(({ limits }) => budgetsOf(limits).length > 0)) return "unlimited";
    if (isFresherThan(FRESH)) return tightest(subjects);
    const renewal = read();
    if (isFresherThan(OLDEST)) return tightest(subjects);
    return renewal.then(() => (isFresherThan(OLDEST) ? tightest(subjects) : null));
  }

  /**
   * Use of each budget of these subjects, at most a minute old; empty where the store does not
   * answer. Older figures are renewed for the next call.
   */
  function usesOf(subjects: readonly LimitedSubject[]): readonly BudgetUse[] {
    if (!isFresherThan(FRESH)) void read();
    return isFresherThan(OLDEST) ? uses(subjects) : [];
  }

  /** The same for all workspaces of a table. */
  const usesOfWorkspaces = (workspaces: RoutingTable["workspaces"]) =>
    usesOf(Object.values(workspaces).map(({ id, limits }) => ({ kind: "workspace", id, limits })));

  return { stepOf, usesOf, usesOfWorkspaces };
}

/** One budget of a workspace or key, by its id. */
export type BudgetUse = { readonly id: string } & ReturnType<typeof countedUses>[number];

function budgetsOf(limits: EffectiveLimits): readonly CounterLimit[] {
  return counterLimits(limits).filter(({ window }) => window !== "minute");
}

/**
 * Use of counters, over all replicas, in their current windows: leased amounts that are not used
 * yet included, and above the limit where requests cost more than their estimate. Money is in
 * millionths of a US dollar, times in milliseconds since the epoch.
 *
 * @param used by `counterId`.
 */
function countedUses(
  subject: string,
  limits: readonly CounterLimit[],
  used: ReadonlyMap<string, number>,
  now: number,
) {
  return limits.map(({ measure, window, zone, ceiling: limit }) => {
    const { start: startsAt, end: resetsAt } = windowAt(window, now, zone);
    // A counter that is not there has not been used in its window.
    const count = used.get(counterId({ subject, measure, window, start: startsAt })) ?? 0;
    return { measure, window, used: count, limit, startsAt, resetsAt };
  });
}

const usedOf = ({ counters }: LimitUsage) =>
  new Map(counters.map((counter) => [counterId(counter), counter.used]));

/**
 * One limit of a workspace, or of a key by its public id, and its use. Concurrency has no window.
 */
export type LimitRow = ReturnType<typeof limitRows>[number];

interface LimitedKey {
  readonly id: string;
  readonly workspace: string;
  /** First key of its rotations, whose counters all of them share; default: the key itself. */
  readonly lineage?: string | null;
  /** The key's own, beside which those of its workspace's `per_key` hold. */
  readonly limits?: KeyLimits | null;
}

type LimitedWorkspace = Pick<WorkspaceRow, "id" | "limits">;

/** Every limit of the workspaces and of their keys, in the order given, with its use. */
export function limitRows(
  workspaces: readonly LimitedWorkspace[],
  keys: readonly LimitedKey[],
  usage: LimitUsage,
  now: number,
) {
  const used = usedOf(usage);
  const heldBySubject = new Map(usage.slots.map(({ subject, held: count }) => [subject, count]));
  const rowsOf = (
    workspace: string,
    key: string | null,
    subject: string,
    limits: EffectiveLimits,
  ) => {
    const slots = {
      measure: "concurrency",
      window: null,
      used: heldBySubject.get(subject) ?? 0,
      limit: limits.concurrency ?? 0,
      startsAt: null,
      resetsAt: null,
    } as const;
    return [
      ...countedUses(subject, counterLimits(limits), used, now),
      ...(limits.concurrency === null ? [] : [slots]),
    ].map((row) => ({ workspace, key, ...row }));
  };
  return workspaces.flatMap(({ id, limits }) => [
    ...rowsOf(id, null, `workspace:${id}`, limits),
    ...keys
      .filter(({ workspace }) => workspace === id)
      .flatMap((key) => {
        const effective = effectiveLimits(key.limits ?? null, limits.perKey);
        return effective === null ? [] : rowsOf(id, key.id, subjectOf(key), effective);
      }),
  ]);
}

const subjectOf = ({ id, lineage }: LimitedKey) => `key:${lineage ?? id}`;

/** A budget in money of a workspace or key, in the window of the moment. */
export type BudgetLine = ReturnType<typeof budgetLines>[number];

/** A projection needs at least this share of a window. */
const LEAST_SHARE = 0.05;

/** Budgets of keys in one answer. */
const MOST_KEY_BUDGETS = 100;

/**
 * The budgets in money of workspaces, and of keys those that are used in their window: at most a
 * hundred, the largest used share first. Times are RFC 3339.
 *
 * @param now milliseconds since the epoch.
 */
export function budgetLines(
  workspaces: readonly LimitedWorkspace[],
  keys: readonly LimitedKey[],
  usage: LimitUsage,
  now: number,
) {
  const spenders = new Set(usage.counters.map(({ subject }) => subject));
  const usedKeys = keys.filter((key) => spenders.has(subjectOf(key)));
  const lines = limitRows(workspaces, usedKeys, usage, now).flatMap((row) => {
    const { workspace, key, measure, window, used, limit, startsAt, resetsAt } = row;
    if (measure !== "micro_usd" || startsAt === null || resetsAt === null) return [];
    const share = (now - startsAt) / (resetsAt - startsAt);
    return {
      name: `usd/${window}`,
      workspace,
      key,
      limit_usd: limit / MICRO,
      // Leased amounts that are not used yet included.
      spent_usd: used / MICRO,
      window_start: instant(startsAt),
      window_end: instant(resetsAt),
      // At the end of the window, at the pace so far.
      projected_usd: share < LEAST_SHARE ? null : Math.round(used / share) / MICRO,
    };
  });
  const ofKeys = lines
    .filter(({ key, spent_usd }) => key !== null && spent_usd > 0)
    .toSorted((one, other) => other.spent_usd / other.limit_usd - one.spent_usd / one.limit_usd);
  return [...lines.filter(({ key }) => key === null), ...ofKeys.slice(0, MOST_KEY_BUDGETS)];
}

const MICRO = 1_000_000;

const instant = (at: number) => `${new Date(at).toISOString().slice(0, 19)}Z`;
