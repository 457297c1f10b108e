import { useEffect, useMemo, useState } from "preact/hooks";
import { call, withQuery } from "../../api/client.ts";
import type { CreatedKey, KeyList, ServiceKey } from "../../api/types.ts";
import { inWorkspaces, mayManageKeys, showsAll, workspaceShown } from "../../api/session-state.ts";
import { useResource } from "../../api/use-resource.ts";
import { Segments } from "../../components/form.tsx";
import { Empty, Loaded } from "../../components/panel.tsx";
import { Pager, Table, type Column } from "../../components/table.tsx";
import { Badge, Code, Name } from "../../components/text.tsx";
import { printable } from "../../format/printable.ts";
import { counted, whole } from "../../format/amounts.ts";
import { Time } from "../../format/time.tsx";
import { address, replaceQuery } from "../../router.ts";
import { CreateKeyDialog } from "./create-key.tsx";
import { expiresSoon, SOON_DAYS, soonEnd } from "./expiry.ts";
import { limitsOf, titleOf } from "./key-names.tsx";
import { RevokeDialog, RotateDialog } from "./change-key.tsx";
import { NewKey } from "./new-key.tsx";

const SHOWN = [
  ["", "All"],
  ["expiring", `Next ${SOON_DAYS} days`],
] as const;

type Requested =
  | { readonly what: "create" }
  | { readonly what: "rotate" | "revoke"; readonly key: ServiceKey };

export function KeysPage() {
  const show = address.value.query.get("show") === "expiring" ? "expiring" : "";
  // Pages of one list are none of the other.
  return <KeyPages key={`${show} ${workspaceShown()}`} show={show} />;
}

function KeyPages({ show }: { readonly show: "" | "expiring" }) {
  const isExpiring = show === "expiring";
  const soon = useMemo(() => soonEnd(Date.now()), []);
  const [search, setSearch] = useState(() => address.value.query.get("search") ?? "");
  const [pages, setPages] = useState<readonly (string | null)[]>([null]);
  const [requested, setRequested] = useState<Requested | null>(null);
  const [made, setMade] = useState<CreatedKey | null>(null);
  const resource = useResource<KeyList>(
    withQuery("/v1/keys", {
      limit: 50,
      after: pages.at(-1) ?? null,
      expires_before: isExpiring ? soon : null,
      ...inWorkspaces(),
    }),
  );
  const done = (key: CreatedKey | null): void => {
    setRequested(null);
    setMade(key);
    resource.reload();
  };
  const found = useKeySearch(search);
  const close = (): void => setRequested(null);
  const columns = mayManageKeys() ? [...COLUMNS, actions(setRequested)] : COLUMNS;
  return (
    <>
      <div class="title">
        <h1>Keys</h1>
        {mayManageKeys() ? (
          <button type="button" class="primary" onClick={() => setRequested({ what: "create" })}>
            Create a key
          </button>
        ) : null}
      </div>
      <div class="actions">
        <input
          type="search"
          class="search"
          aria-label="Search keys"
          placeholder="Name, owner, id, workload or label"
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
        <Segments
          label="Keys shown"
          value={show}
          options={SHOWN}
          onChange={(value) => replaceQuery({ show: value })}
        />
      </div>
      {made === null ? null : <NewKey made={made} onClose={() => setMade(null)} />}
      {found === null ? (
        <Loaded of={resource} lines={10}>
          {({ data, has_more, last_id }) => (
            <>
              {data.length === 0 && isExpiring ? (
                <Empty title={`No active key expires within ${SOON_DAYS} days`}>
                  Replaced keys are not shown here.
                </Empty>
              ) : data.length === 0 ? (
                <Empty title="There are no keys yet">Create one; its text is shown once.</Empty>
              ) : (
                <Table
                  label="Keys"
                  cards
                  columns={columns}
                  rows={data.toSorted((left, right) => rankOf(left) - rankOf(right))}
                  keyOf={({ id }) => id}
                />
              )}
              {data.length === 0 && pages.length < 2 ? null : (
                <Pager
                  label="Pages of keys"
                  names={isExpiring ? ["Sooner", "Later"] : ["Newer", "Older"]}
                  pages={pages}
                  next={has_more && !resource.loading ? last_id : null}
                  onChange={setPages}
                >
                  {counted(data.length, "key")}, page {whole(pages.length)}
                </Pager>
              )}
            </>
          )}
        </Loaded>
      ) : (
        <>
          <p class="hint" role="status">
            {counted(found.keys.length, "key")} {found.isOver ? "found" : "found so far"}
          </p>
          <Table
            label="Keys that were found"
            cards
            columns={columns}
            rows={found.keys}
            keyOf={({ id }) => id}
          />
        </>
      )}
      {requested?.what === "create" ? <CreateKeyDialog onClose={close} onDone={done} /> : null}
      {requested?.what === "rotate" ? (
        <RotateDialog of={requested.key} onClose={close} onDone={done} />
      ) : null}
      {requested?.what === "revoke" ? (
        <RevokeDialog of={requested.key} onClose={close} onDone={() => done(null)} />
      ) : null}
    </>
  );
}

/** Pages of a hundred that a search reads. */
const MOST_PAGES = 20;

interface FoundKeys {
  readonly keys: readonly ServiceKey[];
  readonly isOver: boolean;
}

/** Keys that have the text in a name of theirs; `null` without a text. */
function useKeySearch(text: string): FoundKeys | null {
  const wanted = text.trim().toLowerCase();
  const [found, setFound] = useState<FoundKeys>({ keys: [], isOver: false });
  useEffect(() => {
    if (wanted === "") return undefined;
    const controller = new AbortController();
    setFound({ keys: [], isOver: false });
    const read = async (): Promise<void> => {
      let after: string | null = null;
      const keys: ServiceKey[] = [];
      for (let page = 0; page < MOST_PAGES; page += 1) {
        const path: string = withQuery("/v1/keys", { limit: 100, after, ...inWorkspaces() });
        const result = await call<KeyList>(path, { signal: controller.signal });
        if (controller.signal.aborted || !result.ok) return;
        keys.push(
          ...result.value.data.filter(({ id, name, owner, workload, labels, workspace }) =>
            [id, name, owner, workload, workspace, ...labels].some((value) =>
              value?.toLowerCase().includes(wanted),
            ),
          ),
        );
        after = result.value.last_id;
        const isOver = !result.value.has_more || after === null;
        setFound({ keys: [...keys], isOver });
        if (isOver) return;
      }
    };
    const timer = setTimeout(() => void read(), 250);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [wanted, workspaceShown()]);
  return wanted === "" ? null : found;
}

/** Of keys that are not simply good. */
function StatusBadge({ of }: { readonly of: ServiceKey }) {
  const { status, replaced_by } = of;
  if (status === "revoked") return <Badge tone="stop">revoked</Badge>;
  if (status === "expired") return <Badge>expired</Badge>;
  if (replaced_by !== null) return <Badge tone="widen">replaced</Badge>;
  return expiresSoon(of, Date.now()) ? <Badge tone="widen">expires soon</Badge> : null;
}

/** For the order of a page: keys that expire soon come first, and of those the first to expire. */
const rankOf = (key: ServiceKey): number =>
  expiresSoon(key, Date.now()) ? Date.parse(key.expires_at) : Number.MAX_VALUE;

/** Hours that are counted instead of a date. */
const COUNTED_HOURS = 48;

function Expiry({ of: { status, expires_at } }: { readonly of: ServiceKey }) {
  const hours = (Date.parse(expires_at) - Date.now()) / 3_600_000;
  return status !== "active" || hours < 0 || hours > COUNTED_HOURS ? (
    <Time at={expires_at} />
  ) : (
    <span title={expires_at}>in {hours < 1 ? "<1" : Math.floor(hours)} h</span>
  );
}

const COLUMNS: readonly Column<ServiceKey>[] = [
  {
    head: "Key",
    cell: ({ id, name, owner }) => (
      <div class="lines">
        <span class="strong">
          <Name of={name ?? owner} />
        </span>
        <small>
          {name === null ? null : (
            <>
              <Name of={owner} />{" "}
            </>
          )}
          <Code of={id} />
        </small>
      </div>
    ),
  },
  {
    head: "For",
    cell: ({ workspace, environment, workload, labels }) => (
      <div class="lines">
        <span>
          {showsAll.value ? (
            <>
              <Name of={workspace} />{" "}
            </>
          ) : null}
          <small>
            <Name of={environment} />
          </small>
        </span>
        {workload === "" && labels.length === 0 ? null : (
          <small>
            <Name of={[...(workload === "" ? [] : [workload]), ...labels].join(", ")} />
          </small>
        )}
      </div>
    ),
  },
  {
    head: "Expires",
    cell: (key) => (
      <div class="lines">
        <span>
          <StatusBadge of={key} /> <Expiry of={key} />
        </span>
        <small>
          made by <Name of={key.created_by} />
        </small>
      </div>
    ),
  },
  {
    head: "Last used",
    cell: ({ last_used_at }) =>
      last_used_at === null ? <small>never</small> : <Time at={last_used_at} />,
  },
  {
    head: "Scopes and limits",
    cell: ({ scopes, limits }) => (
      <div class="lines prose">
        <small>{printable(scopes.join(", "))}</small>
        {limits === null ? null : <small>{printable(limitsOf(limits) ?? "")}</small>}
      </div>
    ),
  },
];

const VERBS = { rotate: "Rotate", revoke: "Revoke" };

function actions(ask: (requested: Requested) => void): Column<ServiceKey> {
  return {
    head: "Change",
    sticky: true,
    cell: (key) =>
      key.status === "active" ? (
        <div class="actions tight">
          {(["rotate", "revoke"] as const).map((what) => (
            <button
              key={what}
              type="button"
              class={what === "revoke" ? "small danger" : "small"}
              aria-label={printable(`${VERBS[what]} ${key.id} (${titleOf(key)})`)}
              disabled={what === "rotate" && key.replaced_by !== null}
              onClick={() => ask({ what, key })}
            >
              {VERBS[what]}
            </button>
          ))}
        </div>
      ) : null,
  };
}
