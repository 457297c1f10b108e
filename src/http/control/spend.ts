import type { Identity } from "../../canon/identity.ts";
import { MAXIMUM_DIMENSIONS } from "../../governance/dimensions.ts";
import { SPEND_DIMENSIONS, spendAnswer, spendCsv, type SpendAnswer } from "../../governance/spend-answer.ts";
import { summarise, type Summary } from "../../governance/summarise.ts";
import { MAXIMUM_HOURLY_DAYS } from "../../governance/window.ts";
import { budgetLines } from "../../limits/usage.ts";
import type { Snapshot } from "../snapshot.ts";
import type { ControlAnswer } from "./control-call.ts";
import { readQuery, summaryBusy, SUMMARY_QUERY, summaryUnavailable, type SummarySource } from "./governance-summary.ts";

/** Query parameters, for /openapi.json. */
export const SPEND_QUERY = {
  ...SUMMARY_QUERY,
  group_by: {
    type: "array",
    maxItems: MAXIMUM_DIMENSIONS,
    items: { enum: SPEND_DIMENSIONS },
    description: `Repeatable, or separated by commas: operation and route; provider, region and model; or key. Each with day, or with hour for at most ${MAXIMUM_HOURLY_DAYS} days.`,
  },
} as const;

/**
 * What the identity's own workspace spent, and its budgets.
 *
 * @param accept the header; with `text/csv` in it the groups are answered as CSV. @param now milliseconds since the epoch.
 */
export async function spend(
  source: SummarySource,
  { decider: { table } }: Pick<Snapshot, "decider">,
  { workspace }: Pick<Identity, "workspace">,
  query: URLSearchParams,
  accept: string | undefined,
  now: number,
): Promise<ControlAnswer> {
  const requested = readQuery(query, now, SPEND_DIMENSIONS);
  if ("code" in requested) return requested;
  const { window, grouping } = requested;
  const limits = Object.hasOwn(table.workspaces, workspace) ? table.workspaces[workspace]?.limits : undefined;
  let answer: SpendAnswer;
  try {
    const read = (): Promise<Summary> => summarise((facet) => source.read({ workspace, facet, ...window }), grouping);
    const summary = await source.turns.take(workspace, read);
    if (summary === null) return summaryBusy();
    const usage = (await source.limitUsage?.(now)) ?? { counters: [], slots: [] };
    const budgets = limits === undefined ? [] : budgetLines({ id: workspace, limits }, usage, now);
    answer = spendAnswer(workspace, window, grouping, summary, budgets);
  } catch {
    return summaryUnavailable();
  }
  return wantsCsv(accept)
    ? { page: { contentType: "text/csv; charset=utf-8; header=present", text: spendCsv(answer) } }
    : { text: JSON.stringify(answer) };
}

function wantsCsv(accept: string | undefined): boolean {
  return (accept ?? "").split(",").some((type) => type.split(";")[0]?.trim().toLowerCase() === "text/csv");
}
