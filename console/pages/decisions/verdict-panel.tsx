import { member } from "../../api/client.ts";
import type { Decision, DecisionExplanation } from "../../api/types.ts";
import { Panel } from "../../components/panel.tsx";
import { Facts } from "../../components/table.tsx";
import { Code, Name } from "../../components/text.tsx";
import { dollars, humanise, whole } from "../../format/amounts.ts";
import { printable } from "../../format/printable.ts";
import { Time } from "../../format/time.tsx";
import { link } from "../../router.ts";
import { isExact, isOfTable } from "./candidate-lines.ts";
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
          <bdi>{printable(message)}</bdi>
        </p>
      ) : null}
      <Facts
        wide
        rows={[
          ["Reason", <Code key="reason" of={reason} />],
          ...(policy === null
            ? []
            : [["Decided by", <Decider key="policy" of={policy} at={policy_revision} />] as const]),
          ...(constraint === null
            ? []
            : [["Constraint", <Code key="constraint" of={constraint} />] as const]),
        ]}
      />
      {decision.limit === null ? null : <LimitFacts limit={decision.limit} />}
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

/** The limit that refused the request: what it had, and what the request would have needed. */
function LimitFacts({ limit }: { readonly limit: NonNullable<Decision["limit"]> }) {
  const { subject, measure, per, size, used, reserved, requested, renews_at } = limit;
  const amount = (value: number): string =>
    measure === "usd"
      ? dollars(value)
      : measure === "concurrency"
        ? `${whole(value)} at once`
        : `${whole(value)} ${humanise(measure)}`;
  const over = used === null ? requested : used + requested;
  return (
    <>
      <p>
        <meter
          class="wide"
          min={0}
          max={Math.max(size, over)}
          high={size}
          value={over}
          aria-label="Used, with this request"
        />{" "}
        <small>
          {amount(over)} with this request, of {amount(size)}
        </small>
      </p>
      <Facts
        rows={[
          ["Limit of", `the ${humanise(subject)}`],
          ["Size", `${amount(size)}${per === null ? "" : ` a ${humanise(per)}`}`],
          ["Used", used === null ? null : amount(used)],
          ["Reserved by running requests", reserved === null ? null : amount(reserved)],
          ["This request, at most", amount(requested)],
          ["Left", used === null ? null : amount(Math.max(0, size - used))],
          ["Renewed", renews_at === null ? null : <Time key="renewed" at={renews_at} />],
        ]}
      />
    </>
  );
}

/** The table's own approvals and the caller's preferences have no page of a policy. */
function Decider({ of, at }: { readonly of: string; readonly at: string | null }) {
  if (of === "approvals") return <>approvals of the workspace, in routes.yaml</>;
  if (isOfTable(of)) return <>preferences of the caller</>;
  return (
    <a href={link(["policies", of])}>
      <Name of={of} /> {at ?? ""}
    </a>
  );
}
