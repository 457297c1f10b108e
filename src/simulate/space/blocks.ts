import type { BudgetStep } from "../../canon/budget-step.ts";
import type { PolicyTime } from "../../canon/policy.ts";
import type { RoutingTable } from "../../canon/table.ts";
import { perScalar, type ScalarMember } from "../request-scalars.ts";
import type { SampleRequest } from "../sample-request.ts";
import type { Sight } from "./readers.ts";
import { OUTSIDE_VOCABULARY, type OperationUniverse, type Universe } from "./universe.ts";

/** The members of a sample that only policies read. */
export type PolicyOnly = Pick<SampleRequest, ScalarMember | "key" | "time" | "budget">;

/** Values of one dimension that nothing distinguishes. */
export interface Block {
  /** The values, as text; of sets, what all of them have. */
  readonly values: readonly string[];
  /** What each pair of eyes sees of the values, in the order in which the eyes were given. */
  readonly tokens: readonly string[];
  /** One of them, as the members of a sample that it sets. */
  readonly set: (sample: PolicyOnly) => PolicyOnly;
  readonly size: bigint;
}

export interface Dimension {
  readonly name: string;
  /** How many values there are. */
  readonly values: bigint;
  readonly blocks: readonly Block[];
}

/** What a reader sees of a key's attributes: a name outside the side's vocabulary reads `other`. */
export interface Eyes {
  readonly sight: Pick<Sight, "sees" | "seesAllOf" | "distinguishes">;
  readonly table: Pick<RoutingTable, "vocabulary">;
}

/**
 * The dimensions that only policies and assertions look at, each with its values gathered into blocks that none of the given readers distinguishes.
 * Where a side has decided already without asking its policies, its eyes are left out.
 */
export function policyOnlyDimensions(
  universe: Universe,
  own: OperationUniverse,
  eyes: readonly Eyes[],
): readonly Dimension[] {
  return [
    ...perScalar((member, { name }) =>
      single<string | boolean>(
        name,
        own[member],
        (value) => eyes.map((one) => seenScalar(one, `input.request.${name}`, value)),
        (sample, value) => ({ ...sample, [member]: value }),
      ),
    ),
    single(
      "environment",
      universe.environments,
      (name) =>
        eyes.map((one) =>
          seenName(one.sight, "input.key.environment", knownName(one.table.vocabulary.environments, name)),
        ),
      (sample, environment) => ({ ...sample, key: { ...sample.key, environment } }),
    ),
    single(
      "workload",
      universe.workloads,
      (name) =>
        eyes.map((one) => seenName(one.sight, "input.key.workload", knownName(one.table.vocabulary.workloads, name))),
      // A key without a workload is one of those outside of the vocabulary, and the one that a reader expects.
      (sample, workload) => ({
        ...sample,
        key: { ...sample.key, workload: workload === OUTSIDE_VOCABULARY ? "" : workload },
      }),
    ),
    single(
      "owner",
      universe.owners,
      (name) =>
        eyes.map((one) => seenName(one.sight, "input.key.owner", knownName(one.table.vocabulary.owners ?? [], name))),
      setOwner,
    ),
    labelSets(universe.labels, eyes),
    single("budget", universe.budgets, (step) => eyes.map((one) => seenName(one.sight, BUDGET, step)), setBudget),
    single(
      "time",
      universe.times,
      (time) => eyes.map((one) => seenTime(one, time)),
      (sample, time: PolicyTime) => ({ ...sample, time }),
      ({ day, hour }) => `${day} ${hour}`,
    ),
  ];
}

/** Where policies read it. */
export const BUDGET = "input.budget.remaining";

/** A sample of a caller with so much left; `unlimited` is a caller without a budget. */
export function setBudget({ budget: _replaced, ...sample }: PolicyOnly, budget: BudgetStep): PolicyOnly {
  return budget === "unlimited" ? sample : { ...sample, budget };
}

/** A sample of a key with this owner; {@link OUTSIDE_VOCABULARY} is no owner in particular. */
export function setOwner(sample: PolicyOnly, owner: string): PolicyOnly {
  const { owner: _replaced, ...key } = sample.key;
  return { ...sample, key: owner === OUTSIDE_VOCABULARY ? key : { ...key, owner } };
}

function single<Value>(
  name: string,
  values: readonly Value[],
  tokens: (value: Value) => readonly string[],
  set: (sample: PolicyOnly, value: Value) => PolicyOnly,
  shown: (value: Value) => string = String,
): Dimension {
  const found = new Map<string, { value: Value; tokens: readonly string[]; values: string[]; size: bigint }>();
  for (const value of values) {
    const seen = tokens(value);
    const key = JSON.stringify(seen);
    const block = found.get(key);
    if (block === undefined) found.set(key, { value, tokens: seen, values: [shown(value)], size: 1n });
    else {
      block.values.push(shown(value));
      block.size += 1n;
    }
  }
  const blocks = [...found.values()].map(({ value, ...block }): Block => ({
    ...block,
    set: (sample) => set(sample, value),
  }));
  return { name, values: BigInt(values.length), blocks };
}

/** How many sets of labels the readers distinguish, as the logarithm to base 2: the sets themselves may be too many to write down. */
export function labelBits(labels: readonly string[], eyes: readonly Eyes[]): number {
  const alike = new Map<string, number>();
  let bits = 0;
  for (const label of labels) {
    const seen = eyes.map(({ sight, table }) =>
      table.vocabulary.labels.includes(label) ? seenName(sight, "input.key.labels", label) : "",
    );
    if (seen.some((text) => text.startsWith("="))) bits += 1;
    else if (seen.some((text) => text !== "")) alike.set(seen.join("/"), (alike.get(seen.join("/")) ?? 0) + 1);
  }
  for (const count of alike.values()) bits += Math.log2(count + 1);
  return bits;
}

/** Every set of labels; those that no policy distinguishes count by their number. */
function labelSets(labels: readonly string[], eyes: readonly Eyes[]): Dimension {
  const none = eyes.map(() => "");
  const empty: LabelSets = { tokens: none, chosen: [], common: [], size: 1n };
  let sets = new Map([[JSON.stringify(none), empty]]);
  for (const label of labels) {
    const added = eyes.map((one) => {
      return one.table.vocabulary.labels.includes(label) ? seenName(one.sight, "input.key.labels", label) : "";
    });
    const next = new Map(sets);
    for (const { tokens, chosen, common, size } of sets.values()) {
      const joined = tokens.map((text, index) => joinedNames(text, added[index] ?? ""));
      const key = JSON.stringify(joined);
      const same = next.get(key);
      const more = { tokens: joined, chosen: [...chosen, label], common: [...common, label], size };
      next.set(
        key,
        same === undefined ? more : { ...same, common: shared(same.common, more.common), size: same.size + size },
      );
    }
    sets = next;
  }
  const blocks = [...sets.values()].map(({ chosen, tokens, common, size }): Block => ({
    tokens,
    values: common,
    size,
    set: (sample) => ({ ...sample, key: { ...sample.key, labels: chosen } }),
  }));
  return { name: "key_labels", values: 1n << BigInt(labels.length), blocks };
}

/** Sets of labels that look the same. */
interface LabelSets {
  readonly tokens: readonly string[];
  readonly chosen: readonly string[];
  readonly common: readonly string[];
  readonly size: bigint;
}

function shared(left: readonly string[], right: readonly string[]): readonly string[] {
  return left.filter((name) => right.includes(name));
}

/** A multiset as text: the order of the names does not matter. */
export function joinedNames(text: string, name: string): string {
  if (name === "") return text;
  return text === "" ? name : [...text.split("\n"), name].toSorted().join("\n");
}

/** What a reader sees of a name: nothing, that there is one, or which. */
export function seenName(sight: Eyes["sight"], path: string, name: string): string {
  if (!sight.sees(path)) return "";
  if (sight.distinguishes(path, name)) return `=${name}`;
  return sight.seesAllOf(path) ? "~" : "";
}

/** A name as a side's policies read it. */
export function knownName(vocabulary: readonly string[], name: string): string {
  return vocabulary.includes(name) ? name : OUTSIDE_VOCABULARY;
}

/** Of two values, who sees one of them knows which. */
export function seenScalar({ sight }: Eyes, path: string, value: string | boolean): string {
  return typeof value === "string" ? seenName(sight, path, value) : sight.sees(path) ? String(value) : "";
}

/** Day and hour are few: who reads one sees all of it. */
export function seenTime({ sight }: Eyes, { day, hour }: PolicyTime): string {
  return `${sight.sees("input.time.day") ? day : ""}/${sight.sees("input.time.hour") ? hour : ""}`;
}
