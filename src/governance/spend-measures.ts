import { COUNT, whole, type ValueOf } from "../canon/json/schema.ts";
import type { Cell } from "./cell.ts";

/** What a set of requests cost, as answers have it. */
export const SPEND_MEASURES = whole({
  requests: COUNT,
  input_tokens: COUNT,
  output_tokens: COUNT,
  cache_read_tokens: { ...COUNT, description: "Part of the input that came from a cache." },
  reasoning_tokens: { ...COUNT, description: "Part of the output that was reasoning." },
  cost_usd: {
    type: ["number", "null"],
    minimum: 0,
    description: "Sum of the known costs, US dollars by list price; `null`: no cost is known.",
  },
  unpriced_requests: { ...COUNT, description: "Requests that a provider carried out and whose cost is unknown." },
});

export type SpendMeasures = ValueOf<typeof SPEND_MEASURES>;

/** Billionths in a US dollar. */
const NANO = 1_000_000_000;

/** Of a cell in which requests, or what is left of them at an endpoint, count. */
export function spendMeasures(cell: Cell): SpendMeasures {
  const priced = cell.get("priced");
  const pricedAndMetered = priced - cell.get("priced_unmetered");
  return {
    requests: cell.get("requests"),
    input_tokens: cell.get("input_tokens"),
    output_tokens: cell.get("output_tokens"),
    cache_read_tokens: cell.get("cache_read_tokens"),
    reasoning_tokens: cell.get("reasoning_tokens"),
    cost_usd: priced === 0 ? null : cell.get("cost_nano_usd") / NANO,
    unpriced_requests: Math.max(0, cell.get("metered") - pricedAndMetered) + cell.get("unpriced_unmetered"),
  };
}
