import { DAY_BUCKETS, HOUR_BUCKETS } from "../../../../canon/policy.ts";
import { ALWAYS_USED } from "../../../../canon/request.ts";
import type { ChangeGroup } from "../../../../simulate/report/report.ts";
import { remembered } from "../../../../simulate/remembered.ts";
import { listText } from "../../../terminal/printing.ts";
import type { ReportModel } from "../model.ts";
import { perScalar } from "../../../../simulate/request-scalars.ts";
import { PLAIN_SAMPLE, preferenceValues } from "../../../../simulate/sample-request.ts";

/** Preferences of the caller; plain requests have none. */
const SOME = "preferences";
const PREFERENCES = new Set([SOME, ...preferenceValues(null).map(([name]) => name)]);

/** Callers of whom one of several conditions is known, as text; `""`: no condition is known. */
const ONE_OF = "one of";

/** Dimension → its values; of one that is not there, all of them. */
type Conditions = ReadonlyMap<string, readonly string[]>;

/**
 * "; only with environment test", "; only callers who set max_price output from 2 up to 20": the
 * requests of a group and of others that change alike, without the conditions that they meet
 * together. Empty where there are none.
 *
 * @param groups the first is described; all of them read the same but for their conditions.
 */
export function conditionsText(groups: readonly ChangeGroup[], report: ReportModel): string {
  const { conditions } = joined(groups, report);
  const others = [...conditions].filter(
    ([dimension]) => !PREFERENCES.has(dimension) && dimension !== ONE_OF,
  );
  const parts = [
    ...callersText(conditions),
    ...someText(conditions.get(ONE_OF)),
    ...others.map(([dimension, values]) => partText(dimension, values, report)),
  ];
  const [first] = groups;
  const such = first === undefined ? [] : unusualOf(first, conditions, report);
  const texts = [
    parts.join(", ").replaceAll(/(?<=^only with .*), only (?=with )/g, ", "),
    such.length === 0 ? "" : `such as with ${such.join(" and ")}`,
  ];
  return texts.flatMap((text) => (text === "" ? [] : [`; ${text}`])).join("");
}

/**
 * Unusual values of the example that are no condition of the group, because its other requests have
 * other values.
 */
function unusualOf(
  { example }: ChangeGroup,
  conditions: Conditions,
  report: ReportModel,
): readonly string[] {
  const { key, needs, features, operation, preferences } = example;
  const preferred = conditions.has(SOME) ? preferenceValues(preferences) : [];
  const always: readonly string[] = ALWAYS_USED[operation] ?? [];
  // The example has the most usual values that the group has.
  const isOtherEnvironment =
    key.environment !== "" && key.environment !== USUAL && hasUsualEnvironment(report);
  const lists = Object.entries<readonly string[]>({
    ...Object.fromEntries(preferred.filter(([name]) => Object.hasOwn(preferences ?? {}, name))),
    environment: isOtherEnvironment ? [key.environment] : [],
    needs,
    features: features.filter((feature) => !always.includes(feature)),
    key_labels: key.labels,
  });
  const scalars = perScalar(
    (member, { name }) =>
      [name, example[member] === PLAIN_SAMPLE[member] ? [] : [String(example[member])]] as const,
  );
  // Denials for one of several needs list them.
  if (conditions.has("denied_for")) return [];
  return [...lists, ...scalars].flatMap(([dimension, values]) =>
    values.length === 0 || conditions.has(dimension) ? [] : [`${dimension} ${listText(values, 3)}`],
  );
}

/** Values that a request has without the preference. */
const DEFAULTS: Readonly<Record<string, string>> = {
  allow_fallbacks: "true",
  data_collection: "deny",
  zdr: "false",
};

/** Callers by what they set; "some" where a part of their preferences is not known or not shown. */
function callersText(conditions: Conditions): readonly string[] {
  const preferred = [...conditions].filter(([dimension]) => PREFERENCES.has(dimension));
  if (preferred.length === 0) return [];
  const set = preferred.filter(
    ([dimension, values]) => dimension !== SOME && values.join("\n") !== DEFAULTS[dimension],
  );
  if (set.length === 0) return ["only some callers with preferences"];
  const parts = set.map(([dimension, values]) => `${dimension} ${listText(values, 3)}`);
  const some = set.length < preferred.length ? "some " : "";
  return [`only ${some}callers who set ${parts.join(" and ")}`];
}

/** "only callers with environment test, or with workload batch". */
function someText(alternatives: readonly string[] | undefined): readonly string[] {
  if (alternatives === undefined) return [];
  return [
    alternatives.includes("")
      ? "only some callers"
      : `only callers ${listText(alternatives, 3).replaceAll(", ", ", or ")}`,
  ];
}

/** Comes first among environments, where the vocabulary has it. */
const USUAL = "production";

function hasUsualEnvironment({ declared, promoted }: ReportModel) {
  return [...declared.groups, ...promoted.groups].some(
    ({ example }) => example.key.environment === USUAL,
  );
}

/** Whether the joined conditions are those of all the groups. */
export function areJoined(groups: readonly ChangeGroup[], report: ReportModel): boolean {
  return joined(groups, report).rest.length === 0;
}

/** Whether a group meets the conditions of another one, but for preferences. */
export function isWithin(inner: ChangeGroup, outer: ChangeGroup): boolean {
  const met = new Map(inner.conditions.map(({ dimension, values }) => [dimension, values]));
  return outer.conditions.every(
    ({ dimension, values }) =>
      PREFERENCES.has(dimension) ||
      met.get(dimension)?.every((value) => values.includes(value)) === true,
  );
}

/**
 * The conditions of the first group, joined with those that differ from it in one dimension, and
 * the conditions that are left.
 */
function joined(
  groups: readonly ChangeGroup[],
  report: ReportModel,
): { readonly conditions: Conditions; readonly rest: readonly Conditions[] } {
  let [conditions = new Map(), ...rest]: Conditions[] = groups.map((group) =>
    conditionsOf(group, report),
  );
  for (;;) {
    const current = conditions;
    const next = rest.find((other) => differences(current, other).length <= 1);
    if (next === undefined) return { conditions, rest };
    rest = rest.filter((other) => other !== next);
    const [dimension] = differences(current, next);
    if (dimension !== undefined) conditions = without(current, next, dimension, report);
  }
}

function conditionsOf(group: ChangeGroup, report: ReportModel): Conditions {
  const preferred = Object.keys(group.example.preferences ?? {});
  // The need that a denial is about is a condition already.
  const hasNeedCondition = group.conditions.some(
    ({ dimension }) => dimension === "needs" || dimension === "features",
  );
  // A preference that only some requests of the group have is no condition of the group.
  const hasPartialPreference = preferred.some((name) =>
    group.conditions.every(({ dimension }) => dimension !== name),
  );
  return new Map([
    ...(hasPartialPreference ? [[SOME, []] as const] : []),
    ...group.conditions
      .filter(({ dimension }) => preferred.length > 0 || !PREFERENCES.has(dimension))
      .filter(({ dimension }) => !hasNeedCondition || dimension !== "denied_for")
      .map(({ dimension, values }) => [dimension, values] as const),
    ...(preferred.length > 0 ? [] : plainConditions(group, report)),
  ]);
}

/** Of the plain requests of a group, which it may not have all. */
function plainConditions(
  { plain_requests: plain }: ChangeGroup,
  report: ReportModel,
): readonly (readonly [string, readonly string[]])[] {
  if (plain === undefined) return [];
  const { any, conditions } = plain;
  if (!any) return conditions.map(({ dimension, values }) => [dimension, values]);
  const parts = conditions.map(({ dimension, values }) =>
    partText(dimension, values, report).replace(/^only /, ""),
  );
  return [[ONE_OF, parts.length === 0 ? [""] : parts]];
}

function differences(one: Conditions, other: Conditions): readonly string[] {
  return [...new Set([...one.keys(), ...other.keys()])].filter(
    (dimension) => one.get(dimension)?.join("\n") !== other.get(dimension)?.join("\n"),
  );
}

function without(
  one: Conditions,
  other: Conditions,
  dimension: string,
  report: ReportModel,
): Conditions {
  const [left, right] = [one.get(dimension), other.get(dimension)];
  const rest = [...one].filter(([name]) => name !== dimension);
  if (left === undefined || right === undefined) return new Map(rest);
  const values = [...new Set([...left, ...right])].toSorted();
  return new Map(
    values.length === sizeOf(dimension, report) ? rest : [...rest, [dimension, values]],
  );
}

function sizeOf(dimension: string, { space }: ReportModel) {
  return space.dimensions.find(({ name }) => name === dimension)?.values ?? null;
}

function partText(dimension: string, values: readonly string[], report: ReportModel): string {
  if (dimension === "time")
    return values.some((value) => value.includes("/"))
      ? `only at ${listText(values, 3)}`
      : `only ${timesText(values)}`;
  if (dimension === "denied_for") return `only with ${listText(values, 3)}`;
  if (dimension === "without_key_labels") return `not with key_labels ${listText(values, 3)}`;
  const others = othersOf(dimension, values, report);
  return others !== null && others.length < values.length
    ? `not with ${dimension} ${listText(others, 3)}`
    : `only with ${dimension} ${listText(values, 3)}`;
}

const valuesByDimension = new WeakMap<ReportModel, ReadonlyMap<string, ReadonlySet<string>>>();

/** The values of each dimension that the conditions of any group name. */
function namedValues(report: ReportModel) {
  return remembered(valuesByDimension, report, () => {
    const all = [report.declared, report.promoted].flatMap(({ groups }) =>
      groups.flatMap(({ conditions }) => conditions),
    );
    const byDimension = Map.groupBy(all, ({ dimension }) => dimension);
    return new Map(
      [...byDimension].map(([name, conditions]) => [
        name,
        new Set(conditions.flatMap(({ values }) => values)),
      ]),
    );
  });
}

/** The values that are missing; `null` where the report does not name all that there are. */
function othersOf(
  dimension: string,
  values: readonly string[],
  report: ReportModel,
): readonly string[] | null {
  const used = namedValues(report).get(dimension) ?? new Set<string>();
  if (used.size !== sizeOf(dimension, report)) return null;
  return [...used].filter((value) => !values.includes(value)).toSorted();
}

/**
 * "on weekend", "weekday night", "at night": days whose hours are all there go by their name, as do
 * hours of all days.
 */
function timesText(values: readonly string[]): string {
  const hours = HOUR_BUCKETS.filter((hour) =>
    DAY_BUCKETS.every((day) => values.includes(`${day} ${hour}`)),
  );
  if (hours.length > 0 && values.length === hours.length * DAY_BUCKETS.length)
    return `in the ${hours.join(", ")}`;
  const days = DAY_BUCKETS.filter((day) =>
    HOUR_BUCKETS.every((hour) => values.includes(`${day} ${hour}`)),
  );
  const rest = values.filter((value) => !days.some((day) => value.startsWith(`${day} `)));
  return `on ${[...days, ...rest].join(", ")}`;
}
