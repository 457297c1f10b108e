import type { Candidate } from "../../canon/decision.ts";
import type { ProviderPreferences, SortPreference } from "../../canon/request.ts";
import { providerNames, type Narrowing } from "./preference-narrowings.ts";
import { withFormerNames } from "../renamed-table.ts";
import { preferredSide, type OpenedSide, type SideState } from "./side-state.ts";

/** Who looks at the order of candidates, besides dispatch. */
export interface OrderReaders {
  /** Whether a policy may answer otherwise when the same candidates come in another order. */
  readonly seesOrder: boolean;
  /** Whether an obligation puts candidates of a region first. */
  readonly prefersRegion: boolean;
}

type Order = Pick<ProviderPreferences, "order" | "sort">;

/** A sort by throughput does what one by latency does: no plan knows measurements. */
const SORTS: readonly SortPreference[] = [
  { by: "price", partition: "model" },
  { by: "price", partition: "none" },
  { by: "latency", partition: "model" },
  { by: "latency", partition: "none" },
];

const BY_PRICE = SORTS.filter(({ by }) => by === "price");

/**
 * Orders of the candidates that a narrowing leaves, for callers who take whatever comes after the
 * first candidate too. All orders of the same candidates lead to the same ones, unless a policy
 * looks at positions: then every order is tried. Otherwise an order shows nothing that the route's
 * own does not, but for two things. Prices that changed order a sort by price anew. And where an
 * obligation puts a region first, the route's own order can hide it: then each provider is put
 * first once, and candidates are made equals.
 */
export function ordersWithFallbacks(
  { preferences }: Narrowing,
  sides: readonly OpenedSide[],
  { seesOrder, prefersRegion }: OrderReaders,
): readonly Order[] {
  const left = sides.map((side) => preferredSide(side, preferences));
  const first = [{}, ...unknownNames(sides)];
  if (left.every(({ candidates }) => candidates.length < 2)) return first;
  const providers = [...new Set(left.flatMap(({ candidates }) => providersOf(candidates)))];
  if (seesOrder)
    return [
      ...first,
      ...permutations(providers).flatMap(sorted),
      ...SORTS.map((sort) => ({ sort })),
    ];
  if (prefersRegion) {
    return [
      ...first,
      ...providers.map((name) => ({ order: [name] })),
      ...SORTS.map((sort) => ({ sort })),
    ];
  }
  return [
    ...first,
    ...BY_PRICE.filter((sort) => ordersAnew(sort, preferences, sides)).map((sort) => ({ sort })),
  ];
}

/**
 * Orders for callers who take the first candidate and no other, of whom an order chooses the
 * candidate. The first two names decide for both sides: the second where one side has no candidate
 * of the first.
 */
export function ordersWithoutFallbacks(
  { preferences }: Narrowing,
  sides: readonly OpenedSide[],
): readonly Order[] {
  const left = sides.map((side) => preferredSide(side, preferences));
  const first = [{}, ...unknownNames(sides)];
  if (left.every(({ candidates }) => candidates.length < 2)) return first;
  const bySide = left.map(({ candidates }) => providersOf(candidates));
  const names = [...new Set(bySide.flat())];
  const isShared = (name: string): boolean =>
    bySide.every((own) => own.length === 0 || own.includes(name));
  const lists = names.flatMap((name) =>
    isShared(name)
      ? [[name]]
      : [[name], ...names.filter((other) => other !== name).map((other) => [name, other])],
  );
  const several = left.some(({ candidates }) => candidates.length > providersOf(candidates).length);
  return [
    ...first,
    ...(several ? lists.flatMap(sorted) : lists.map((order) => ({ order }))),
    ...SORTS.map((sort) => ({ sort })),
  ];
}

function sorted(order: readonly string[]): readonly Order[] {
  return [{ order }, ...SORTS.map((sort) => ({ order, sort }))];
}

function providersOf(candidates: SideState["candidates"]): readonly string[] {
  return [...new Set(candidates.map(({ endpoint }) => endpoint.provider))];
}

/**
 * Of the providers that one side alone approves, one for each side: to name another refuses its
 * request.
 */
function unknownNames(sides: readonly OpenedSide[]): readonly Order[] {
  const approved = sides.flatMap(({ table, opened }) =>
    opened === null ? [] : [withFormerNames(table, opened.workspace.approve.providers)],
  );
  return approved.flatMap((own) => {
    const name = providerNames(sides).find(
      (each) => own.includes(each) && !approved.every((all) => all.includes(each)),
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
    preferredSide(side, { ...preferences, sort }).candidates.map(idOf),
  );
  const shared = plans.map((plan) =>
    plan.filter((id) => plans.every((other) => other.includes(id))).join("\n"),
  );
  return new Set(shared).size > 1;
}

function idOf({ endpoint }: Candidate): string {
  return endpoint.id;
}

function permutations(names: readonly string[]): readonly (readonly string[])[] {
  if (names.length === 0) return [[]];
  return names.flatMap((name) =>
    permutations(names.filter((other) => other !== name)).map((others) => [name, ...others]),
  );
}
