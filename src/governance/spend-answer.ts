import type { JsonValue } from "../canon/json.ts";
import { INSTANT, TEXT, type ValueOf, whole } from "../canon/json/schema.ts";
import { SPEND_DIMENSIONS, type Dimension, type Grouping } from "./dimensions.ts";
import { SPEND_MEASURES, type SpendMeasures } from "./measures.ts";
import type { Summary } from "./summarise.ts";
import { onlyOne } from "./summary-answer.ts";
import { HOUR } from "./roll-up.ts";
import { formatStart, type Window } from "./window.ts";

const dollars = { type: "number", minimum: 0 } as const;

export const SPEND = {
  title: "Spend",
  ...whole(
    {
      object: { const: "spend" },
      workspace: { type: ["string", "null"], description: "`null` where several are counted." },
      workspaces: { type: "array", items: TEXT, description: "Whose requests are counted." },
      window: whole(
        { start: INSTANT, end: INSTANT },
        "Whole hours, so possibly more than requested.",
      ),
      group_by: { type: "array", items: { enum: SPEND_DIMENSIONS } },
      groups: {
        type: "array",
        items: whole({
          group: {
            type: "object",
            additionalProperties: { type: ["string", "null"] },
            description: "Days and hours are in UTC.",
          },
          ...SPEND_MEASURES.properties,
        }),
      },
      total: SPEND_MEASURES,
      budgets: {
        type: "array",
        items: whole({
          name: TEXT,
          workspace: TEXT,
          limit_usd: dollars,
          spent_usd: {
            ...dollars,
            description: "As limits count it: with reservations and estimates.",
          },
          window_start: INSTANT,
          window_end: INSTANT,
          projected_usd: {
            ...dollars,
            type: ["number", "null"],
            description:
              "At the end of the window, if spending continues at the same rate; `null` in its first 5 %.",
          },
        }),
        description: "Budgets in money of these workspaces, now.",
      },
      estimate: { const: true, description: "An estimate from list prices, and not a bill." },
      truncated: {
        type: "boolean",
        description: "There are more groups; these have the most requests.",
      },
    },
    "What the requests of the key's workspace, or of all that the caller may read, cost: an estimate from list prices, and not a bill.",
  ),
} as const;

export type SpendAnswer = ValueOf<typeof SPEND>;

/** @param workspaces empty: requests without an accepted key. */
export function spendAnswer(
  workspaces: readonly string[],
  window: Window,
  grouping: Pick<Grouping, "dimensions">,
  summary: Pick<Summary, "groups" | "spend" | "truncated">,
  budgets: SpendAnswer["budgets"],
): SpendAnswer {
  return {
    object: "spend",
    workspace: onlyOne(workspaces),
    workspaces: [...workspaces],
    window: { start: formatStart(window.from, HOUR), end: formatStart(window.until, HOUR) },
    group_by: grouping.dimensions.filter(isSpendDimension),
    groups: summary.groups.map(({ group, spend }) => ({ group, ...spend })),
    total: summary.spend,
    budgets,
    estimate: true,
    truncated: summary.truncated,
  };
}

function isSpendDimension(dimension: Dimension): dimension is (typeof SPEND_DIMENSIONS)[number] {
  return SPEND_DIMENSIONS.some((one) => one === dimension);
}

/**
 * A line is short, and is not kept open in a page: a month of days by key, route and model fits.
 */
export const MAXIMUM_CSV_GROUPS = 10_000;

const COLUMNS = [
  "requests",
  "input_tokens",
  "output_tokens",
  "cache_read_tokens",
  "reasoning_tokens",
  "cost_usd",
  "unpriced_requests",
] as const satisfies readonly (keyof SpendMeasures)[];

/**
 * The groups as RFC 4180 has them, with a header; without groups the total. Unknown costs are empty
 * cells.
 */
export function spendCsv({ group_by: names, groups, total }: SpendAnswer): string {
  const rows: SpendAnswer["groups"] = names.length === 0 ? [{ group: {}, ...total }] : groups;
  const lines = rows.map((row) => [
    ...names.map((name) => csvText(row.group[name])),
    ...COLUMNS.map((name) => csvNumber(row[name])),
  ]);
  return [[...names, ...COLUMNS], ...lines].map((cells) => `${cells.join(",")}\r\n`).join("");
}

/** Spreadsheets take a cell that begins like this for a formula. */
const FORMULA = /^[=+\-@\t\r]/;

function csvText(value: JsonValue | undefined): string {
  if (typeof value !== "string") return "";
  const shown = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
}

/** Without an exponent, which some readers take for text. */
function csvNumber(value: number | null): string {
  if (value === null) return "";
  return Number.isInteger(value) ? String(value) : value.toFixed(9).replace(/0+$/, "");
}
