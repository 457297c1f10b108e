import type { SampleRequest } from "../../../src/simulate/sample-request.ts";
import {
  joinedNames,
  KEY_LABELS,
  levelsOf,
  type LevelReader,
  type PolicyOnly,
} from "../../../src/simulate/space/levels.ts";
import type { OperationUniverse, Universe } from "../../../src/simulate/space/universe.ts";

/** Values of one dimension that nothing distinguishes. */
export interface Block {
  /** The values, as text; of sets, what all of them have. */
  readonly values: readonly string[];
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

/**
 * The dimensions that only policies and assertions look at, each with its values gathered into
 * blocks that none of the readers distinguishes.
 */
export function policyOnlyDimensions(
  universe: Universe,
  own: OperationUniverse,
  levelReader: readonly LevelReader[],
): readonly Dimension[] {
  const single = levelsOf({ ...universe, labels: [] }, own).map(
    ({ name, values, seen, set }): Dimension => {
      const found = Map.groupBy(values.keys(), (value) =>
        JSON.stringify(levelReader.map((one) => seen(one, value))),
      );
      const blocks = [...found.values()].map((alike): Block => ({
        values: alike.map((value) => values[value] ?? ""),
        size: BigInt(alike.length),
        set: (sample) => set(sample, alike[0] ?? 0),
      }));
      return { name, values: BigInt(values.length), blocks };
    },
  );
  const at = single.findIndex(({ name }) => name === "budget");
  return single.toSpliced(at, 0, labelSets(universe, own, levelReader));
}

/** Every set of labels; those that no reader distinguishes count by their number. */
function labelSets(
  { labels, ...universe }: Universe,
  own: OperationUniverse,
  levelReader: readonly LevelReader[],
): Dimension {
  const none: readonly string[] = levelReader.map(() => "");
  let sets = new Map([
    [
      JSON.stringify(none),
      { tokens: none, chosen: [] as string[], common: [] as string[], size: 1n },
    ],
  ]);
  for (const label of labels) {
    const level = levelsOf({ ...universe, labels: [label] }, own).find(
      ({ name }) => name === KEY_LABELS,
    );
    const next = new Map(sets);
    for (const { tokens, chosen, common, size } of sets.values()) {
      const joined = tokens.map((text, index) => {
        const one = levelReader[index];
        return one === undefined || level === undefined
          ? text
          : joinedNames(text, level.seen(one, 1));
      });
      const key = JSON.stringify(joined);
      const same = next.get(key);
      const more = { tokens: joined, chosen: [...chosen, label], common: [...common, label], size };
      const shared = same?.common.filter((name) => more.common.includes(name)) ?? [];
      next.set(
        key,
        same === undefined ? more : { ...same, common: shared, size: same.size + size },
      );
    }
    sets = next;
  }
  const blocks = [...sets.values()].map(({ chosen, common, size }): Block => ({
    values: common,
    size,
    set: (sample: PolicyOnly): PolicyOnly => ({
      ...sample,
      key: { ...sample.key, labels: chosen } satisfies SampleRequest["key"],
    }),
  }));
  return { name: KEY_LABELS, values: 1n << BigInt(labels.length), blocks };
}
