import type { Summary } from "../../api/types.ts";
import { Panel } from "../../components/panel.tsx";
import { numbers, Table } from "../../components/table.tsx";
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
  summary: { verdicts },
  since,
}: {
  readonly summary: Summary;
  /** Hours of the window, for the filter. */
  readonly since: string;
}) {
  if (verdicts.length === 0) return null;
  const counts = (measure: "denied" | "refused") => (verdict: Verdict) =>
    verdict[measure] === 0 ? (
      "0"
    ) : (
      <a href={linkToVerdict(verdict, since)}>{whole(verdict[measure])}</a>
    );
  return (
    <Panel title="Denied and refused, by reason">
      <Table
        label="Denied and refused, by reason"
        cards
        rows={verdicts.slice(0, SHOWN)}
        keyOf={({ policy, constraint, reason_code }) => `${policy} ${constraint} ${reason_code}`}
        columns={[
          {
            head: "Reason",
            cell: (verdict) => (
              <a href={linkToVerdict(verdict, since)}>
                <Code of={verdict.reason_code} />
              </a>
            ),
          },
          { head: "Policy", cell: ({ policy }) => <Name of={policy} /> },
          { head: "Constraint", cell: ({ constraint }) => <Code of={constraint} /> },
          numbers("Denied", counts("denied")),
          numbers("Refused", counts("refused")),
        ]}
      />
    </Panel>
  );
}
