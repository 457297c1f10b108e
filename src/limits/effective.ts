import type { Budget, KeyLimits } from "../canon/limits.ts";

/** Whose limits hold for a request. */
export interface LimitedSubject {
  readonly kind: "workspace" | "key";
  readonly id: string;
  readonly limits: EffectiveLimits;
}

/** Limits that hold for one subject. Two budgets where a key's own and its workspace's `per_key` are of different kinds. */
export interface EffectiveLimits extends KeyLimits {
  readonly secondBudget?: Budget;
}

/** Merged limits by what they are merged from: the same two give the same object, as {@link Accounts} tells limits apart by. */
const merged = new WeakMap<KeyLimits, WeakMap<KeyLimits, EffectiveLimits>>();

/**
 * What holds for a key: of its own limits and those of `per_key` the smaller, measure by measure. A key's own limits never widen `per_key`: whoever
 * may make keys in a workspace cannot give them more than the operator gives every key.
 *
 * @returns `null` where there are neither.
 */
export function effectiveLimits(own: KeyLimits | null, perKey: KeyLimits | null): EffectiveLimits | null {
  if (own === null || perKey === null) return own ?? perKey;
  let known = merged.get(own);
  if (known === undefined) merged.set(own, (known = new WeakMap()));
  let limits = known.get(perKey);
  if (limits === undefined) known.set(perKey, (limits = merge(own, perKey)));
  return limits;
}

function merge(own: KeyLimits, perKey: KeyLimits): EffectiveLimits {
  const common = {
    requestsPerMinute: smaller(own.requestsPerMinute, perKey.requestsPerMinute),
    tokensPerMinute: smaller(own.tokensPerMinute, perKey.tokensPerMinute),
    concurrency: smaller(own.concurrency, perKey.concurrency),
  };
  const [first, second] = [own.budget, perKey.budget];
  if (first === null || second === null) return { ...common, budget: first ?? second };
  if (first.per !== second.per || "usd" in first !== "usd" in second) {
    return { ...common, budget: first, secondBudget: second };
  }
  return { ...common, budget: amountOf(first) <= amountOf(second) ? first : second };
}

function smaller(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}

/** In the budget's own unit. */
function amountOf(budget: Budget): number {
  return "usd" in budget ? budget.usd : budget.tokens;
}
