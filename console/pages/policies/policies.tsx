import { withQuery } from "../../api/client.ts";
import type { PolicyLine, PolicyList, Summary } from "../../api/types.ts";
import { hasScope } from "../../api/session-state.ts";
import { useResource } from "../../api/use-resource.ts";
import { Empty, Loaded } from "../../components/panel.tsx";
import { numbers, Table, type Column } from "../../components/table.tsx";
import { Badge, Name, Sentence } from "../../components/text.tsx";
import { ABSENT, counted, share, whole, humanise } from "../../format/amounts.ts";
import { Time } from "../../format/time.tsx";
import { link } from "../../router.ts";
import { stateTone } from "./wording.ts";

const POLL = 30_000;

export function PoliciesPage() {
  const policies = useResource<PolicyList>(withQuery("/v1/policies", { ended: "true" }), POLL);
  const summary = useResource<Summary>(
    hasScope("governance:read") ? withQuery("/v1/governance/summary", { workspaces: "all" }) : null,
    POLL,
  );
  return (
    <>
      <div class="title">
        <h1>Policies</h1>
      </div>
      <Loaded of={policies} lines={6}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="This server has no policies">
              Put a .rego file into <code>policies/</code>; it starts in shadow.{" "}
              <code>signalbox policy new</code> writes one.
            </Empty>
          ) : (
            <Table
              label="Policies"
              rows={data.toSorted((left, right) => rankOf(left) - rankOf(right))}
              keyOf={({ id }) => id}
              columns={[...COLUMNS, denialColumn(summary.value), shadowColumn(summary.value)]}
              cards
            />
          )
        }
      </Loaded>
      <p class="hint">
        Figures are of the last 24 hours, in all workspaces of this session. A policy’s page counts
        from its first hour in shadow, in every workspace.
      </p>
    </>
  );
}

const ORDER = ["changing", "shadow", "ending", "enforced", "ended"];
/** Policies that wait for a person come first. */
const rankOf = ({ state }: PolicyLine): number => {
  const rank = ORDER.indexOf(state);
  return rank < 0 ? ORDER.length : rank;
};

const COLUMNS: readonly Column<PolicyLine>[] = [
  {
    head: "Policy",
    cell: ({ id, title }) => (
      <div class="lines prose">
        <a href={link(["policies", id])}>
          <Name of={id} />
        </a>
        <small>
          <Sentence of={title} />
        </small>
      </div>
    ),
  },
  {
    head: "State",
    cell: ({ state, drift }) => (
      <>
        <Badge tone={stateTone(state)}>{humanise(state)}</Badge>{" "}
        {/* Where the files differ from the policy log. */}
        {drift.length === 0 ? null : <Badge tone="widen">{drift.map(humanise).join(", ")}</Badge>}
      </>
    ),
  },
  { head: "Enforced", cell: ({ enforced }) => <Name of={enforced?.revision} /> },
  { head: "Candidate", cell: ({ candidate }) => <Name of={candidate?.revision} /> },
  { head: "In shadow since", cell: ({ candidate }) => <Time at={candidate?.since} /> },
  numbers("Approvals", ({ approvals, candidate, requirements }) =>
    candidate === null
      ? ABSENT
      : requirements.approvals === 0
        ? "none needed"
        : `${whole(approvals.length)} of ${whole(requirements.approvals)}`,
  ),
];

/** Denials by the enforced revision, with a link to the requests. */
function denialColumn(summary: Summary | null): Column<PolicyLine> {
  return numbers("Denies", ({ id, enforced }) => {
    if (enforced === null || summary === null) return ABSENT;
    const denied = summary.verdicts
      .filter(({ policy }) => policy === id)
      .reduce((sum, verdict) => sum + verdict.denied, 0);
    return denied === 0 ? (
      "0"
    ) : (
      <a href={link(["decisions"], { policy: id, outcome: "deny", since: "24" })}>
        {whole(denied)}
      </a>
    );
  });
}

function shadowColumn(summary: Summary | null): Column<PolicyLine> {
  return numbers("Would newly deny", ({ id, candidate }) => {
    const found = summary?.shadows.find(
      ({ policy, revision }) => policy === id && revision === candidate?.revision,
    );
    if (candidate === null || found === undefined) return ABSENT;
    return (
      <>
        {found.newly_denied > 0 ? <Badge tone="stop">{whole(found.newly_denied)}</Badge> : "0"}{" "}
        <small>
          of {counted(found.judged, "request")}
          {found.judged === 0 ? "" : `, ${share(found.newly_denied, found.judged)}`}
        </small>
      </>
    );
  });
}
