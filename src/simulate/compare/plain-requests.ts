import { KEY_LABELS } from "../space/levels.ts";
import type { PlainRequests } from "../space/job-space.ts";

/** Which plain requests of a workspace and route are in a group. */
export interface PlainConditions {
  /** Whether one of the conditions suffices; otherwise all of them have to be met. */
  readonly any: boolean;
  /** `null` where no such list describes them. */
  readonly conditions:
    | readonly { readonly dimension: string; readonly values: readonly string[] }[]
    | null;
}

/** The dimension of labels that a key does not have. */
const OTHER_LABELS = "without_key_labels";

export function addedPlain(one: PlainRequests, other: PlainRequests | undefined): PlainRequests {
  if (other === undefined) return one;
  const counts = one.counts.map((own, level) =>
    own.map((count, value) => count + (other.counts[level]?.[value] ?? 0n)),
  );
  return { ...one, counts };
}

/**
 * "environment test and workload batch", "environment test or workload batch": values of each level,
 * by how many requests have them.
 */
export function plainConditions({ levels, counts }: PlainRequests): PlainConditions {
  const product = (sizes: readonly number[]): bigint =>
    sizes.reduce((all, size) => all * BigInt(size), 1n);
  const all = product(counts.map(({ length }) => length));
  const size = (counts[0] ?? []).reduce((sum, count) => sum + count, 0n);
  const amounts = (of: readonly (readonly boolean[])[], chosen: boolean): bigint =>
    product(of.map((own) => own.filter((one) => one === chosen).length));
  const taken = counts.map((own) => own.map((count) => count > 0n));
  if (size === amounts(taken, true)) return { any: false, conditions: conditionsOf(levels, taken) };
  const whole = counts.map((own) => own.map((count) => count === all / BigInt(own.length)));
  const left = amounts(whole, false);
  return { any: true, conditions: all - size === left ? conditionsOf(levels, whole) : null };
}

/** Without levels of which every value is chosen, or none. */
function conditionsOf(
  levels: PlainRequests["levels"],
  chosen: readonly (readonly boolean[])[],
): NonNullable<PlainConditions["conditions"]> {
  const byDimension = Map.groupBy(
    levels.flatMap(({ name, values }, level) => {
      const own = values.filter((_, value) => chosen[level]?.[value] === true);
      if (own.length === 0 || own.length === values.length) return [];
      // A label is absent or present.
      return name === KEY_LABELS && own[0] === ""
        ? [{ name: OTHER_LABELS, own: values.slice(1) }]
        : [{ name, own }];
    }),
    ({ name }) => name,
  );
  return [...byDimension].map(([dimension, same]) => ({
    dimension,
    values: same.flatMap(({ own }) => own).toSorted(),
  }));
}
