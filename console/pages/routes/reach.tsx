import { call, type Failure } from "../../api/client.ts";
import { signedIn } from "../../api/session-state.ts";
import type { Model, ModelList } from "../../api/types.ts";
import { ErrorBox, Panel } from "../../components/panel.tsx";
import { numbers, Table, type Column } from "../../components/table.tsx";
import { Name } from "../../components/text.tsx";
import { counted, humanise, whole } from "../../format/amounts.ts";
import { AsOf } from "../../format/time.tsx";
import { link } from "../../router.ts";
import { stateTone, useHealth, type EndpointState } from "../endpoint-state.ts";
import { Drawing, LineHint, type Graph } from "./drawing.tsx";
import { useInTurn } from "./use-in-turn.ts";
import { useTraffic, type Traffic } from "./traffic.ts";

interface Line {
  readonly workspace: string;
  /** `null` until it has been requested. */
  readonly models: readonly Model[] | null;
  readonly failure: Failure | null;
}

/** Which workspace reaches which region: every workspace of the session, one after the other. */
export function ReachPanel() {
  const workspaces = signedIn()?.workspaces ?? [];
  const found = useInTurn(workspaces, (workspace, signal) =>
    call<ModelList>("/v1/models?all=true", { workspace, signal }),
  );
  const lines = workspaces.map((workspace): Line => {
    const result = found.get(workspace);
    return {
      workspace,
      models: result?.ok === true ? result.value.data : null,
      failure: result?.ok === false ? result.failure : null,
    };
  });
  const health = useHealth(30_000);
  const endpoints = health.value?.endpoints ?? [];
  const traffic = useTraffic(
    endpoints.flatMap((each) => each.routes.map((route) => ({ ...each, route }))),
  );
  const regions = [
    ...new Set(lines.flatMap(({ models }) => (models ?? []).flatMap((model) => model.regions))),
  ];
  const failed = lines.find(({ failure }) => failure !== null && failure.status !== 403);
  const columns: readonly Column<Line>[] = [
    {
      head: "Workspace",
      cell: ({ workspace }) => (
        <a href={link(["routes"], { workspace })}>
          <Name of={workspace} />
        </a>
      ),
    },
    numbers("Routes", ({ models, failure }) =>
      failure === null ? (
        models === null ? (
          "…"
        ) : (
          whole(models.length)
        )
      ) : (
        <small>not yours to see</small>
      ),
    ),
    ...regions.toSorted().map((region): Column<Line> =>
      numbers(region, ({ models }) => {
        const reaching = models?.filter((each) => each.available && each.regions.includes(region));
        return whole(reaching?.length || null);
      }),
    ),
  ];
  return (
    <>
      <Panel title="Who may reach what" aside={<AsOf at={traffic.at} />}>
        <Drawing of={graphOf(lines, endpoints, traffic)} />
        <LineHint />
      </Panel>
      <Panel title="Which workspace reaches which region">
        <Table
          label="Regions by workspace"
          rows={lines}
          keyOf={({ workspace }) => workspace}
          columns={columns}
        />
        <ErrorBox failure={failed?.failure ?? null} />
        <p class="hint">
          How many routes may lead there, fallbacks too. Choose a workspace for its routes,
          endpoints and prices.
        </p>
      </Panel>
    </>
  );
}

/** Of more routes than this, those with the most requests are drawn. */
const MOST_ROUTES = 24;

function graphOf(
  lines: readonly Line[],
  endpoints: readonly EndpointState[],
  traffic: Traffic,
): Graph {
  const countOf = (name: string): number => traffic.requests.get(name) ?? 0;
  const known = [
    ...new Set(lines.flatMap(({ models }) => (models ?? []).map(({ id }) => id))),
  ].toSorted((left, right) => countOf(right) - countOf(left));
  const drawn = new Set(known.slice(0, MOST_ROUTES));
  const approvals = lines.flatMap(({ workspace, models }) =>
    (models ?? [])
      .filter(({ id }) => drawn.has(id))
      .map(({ id, available }) => ({
        from: workspace,
        to: id,
        look: available ? ("quiet" as const) : ("shut" as const),
        requests: countOf(`${workspace} ${id}`),
      })),
  );
  const calls = endpoints.flatMap(({ id, routes, state }) =>
    routes
      .filter((route) => drawn.has(route))
      .map((route) => ({
        from: route,
        to: id,
        look: stateTone(state),
        requests: traffic.calls.get(`${route} ${id}`) ?? 0,
      })),
  );
  return {
    columns: [
      lines.map(({ workspace, models }) => ({
        id: workspace,
        detail: models === null ? "loading" : counted(models.length, "route"),
      })),
      [...drawn].map((id) => ({
        id,
        detail: counted(approvals.filter(({ to }) => to === id).length, "workspace"),
        requests: countOf(id),
        tone: approvals.some(({ to, look }) => to === id && look === "quiet") ? "quiet" : "faint",
      })),
      // In the order of the routes that are drawn, and of the endpoints in each.
      [
        ...new Set(
          [...drawn].flatMap((route) => endpoints.filter(({ routes }) => routes.includes(route))),
        ),
      ].map(({ id, provider, region, state }) => ({
        id,
        detail: [provider, region, ...(state === "healthy" ? [] : [humanise(state)])].join(" · "),
        tone: stateTone(state),
      })),
    ],
    edges: [approvals, calls],
  };
}
