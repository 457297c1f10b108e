import { useState } from "preact/hooks";
import { member, withQuery } from "../../api/client.ts";
import type { PolicyTransitions } from "../../api/types.ts";
import { useResource } from "../../api/use-resource.ts";
import { Empty, Loaded, Panel } from "../../components/panel.tsx";
import { numbers, Pager, Table, type Column } from "../../components/table.tsx";
import { Code, Name } from "../../components/text.tsx";
import { whole, humanise } from "../../format/amounts.ts";
import { Time } from "../../format/time.tsx";
import { KeyName, useKeyNames, type KeyNames } from "../keys/key-names.tsx";
import { RECORD_TITLES } from "./wording.ts";

type Row = PolicyTransitions["data"][number];

/**
 * Who did what, when and why, the newest first. @param etag of the policy: another one means that
 * there is more history.
 */
export function HistoryPanel({ id, etag }: { readonly id: string; readonly etag: string }) {
  const [after, setAfter] = useState<readonly number[]>([0]);
  const path = withQuery(`/v1/policies/${encodeURIComponent(id)}/transitions`, {
    after: after.at(-1) ?? 0,
    limit: 200,
  });
  return (
    <Panel title="History">
      <Rows key={`${etag} ${path}`} path={path} after={after} onPage={setAfter} />
    </Panel>
  );
}

function Rows({
  path,
  after,
  onPage,
}: {
  readonly path: string;
  readonly after: readonly number[];
  readonly onPage: (after: readonly number[]) => void;
}) {
  const resource = useResource<PolicyTransitions>(path);
  const names = useKeyNames();
  return (
    <Loaded of={resource} lines={5}>
      {({ data, has_more }) =>
        data.length === 0 ? (
          <Empty title="The log has nothing about this policy yet" />
        ) : (
          <>
            <Table
              label="History"
              cards
              rows={data.toReversed()}
              keyOf={({ hash }) => hash}
              columns={columnsOf(names)}
            />
            {has_more || after.length > 1 ? (
              <Pager
                label="Pages of the history"
                names={["Earlier", "Later"]}
                pages={after}
                next={has_more ? (data.at(-1)?.position ?? null) : null}
                onChange={onPage}
              />
            ) : null}
          </>
        )
      }
    </Loaded>
  );
}

const textOf = ({ record }: Row, name: string): string | null => {
  const value = record[name];
  return typeof value === "string" ? value : null;
};

const columnsOf = (names: KeyNames): readonly Column<Row>[] => [
  {
    head: "When",
    cell: ({ record: { at } }) => <Time at={typeof at === "number" ? at : null} />,
  },
  {
    head: "What",
    cell: (row) => {
      const kind = textOf(row, "kind") ?? "";
      return Object.hasOwn(RECORD_TITLES, kind) ? RECORD_TITLES[kind] : humanise(kind);
    },
  },
  {
    head: "Revision",
    cell: ({ record: { revision } }) =>
      typeof revision === "number" ? `r${whole(revision)}` : <Name of={null} />,
  },
  { head: "Who", cell: ({ record: { by } }) => <Who of={by} names={names} /> },
  {
    head: "Why",
    cell: (row) => {
      const reason = textOf(row, "reason");
      return reason === null ? <Name of={null} /> : humanise(reason);
    },
  },
  { head: "Content", cell: (row) => <Code of={textOf(row, "digest")} short={12} /> },
  numbers("Row", ({ position }) => whole(position)),
];

/** A person where the record has one, else the key. */
function Who({ of, names }: { readonly of: unknown; readonly names: KeyNames }) {
  const person = member(of, "person");
  const name = member(person, "name") ?? member(person, "subject");
  if (typeof name === "string") return <Name of={name} />;
  const key = member(of, "keyId");
  return typeof key === "string" ? <KeyName of={key} names={names} /> : <small>the server</small>;
}
