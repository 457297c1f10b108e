import type { PolicyInput } from "../../canon/policy.ts";
import type { LatentField } from "./name-classes.ts";

/** An index of a value for each field. */
export type Combination = readonly number[];

export function numberOfCombinations(fields: readonly LatentField[]): bigint {
  return fields.reduce((number, { values }) => number * BigInt(values.length), 1n);
}

/**
 * Every combination of values; where there are more than may be tried, those that differ from a row
 * of today in one value, then in two.
 *
 * @param today combinations of rows that are there.
 */
export function* combinations(
  fields: readonly LatentField[],
  today: readonly Combination[],
  most: number,
): Generator<Combination> {
  if (numberOfCombinations(fields) <= BigInt(most)) {
    yield* product(fields);
    return;
  }
  const seen = new Set<string>();
  for (const combination of nearToday(fields, today)) {
    if (seen.size >= most) return;
    const key = combination.join();
    if (seen.has(key)) continue;
    seen.add(key);
    yield combination;
  }
}

/** The last field changes first. */
function* product(fields: readonly LatentField[]): Generator<Combination> {
  const [first, ...others] = fields;
  if (first === undefined) {
    yield [];
    return;
  }
  for (const index of first.values.keys())
    for (const rest of product(others)) yield [index, ...rest];
}

function* nearToday(
  fields: readonly LatentField[],
  today: readonly Combination[],
): Generator<Combination> {
  for (const row of today) yield* changedFrom(fields, row, 0);
  for (const row of today) {
    for (const [at, { values }] of fields.entries()) {
      for (const index of values.keys()) yield* changedFrom(fields, row.with(at, index), at + 1);
    }
  }
}

/** Those that differ in one value at most, at a position or after it. */
function* changedFrom(
  fields: readonly LatentField[],
  row: Combination,
  from: number,
): Generator<Combination> {
  for (const [at, { values }] of fields.entries()) {
    if (at >= from) for (const index of values.keys()) yield row.with(at, index);
  }
}

export function inputAt(
  fields: readonly LatentField[],
  combination: Combination,
  start: PolicyInput,
): PolicyInput {
  return fields.reduce((input, field, at) => field.apply(input, combination[at] ?? 0), start);
}
