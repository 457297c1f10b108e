import type { ProviderPreferences } from "../../canon/request.ts";
import type { RoutingTable } from "../../canon/table.ts";
import { candidatesWithin } from "../../decide/approvals.ts";
import { requestedRoute } from "../../decide/decide.ts";
import { applyPreferences } from "../../decide/narrow.ts";
import { Trace } from "../../decide/trace.ts";
import { identityOf } from "../decide-sample.ts";
import { namedProviders } from "../renamed-table.ts";
import { isNarrowed, type SampleRequest } from "../sample-request.ts";
import { addPlainest, narrowings, ordersOf, type OrderReaders } from "./preference-narrowings.ts";
import {
  preferredSide,
  stateKey,
  type OpenedSide,
  type SideState,
  type SideView,
} from "./side-walk.ts";
import type { PreferenceUniverse } from "./universe.ts";

/**
 * With base as a third view, which is evaluated with the preferences of {@link comparedRequest}.
 *
 * @param start of the job.
 */
export function withReach(
  effects: readonly PreferenceEffect[],
  base: SideView,
  start: SampleRequest,
): readonly PreferenceEffect[] {
  return effects.map((effect) => {
    const { preferences, sides } = effect;
    const [before, after] = sides;
    if (before === undefined) return effect;
    const taken = (after?.candidates ?? []).map(({ endpoint }) => endpoint.provider);
    const isMisnamed = before.denied?.endsWith("/unknown_preference") === true;
    const compared = comparedRequest(base.table, { ...start, preferences }, isMisnamed, taken);
    if (compared === null) return { ...effect, sides: [...sides, before] };
    const { preferences: reaching } = compared;
    return { ...effect, sides: [...sides, preferredSide(base, reaching)], reaching };
  });
}

const LISTS = ["order", "only", "ignore", "region"] as const;

/**
 * The request whose reach in base is compared with the reach of a request in head: without names
 * that base does not have. A caller who takes no fallback takes one candidate, and a route that is
 * reordered gives it another one, which is no more than it may reach anyway: base is evaluated for
 * the providers that head takes, since with every candidate a primary that lacks what the request
 * needs would refuse it. The same goes for a caller who states the most that a call may cost: a
 * lower price is no new reach. `null`: the request itself.
 *
 * @param taken providers of the candidates that head leaves of the caller's preferences.
 */
export function comparedRequest(
  table: RoutingTable,
  sample: SampleRequest,
  isMisnamed: boolean,
  taken: readonly string[],
): SampleRequest | null {
  const { allow_fallbacks: fallbacks, max_price: most } = sample.preferences ?? {};
  const takesOne = fallbacks === false || most !== undefined;
  if (!isMisnamed && !takesOne) return null;
  if (!takesOne) return withKnownNames(table, sample);
  const {
    order: _order,
    sort: _sort,
    allow_fallbacks: _one,
    max_price: _most,
    ...preferences
  } = sample.preferences ?? {};
  const only = taken.length === 0 ? {} : { only: [...new Set(taken)].toSorted() };
  return withKnownNames(table, { ...sample, preferences: { ...preferences, ...only } });
}

/**
 * The request without the providers and regions that a table does not have for it; lists that are
 * then empty are omitted.
 */
function withKnownNames(table: RoutingTable, sample: SampleRequest): SampleRequest {
  const requested = requestedRoute(table, identityOf(sample), sample.model, sample.operation);
  if ("reason" in requested || sample.preferences === null) return sample;
  const candidates = candidatesWithin(table, requested.workspace, requested.route);
  const isKnown = (preferences: ProviderPreferences): boolean => {
    const trace = new Trace();
    applyPreferences(
      table,
      requested.workspace,
      namedProviders(table, preferences),
      candidates,
      trace,
    );
    return trace.denial?.reason !== "unknown_preference";
  };
  const preferences = { ...sample.preferences };
  for (const member of LISTS) {
    const names = preferences[member]?.filter((name) => isKnown({ [member]: [name] })) ?? [];
    if (names.length > 0) preferences[member] = names;
    else delete preferences[member];
  }
  return { ...sample, preferences };
}

/** Preferences that neither side distinguishes before its approvals and policies are evaluated. */
export interface PreferenceEffect {
  /** One of them, the simplest. */
  readonly preferences: ProviderPreferences | null;
  /** The candidates that they leave on each side; in the order of the views. */
  readonly sides: readonly SideState[];
  /** Those with which the third view is evaluated, where they are others. */
  readonly reaching?: ProviderPreferences | null;
  readonly size: bigint;
}

/**
 * Effects of callers' preferences on requests of one workspace and route: each set of candidates
 * that they can leave on the two sides, in each order that has a reader. The simplest first. Their
 * number may double with each further provider of a route.
 *
 * @param check called repeatedly; its errors end the search.
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

function add(found: Map<string, PreferenceEffect>, effect: PreferenceEffect): void {
  const {
    allow_fallbacks: mayFallBack,
    data_collection: collection,
    zdr,
  } = effect.preferences ?? {};
  const flags = [mayFallBack, collection, zdr, isNarrowed(effect.preferences)];
  const key = [...effect.sides.map(stateKey), ...flags].join("\n");
  const preferences = membersOf(effect) === 0 ? null : effect.preferences;
  addPlainest(found, key, { ...effect, preferences }, membersOf);
}

function membersOf({ preferences }: PreferenceEffect): number {
  return Object.keys(preferences ?? {}).length;
}
