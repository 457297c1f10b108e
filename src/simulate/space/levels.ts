import type { BudgetStep } from "../../canon/limits.ts";
import type { PolicyTime } from "../../canon/policy.ts";
import type { RoutingTable } from "../../canon/table.ts";
import { perScalar, type ScalarMember } from "../request-scalars.ts";
import type { SampleRequest } from "../sample-request.ts";
import type { Projection } from "./readers.ts";
import { OUTSIDE_VOCABULARY, type OperationUniverse, type Universe } from "./universe.ts";

/** The members of a sample that only policies and assertions read. */
export type PolicyOnly = Pick<SampleRequest, ScalarMember | "key" | "time" | "budget">;

/** A reader, and the table whose vocabulary it reads key attributes with. */
export interface LevelReader {
  readonly projection: Pick<Projection, "sees" | "seesAllOf" | "distinguishes" | "zone">;
  readonly table: Pick<RoutingTable, "vocabulary">;
}

/** One member of a request that only policies and assertions read, as a level of a diagram. */
export interface Level {
  /** As reports name the dimension; every label is a level of its own, `key_labels`. */
  readonly name: string;
  /** Where policies read it. */
  readonly paths: readonly string[];
  /** The values, as text; of a label: absent, then present. */
  readonly values: readonly string[];
  /** A value as a reader sees it: the same text for values that it does not distinguish. */
  readonly textFor: (reader: LevelReader, value: number) => string;
  readonly set: (sample: PolicyOnly, value: number) => PolicyOnly;
}

/** The dimension of labels. */
export const KEY_LABELS = "key_labels";

/**
 * The levels of an operation. The last label comes first, so that of two sets the one with earlier
 * labels is the plainer path.
 */
export function levelsOf(
  universe: Universe,
  operationUniverse: OperationUniverse,
): readonly Level[] {
  return [
    ...perScalar((member, { name }) =>
      level<string | boolean>(
        name,
        [`input.request.${name}`],
        operationUniverse[member],
        (reader, value) => seenScalar(reader, `input.request.${name}`, value),
        (sample, value) => ({ ...sample, [member]: value }),
      ),
    ),
    keyLevel("environment", "environments", universe, (key, environment) => ({
      ...key,
      environment,
    })),
    // A key without a workload is one of those outside of the vocabulary, and the one that a reader
    // expects.
    keyLevel("workload", "workloads", universe, (key, workload) => ({
      ...key,
      workload: workload === OUTSIDE_VOCABULARY ? "" : workload,
    })),
    keyLevel("owner", "owners", universe, ({ owner: _replaced, ...key }, owner) =>
      owner === OUTSIDE_VOCABULARY ? key : { ...key, owner },
    ),
    ...universe.labels.toReversed().map(labelLevel),
    level(
      "budget",
      [BUDGET],
      universe.budgets,
      ({ projection }, step) => seenName(projection, BUDGET, step),
      setBudget,
    ),
    level(
      "time",
      ["input.time.day", "input.time.hour", ...localPaths(universe.times)],
      universe.times,
      seenTime,
      (sample, time: PolicyTime) => ({ ...sample, time }),
      universe.timeName,
    ),
  ];
}

/**
 * How many values of each dimension some readers distinguish; of labels how many names there are,
 * and as `distinguished` the logarithm to base 2 of their sets, which may be too many to write
 * down.
 */
export function seenDimensions(
  universe: Universe,
  operationUniverse: OperationUniverse,
  readers: readonly LevelReader[],
) {
  const found = levelsOf({ ...universe, labels: [] }, operationUniverse).map(
    ({ name, values, textFor }) => {
      const texts = values.map((_, value) =>
        JSON.stringify(readers.map((one) => textFor(one, value))),
      );
      return { name, values: values.length, distinguished: new Set(texts).size };
    },
  );
  const labels = {
    name: KEY_LABELS,
    values: universe.labels.length,
    distinguished: labelBits(universe.labels, readers),
  };
  return found.toSpliced(-LEVELS_AFTER_LABELS, 0, labels);
}

/** Budget and time. */
const LEVELS_AFTER_LABELS = 2;

/** A member of the key that has one name; a name outside the vocabulary reads `other`. */
function keyLevel(
  name: string,
  names: "environments" | "workloads" | "owners",
  universe: Universe,
  set: (key: PolicyOnly["key"], value: string) => PolicyOnly["key"],
): Level {
  const path = `input.key.${name}`;
  return level(
    name,
    [path],
    universe[names],
    ({ projection, table }, value) => {
      const isDeclared = table.vocabulary[names]?.includes(value) === true;
      return seenName(projection, path, isDeclared ? value : OUTSIDE_VOCABULARY);
    },
    (sample, value) => ({ ...sample, key: set(sample.key, value) }),
  );
}

function labelLevel(label: string): Level {
  return {
    name: KEY_LABELS,
    paths: ["input.key.labels"],
    values: ["", label],
    textFor: ({ projection, table }, value) =>
      value === 1 && table.vocabulary.labels.includes(label)
        ? seenName(projection, "input.key.labels", label)
        : "",
    set: (sample, value) =>
      value === 0
        ? sample
        : { ...sample, key: { ...sample.key, labels: [label, ...sample.key.labels] } },
  };
}

function level<Value>(
  name: string,
  paths: readonly string[],
  values: readonly Value[],
  textFor: (reader: LevelReader, value: Value) => string,
  set: (sample: PolicyOnly, value: Value) => PolicyOnly,
  shown: (value: Value) => string = String,
): Level {
  const at = (index: number): Value => {
    const value = values[index];
    if (value === undefined) throw new RangeError(`levels: ${name} has no value ${index}`);
    return value;
  };
  return {
    name,
    paths,
    values: values.map(shown),
    textFor: (reader, value) => textFor(reader, at(value)),
    set: (sample, value) => set(sample, at(value)),
  };
}

function labelBits(labels: readonly string[], readers: readonly LevelReader[]): number {
  const alike = new Map<string, number>();
  let bits = 0;
  for (const label of labels) {
    const { textFor } = labelLevel(label);
    const texts = readers.map((one) => textFor(one, 1));
    if (texts.some((text) => text.startsWith("="))) bits += 1;
    else if (texts.some((text) => text !== ""))
      alike.set(texts.join("/"), (alike.get(texts.join("/")) ?? 0) + 1);
  }
  for (const count of alike.values()) bits += Math.log2(count + 1);
  return bits;
}

/** Where policies read it. */
const BUDGET = "input.budget.remaining";

/** `unlimited`: a caller without a budget. */
function setBudget({ budget: _replaced, ...sample }: PolicyOnly, budget: BudgetStep): PolicyOnly {
  return budget === "unlimited" ? sample : { ...sample, budget };
}

/** A multiset as text: the order of the names does not matter. */
export function joinedNames(text: string, name: string): string {
  if (name === "") return text;
  return text === "" ? name : [...text.split("\n"), name].toSorted().join("\n");
}

/** A name as a reader sees it: not at all, its presence only, or the name. */
function seenName(projection: LevelReader["projection"], path: string, name: string): string {
  if (!projection.sees(path)) return "";
  if (projection.distinguishes(path, name)) return `=${name}`;
  return projection.seesAllOf(path) ? "~" : "";
}

/** A reader that sees a flag distinguishes both values. */
function seenScalar({ projection }: LevelReader, path: string, value: string | boolean) {
  return typeof value === "string"
    ? seenName(projection, path, value)
    : projection.sees(path)
      ? String(value)
      : "";
}

/** Day and hour in UTC are few: a reader of one distinguishes all its values. */
function seenTime({ projection }: LevelReader, time: PolicyTime): string {
  const zones = Object.keys(time.local ?? {}).map((zone) => projection.zone(zone).textOf(time));
  const day = projection.sees("input.time.day") ? time.day : "";
  return [day, projection.sees("input.time.hour") ? time.hour : "", ...zones].join("/");
}

function localPaths([first]: readonly PolicyTime[]): readonly string[] {
  return Object.keys(first?.local ?? {}).flatMap((zone) =>
    ["weekday", "hour"].map((member) => `input.local_time.${zone}.${member}`),
  );
}
