import type { Decision, DecisionCall } from "../../api/types.ts";
import { Panel } from "../../components/panel.tsx";
import { Facts, Table } from "../../components/table.tsx";
import { Badge, Code, Name } from "../../components/text.tsx";
import { milliseconds, whole, words } from "../../format/amounts.ts";
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

interface Line {
  readonly key: string;
  readonly endpoint: string;
  readonly rank: number | null;
  readonly call: DecisionCall | null;
}

/** The calls in the order of trying, then what the plan had besides. */
function linesOf({ plan, calls }: Decision): readonly Line[] {
  const tried = new Set(calls.map(({ endpoint }) => endpoint));
  const rankOf = (endpoint: string): number | null => {
    const at = plan.indexOf(endpoint);
    return at < 0 ? null : at + 1;
  };
  return [
    ...calls.map((call, at) => ({ key: `${at}`, endpoint: call.endpoint, rank: rankOf(call.endpoint), call })),
    ...plan
      .filter((endpoint) => !tried.has(endpoint))
      .map((endpoint) => ({ key: endpoint, endpoint, rank: rankOf(endpoint), call: null })),
  ];
}

/** Candidates in order, and what became of each. */
export function PlanPanel({ decision }: { readonly decision: Decision }) {
  const lines = linesOf(decision);
  return (
    <Panel title="Candidates and attempts">
      {lines.length === 0 ? (
        <p>No endpoint was a candidate, so none was called.</p>
      ) : (
        <Table
          label="Candidates and attempts"
          rows={lines}
          keyOf={({ key }) => key}
          columns={[
            { head: "Rank", number: true, cell: ({ rank }) => whole(rank) },
            { head: "Endpoint", cell: ({ endpoint }) => <Name of={endpoint} /> },
            { head: "Provider", cell: ({ call }) => <Name of={call?.provider ?? null} /> },
            { head: "Region", cell: ({ call }) => <Name of={call?.region ?? null} /> },
            { head: "Model", cell: ({ call }) => <Name of={call?.model ?? null} /> },
            { head: "Result", cell: ({ call }) => <CallResult call={call} /> },
            { head: "Status", number: true, cell: ({ call }) => whole(call?.status) },
            { head: "Calls", number: true, cell: ({ call }) => whole(call?.calls) },
            { head: "Duration", number: true, cell: ({ call }) => milliseconds(call?.duration_ms) },
          ]}
        />
      )}
      <p class="hint">Rank is the order that was decided. Balance and health decide which of them is tried first.</p>
    </Panel>
  );
}

function CallResult({ call }: { readonly call: DecisionCall | null }) {
  if (call === null) return <Badge>not needed</Badge>;
  return (
    <>
      {call.failure === null ? <Badge tone="good">answered</Badge> : <Badge tone="stop">{words(call.failure)}</Badge>}
      {call.translated === true ? " translated" : ""}
      {call.simulated ? " simulated" : ""}
    </>
  );
}
