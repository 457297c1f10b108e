import type { JsonObject } from "../../../canon/json.ts";
import type { ModelOperation } from "../../../canon/operation.ts";
import type { ImportedConfiguration } from "../configuration/imported-configuration.ts";
import { perMillion } from "../configuration/rows.ts";
import type { Fields } from "../fields.ts";

/** Further rates of models that generate. */
const RATES = {
  cache_read_input_token_cost: "cached_input",
  cache_creation_input_token_cost: "cache_write",
  cache_creation_input_token_cost_above_1hr: "cache_write_1h",
  output_cost_per_reasoning_token: "reasoning",
} as const;

/** `price` of an endpoint, in dollars a million tokens; `null` where the source has none. Custom prices stand in either mapping. */
export function priceOf(
  params: Fields,
  info: Fields | null,
  operation: ModelOperation,
  { report }: ImportedConfiguration,
): JsonObject | null {
  const carried: (() => void)[] = [];
  const read = (name: string): number | null => {
    for (const from of [params, info]) {
      const value = from?.number(name) ?? null;
      if (from === null || value === null || value < 0) continue;
      carried.push(() => report.add("carried", from.spot(name), "`price` of the endpoint, a million tokens"));
      return value;
    }
    return null;
  };
  const input = read("input_cost_per_token");
  const output = read("output_cost_per_token");
  const request = read("input_cost_per_request");
  const search = read("input_cost_per_query");
  const rates = Object.entries(RATES).flatMap(([name, rate]) => {
    const value = read(name);
    return value === null || operation !== "generate" ? [] : [[rate, perMillion(value)] as const];
  });
  const needsOutput = operation === "generate";
  if (input === null && search === null && request === null) return null;
  if (needsOutput && (input === null || output === null)) {
    report.add(
      "decide",
      (info ?? params).spot("input_cost_per_token"),
      "only one of the two prices is given: `price` needs `input` and `output`",
    );
    return null;
  }
  for (const add of carried) add();
  return {
    input: perMillion(input ?? 0),
    output: perMillion(output ?? 0),
    ...(request === null ? {} : { request: Math.min(1_000_000, request) }),
    ...Object.fromEntries(rates),
    ...(search === null || operation !== "rerank"
      ? {}
      : { search: Math.min(1_000_000, Number((search * 1000).toPrecision(9))) }),
  };
}
