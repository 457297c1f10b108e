import type { ProviderPreferences, SortPreference } from "../../canon/request.ts";
import { isNarrowed } from "../sample-request.ts";
import { nameOf, type OpenedSide, preferredSide, type SideState, stateKey } from "./side-walk.ts";
import { type PreferenceUniverse, regionNames } from "./universe.ts";
import type { Price, RoutingTable } from "../../canon/table.ts";
import { candidatesWithin } from "../../decide/approvals.ts";
import { routeCandidates } from "../../decide/candidates.ts";
import { withFormerNames } from "../renamed-table.ts";

/** With base as a third view, which is evaluated with the {@link comparedPreferences}. */
export function withReach(
  effects: readonly PreferenceEffect[],
  base: OpenedSide,
): readonly PreferenceEffect[] {
  return effects.map((effect) => {
    const { preferences, sides } = effect;
    const [before, after] = sides;
    if (before === undefined) return effect;
    const headProviders = (after?.candidates ?? []).map(({ endpoint }) => endpoint.provider);
    const reaching = comparedPreferences(base, preferences, hasUnknownName(before), headProviders);
    const state = reaching === preferences ? before : preferredSide(base, reaching);
    return { ...effect, sides: [...sides, state], reaching };
  });
}

type Writable = { -readonly [Name in keyof ProviderPreferences]: ProviderPreferences[Name] };

const LISTS = ["order", "only", "ignore", "region"] as const;

function hasUnknownName({ denied }: SideState) {
  return denied?.endsWith("/unknown_preference") === true;
}

/**
 * The preferences of the request whose reach in base is compared with the reach of a request in
 * head: without names that base does not have. A caller who takes no fallback takes one candidate,
 * and a route that is reordered gives it another one, which is no more than it may reach anyway:
 * base is evaluated for the providers that head takes, since with every candidate a primary that
 * lacks what the request needs would refuse it. The same goes for a caller who states the most that
 * a call may cost: a lower price is no new reach.
 *
 * @param misnamed whether base refuses the request for a name that it does not have.
 * @param headProviders those of the candidates that head leaves of the caller's preferences.
 * @returns the same object where the request itself is compared.
 */
export function comparedPreferences(
  base: OpenedSide,
  preferences: ProviderPreferences | null,
  misnamed: boolean,
  headProviders: readonly string[],
): ProviderPreferences | null {
  const {
    order: _order,
    sort: _sort,
    allow_fallbacks: fallbacks,
    max_price: most,
    ...others
  } = preferences ?? {};
  const hasSingleAttempt = fallbacks === false || most !== undefined;
  if (!misnamed && !hasSingleAttempt) return preferences;
  const only = headProviders.length === 0 ? {} : { only: [...new Set(headProviders)].toSorted() };
  const compared: Writable = hasSingleAttempt ? { ...others, ...only } : { ...preferences };
  for (const member of LISTS) {
    const names = compared[member]?.filter(
      (name) => !hasUnknownName(preferredSide(base, { [member]: [name] })),
    );
    // A list that is then empty is omitted.
    if (names === undefined || names.length === 0) delete compared[member];
    else compared[member] = names;
  }
  return compared;
}

/** Preferences that neither side distinguishes before its approvals and policies are evaluated. */
export interface PreferenceEffect {
  /** One of them, the simplest. */
  readonly preferences: ProviderPreferences | null;
  /** The candidates that they leave on each side; in the order of the views. */
  readonly sides: readonly SideState[];
  /** Those with which the third view is evaluated; absent without one. */
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
  check: () => void,
): readonly PreferenceEffect[] {
  const found = new Map<string, PreferenceEffect>();
  // The route's own order comes first.
  const always: readonly Order[] = universe.orders ? [{}, ...unknownNames(sides)] : [{}];
  for (const { preferences, size } of narrowings(universe, sides, check)) {
    check();
    const sideProviders = sides.map((side) =>
      preferredSide(side, preferences).candidates.map(({ endpoint }) => endpoint.provider),
    );
    const isOrdered = universe.orders && sideProviders.some(({ length }) => length > 1);
    const ordersFor = (mayFallBack: boolean) =>
      mayFallBack
        ? ordersWithFallbacks(sideProviders, preferences, sides, readers)
        : ordersWithoutFallbacks(sideProviders);
    for (const mayFallBack of universe.allowFallbacks) {
      for (const order of [...always, ...(isOrdered ? ordersFor(mayFallBack) : [])]) {
        const combined = {
          ...preferences,
          ...(mayFallBack ? {} : { allow_fallbacks: false }),
          ...order,
        };
        add(found, {
          preferences: combined,
          sides: sides.map((side) => preferredSide(side, combined)),
          size,
        });
      }
    }
  }
  return [...found.values()].toSorted((left, right) => membersOf(left) - membersOf(right));
}

function add(found: Map<string, PreferenceEffect>, effect: PreferenceEffect) {
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

function membersOf({ preferences }: PreferenceEffect) {
  return Object.keys(preferences ?? {}).length;
}

/** Readers of the order of candidates, besides dispatch. */
interface OrderReaders {
  /** Whether a policy may answer otherwise when the same candidates come in another order. */
  readonly seesOrder: boolean;
  /** Whether an obligation puts candidates of a region first. */
  readonly prefersRegion: boolean;
}

type Order = Pick<ProviderPreferences, "order" | "sort">;

/** A sort by throughput has the effect of one by latency: no plan has measurements. */
const SORTS: readonly SortPreference[] = [
  { by: "price", partition: "model" },
  { by: "price", partition: "none" },
  { by: "latency", partition: "model" },
  { by: "latency", partition: "none" },
];

const SORTED = SORTS.map((sort) => ({ sort }));

/**
 * Orders of the candidates that a narrowing leaves, for callers who accept fallbacks. All orders
 * of the same candidates lead to the same ones, unless a policy reads positions: then every order
 * is tried. Otherwise only two orders show more than the route's own. A sort by price shows changed
 * prices. And where an obligation puts a region first, the route's own order can hide it: then each
 * provider is put first once, and candidates share a tier.
 */
function ordersWithFallbacks(
  sideProviders: readonly (readonly string[])[],
  preferences: ProviderPreferences,
  sides: readonly OpenedSide[],
  { seesOrder, prefersRegion }: OrderReaders,
): readonly Order[] {
  const providers = [...new Set(sideProviders.flat())];
  if (seesOrder) return [...permutations(providers).flatMap(sorted), ...SORTED];
  if (prefersRegion) return [...providers.map((name) => ({ order: [name] })), ...SORTED];
  return SORTED.filter(({ sort }) => sort.by === "price" && ordersAnew(sort, preferences, sides));
}

/**
 * Orders for callers without fallbacks: the order chooses their only candidate. The first two names
 * decide for both sides: the second where one side has no candidate of the first.
 *
 * @param sideProviders the provider of each candidate that a narrowing leaves on each side.
 */
function ordersWithoutFallbacks(sideProviders: readonly (readonly string[])[]): readonly Order[] {
  const names = [...new Set(sideProviders.flat())];
  const isShared = (name: string) =>
    sideProviders.every((providers) => providers.length === 0 || providers.includes(name));
  const lists = names.flatMap((name) =>
    isShared(name)
      ? [[name]]
      : [[name], ...names.filter((other) => other !== name).map((other) => [name, other])],
  );
  const several = sideProviders.some((providers) => providers.length > new Set(providers).size);
  return [...(several ? lists.flatMap(sorted) : lists.map((order) => ({ order }))), ...SORTED];
}

function sorted(order: readonly string[]): readonly Order[] {
  return [{ order }, ...SORTS.map((sort) => ({ order, sort }))];
}

/**
 * Of the providers that one side alone approves, one for each side: to name another refuses its
 * request.
 */
function unknownNames(sides: readonly OpenedSide[]): readonly Order[] {
  const approved = sides.flatMap(({ table, opened }) =>
    opened === null ? [] : [withFormerNames(table, opened.workspace.approve.providers)],
  );
  return approved.flatMap((providers) => {
    const name = providerNames(sides).find(
      (each) => providers.includes(each) && !approved.every((all) => all.includes(each)),
    );
    return name === undefined ? [] : [{ order: [name] }];
  });
}

/** Whether candidates that both sides have left come in another order on one of them. */
function ordersAnew(
  sort: SortPreference,
  preferences: ProviderPreferences,
  sides: readonly OpenedSide[],
): boolean {
  const plans = sides.map((side) =>
    preferredSide(side, { ...preferences, sort }).candidates.map(({ endpoint }) => endpoint.id),
  );
  const shared = plans.map((plan) =>
    plan.filter((id) => plans.every((other) => other.includes(id))).join("\n"),
  );
  return new Set(shared).size > 1;
}

function permutations(names: readonly string[]): readonly (readonly string[])[] {
  if (names.length === 0) return [[]];
  return names.flatMap((name) =>
    permutations(names.filter((other) => other !== name)).map((others) => [name, ...others]),
  );
}

/**
 * Preferences that leave the same candidates on both sides, or are refused there for the same
 * reason.
 */
interface Narrowing {
  /** One of them, the simplest. */
  readonly preferences: ProviderPreferences;
  readonly results: readonly Result[];
  /** How many there are. */
  readonly size: bigint;
}

/**
 * The candidates that are left on a side, a bit each in table order; or the member that refuses the
 * request, and how.
 */
type Result = bigint | string;

/** The effect of one value of one member on each side. */
interface Option {
  readonly value: ProviderPreferences;
  readonly effects: readonly Effect[];
  readonly size: bigint;
}

/** A bit for each candidate that it keeps; `null`: the side does not have a name in it. */
type Effect = bigint | null;

/**
 * Every set of candidates that callers can leave with the preferences that narrow. The members are
 * taken in the order in which a decision applies them, and preferences that have left the same on
 * both sides go on as one: so the subsets of all providers' names need not be written out.
 *
 * @param sides those that refuse every request are not compared.
 */
export function narrowings(
  universe: PreferenceUniverse,
  sides: readonly OpenedSide[],
  check: () => void,
): readonly Narrowing[] {
  let found: readonly Narrowing[] = [{ preferences: {}, results: sides.map(everything), size: 1n }];
  for (const member of MEMBERS) {
    for (const options of stepsOfMember(member, universe, sides))
      found = crossed(found, member, options, check);
  }
  return found;
}

/**
 * Each narrowing with each option; equal results are joined at once, because there may be millions.
 */
function crossed(
  all: readonly Narrowing[],
  member: NarrowingMember,
  options: readonly Option[],
  check: () => void,
): readonly Narrowing[] {
  const found = new Map<string, Narrowing>();
  for (const { preferences, results, size } of all) {
    check();
    for (const { value, effects, size: times } of options) {
      addNarrowing(found, {
        preferences: joinedLists(preferences, value),
        results: results.map((one, index) => narrowed(one, member, effects[index])),
        size: size * times,
      });
    }
  }
  return [...found.values()];
}

/** In the order in which a decision applies them. */
const MEMBERS = ["only", "ignore", "region", "data_collection", "zdr", "max_price"] as const;
type NarrowingMember = (typeof MEMBERS)[number];

function everything(side: OpenedSide): Result {
  const { length } = withinCeilings(side);
  return length === 0 ? REFUSED_RESULT : (1n << BigInt(length)) - 1n;
}

const REFUSED_RESULT = "refused";

/**
 * A name that a side does not have refuses before anything is left out, and the first member that
 * has one is named.
 */
function narrowed(result: Result, member: NarrowingMember, effect: Effect | undefined): Result {
  if (effect === undefined || result === REFUSED_RESULT) return REFUSED_RESULT;
  if (typeof result === "string" && result.startsWith("unknown")) return result;
  if (effect === null) return `unknown ${member}`;
  if (typeof result === "string") return result;
  const remaining = result & effect;
  return remaining === 0n ? `nothing by ${member}` : remaining;
}

function addNarrowing(found: Map<string, Narrowing>, one: Narrowing) {
  const { data_collection: collection, zdr } = one.preferences;
  const key = [...one.results, collection, zdr, isNarrowed(one.preferences)].join("\n");
  addPlainest(found, key, one, ({ preferences }) => lengthOf(preferences));
}

/** Adds to the number of preferences with an equal effect; the simplest one represents them. */
function addPlainest<Group extends { readonly size: bigint }>(
  found: Map<string, Group>,
  key: string,
  one: Group,
  complexity: (group: Group) => number,
) {
  const same = found.get(key);
  if (same === undefined) found.set(key, one);
  else {
    const simplest = complexity(one) < complexity(same) ? one : same;
    found.set(key, { ...simplest, size: same.size + one.size });
  }
}

/**
 * How much there is to read: members first, then names. Providers to keep to are read more easily
 * than those to leave out.
 */
function lengthOf({ only = [], ignore = [], region = [], ...others }: ProviderPreferences): number {
  const lists = [only, region, ignore].filter(({ length }) => length > 0).length;
  return (
    (lists + Object.keys(others).length) * 100 +
    only.length +
    region.length * 1.1 +
    ignore.length * 1.2
  );
}

/**
 * The options of a member, taken one after the other. A provider that is ignored is left out
 * whichever others are, so that names are options one by one: every list of twelve with every set
 * of twelve candidates would be 16 million.
 */
function stepsOfMember(
  member: NarrowingMember,
  universe: PreferenceUniverse,
  sides: readonly OpenedSide[],
): readonly (readonly Option[])[] {
  const option = (value: ProviderPreferences) => optionFor(value, sides);
  const none = option({});
  if (member === "zdr") return [universe.zdr.map((zdr) => (zdr ? option({ zdr }) : none))];
  if (member === "data_collection") {
    // Requests leave the default out.
    const denying = { ...option({ data_collection: "deny" }), value: {} };
    return [
      universe.dataCollection.map((value) =>
        value === "deny" ? denying : option({ data_collection: value }),
      ),
    ];
  }
  if (!universe.narrowing.includes(member) || sides.every(({ opened }) => opened === null))
    return [];
  const optionsFor = (list: "only" | "ignore" | "region", names: readonly string[]) =>
    names.map((name) => option({ [list]: [name] }));
  switch (member) {
    case "only":
      return [[none, ...listOptions(optionsFor(member, providerNames(sides)))]];
    case "ignore":
      return optionsFor(member, providerNames(sides)).map((ignoring) => [none, ignoring]);
    case "region":
      return [[none, ...listOptions(optionsFor(member, regionsOf(sides)))]];
    case "max_price":
      return [[none, ...priceOptions(sides)]];
  }
}

function optionFor(value: ProviderPreferences, sides: readonly OpenedSide[]): Option {
  return { value, effects: sides.map((side) => effectOn(side, value)), size: 1n };
}

/** The effect of one preference alone, by the decision itself. */
function effectOn(side: OpenedSide, value: ProviderPreferences): Effect {
  const preferred = preferredSide(side, { data_collection: "allow", ...value });
  if (hasUnknownName(preferred)) return null;
  const matching = new Set(preferred.candidates.map(nameOf));
  return withinCeilings(side).reduce(
    (bits, candidate, index) =>
      matching.has(nameOf(candidate)) ? bits | (1n << BigInt(index)) : bits,
    0n,
  );
}

function withinCeilings({ table, opened }: OpenedSide) {
  return opened === null ? [] : candidatesWithin(table, opened.workspace, opened.route);
}

/**
 * Every list of these names, of which each keeps more; lists that do the same on both sides are
 * one.
 */
function listOptions(names: readonly Option[]): readonly Option[] {
  const found = new Map<string, Option>();
  for (const name of names) {
    const longer = [...found.values()].map((list) => ({
      value: joinedLists(list.value, name.value),
      effects: joinedEffects(list, name, (left, right) => left | right),
      size: list.size,
    }));
    for (const option of [name, ...longer]) addOption(found, option);
  }
  return [...found.values()];
}

/** Both; of a list that both have, the items of both. */
function joinedLists(left: ProviderPreferences, right: ProviderPreferences): ProviderPreferences {
  const joined: Writable = { ...left, ...right };
  for (const list of ["only", "ignore", "region"] as const) {
    const [first, more] = [left[list], right[list]];
    if (first !== undefined && more !== undefined) joined[list] = [...first, ...more];
  }
  return joined;
}

function joinedEffects(
  { effects }: Option,
  other: Option,
  joined: (left: bigint, right: bigint) => bigint,
): readonly Effect[] {
  return effects.map((left, index) => {
    const right = other.effects[index] ?? null;
    return left === null || right === null ? null : joined(left, right);
  });
}

function addOption(found: Map<string, Option>, option: Option) {
  addPlainest(found, option.effects.join(), option, ({ value }) => lengthOf(value));
}

/** Every step of the prices of both tables: between two prices of a route nothing changes. */
function priceOptions(sides: readonly OpenedSide[]): readonly Option[] {
  const prices = sides.flatMap(({ table, opened }) =>
    opened === null
      ? []
      : routeCandidates(table, opened.route).flatMap(({ endpoint }) => endpoint.price ?? []),
  );
  let options: readonly Option[] = [optionFor({ max_price: {} }, sides)];
  for (const part of PRICE_PARTS) {
    const steps = stepsOf(prices, part).map((step) =>
      optionFor({ max_price: { [part]: step } }, sides),
    );
    const found = new Map<string, Option>();
    for (const option of options) {
      addOption(found, option);
      for (const step of steps) {
        addOption(found, {
          value: { max_price: { ...option.value.max_price, ...step.value.max_price } },
          effects: joinedEffects(option, step, (left, right) => left & right),
          size: option.size,
        });
      }
    }
    options = [...found.values()];
  }
  return options;
}

const PRICE_PARTS = ["input", "output", "request"] as const;

/** The distinct prices, and 0. */
function stepsOf(prices: readonly Price[], part: (typeof PRICE_PARTS)[number]): readonly number[] {
  return [...new Set([0, ...prices.map((price) => price[part])])].toSorted(
    (left, right) => left - right,
  );
}

/**
 * Names that a caller of the workspace may have for a provider: those that it approves, and those
 * of the route; former ones too.
 */
function providerNames(sides: readonly OpenedSide[]): readonly string[] {
  const names = sides.flatMap(({ table, opened }) =>
    opened === null
      ? []
      : withFormerNames(table, [
          ...opened.workspace.approve.providers,
          ...routeCandidates(table, opened.route).map(({ endpoint }) => endpoint.provider),
        ]),
  );
  return [...new Set(names)].toSorted();
}

function regionsOf(sides: readonly { readonly table: RoutingTable }[]): readonly string[] {
  return [...new Set(sides.flatMap(({ table }) => regionNames(table)))].toSorted();
}
