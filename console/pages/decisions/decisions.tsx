import { useState } from "preact/hooks";
import { withQuery } from "../../api/client.ts";
import type { DecisionLine, Summary } from "../../api/types.ts";
import { useResource } from "../../api/use-resource.ts";
import { inWorkspaces, showsAll, workspaceShown } from "../../api/session-state.ts";
import { Choice, Fold } from "../../components/form.tsx";
import { Empty, Loaded } from "../../components/panel.tsx";
import { numbers, Pager, Table, type Column } from "../../components/table.tsx";
import { Badge, Code, Name } from "../../components/text.tsx";
import { ABSENT, compact, counted, milliseconds, whole } from "../../format/amounts.ts";
import { Time } from "../../format/time.tsx";
import { address, go, link, replaceQuery } from "../../router.ts";
import { groupLabel } from "../group-label.ts";
import { KeyName, titleOf, useKeyNames, type KeyNames } from "../keys/key-names.tsx";
import { PAGE_SIZE, useSearch } from "./use-search.ts";
import { costOf, KINDS, limitName, OUTCOMES, resultOf, TERMINALS, toneOf } from "./wording.ts";

const FILTERS = [
  "since",
  "kind",
  "route",
  "outcome",
  "terminal",
  "policy",
  "constraint",
  "reason",
  "key",
  "provider",
] as const;
type Filters = Readonly<Record<(typeof FILTERS)[number], string>>;

const SPANS = [
  ["", "any time"],
  ["1", "last hour"],
  ["24", "last 24 hours"],
  ["168", "last 7 days"],
  ["720", "last 30 days"],
] as const;

export function DecisionsPage() {
  const { query } = address.value;
  const entries = FILTERS.map((name) => [name, query.get(name) ?? ""]);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one text for each name
  const filters = Object.fromEntries(entries) as Filters;
  const text = JSON.stringify(filters);
  return (
    <>
      <div class="title">
        <h1>Decisions</h1>
        <LookUp />
      </div>
      <FilterForm filters={filters} />
      {/* Other filters, and other workspaces, begin at the first page. */}
      <DecisionPages key={`${text} ${workspaceShown()}`} filters={filters} />
    </>
  );
}

/** By an id that a client printed. */
function LookUp() {
  const [id, setId] = useState("");
  return (
    <form
      class="inline"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        if (id.trim() !== "") go(link(["decisions", id.trim()]));
      }}
    >
      <label class="field">
        <span class="visually-hidden">Request or decision id</span>
        <input
          type="search"
          value={id}
          placeholder="req_… or dec_…"
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => setId(event.currentTarget.value)}
        />
      </label>
      <button type="submit">Look up</button>
    </form>
  );
}

function FilterForm({ filters }: { readonly filters: Filters }) {
  const set = (name: keyof Filters) => (value: string) =>
    replaceQuery({ ...filters, [name]: value });
  const names = useKeyNames();
  const any = FILTERS.some((name) => filters[name] !== "");
  return (
    <Fold title="Filters" open={any}>
      <form
        class="filters"
        aria-label="Filter the decisions"
        onSubmit={(event) => event.preventDefault()}
      >
        {CHOICES.map(([name, label, options]) => (
          <Choice
            key={name}
            label={label}
            value={filters[name]}
            options={options}
            onChange={set(name)}
          />
        ))}
        {PICKERS.map(([name, label]) => (
          <Picker
            key={name}
            name={name}
            label={label}
            value={filters[name]}
            names={names}
            onChange={set(name)}
          />
        ))}
        <button type="button" class="small" disabled={!any} onClick={() => replaceQuery({})}>
          Clear
        </button>
      </form>
    </Fold>
  );
}

const CHOICES = [
  ["since", "Time", SPANS],
  ["kind", "Requests", KINDS],
  ["outcome", "Outcome", OUTCOMES],
  ["terminal", "Ended", TERMINALS],
] as const;

const PICKERS = [
  ["route", "Route"],
  ["provider", "Provider"],
  ["policy", "Policy"],
  ["constraint", "Constraint"],
  ["reason", "Reason"],
  ["key", "Key"],
] as const;

const MONTH = 30 * 86_400_000;

/** The values that occurred within 30 days, the most frequent first. */
function Picker({
  name,
  label,
  value,
  names,
  onChange,
}: {
  readonly name: (typeof PICKERS)[number][0];
  readonly label: string;
  readonly value: string;
  readonly names: KeyNames;
  readonly onChange: (value: string) => void;
}) {
  const dimension = name === "reason" ? "reason_code" : name;
  const [start] = useState(() => new Date(Date.now() - MONTH).toISOString());
  const resource = useResource<Summary>(
    withQuery("/v1/governance/summary", { start, group_by: dimension, ...inWorkspaces() }),
  );
  const known = (resource.value?.groups ?? []).flatMap(({ group }) => {
    const found = groupLabel(group, dimension);
    return found === null ? [] : [found];
  });
  const values = new Set(value === "" ? known : [value, ...known]);
  const titleFor = (id: string): string => {
    const key = name === "key" ? names.get(id) : undefined;
    return key === undefined ? id : `${titleOf(key)} (${id})`;
  };
  return (
    <Choice
      label={label}
      value={value}
      options={[["", "any"], ...[...values].map((each) => [each, titleFor(each)] as const)]}
      onChange={onChange}
    />
  );
}

const HOUR = 3_600_000;

function DecisionPages({ filters }: { readonly filters: Filters }) {
  const { since, kind, ...rest } = filters;
  // Once: a start that moved would be another list with each poll.
  const [start] = useState(() =>
    since === "" ? null : new Date(Date.now() - Number(since) * HOUR).toISOString(),
  );
  const [cursors, setCursors] = useState<readonly (string | null)[]>([null]);
  const resource = useSearch(
    {
      ...rest,
      kind: kind === "" ? "inference" : kind === "all" ? null : kind,
      start,
      ...inWorkspaces(),
    },
    cursors.at(-1) ?? null,
  );
  const names = useKeyNames();
  return (
    <Loaded of={resource} lines={12}>
      {({ data, nextCursor, searchedTo }) => (
        <>
          {data.length > 0 ? (
            <Table
              label="Decisions"
              cards="brief"
              columns={columnsOf(names)}
              rows={data}
              keyOf={({ id }) => id}
            />
          ) : resource.loading ? null : (
            <NoDecisions
              searchedTo={nextCursor === null ? null : searchedTo}
              filtered={Object.values(filters).some((value) => value !== "")}
            />
          )}
          {data.length === 0 && cursors.length < 2 && nextCursor === null ? null : (
            <Pager
              label="Pages of decisions"
              names={[
                "Newer",
                data.length < PAGE_SIZE && nextCursor !== null ? "Search on" : "Older",
              ]}
              pages={cursors}
              next={resource.loading ? null : nextCursor}
              onChange={setCursors}
            >
              {counted(data.length, "decision")}, page {whole(cursors.length)}
              {nextCursor !== null && data.length < PAGE_SIZE ? (
                <>
                  , {resource.loading ? "searching; so far" : "searched"} back to{" "}
                  <Time at={searchedTo} />
                </>
              ) : null}
            </Pager>
          )}
        </>
      )}
    </Loaded>
  );
}

function NoDecisions({
  searchedTo,
  filtered,
}: {
  readonly searchedTo: string | null;
  readonly filtered: boolean;
}) {
  if (searchedTo !== null) {
    return (
      <Empty title="No decision matches so far">
        The search has reached <Time at={searchedTo} />. Search on for older ones, or choose a
        shorter time.
      </Empty>
    );
  }
  return filtered ? (
    <Empty title="No decision matches">Clear a filter, or choose a longer time.</Empty>
  ) : (
    <Empty title="No decisions yet">
      Send a request with a key of this workspace; it appears here within seconds.{" "}
      <a href={link(["connect"])}>Connect</a> has one to paste.
    </Empty>
  );
}

function columnsOf(names: KeyNames): readonly Column<DecisionLine>[] {
  const key: Column<DecisionLine> = {
    head: "Key",
    cell: (line) => <KeyName of={line.key} names={names} />,
  };
  return [...(showsAll.value ? COLUMNS_OF_ALL : COLUMNS), key];
}

const COLUMNS: readonly Column<DecisionLine>[] = [
  {
    head: "Time",
    cell: ({ id, at }) => (
      <a href={link(["decisions", id])}>
        <Time at={at} short seconds />
      </a>
    ),
  },
  {
    head: "Result",
    cell: (line) => {
      const result = resultOf(line);
      return (
        <span class="together">
          {toneOf(result) === "good" ? result : <Badge tone={toneOf(result)}>{result}</Badge>}
          {line.status === null ? null : <small> {line.status}</small>}
          {line.repeated > 1 ? <small> ×{whole(line.repeated)}</small> : null}
        </span>
      );
    },
  },
  { head: "Route", cell: ({ route }) => <Name of={route} /> },
  {
    head: "Endpoint, or why none",
    cell: ({ endpoint, attempts, reason, policy, limit }) =>
      endpoint === null ? (
        <>
          <Code of={reason} />{" "}
          {policy === null ? null : (
            <small>
              <Name of={policy} />
            </small>
          )}
          {limit === null ? null : <small>{limitName(limit)}</small>}
        </>
      ) : (
        <>
          <Name of={endpoint} />
          {attempts > 1 ? <small> {counted(attempts, "call")}</small> : null}
          {reason === null ? null : <Code of={reason} />}
        </>
      ),
  },
  numbers("Tokens in / out", ({ input_tokens, output_tokens }) =>
    input_tokens === null && output_tokens === null
      ? ABSENT
      : `${compact(input_tokens)} / ${compact(output_tokens)}`,
  ),
  numbers("Cost", costOf),
  numbers("Took", ({ total_ms }) => milliseconds(total_ms)),
  { head: "Operation", cell: ({ operation }) => operation },
];

const COLUMNS_OF_ALL: readonly Column<DecisionLine>[] = [
  ...COLUMNS.slice(0, 2),
  { head: "Workspace", cell: ({ workspace }) => <Name of={workspace} /> },
  // The page of the decision has it too; without it the table fits a common screen.
  ...COLUMNS.slice(2).filter(({ head }) => head !== "Operation"),
];
