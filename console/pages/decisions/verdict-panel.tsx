import type { Decision } from "../../api/types.ts";
import { Panel } from "../../components/panel.tsx";
import { Facts } from "../../components/table.tsx";
import { Code, Name } from "../../components/text.tsx";
import { link } from "../../router.ts";

/** Which constraint denied the request, or why it was refused. */
export function VerdictPanel({ decision }: { readonly decision: Decision }) {
  const { policy, policy_revision, constraint, reason, outcome } = decision;
  const title = outcome === "deny" ? "Why it was denied" : outcome === "refuse" ? "Why it was refused" : "Reason";
  return (
    <Panel title={title}>
      <Facts
        rows={[
          ["Reason", <Code key="reason" of={reason} />],
          [
            "Policy",
            policy === null ? (
              <Name key="policy" of={null} />
            ) : (
              <a key="policy" href={link(["policies", policy])}>
                <Name of={policy} /> {policy_revision ?? ""}
              </a>
            ),
          ],
          ["Constraint", <Code key="constraint" of={constraint} />],
        ]}
      />
    </Panel>
  );
}
