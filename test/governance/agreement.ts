import { expect } from "vitest";
import { FAILURE_KINDS } from "../../src/canon/failure.ts";
import { TERMINALS, SECOND_CHOICE_REASONS } from "../../src/evidence/record.ts";
import {
  readGrouping,
  type GROUPED,
  type Grouping,
  type RollUpQuery,
  type RollUpRow,
} from "../../src/governance/increments.ts";
import type { Measures, Percentiles, SpendMeasures } from "../../src/governance/measures.ts";
import { RELATIVE_ERROR } from "../../src/governance/cell.ts";
import type { Summary } from "../../src/governance/summarise.ts";
import type { Counted, Counts } from "./brute-force.ts";
import { exactQuantile } from "./exact-quantile.ts";

export function groupingOf(
  names: readonly string[],
  of: keyof typeof GROUPED = "summary",
): Grouping {
  const grouping = readGrouping(names, of);
  if ("problem" in grouping) throw new Error(grouping.problem);
  return grouping;
}

/** Stored cells, without a store. */
export function readRows(
  rows: readonly RollUpRow[],
): (query: RollUpQuery) => AsyncIterable<readonly RollUpRow[]> {
  return async function* pages({ workspace, facet, from, until }) {
    for (const row of rows) {
      if (
        row.workspace === workspace &&
        row.facet === facet &&
        row.hour >= from &&
        row.hour < until
      )
        yield [row];
    }
  };
}

/** The summary says what counting record by record gives; percentiles within the error. */
export function expectAgreement(summary: Summary, counts: Counts): void {
  expectMeasures(summary.totals, counts.totals);
  expectSpend(summary.spend, counts.totals);
  const byGroup = new Map(counts.groups.map((counted) => [JSON.stringify(counted.group), counted]));
  expect(new Set(summary.groups.map(({ group }) => JSON.stringify(group)))).toEqual(
    new Set(byGroup.keys()),
  );
  expect(summary.groups).toHaveLength(byGroup.size);
  for (const { group, measures, spend } of summary.groups) {
    const counted = byGroup.get(JSON.stringify(group));
    if (counted === undefined) continue;
    expectMeasures(measures, counted);
    if (measures.ended !== null) expectSpend(spend, counted);
  }
}

/** As {@link expectAgreement}, of the members that spend has. */
export function expectSpendAgreement(
  summary: Pick<Summary, "spend" | "groups">,
  counts: Counts,
): void {
  expectSpend(summary.spend, counts.totals);
  const found = new Map(summary.groups.map(({ group, spend }) => [JSON.stringify(group), spend]));
  expect(new Set(found.keys())).toEqual(
    new Set(counts.groups.map(({ group }) => JSON.stringify(group))),
  );
  for (const counted of counts.groups) {
    const spend = found.get(JSON.stringify(counted.group));
    if (spend !== undefined) expectSpend(spend, counted);
  }
}

function expectSpend(spend: SpendMeasures, { counts }: Counted): void {
  expect(spend).toEqual({
    requests: counts.requests ?? 0,
    input_tokens: counts.input ?? 0,
    output_tokens: counts.output ?? 0,
    cache_read_tokens: counts.cache_read ?? 0,
    reasoning_tokens: counts.reasoning ?? 0,
    cost_usd: (counts.priced ?? 0) === 0 ? null : (counts.cost ?? 0) / 1e9,
    unpriced_requests: counts.unpriced ?? 0,
  });
}

function expectMeasures(measures: Measures, { counts, latencies }: Counted): void {
  const counted = (names: readonly string[]): Record<string, number> =>
    Object.fromEntries(names.map((name) => [name, counts[name] ?? 0]));
  expect(measures).toMatchObject(counted(["requests", "allowed", "answered", "denied", "refused"]));
  if (measures.running !== null) expect(measures.running).toBe(counts.running ?? 0);
  const { shadow, ended } = measures;
  if (shadow !== null) {
    expect(shadow).toEqual(
      counted(["judged", "would_deny", "newly_denied", "would_narrow", "indeterminate"]),
    );
  }
  if (ended === null) return;
  expect(ended.terminals).toEqual(
    Object.fromEntries(TERMINALS.map((name) => [name, counts[`terminal ${name}`] ?? 0])),
  );
  expect(ended.fallbacks).toBe(counts.fallbacks ?? 0);
  const reasons = SECOND_CHOICE_REASONS.filter((one) => (counts[`second choice ${one}`] ?? 0) > 0);
  expect(ended.second_choice.reasons).toEqual(
    Object.fromEntries(reasons.map((one) => [one, counts[`second choice ${one}`]])),
  );
  expect(ended.second_choice.total).toBe(
    reasons.reduce((sum, one) => sum + (counts[`second choice ${one}`] ?? 0), 0),
  );
  expect(ended.tokens).toEqual(
    counted(["input", "output", "cache_read", "reasoning", "counted_requests"]),
  );
  expect(ended.attempts.total).toBe(counts.attempts ?? 0);
  const failed = FAILURE_KINDS.filter((kind) => (counts[`failed ${kind}`] ?? 0) > 0);
  expect(ended.attempts.failed).toEqual(
    Object.fromEntries(failed.map((kind) => [kind, counts[`failed ${kind}`]])),
  );
  for (const name of ["total", "first_byte", "router"] as const)
    expectPercentiles(ended.latency_ms[name], latencies[name]);
}

/** Printed to the microsecond. */
const ROUNDING = 0.000_5;

function expectPercentiles(found: Percentiles, raw: readonly number[]): void {
  expect(found.count).toBe(raw.length);
  for (const [name, share] of [
    ["p50", 0.5],
    ["p90", 0.9],
    ["p95", 0.95],
    ["p99", 0.99],
  ] as const) {
    const value = found[name];
    if (raw.length === 0) {
      expect(value).toBeNull();
      continue;
    }
    const exact = exactQuantile(raw, share);
    expect(Math.abs((value ?? Number.NaN) - exact)).toBeLessThanOrEqual(
      exact * (RELATIVE_ERROR + 1e-9) + ROUNDING + 1e-9,
    );
  }
}
