import type { PolicyShadow } from "../../api/types.ts";
import type { Resource } from "../../api/use-resource.ts";
import { Empty, Loaded, Panel } from "../../components/panel.tsx";
import { numbers, Table, type Column } from "../../components/table.tsx";
import { Badge, Code, CopyButton, Name } from "../../components/text.tsx";
import { counted, share, whole, humanise } from "../../format/amounts.ts";
import { Time } from "../../format/time.tsx";
import { link } from "../../router.ts";

type Example = PolicyShadow["examples"][number];
type Figures = Pick<
  PolicyShadow,
  "judged" | "would_deny" | "newly_denied" | "would_narrow" | "indeterminate"
>;

/** The effect that a candidate would have had on the requests since it is in shadow. */
export function ShadowPanel({
  revision,
  of,
}: {
  readonly revision: string;
  readonly of: Resource<PolicyShadow>;
}) {
  return (
    <Panel title={`What ${revision} would have done`}>
      <Loaded of={of} lines={6}>
        {(shadow) =>
          shadow.judged === 0 ? (
            <Empty title="No request has been judged yet">
              Requests of any workspace that the policy concerns are counted here while it is in
              shadow.
            </Empty>
          ) : (
            <ShadowFigures shadow={shadow} />
          )
        }
      </Loaded>
    </Panel>
  );
}

function ShadowFigures({ shadow }: { readonly shadow: PolicyShadow }) {
  const { judged, newly_denied, would_deny, would_narrow, indeterminate, since, until } = shadow;
  return (
    <>
      <ul class="tiles">
        {(
          [
            ["Newly denied", newly_denied, newly_denied > 0 ? "stop" : "good"],
            ["Denied in all", would_deny, ""],
            ["With fewer candidates", would_narrow, ""],
            ["Not judged", indeterminate, indeterminate > 0 ? "widen" : ""],
          ] as const
        ).map(([title, amount, tone]) => (
          <li key={title} class={`tile ${tone}`}>
            <span>{title}</span>
            <strong>{whole(amount)}</strong>
            <small>{share(amount, judged)}</small>
          </li>
        ))}
      </ul>
      <p class="hint">
        Of {counted(judged, "request")}, all that it has judged; in shadow since <Time at={since} />
        , counted until <Time at={until} />. Newly denied: the request was let through, and a
        promotion would break it.
      </p>
      <h3>By constraint and reason</h3>
      <Table
        label="By constraint and reason"
        cards
        rows={shadow.by_constraint}
        keyOf={({ constraint, reason }) => `${constraint} ${reason}`}
        columns={[
          { head: "Constraint", cell: ({ constraint }) => <Code of={constraint} /> },
          { head: "Reason", cell: ({ reason }) => <Code of={reason} /> },
          ...verdictColumns,
        ]}
      />
      <div class="columns">
        <Breakdown
          title="By workspace"
          rows={shadow.by_workspace}
          nameOf={({ workspace }) => workspace}
        />
        <Breakdown title="By route" rows={shadow.by_route} nameOf={({ route }) => route} />
      </div>
      <h3>Example requests</h3>
      <LookedAt at={shadow.looked_at} found={shadow.examples.length > 0} />
      {shadow.examples.length === 0 ? null : (
        <Table
          label="Example requests"
          cards
          rows={alikeTogether(shadow.examples)}
          keyOf={({ request_id, constraint, reason }) => `${request_id} ${constraint} ${reason}`}
          columns={EXAMPLE_COLUMNS}
        />
      )}
    </>
  );
}

/** One row for examples that look the same here: the newest, with all their requests. */
function alikeTogether(examples: readonly Example[]): readonly Example[] {
  const alike = Map.groupBy(examples, (example) => {
    const { constraint, reason, effect, verdict, class: read } = example;
    const { workspace, route, needs } = read;
    return JSON.stringify([constraint, reason, effect ?? verdict, workspace, route, needs]);
  });
  return [...alike.values()].flatMap((group) => {
    const [newest] = group.toSorted((left, right) => (left.last < right.last ? 1 : -1));
    const sum = (name: "requests" | "newly_denied"): number =>
      group.reduce((total, each) => total + each[name], 0);
    return newest === undefined
      ? []
      : [{ ...newest, requests: sum("requests"), newly_denied: sum("newly_denied") }];
  });
}

/** Counts are complete, examples may not be: a reader must not take one for the other. */
function LookedAt({
  at: { decisions, since, complete },
  found,
}: {
  readonly at: PolicyShadow["looked_at"];
  readonly found: boolean;
}) {
  return (
    <p class="hint">
      {found ? "Found in" : "No example was found in"} the newest {counted(decisions, "decision")}
      {since === null ? null : (
        <>
          , back to <Time at={since} />
        </>
      )}
      {complete
        ? ": all evidence of its time in shadow."
        : ". Older evidence was not searched; the numbers above count it."}
    </p>
  );
}

const verdictColumns: readonly Column<Omit<Figures, "judged">>[] = [
  numbers("Newly denied", ({ newly_denied }) => whole(newly_denied)),
  numbers("Denied", ({ would_deny }) => whole(would_deny)),
  numbers("Narrowed", ({ would_narrow }) => whole(would_narrow)),
  numbers("Not judged", ({ indeterminate }) => whole(indeterminate)),
];

function Breakdown<Row extends Figures>({
  title,
  rows,
  nameOf,
}: {
  readonly title: string;
  readonly rows: readonly Row[];
  readonly nameOf: (row: Row) => string | null;
}) {
  return (
    <div class="stack wide">
      <h3>{title}</h3>
      <Table
        label={title}
        rows={rows}
        keyOf={(row) => nameOf(row) ?? ""}
        columns={[
          {
            head: "Name",
            cell: (row) => (nameOf(row) === null ? "others" : <Name of={nameOf(row)} />),
          },
          ...verdictColumns.slice(0, 2),
          numbers("Judged", ({ judged }: Row) => whole(judged)),
        ]}
      />
    </div>
  );
}

const EXAMPLE_COLUMNS: readonly Column<Example>[] = [
  {
    head: "Newest",
    cell: ({ request_id, last }) => (
      <a href={link(["decisions", request_id])}>
        <Time at={last} />
      </a>
    ),
  },
  { head: "Constraint", cell: ({ constraint }) => <Code of={constraint} /> },
  { head: "Reason", cell: ({ reason }) => <Code of={reason} /> },
  {
    head: "Effect",
    cell: ({ effect, verdict, newly_denied }) => (
      <Badge tone={newly_denied > 0 ? "stop" : "quiet"}>{humanise(effect ?? verdict)}</Badge>
    ),
  },
  numbers("Requests", ({ requests }) => whole(requests)),
  { head: "Workspace", cell: ({ class: { workspace } }) => <Name of={workspace} /> },
  { head: "Route", cell: ({ class: { route } }) => <Name of={route} /> },
  { head: "Needs", cell: ({ class: { needs } }) => <Name of={needs.join(", ")} /> },
  {
    head: "Explain",
    cell: ({ explain, not_explained }) =>
      explain === null ? (
        <small>not with a command ({not_explained})</small>
      ) : (
        <CopyButton text={`signalbox ${explain}`} label="Copy" />
      ),
  },
];
