import { isJsonObject, type JsonObject } from "../../../canon/json.ts";
import type { BUDGET_PERIODS } from "../../../canon/limits.ts";
import type { ImportedConfiguration } from "../configuration/imported-configuration.ts";
import type { Fields } from "../fields.ts";

type Period = (typeof BUDGET_PERIODS)[number];

/** Calendar periods here, by what the source counts from the first request. */
const PERIODS: Readonly<Record<string, Period>> = {
  "1h": "hour",
  "60m": "hour",
  "3600s": "hour",
  "1d": "day",
  "24h": "day",
  "86400s": "day",
  "30d": "month",
  "31d": "month",
  "1mo": "month",
};

const COUNTS = [
  ["rpm_limit", "requests_per_minute", 1_000_000_000],
  ["tpm_limit", "tokens_per_minute", 1_000_000_000_000],
  ["max_parallel_requests", "concurrency", 1_000_000],
] as const;

/** `limits` of a workspace, or of a key. @param isPriced whether all that it may use has a price: a budget cannot be counted otherwise. */
export function limitsOf(fields: Fields, isPriced: boolean, imported: ImportedConfiguration): JsonObject {
  const { report } = imported;
  const limits: Record<string, number | JsonObject> = {};
  for (const [name, key, most] of COUNTS) {
    const value = fields.number(name);
    if (value === null) continue;
    if (value < 1) {
      report.add("decide", fields.spot(name), "allows nothing: leave the workspace out, or approve no route");
      continue;
    }
    limits[key] = Math.min(most, Math.floor(value));
    report.add("carried", fields.spot(name), `\`limits.${key}\``);
  }
  const usd = fields.number("max_budget");
  const text = fields.text("budget_duration");
  const period = text !== null && Object.hasOwn(PERIODS, text) ? PERIODS[text] : undefined;
  if (usd === null) {
    if (text !== null) report.add("left_out", fields.spot("budget_duration"), "there is no `max_budget` beside it");
    return limits;
  }
  const spot = fields.spot("max_budget");
  report.addMembers("changed", fields, ["budget_duration"], "`limits.budget.per`, or the line of `max_budget`");
  if (usd < 0.000_001) report.add("decide", spot, "a budget of 0: leave the workspace out, or approve no route");
  else if (period === undefined) {
    const why = text === null ? "this one is never renewed" : "this one has another period";
    report.add(
      "decide",
      spot,
      `budgets here are for a calendar hour, day or month, and ${why}: write \`limits.budget\``,
    );
  } else if (isPriced) {
    limits["budget"] = { usd: Math.min(1_000_000_000, usd), per: period };
    report.add(
      "changed",
      spot,
      `\`limits.budget\`, for a calendar ${period} in UTC instead of a time from the first request`,
    );
  } else {
    report.add(
      "decide",
      spot,
      `no budget can be counted without prices: add \`price\` to the endpoints, then \`limits: { budget: { usd: ${usd}, per: ${period} } }\``,
    );
  }
  return limits;
}

/** The flags of `signalbox keys create` that say the same. */
export function limitFlags(limits: JsonObject): string {
  const flags: string[] = [];
  for (const [, key] of COUNTS) {
    if (typeof limits[key] === "number") flags.push(` --${key.replaceAll("_", "-")} ${limits[key]}`);
  }
  const budget = limits["budget"];
  if (isJsonObject(budget) && typeof budget["usd"] === "number" && typeof budget["per"] === "string")
    flags.push(` --budget-usd ${budget["usd"]} --budget-per ${budget["per"]}`);
  return flags.join("");
}
