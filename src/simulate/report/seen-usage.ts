/** What answers used, as their providers counted it. */
export interface SeenUsage {
  /** Answers whose tokens were counted: the other decisions were refused, failed, or have no count. */
  readonly counted: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** US dollars by list prices, of the endpoints that answered; `null` where an endpoint has no price or did not count. */
  readonly cost_before: number | null;
  /** The same tokens at the endpoint that comes first in head; nothing for requests that head denies. */
  readonly cost_after: number | null;
  /** Answers whose cost is not known, which make the sums above unknown; and the sums of all others. */
  readonly unpriced_before: number;
  readonly unpriced_after: number;
  readonly known_cost_before: number;
  readonly known_cost_after: number;
}

/** In the order in which they are written. */
export const SEEN_USAGE_ORDER = {
  counted: true,
  input_tokens: true,
  output_tokens: true,
  cost_before: true,
  cost_after: true,
  unpriced_before: true,
  unpriced_after: true,
  known_cost_before: true,
  known_cost_after: true,
} as const satisfies Readonly<Record<keyof SeenUsage, true>>;
