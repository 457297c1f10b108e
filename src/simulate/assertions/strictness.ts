import {
  type Assertion,
  type Demand,
  type SampleCase,
  type RequestSelector,
  type SetCondition,
  type CaseExpectation,
  type DecisionCondition,
  type DecisionDemand,
} from "./schema.ts";
import { canonicalJson } from "../../canon/json.ts";
import { conditionsOf, isList } from "./select.ts";

/**
 * The members by which an assertion may accept changes that it rejected before: a narrower
 * selection, a demand for less, a waiver. Empty where it accepts no more than before. Compared as
 * written, not by the rows of today: a selection by tier also selects future workspaces. Values
 * that cannot be compared, such as two kinds, count as more.
 */
export function loosenedMembers(was: Assertion, is: Assertion): ReadonlySet<string> {
  if (was.kind !== is.kind) return new Set([...Object.keys(was), ...Object.keys(is)]);
  const loosened: readonly (readonly [string, boolean])[] = [
    ["view", is.view !== "both" && is.view !== was.view],
    ["waiver", is.waiver !== null && (was.waiver === null || is.waiver.until > was.waiver.until)],
    ["may_be_empty", is.may_be_empty && !was.may_be_empty],
    ...selectionMembers(was, is),
    ...demandMembers(was, is),
  ];
  return new Set(loosened.flatMap(([member, isLoosened]) => (isLoosened ? [member] : [])));
}

type Members = readonly (readonly [string, boolean])[];

function selectionMembers(was: Demand, is: Demand): Members {
  if (was.kind === "cases" || is.kind === "cases") return [];
  const widensException =
    is.except !== null && (was.except === null || !coversRequests(was.except, is.except));
  return [
    ["for", !coversRequests(is.for, was.for)],
    ["except", widensException],
  ];
}

function demandMembers(was: Demand, is: Demand): Members {
  if ("to" in was && "to" in is) return [["to", !covers(is.to, was.to)]];
  if (was.kind === "always_routable" && is.kind === "always_routable") {
    return [["min_endpoints", is.min_endpoints < was.min_endpoints]];
  }
  if (was.kind === "implies" && is.kind === "implies") {
    return [
      ["if", !coversCondition(is.if, was.if)],
      ["then", !coversDemand(was.then, is.then)],
    ];
  }
  if (was.kind === "equivalent" && is.kind === "equivalent") {
    return [["ignoring", is.ignoring.some((kind) => !was.ignoring.includes(kind))]];
  }
  if (was.kind === "cases" && is.kind === "cases") {
    return [
      [
        "cases",
        !was.cases.every((before) => is.cases.some((after) => keepsDemands(before, after))),
      ],
    ];
  }
  return [];
}

/** Whether one selector means every request that the other means. */
function coversRequests(wide: RequestSelector, narrow: RequestSelector) {
  return covers(wide, narrow, (left, right) =>
    isSetCondition(left) && isSetCondition(right) ? coversSet(left, right) : isEqual(left, right),
  );
}

/**
 * Whether every member of the wide selector is met wherever the narrow one is met; a member that is
 * not there is met by everything. A list covers the lists within it.
 */
function covers<Selector extends object>(
  wide: Selector,
  narrow: Selector,
  coversValue: (wide: unknown, narrow: unknown) => boolean = isEqual,
): boolean {
  const others = new Map<string, unknown>(Object.entries(narrow));
  return Object.entries(wide).every(([name, value]) => {
    const other = others.get(name);
    if (value === undefined) return true;
    return isList(value) && isList(other)
      ? isSubset(other, value)
      : other !== undefined && coversValue(value, other);
  });
}

function isSetCondition(value: unknown): value is SetCondition {
  return typeof value === "object" && value !== null;
}

function coversSet(wide: SetCondition, narrow: SetCondition): boolean {
  const [left, right] = [conditionsOf(wide), conditionsOf(narrow)];
  const { all = [], any, none = [], only } = left;
  return (
    isSubset(all, right.all ?? []) &&
    (any === undefined ||
      (right.any !== undefined && isSubset(right.any, any)) ||
      (right.all ?? []).some((item) => any.includes(item))) &&
    isSubset(none, right.none ?? []) &&
    (only === undefined || (right.only !== undefined && isSubset(right.only, only)))
  );
}

/** Whether one of the narrow selectors is covered by the wide one; all are where there is none. */
function isAnyCovered<Selector extends object>(
  wide: Selector | undefined,
  narrow: readonly (Selector | undefined)[],
) {
  return wide === undefined || narrow.some((other) => other !== undefined && covers(wide, other));
}

/** Whether one condition holds for every decision for which the other holds. */
function coversCondition(wide: DecisionCondition, narrow: DecisionCondition): boolean {
  const { outcome, reaches, denied_by: denied } = wide;
  return (
    (outcome === undefined || outcome === outcomeOf(narrow)) &&
    isAnyCovered(reaches, [narrow.reaches]) &&
    isAnyCovered(denied, [narrow.denied_by])
  );
}

function outcomeOf({ outcome, reaches, denied_by: denied }: DecisionCondition) {
  return outcome ?? (denied !== undefined ? "deny" : reaches === undefined ? undefined : "route");
}

/** Whether every decision that meets the narrow demand meets the wide one. */
function coversDemand(wide: DecisionDemand, narrow: DecisionDemand): boolean {
  const some = [narrow.some_endpoint, narrow.primary].filter((selector) => selector !== undefined);
  const impliedOutcome =
    some.length > 0 ? "route" : narrow.denied_by === undefined ? undefined : "deny";
  return (
    (wide.outcome === undefined || wide.outcome === (narrow.outcome ?? impliedOutcome)) &&
    isAnyCovered(wide.every_endpoint, [narrow.every_endpoint]) &&
    isAnyCovered(wide.some_endpoint, some) &&
    isAnyCovered(wide.primary, [narrow.primary]) &&
    isAnyCovered(wide.denied_by, [narrow.denied_by])
  );
}

/**
 * Whether a case demands at least as much of the same request as another. Names do not matter.
 */
function keepsDemands(before: SampleCase, after: SampleCase) {
  return isEqual(before.sample, after.sample) && coversExpectation(before.expect, after.expect);
}

function coversExpectation(wide: CaseExpectation, narrow: CaseExpectation): boolean {
  const { plan } = narrow;
  const demandsRoute =
    (plan ?? []).length > 0 || narrow.primary !== undefined || (narrow.contains ?? []).length > 0;
  const demandsDenial = narrow.denied_by !== undefined || plan?.length === 0;
  const outcome = narrow.outcome ?? (demandsRoute ? "route" : demandsDenial ? "deny" : undefined);
  return (
    (wide.outcome === undefined || wide.outcome === outcome) &&
    (wide.plan === undefined || isEqual(wide.plan, plan)) &&
    (wide.primary === undefined || wide.primary === (narrow.primary ?? plan?.[0])) &&
    isSubset(wide.contains ?? [], [...(narrow.contains ?? []), ...(plan ?? [])]) &&
    (wide.lacks ?? []).every(
      (id) => narrow.lacks?.includes(id) === true || plan?.includes(id) === false,
    ) &&
    isAnyCovered(wide.denied_by, [narrow.denied_by])
  );
}

function isSubset(items: readonly unknown[], others: readonly unknown[]) {
  return items.every((item) => others.includes(item));
}

function isEqual(left: unknown, right: unknown) {
  return canonicalJson(left ?? null) === canonicalJson(right ?? null);
}
