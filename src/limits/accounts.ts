import { CounterAccount, SlotAccount, type CounterLimit } from "./counter-account.ts";
import { counterId, type LimitCounter } from "./limit-store.ts";
import { windowAt } from "./windows.ts";
import type { Budget, KeyLimits, LimitMeasure, RefusingLimit } from "../canon/limits.ts";
import { remember } from "../canon/remember.ts";

/** Use beyond a reservation that is not on disk yet. */
export interface Overdraft extends LimitCounter {
  readonly amount: number;
}

/** A larger one could not be written down. */
const LARGEST_DEBT = Number.MAX_SAFE_INTEGER;

/** The state of limits in one process: its leases and its debts. */
export class Accounts {
  readonly counters = new Map<string, CounterAccount>();
  readonly slots = new Map<string, SlotAccount>();
  readonly overdrafts = new Map<string, Overdraft>();
  readonly #refusedDebts = new Set<string>();
  readonly #workspaces = new Map<string, Meters>();
  readonly #keys = new Map<string, Meters>();

  /** Marks the accounts as used: one that a waiting request refers to must not be forgotten. */
  metersOf(subject: LimitedSubject, now: number): Meters {
    const meters = this.#find(subject);
    for (const counter of meters.counters) counter.touchedAt = now;
    if (meters.slots !== null) meters.slots.touchedAt = now;
    return meters;
  }

  #find({ kind, id, limits }: LimitedSubject): Meters {
    const metersById = kind === "workspace" ? this.#workspaces : this.#keys;
    const meters = metersById.get(id);
    // Every table and key has its own object: another one may be another ceiling, the same one
    // cannot be.
    if (meters !== undefined && meters.limits === limits) return meters;
    const created = this.#make(`${kind}:${id}`, limits);
    metersById.set(id, created);
    return created;
  }

  /** Forgets subjects without requests in flight and without leases. */
  forgetIdle(isIdle: (account: CounterAccount | SlotAccount) => boolean): void {
    for (const [id, account] of this.counters)
      if (account.open === 0 && isIdle(account)) this.counters.delete(id);
    for (const [id, account] of this.slots)
      if (account.inUse === 0 && isIdle(account)) this.slots.delete(id);
    for (const metersById of [this.#workspaces, this.#keys]) {
      for (const [id, { counters, slots }] of metersById) {
        const isKept = (account: CounterAccount) => this.counters.has(idOf(account));
        if (!counters.every(isKept) || (slots !== null && !this.slots.has(slots.subject)))
          metersById.delete(id);
      }
    }
  }

  /** True where the use exceeds the reservation and the lease: the rest is owed to the store. */
  settle(account: CounterAccount, reserved: number, used: number, at: number): boolean {
    account.releaseAmount(reserved, at);
    const isCurrent = account.holds(at);
    let beyond = used - reserved;
    if (isCurrent) {
      // Leased units pay first.
      const paid = Math.min(account.available, beyond);
      account.available -= paid;
      beyond -= paid;
    }
    if (beyond <= 0) return false;
    const { subject, measure, window, zone } = account;
    const { start } = windowAt(window, at, zone);
    this.owe({ subject, measure, window, start, amount: beyond });
    return true;
  }

  owe(debt: Overdraft): void {
    const id = counterId(debt);
    const amount = (this.overdrafts.get(id)?.amount ?? 0) + debt.amount;
    this.overdrafts.set(id, { ...debt, amount: Math.min(amount, LARGEST_DEBT) });
  }

  /**
   * Takes out the debts.
   *
   * @param skipsRefused without debts that the store has refused before: only sweeps retry those.
   */
  takeDebts(skipsRefused: boolean): readonly Overdraft[] {
    const debts: Overdraft[] = [];
    for (const [id, debt] of this.overdrafts) {
      if (skipsRefused && this.#refusedDebts.has(id)) continue;
      debts.push(debt);
      this.overdrafts.delete(id);
      this.#refusedDebts.delete(id);
    }
    return debts;
  }

  get hasRefusedDebts(): boolean {
    return this.#refusedDebts.size > 0;
  }

  /** A debt that the store refused: still owed, but no request waits for it. */
  oweRefused(debt: Overdraft): void {
    this.owe(debt);
    this.#refusedDebts.add(counterId(debt));
  }

  #make(subject: string, limits: EffectiveLimits): Meters {
    const counters = counterLimits(limits).map((limit) => {
      const fresh = new CounterAccount(subject, limit);
      const account = remember(this.counters, idOf(fresh), () => fresh);
      account.setCeiling(limit.ceiling);
      return account;
    });
    const { concurrency } = limits;
    const slots = concurrency === null ? null : this.#slotsOf(subject, concurrency);
    return { limits, counters, slots };
  }

  #slotsOf(subject: string, ceiling: number): SlotAccount {
    const account = remember(this.slots, subject, () => new SlotAccount(subject, ceiling));
    account.setCeiling(ceiling);
    return account;
  }
}

function idOf({ subject, measure, window, zone = "" }: CounterAccount) {
  return `${subject} ${measure} ${window} ${zone}`;
}

/**
 * Use of a request, or its upper bound: whole numbers, at least 0. Money in millionths of a dollar.
 */
export type Amounts = Readonly<Record<LimitMeasure, number>>;

/**
 * The limits of one subject, each with this process's account of it. Never changed: other limits
 * are other meters.
 */
export interface Meters {
  readonly limits: EffectiveLimits;
  readonly counters: readonly CounterAccount[];
  readonly slots: SlotAccount | null;
}

/** The counters that limits need. */
export function counterLimits({
  requestsPerMinute,
  tokensPerMinute,
  budget,
  secondBudget,
}: EffectiveLimits): readonly CounterLimit[] {
  const limits: CounterLimit[] = [];
  if (requestsPerMinute !== null)
    limits.push({ measure: "requests", window: "minute", ceiling: requestsPerMinute });
  if (tokensPerMinute !== null)
    limits.push({ measure: "tokens", window: "minute", ceiling: tokensPerMinute });
  for (const each of [budget, secondBudget]) {
    if (each != null) limits.push({ ...measured(each), window: each.per, zone: each.timeZone });
  }
  return limits;
}

function measured(budget: Budget): Pick<CounterLimit, "measure" | "ceiling"> {
  // Rounded down, but not because 0.29 has no exact double.
  if ("usd" in budget)
    return { measure: "micro_usd", ceiling: Math.floor(budget.usd * 1_000_000 + 0.000_1) };
  return { measure: "tokens", ceiling: budget.tokens };
}

/** A workspace or key whose limits apply to a request. */
export interface LimitedSubject {
  readonly kind: "workspace" | "key";
  readonly id: string;
  readonly limits: EffectiveLimits;
}

/**
 * Limits that hold for one subject. Two budgets where a key's own and its workspace's `per_key` are
 * of different kinds.
 */
export interface EffectiveLimits extends KeyLimits {
  readonly secondBudget?: Budget;
}

/**
 * Merged limits by their two sources: the same two give the same object, by which {@link Accounts}
 * distinguishes limits.
 */
const merged = new WeakMap<KeyLimits, WeakMap<KeyLimits, EffectiveLimits>>();

/**
 * The limits of a key: of its own and those of `per_key` the smaller, measure by measure. A
 * key's own limits never widen `per_key`: a caller who may make keys in a workspace cannot give
 * them more than the operator gives every key.
 *
 * @returns `null` where there are neither.
 */
export function effectiveLimits(
  keyLimits: KeyLimits | null,
  perKey: KeyLimits | null,
): EffectiveLimits | null {
  if (keyLimits === null || perKey === null) return keyLimits ?? perKey;
  const ofKey = remember(merged, keyLimits, () => new WeakMap());
  return remember(ofKey, perKey, () => merge(keyLimits, perKey));
}

function merge(keyLimits: KeyLimits, perKey: KeyLimits): EffectiveLimits {
  const common = {
    requestsPerMinute: smaller(keyLimits.requestsPerMinute, perKey.requestsPerMinute),
    tokensPerMinute: smaller(keyLimits.tokensPerMinute, perKey.tokensPerMinute),
    concurrency: smaller(keyLimits.concurrency, perKey.concurrency),
  };
  const [first, second] = [keyLimits.budget, perKey.budget];
  if (first === null || second === null) return { ...common, budget: first ?? second };
  if (first.per !== second.per || "usd" in first !== "usd" in second) {
    return { ...common, budget: first, secondBudget: second };
  }
  // One counter has one window: the operator sets when the period of `per_key` begins.
  const { per, timeZone } = second;
  const smallest = sizeOf(first) <= sizeOf(second) ? first : second;
  return { ...common, budget: { ...smallest, per, timeZone } };
}

function smaller(one: number | null, other: number | null) {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}

/** In the budget's own unit. */
function sizeOf(budget: Budget) {
  return "usd" in budget ? budget.usd : budget.tokens;
}

export const LIMIT_CODES = [
  "requests_per_minute",
  "tokens_per_minute",
  "budget_exhausted",
  "exceeds_remaining_budget",
  "budget_reserved",
  "exceeds_limit",
  "concurrency",
] as const;

export type LimitCode = (typeof LIMIT_CODES)[number];

/** Why a request may not be sent now. */
export interface LimitRefusal {
  readonly refused: LimitCode | "limits_unavailable";
  /** `null` where the store failed. */
  readonly limit: RefusingLimit | null;
  /**
   * Milliseconds until a retry can succeed; `null` if the same request can never fit
   * (`exceeds_limit`).
   */
  readonly retryAfter: number | null;
  readonly meters: readonly Meters[];
}

/**
 * Retry delay, milliseconds, while a slot, the reservation of a running request or the store may
 * become available at any moment.
 */
const RETRY = 1_000;

/** The refusal where the store cannot be read. */
export function unavailable(meters: readonly Meters[]): LimitRefusal {
  return { refused: "limits_unavailable", limit: null, retryAfter: RETRY, meters };
}

/** The refusal by the known counters; `null` where the store must answer first. */
export function refusalBy(
  meters: readonly Meters[],
  amounts: Amounts,
  now: number,
): LimitRefusal | null {
  let found: LimitRefusal | null = null;
  for (const { counters, slots } of meters) {
    for (const counter of counters) {
      const amount = amounts[counter.measure];
      const never = amount > counter.ceiling;
      if (!never && (counter.available >= amount || !counter.isKnownFull(amount, now))) continue;
      const untilEnd = Math.max(1, counter.end - now);
      const isReserved = !never && counter.fitsWithoutReservations(amount);
      const retryAfter = never ? null : isReserved ? Math.min(RETRY, untilEnd) : untilEnd;
      // A retry succeeds only after the longest wait.
      if (found !== null && waitOf(found) >= waitOf({ retryAfter })) continue;
      const refused = never ? "exceeds_limit" : codeOf(counter, isReserved, amount);
      found = { refused, limit: refusingCounter(counter, amount), retryAfter, meters };
    }
    if (found === null && slots !== null && slots.free(now) < 1 && slots.isKnownFull(now)) {
      const limit = refusingSlots(slots);
      found = { refused: "concurrency", limit, retryAfter: RETRY, meters };
    }
  }
  return found;
}

function waitOf({ retryAfter }: Pick<LimitRefusal, "retryAfter">) {
  return retryAfter ?? Number.POSITIVE_INFINITY;
}

/** A smaller request is worth a try where this share of the amount is left. */
const WORTH_A_TRY = 0.1;

/** @param isReserved running requests hold the missing amount, and may give it back. */
function codeOf(
  { measure, window, remaining }: CounterAccount,
  isReserved: boolean,
  amount: number,
): LimitCode {
  if (window !== "minute") {
    if (isReserved) return "budget_reserved";
    return remaining >= WORTH_A_TRY * amount ? "exceeds_remaining_budget" : "budget_exhausted";
  }
  return measure === "requests" ? "requests_per_minute" : "tokens_per_minute";
}

function refusingCounter(
  { subject, measure, window, ceiling, occupied, reserved, end, reportedAt }: CounterAccount,
  requested: number,
): RefusingLimit {
  const isReported = Number.isFinite(reportedAt);
  return {
    subject: kindOf(subject),
    measure,
    window,
    size: ceiling,
    used: isReported ? Math.max(0, occupied) : null,
    // A request that runs gives tokens and money back, but counts as a request.
    reserved: isReported ? (measure === "requests" ? 0 : reserved) : null,
    requested,
    renewsAt: end,
  };
}

function refusingSlots({ subject, ceiling, inUse, others }: SlotAccount): RefusingLimit {
  return {
    subject: kindOf(subject),
    measure: "concurrency",
    window: null,
    size: ceiling,
    used: inUse + others,
    reserved: inUse,
    requested: 1,
    renewsAt: null,
  };
}

function kindOf(subject: string) {
  return subject.startsWith("key:") ? "key" : "workspace";
}
