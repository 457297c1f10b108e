import { member } from "../../api/client.ts";
import type { Decision, DecisionExplanation } from "../../api/types.ts";
import { Panel } from "../../components/panel.tsx";
import { Facts } from "../../components/table.tsx";
import { Code, Name, Sentence } from "../../components/text.tsx";
import { link } from "../../router.ts";
import { isExact, isOfTable } from "./candidate-lines.ts";
import { LimitFacts } from "./limit-facts.tsx";
import { RuleText } from "./rule-text.tsx";

/**
 * Which constraint denied the request, with the policy's lines as they were then; or why it was
 * refused.
 */
export function VerdictPanel({
  decision,
  explained,
}: {
  readonly decision: Decision;
  readonly explained: DecisionExplanation | null;
}) {
  const { policy, policy_revision, constraint, reason, outcome } = decision;
  const title =
    outcome === "deny"
      ? "Why it was denied"
      : outcome === "refuse"
        ? "Why it was refused"
        : "Reason";
  // The sentence that the client got, where the same was decided again.
  const message =
    explained !== null && isExact(explained)
      ? member(member(explained.explanation, "error"), "message")
      : null;
  const hasRule =
    policy !== null && policy_revision !== null && constraint !== null && !isOfTable(policy);
  return (
    <Panel title={title}>
      {typeof message === "string" ? (
        <p>
          <Sentence of={message} />
        </p>
      ) : null}
      <Facts
        wide
        rows={[
          ["Reason", <Code of={reason} />],
          ["Decided by", <Decider of={policy} at={policy_revision} />],
          ["Constraint", <Code of={constraint} />],
        ]}
      />
      {decision.limit === null ? null : <LimitFacts decision={decision} limit={decision.limit} />}
      {hasRule ? (
        <RuleText
          policy={policy}
          constraint={constraint}
          content={{ revision: policy_revision }}
          open
        />
      ) : null}
    </Panel>
  );
}

/** The table's own approvals and the caller's preferences have no page of a policy. */
function Decider({ of, at }: { readonly of: string | null; readonly at: string | null }) {
  if (of === null) return null;
  if (of === "approvals") return <>approvals of the workspace, in routes.yaml</>;
  if (isOfTable(of)) return <>preferences of the caller</>;
  return (
    <a href={link(["policies", of])}>
      <Name of={of} /> {at ?? ""}
    </a>
  );
}
