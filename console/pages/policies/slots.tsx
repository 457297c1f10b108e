import type { Policy, PolicySlot } from "../../api/types.ts";
import { Panel } from "../../components/panel.tsx";
import { Facts } from "../../components/table.tsx";
import { Badge, Code, Name } from "../../components/text.tsx";
import { humanise } from "../../format/amounts.ts";
import { Time } from "../../format/time.tsx";

/** The enforced content and the one in shadow. */
export function SlotsPanel({ policy }: { readonly policy: Policy }) {
  const { enforced, candidate, files, drift } = policy;
  return (
    <>
      <div class="columns">
        <Slot
          title="Enforced"
          slot={enforced}
          none="Nothing is enforced: requests are not held against this policy."
        />
        <Slot
          title="Candidate, in shadow"
          slot={candidate}
          none="No candidate. Change the policy’s files to make one."
        />
      </div>
      {drift.length === 0 ? null : (
        <p class="notice widen">
          This server differs from the policy log: {drift.map(humanise).join(", ")}. Its files have{" "}
          {files === null ? "no such policy" : files.revision}.
        </p>
      )}
    </>
  );
}

function Slot({
  title,
  slot,
  none,
}: {
  readonly title: string;
  readonly slot: PolicySlot | null;
  readonly none: string;
}) {
  if (slot === null) {
    return (
      <Panel title={title}>
        <p class="hint">{none}</p>
      </Panel>
    );
  }
  const { revision, digest, content, since, first_seen, held, constraints, obligations } = slot;
  return (
    <Panel
      title={title}
      aside={
        <>
          {held ? <Badge tone="stop">held</Badge> : null}{" "}
          {content === "removal" ? <Badge tone="widen">removal</Badge> : null}
        </>
      }
    >
      <Facts
        rows={[
          ["Revision", revision],
          ["Content", <Code of={digest} short={12} />],
          ["Since", <Time at={since} />],
          ["First seen", <Time at={first_seen} />],
        ]}
      />
      <ul class="bullets">
        {constraints.map(({ name, effect, reasons }) => (
          <li key={name}>
            <Code of={name} /> <small>{humanise(effect)}</small>{" "}
            <small>
              <Name of={reasons.join(", ")} />
            </small>
          </li>
        ))}
        {obligations.map(({ name, kind, value }) => (
          <li key={name}>
            <Code of={name} /> <small>{humanise(kind)}</small> <Code of={String(value)} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}
