import type { ProviderPreferences } from "../../canon/request.ts";
import { isNarrowed } from "../sample-request.ts";
import { narrowings, type Narrowing } from "./preference-narrowings.ts";
import {
  ordersWithFallbacks,
  ordersWithoutFallbacks,
  type OrderReaders,
} from "./preference-orders.ts";
import { preferredSide, stateKey, type OpenedSide, type SideState } from "./side-state.ts";
import type { PreferenceUniverse } from "./universe.ts";

/** Preferences that neither side distinguishes before its approvals and policies are evaluated. */
export interface PreferenceEffect {
  /** One of them, the plainest. */
  readonly preferences: ProviderPreferences | null;
  /** What they leave on each side. */
  readonly sides: readonly SideState[];
  readonly size: bigint;
}

/**
 * What callers' preferences do to requests of one workspace and route: each set of candidates that
 * they can leave on the two sides, in each order that anybody looks at. The plainest first. There
 * may be twice as many for each further provider of a route.
 *
 * @param check called again and again; what it throws ends the search.
 */
export function preferenceEffects(
  universe: PreferenceUniverse,
  sides: readonly OpenedSide[],
  readers: OrderReaders,
  check: () => void = () => {},
): readonly PreferenceEffect[] {
  const found = new Map<string, PreferenceEffect>();
  for (const narrowing of narrowings(universe, sides, check)) {
    check();
    for (const mayFallBack of universe.allowFallbacks) {
      for (const order of ordersOf(universe, narrowing, mayFallBack, sides, readers)) {
        const given = {
          ...narrowing.preferences,
          ...(mayFallBack ? {} : { allow_fallbacks: false }),
          ...order,
        };
        add(found, {
          preferences: given,
          sides: sides.map((side) => preferredSide(side, given)),
          size: narrowing.size,
        });
      }
    }
  }
  return [...found.values()].toSorted((left, right) => membersOf(left) - membersOf(right));
}

function ordersOf(
  { orders }: PreferenceUniverse,
  narrowing: Narrowing,
  mayFallBack: boolean,
  sides: readonly OpenedSide[],
  readers: OrderReaders,
): ReturnType<typeof ordersWithFallbacks> {
  if (!orders) return [{}];
  return mayFallBack
    ? ordersWithFallbacks(narrowing, sides, readers)
    : ordersWithoutFallbacks(narrowing, sides);
}

function add(found: Map<string, PreferenceEffect>, effect: PreferenceEffect): void {
  const {
    allow_fallbacks: mayFallBack,
    data_collection: collection,
    zdr,
  } = effect.preferences ?? {};
  const flags = [mayFallBack, collection, zdr, isNarrowed(effect.preferences)];
  const key = [...effect.sides.map(stateKey), ...flags].join("\n");
  const same = found.get(key);
  if (same === undefined) {
    const isEmpty = membersOf(effect) === 0;
    found.set(key, isEmpty ? { ...effect, preferences: null } : effect);
    return;
  }
  const plainest = membersOf(effect) < membersOf(same) ? effect : same;
  found.set(key, { ...plainest, size: same.size + effect.size });
}

function membersOf({ preferences }: PreferenceEffect): number {
  return Object.keys(preferences ?? {}).length;
}
