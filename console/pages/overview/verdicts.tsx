import type { Summary } from "../../api/types.ts";
import { Panel } from "../../components/panel.tsx";
import { Table } from "../../components/table.tsx";
import { Code, Name } from "../../components/text.tsx";
import { whole } from "../../format/amounts.ts";
import { link } from "../../router.ts";

type Verdict = Summary["verdicts"][number];

const SHOWN = 10;

/** The way to exactly these requests. */
export const linkToVerdict = (
  { policy, constraint, reason_code }: Verdict,
  since: string,
): string => link(["decisions"], { policy, constraint, reason: reason_code, since });

/** Why requests were stopped: by policy and reason, each with the way to its requests. */
export function VerdictsPanel({
  summary,
  since,
}: {
  readonly summary: Summary;
  /** Hours of the window, for the filter. */
  readonly since: string;
}) {
  const verdicts = summary.verdicts;
  if (verdicts.length === 0) return null;
  return (
    <Panel title="Denied and refused, by reason">
      <Table
        label="Denied and refused, by reason"
        rows={verdicts.slice(0, SHOWN)}
        keyOf={({ policy, constraint, reason_code }) => `${policy} ${constraint} ${reason_code}`}
        columns={[
          { head: "Reason", cell: ({ reason_code }) => <Code of={reason_code} /> },
          { head: "Policy", cell: ({ policy }) => <Name of={policy} /> },
          { head: "Constraint", cell: ({ constraint }) => <Code of={constraint} /> },
          { head: "Denied", number: true, cell: ({ denied }) => whole(denied) },
          { head: "Refused", number: true, cell: ({ refused }) => whole(refused) },
          {
            head: "Requests",
            cell: (verdict) => <a href={linkToVerdict(verdict, since)}>show</a>,
          },
        ]}
      />
    </Panel>
  );
}
