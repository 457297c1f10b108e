import type { Summary } from "../../api/types.ts";
import { workspaceShown } from "../../api/session-state.ts";
import { numbers, Table } from "../../components/table.tsx";
import { Code, Name } from "../../components/text.tsx";
import { whole } from "../../format/amounts.ts";
import { link } from "../../router.ts";
import { groupLabel } from "../group-label.ts";

/** Reasons of refusals by a budget that has too little left. */
export const BUDGET_REASONS: readonly string[] = ["budget_exhausted", "exceeds_remaining_budget"];

/** Reasons of refusals by any limit of a workspace or key. */
const LIMIT_REASONS: readonly string[] = [
  ...BUDGET_REASONS,
  "budget_reserved",
  "exceeds_limit",
  "requests_per_minute",
  "tokens_per_minute",
  "concurrency",
];

/** Requests of one workspace that limits refused for one reason. */
export interface Refusal {
  readonly reason: string;
  readonly workspace: string;
  readonly refused: number;
}

/** @param summary grouped by `reason_code`, and by `workspace` where several are shown. */
export const refusalsOf = (summary: Summary | null): readonly Refusal[] =>
  (summary?.groups ?? [])
    .map(({ group, refused }) => ({
      reason: groupLabel(group, "reason_code") ?? "",
      workspace: groupLabel(group, "workspace") ?? workspaceShown(),
      refused,
    }))
    .filter(({ reason, refused }) => refused > 0 && LIMIT_REASONS.includes(reason))
    .toSorted((left, right) => right.refused - left.refused);

/** @param since hours, for the filter of the decisions. */
export function RefusalsTable({
  refusals,
  since,
}: {
  readonly refusals: readonly Refusal[];
  readonly since: string;
}) {
  return (
    <>
      <h3>Refused by limits in this time span</h3>
      <Table
        label="Refused by limits in this time span"
        rows={refusals}
        keyOf={({ reason, workspace }) => `${workspace} ${reason}`}
        columns={[
          { head: "Reason", cell: ({ reason }) => <Code of={reason} /> },
          { head: "Workspace", cell: ({ workspace }) => <Name of={workspace} /> },
          numbers("Refused", ({ reason, refused }: Refusal) => (
            <a href={link(["decisions"], { outcome: "refuse", reason, since })}>{whole(refused)}</a>
          )),
        ]}
      />
    </>
  );
}
