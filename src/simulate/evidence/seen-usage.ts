import { COUNT, type complete, type ValueOf } from "../../canon/json/schema.ts";

/** Tokens and list-price cost of answers. Costs are `null` where one of them is not known. */
export const USAGE = {
  /**
   * Answers whose tokens were counted: the other decisions were refused, failed, or have no count.
   */
  counted: COUNT,
  input_tokens: COUNT,
  output_tokens: COUNT,
  /** US dollars by list prices, of the endpoints that answered. */
  cost_before: { type: ["number", "null"] },
  /** The same tokens at the endpoint that would answer in head; nothing where none would. */
  cost_after: { type: ["number", "null"] },
  /** Answers without a known cost, and the sums of all others. */
  unpriced_before: COUNT,
  unpriced_after: COUNT,
  known_cost_before: { type: "number" },
  known_cost_after: { type: "number" },
} as const;

export type SeenUsage = ValueOf<ReturnType<typeof complete<typeof USAGE>>>;

export const NOTHING_USED: SeenUsage = {
  counted: 0,
  input_tokens: 0,
  output_tokens: 0,
  cost_before: 0,
  cost_after: 0,
  unpriced_before: 0,
  unpriced_after: 0,
  known_cost_before: 0,
  known_cost_after: 0,
};

export function addedUsage(one: SeenUsage, other: SeenUsage): SeenUsage {
  return {
    counted: one.counted + other.counted,
    input_tokens: one.input_tokens + other.input_tokens,
    output_tokens: one.output_tokens + other.output_tokens,
    cost_before: sum(one.cost_before, other.cost_before),
    cost_after: sum(one.cost_after, other.cost_after),
    unpriced_before: one.unpriced_before + other.unpriced_before,
    unpriced_after: one.unpriced_after + other.unpriced_after,
    known_cost_before: one.known_cost_before + other.known_cost_before,
    known_cost_after: one.known_cost_after + other.known_cost_after,
  };
}

function sum(left: number | null, right: number | null) {
  return left === null || right === null ? null : left + right;
}

/** Recorded requests that met a change. */
export interface SeenWeight {
  readonly calls: number;
  readonly usage: SeenUsage;
}

/**
 * Sorts by recorded calls, descending. Every recorded call counts, so calls decide. Tokens are
 * those that providers counted and costs those that have a price, so they only break ties: a call
 * without them must not fall behind one that has them. Of two sums the one with more unknown costs
 * may be the larger one.
 */
export function bySeen(left: SeenWeight | null, right: SeenWeight | null): number {
  if (left === null || right === null) return 0;
  const [one, other] = [left.usage, right.usage];
  return (
    right.calls - left.calls ||
    tokensOf(other) - tokensOf(one) ||
    other.unpriced_before + other.unpriced_after - one.unpriced_before - one.unpriced_after ||
    costOf(other) - costOf(one)
  );
}

function tokensOf({ input_tokens: input, output_tokens: output }: SeenUsage) {
  return input + output;
}

function costOf({ known_cost_before: before, known_cost_after: after }: SeenUsage) {
  return Math.max(before, after);
}
