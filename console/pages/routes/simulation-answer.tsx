import { member } from "../../api/client.ts";
import type { RouteSimulation } from "../../api/types.ts";
import { numbers, Table } from "../../components/table.tsx";
import { Badge, Code, Name, Sentence } from "../../components/text.tsx";
import { humanise } from "../../format/amounts.ts";
import { endpointsOf, type RouteEndpoint } from "./route-facts.ts";
import { priceOf } from "./wording.ts";

type Constraint = RouteSimulation["constraints"][number];

/** Where the request would go and why not elsewhere. */
export function SimulationAnswer({ answer }: { readonly answer: RouteSimulation }) {
  const { outcome, plan, arrangement, constraints, error } = answer;
  const order = new Map(plan.map((each, at) => [each.endpoint, at + 1]));
  const message = member(error, "message");
  const failing = constraints.filter(({ verdict }) => verdict !== "pass");
  return (
    <div class="stack wide" role="status">
      <p>
        {outcome === "route" ? (
          <Badge tone="good">routed</Badge>
        ) : (
          <Badge tone="stop">denied</Badge>
        )}{" "}
        {typeof message === "string" ? <Sentence of={message} /> : null}
        {arrangement?.by_chance === true
          ? "Equals share the calls at random; the next call may have another order."
          : null}
      </p>
      <Table
        label="Candidates of the simulation"
        rows={endpointsOf(answer).toSorted(
          (left, right) => (order.get(left.id) ?? 99) - (order.get(right.id) ?? 99),
        )}
        keyOf={({ id }) => id}
        columns={[
          numbers("Order", ({ id }: RouteEndpoint) => order.get(id) ?? "–"),
          { head: "Endpoint", cell: ({ id }) => <Name of={id} /> },
          { head: "Provider", cell: ({ provider }) => <Name of={provider} /> },
          { head: "Region", cell: ({ region }) => <Name of={region} /> },
          { head: "Left out by", cell: ({ leftOutBy }) => <Code of={leftOutBy} /> },
          numbers("Price in / out", priceOf),
        ]}
      />
      {failing.length === 0 ? (
        <p class="hint">Every constraint passes.</p>
      ) : (
        <Table
          label="Constraints that do not pass"
          rows={failing}
          keyOf={({ policy, slot, constraint }) => `${policy} ${slot} ${constraint}`}
          columns={CONSTRAINTS}
        />
      )}
    </div>
  );
}

const CONSTRAINTS = [
  { head: "Policy", cell: ({ policy }: Constraint) => <Name of={policy} /> },
  { head: "Slot", cell: ({ slot }: Constraint) => (slot === "candidate" ? "in shadow" : slot) },
  { head: "Constraint", cell: ({ constraint }: Constraint) => <Code of={constraint} /> },
  {
    head: "Verdict",
    cell: ({ verdict }: Constraint) => <Badge tone="widen">{humanise(verdict)}</Badge>,
  },
  {
    head: "Effect",
    cell: ({ effect }: Constraint) => (effect === undefined ? "" : humanise(effect)),
  },
  { head: "Reason", cell: ({ reason }: Constraint) => <Code of={reason} /> },
  { head: "Endpoints", cell: ({ failing }: Constraint) => <Name of={failing?.join(", ")} /> },
];
