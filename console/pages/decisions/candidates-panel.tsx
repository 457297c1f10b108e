import { member } from "../../api/client.ts";
import type { Resource } from "../../api/use-resource.ts";
import type { Decision, DecisionExplanation } from "../../api/types.ts";
import { ErrorBox, isUnavailable, Panel } from "../../components/panel.tsx";
import { numbers, Table, type Column } from "../../components/table.tsx";
import { Badge, Code, Name } from "../../components/text.tsx";
import { milliseconds, whole, humanise } from "../../format/amounts.ts";
import { SimulationAnswer } from "../routes/simulation-answer.tsx";
import { candidateLines, failedRules, isExact, type CandidateLine } from "./candidate-lines.ts";
import { RuleText } from "./rule-text.tsx";

const OF_CALLS: readonly Column<CandidateLine>[] = [
  numbers("Status", ({ call }) => whole(call?.status)),
  numbers("Duration", ({ call }) => milliseconds(call?.duration_ms)),
];

const OF_ENDPOINTS: readonly Column<CandidateLine>[] = (
  [
    ["Provider", "provider"],
    ["Region", "region"],
    ["Model", "model"],
  ] as const
).map(([head, name]) => ({
  head,
  cell: ({ call, facts }) => <Name of={call?.[name] ?? facts?.[name]} />,
}));

/** Candidates in order, why each was taken or passed over, and what became of it. */
export function CandidatesPanel({
  decision,
  explanation: { value, failure, reload },
}: {
  readonly decision: Decision;
  readonly explanation: Resource<DecisionExplanation>;
}) {
  const explained = value?.explanation ?? null;
  // With another table, other policies or another result the reasons may have changed: only the
  // record is shown.
  const explanation = value !== null && isExact(value) ? explained : null;
  const lines = candidateLines(decision, explanation);
  if (lines.length === 0 && explained === null && failure === null) return null;
  const isRefused = decision.outcome === "refuse";
  const skipped = new Map(decision.skipped.map(({ endpoint, reason }) => [endpoint, reason]));
  return (
    <Panel title="Candidates and attempts">
      {lines.length === 0 ? (
        <p>No endpoint was a candidate, so none was called.</p>
      ) : (
        <Table
          label="Candidates and attempts"
          cards
          rows={lines}
          keyOf={({ key }) => key}
          columns={[
            { head: "Endpoint", cell: ({ endpoint }) => <Name of={endpoint} /> },
            numbers("Rank", ({ rank }: CandidateLine) => whole(rank)),
            { head: "Result", cell: (line) => <Result line={line} isRefused={isRefused} /> },
            {
              head: "Why",
              cell: (line) => (
                <Why line={line} skipped={skipped.get(line.endpoint)} isRefused={isRefused} />
              ),
            },
            ...(lines.some(({ call }) => call !== null) ? OF_CALLS : []),
            ...(lines.some(({ call, facts }) => call !== null || facts !== null)
              ? OF_ENDPOINTS
              : []),
          ]}
        />
      )}
      {failure === null || isUnavailable(failure) ? null : (
        <ErrorBox failure={failure} retry={reload} />
      )}
      {value === null ? null : <Basis decision={decision} explained={value} />}
      {explanation === null
        ? null
        : failedRules(explanation)
            .filter(
              ({ policy, constraint }) =>
                policy !== decision.policy || constraint !== decision.constraint,
            )
            .map((rule) => (
              <RuleText
                key={`${rule.policy} ${rule.constraint}`}
                policy={rule.policy}
                constraint={rule.constraint}
                content={{ digest: digestOf(explanation, rule.policy) }}
              />
            ))}
      {/* Apart, so that it is not taken for what happened. */}
      {explained === null || explanation !== null ? null : (
        <details>
          <summary>How the same request would be decided now</summary>
          <SimulationAnswer answer={explained} />
        </details>
      )}
    </Panel>
  );
}

/** Sources of the explanation, and how far it can be trusted. */
function Basis({
  decision,
  explained,
}: {
  readonly decision: Decision;
  readonly explained: DecisionExplanation;
}) {
  const { same_table, same_policies, same_result, explanation } = explained;
  const rank =
    decision.plan.length === 0
      ? ""
      : " Rank is the order that was decided; balance and health choose the first call.";
  if (explanation === null) {
    return (
      <p class="hint">The record does not say enough to explain what was passed over.{rank}</p>
    );
  }
  if (isExact(explained)) {
    return (
      <p class="hint">
        Explained with the routing table and the policies that decided, with the same result.{rank}
      </p>
    );
  }
  const changed = [
    same_table ? [] : ["routing table"],
    same_policies === false ? ["policies"] : [],
  ].flat();
  return (
    <>
      <p class="notice widen">
        {changed.length === 0
          ? same_policies === null
            ? "The record does not name the policies that decided."
            : "Decided again, the result is another one."
          : `The ${changed.join(" and the ")} changed since the decision.`}{" "}
        Above is what the record says; why other endpoints were passed over then is not shown,
        because it may be different now.
        {same_result === false && decision.token !== null
          ? " The limits of the caller’s token are not repeated."
          : ""}
      </p>
      {rank === "" ? null : <p class="hint">{rank}</p>}
    </>
  );
}

function Result({
  line: { call, rank },
  isRefused,
}: {
  readonly line: CandidateLine;
  readonly isRefused: boolean;
}) {
  if (call === null) {
    if (rank === null) return <Badge tone="widen">passed over</Badge>;
    return <Badge>{isRefused ? "not called" : "not needed"}</Badge>;
  }
  return (
    <>
      {call.failure === null ? (
        <Badge tone="good">answered</Badge>
      ) : (
        <Badge tone="stop">{humanise(call.failure)}</Badge>
      )}
      {call.calls > 1 ? <small> ×{whole(call.calls)}</small> : null}
      {call.translated === true ? " translated" : ""}
      {call.simulated ? " simulated" : ""}
    </>
  );
}

function Why({
  line: { call, rank, leftOutBy },
  skipped,
  isRefused,
}: {
  readonly line: CandidateLine;
  readonly isRefused: boolean;
  /** Why the candidate was not called though another one behind it was. */
  readonly skipped: string | undefined;
}) {
  if (call === null && skipped !== undefined) return <>not called: {humanise(skipped)}</>;
  if (call !== null)
    return <>{rank === null ? "" : call.failure === null ? "eligible" : "eligible, failed"}</>;
  if (rank !== null)
    return <>eligible, {isRefused ? "the request was refused" : "its turn did not come"}</>;
  if (leftOutBy.length === 0) return <Name of={null} />;
  return (
    <ul class="plain">
      {leftOutBy.map(({ policy, constraint, reason }) => (
        <li key={`${policy} ${constraint}`}>
          <Code of={`${policy}/${constraint}`} /> {reason === null ? null : <Code of={reason} />}
        </li>
      ))}
    </ul>
  );
}

/** The enforced content's digest; `null` where the answer does not have it. */
function digestOf(explanation: object, policy: string): string | null {
  const slots = member(member(explanation, "policy_revisions"), policy);
  const digest = member(member(slots, "enforced"), "digest");
  return typeof digest === "string" ? digest : null;
}
