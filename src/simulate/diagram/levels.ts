import type { PolicyTime } from "../../canon/policy.ts";
import { perScalar } from "../request-scalars.ts";
import {
  BUDGET,
  setBudget,
  knownName,
  seenName,
  seenScalar,
  seenTime,
  setOwner,
  type Eyes,
  type PolicyOnly,
} from "../space/blocks.ts";
import { OUTSIDE_VOCABULARY, type OperationUniverse, type Universe } from "../space/universe.ts";

/** One member of a request that only policies and assertions read, as a level of a diagram. */
export interface Level {
  /** As reports name the dimension; every label is a level of its own, `key_labels`. */
  readonly name: string;
  /** The values, as text; of a label: absent, then present. */
  readonly values: readonly string[];
  /** What a reader sees of a value: the same text for values that it does not distinguish. */
  readonly seen: (eyes: Eyes, value: number) => string;
  readonly set: (sample: PolicyOnly, value: number) => PolicyOnly;
}

/** The dimension of labels. */
export const KEY_LABELS = "key_labels";

/** The levels of an operation. The last label comes first, so that of two sets the one with earlier labels is the plainer path. */
export function levelsOf(universe: Universe, own: OperationUniverse): readonly Level[] {
  return [
    ...perScalar((member, { name }) =>
      level<string | boolean>(
        name,
        own[member],
        (eyes, value) => seenScalar(eyes, `input.request.${name}`, value),
        (sample, value) => ({ ...sample, [member]: value }),
      ),
    ),
    level(
      "environment",
      universe.environments,
      ({ sight, table }, name) =>
        seenName(sight, "input.key.environment", knownName(table.vocabulary.environments, name)),
      (sample, environment) => ({ ...sample, key: { ...sample.key, environment } }),
    ),
    level(
      "workload",
      universe.workloads,
      ({ sight, table }, name) => seenName(sight, "input.key.workload", knownName(table.vocabulary.workloads, name)),
      // A key without a workload is one of those outside of the vocabulary, and the one that a reader expects.
      (sample, workload) => ({
        ...sample,
        key: { ...sample.key, workload: workload === OUTSIDE_VOCABULARY ? "" : workload },
      }),
    ),
    level(
      "owner",
      universe.owners,
      ({ sight, table }, name) => seenName(sight, "input.key.owner", knownName(table.vocabulary.owners ?? [], name)),
      setOwner,
    ),
    ...universe.labels.toReversed().map(labelLevel),
    level("budget", universe.budgets, ({ sight }, step) => seenName(sight, BUDGET, step), setBudget),
    level(
      "time",
      universe.times,
      seenTime,
      (sample, time: PolicyTime) => ({ ...sample, time }),
      ({ day, hour }) => `${day} ${hour}`,
    ),
  ];
}

function labelLevel(label: string): Level {
  return {
    name: KEY_LABELS,
    values: ["", label],
    seen: ({ sight, table }, value) =>
      value === 1 && table.vocabulary.labels.includes(label) ? seenName(sight, "input.key.labels", label) : "",
    set: (sample, value) =>
      value === 0 ? sample : { ...sample, key: { ...sample.key, labels: [label, ...sample.key.labels] } },
  };
}

function level<Value>(
  name: string,
  values: readonly Value[],
  seen: (eyes: Eyes, value: Value) => string,
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
    values: values.map(shown),
    seen: (eyes, value) => seen(eyes, at(value)),
    set: (sample, value) => set(sample, at(value)),
  };
}
