import { GROUPED } from "../../governance/increments.ts";
import { MAXIMUM_CSV_GROUPS, spendAnswer, spendCsv } from "../../governance/summary-answer.ts";
import { MAXIMUM_GROUPS, summarise } from "../../governance/summarise.ts";
import { MAXIMUM_HOURLY_DAYS, windowOf } from "../../governance/roll-up.ts";
import { budgetLines } from "../../limits/usage.ts";
import type { Snapshot } from "../snapshot.ts";
import { cellsOf, callerWorkspace, readWorkspaces } from "./query.ts";
import { type ControlAnswer, type ControlCall } from "./control-call.ts";
import { readQuery, SUMMARY_QUERY, type SummarySource } from "./governance-summary.ts";

/** Query parameters, for /openapi.json. */
export const SPEND_QUERY = {
  ...SUMMARY_QUERY,
  group_by: {
    type: "array",
    maxItems: GROUPED.spend.maximum,
    items: { enum: GROUPED.spend.dimensions },
    description: `Repeatable, or separated by commas: ${GROUPED.spend.families}. Each with workspace, and with day, or with hour for at most ${MAXIMUM_HOURLY_DAYS} days.`,
  },
} as const;

/**
 * Spend of workspaces that the caller may read, their budgets, and those of keys that the caller
 * manages. With `text/csv` in `Accept` the groups are answered as CSV.
 *
 * @param now milliseconds since the epoch.
 */
export async function spend(
  source: SummarySource,
  { decider: { table } }: Pick<Snapshot, "decider">,
  call: Pick<ControlCall, "identity" | "covered" | "managed" | "url" | "headers">,
  now: number,
): Promise<ControlAnswer> {
  const workspaces = readWorkspaces(call);
  const { window, grouping } = readQuery(call.url.searchParams, now, "spend");
  const isCsv = wantsCsv(call.headers.accept);
  const most = isCsv ? MAXIMUM_CSV_GROUPS : MAXIMUM_GROUPS;
  return source.turns.take(callerWorkspace(call), async () => {
    const summary = await summarise(
      (facet) => cellsOf(source.read, workspaces, windowOf(facet, window)),
      grouping,
      most,
    );
    const keys = source
      .currentKeys(now)
      .filter(({ workspace }) => call.managed.includes(workspace))
      .map(({ keyId, ...key }) => ({ ...key, id: keyId }));
    const budgets = budgetLines(
      Object.values(table.workspaces).filter(({ id }) => workspaces.includes(id)),
      keys,
      await source.limitUsage(now),
      now,
    );
    const answer = spendAnswer(workspaces, window, grouping, summary, budgets);
    return isCsv
      ? { text: spendCsv(answer), contentType: "text/csv; charset=utf-8; header=present" }
      : { text: JSON.stringify(answer) };
  });
}

function wantsCsv(accept: string | undefined) {
  return (accept ?? "")
    .split(",")
    .some((type) => type.split(";")[0]?.trim().toLowerCase() === "text/csv");
}
