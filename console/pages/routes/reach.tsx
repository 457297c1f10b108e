import { useEffect, useState } from "preact/hooks";
import { call, withQuery, type Failure } from "../../api/client.ts";
import { hasScope, inWorkspaces, signedIn } from "../../api/session-state.ts";
import type { EndpointHealth, Health, Model, ModelList } from "../../api/types.ts";
import { useResource } from "../../api/use-resource.ts";
import { ErrorBox, Panel } from "../../components/panel.tsx";
import { numbers, Table, type Column } from "../../components/table.tsx";
import { Name } from "../../components/text.tsx";
import { counted, humanise, whole } from "../../format/amounts.ts";
import { AsOf } from "../../format/time.tsx";
import { link } from "../../router.ts";
import { Drawing, type Graph } from "./drawing.tsx";
import { useTraffic, type Traffic } from "./traffic.ts";

interface Line {
  readonly workspace: string;
  /** `null` until it has been requested. */
  readonly models: readonly Model[] | null;
  readonly failure: Failure | null;
}

/** Which workspace reaches which region: every workspace of the session, one after the other. */
export function ReachPanel() {
  const lines = useReach(signedIn()?.workspaces ?? []);
  const health = useResource<Health>(
    hasScope("governance:read") ? withQuery("/v1/health", inWorkspaces()) : null,
    30_000,
  );
  const endpoints = health.value?.endpoints ?? [];
  const traffic = useTraffic(
    endpoints.flatMap(({ id, provider, region, model, routes }) =>
      routes.map((route) => ({
        route,
        endpoint: id,
        location: `${provider} ${region} ${model}`,
        model,
      })),
    ),
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
    ...regions
      .toSorted()
      .map((region): Column<Line> =>
        numbers(region, ({ models }) => <Reaching models={models ?? []} region={region} />),
      ),
  ];
  return (
    <>
      <Panel title="Who may reach what" aside={<AsOf at={traffic.at} />}>
        <Drawing of={graphOf(lines, endpoints, traffic)} />
        <p class="hint">
          A line is where a plain request of this session may go, as thick as the requests of the
          last 24 hours (to endpoints an estimate); a dashed one is shut by an approval or a policy.
          {health.value === null ? null : " The dot is the health of an endpoint now."}
        </p>
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
  endpoints: readonly EndpointHealth[],
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
        look: available ? ("open" as const) : ("shut" as const),
        requests: countOf(`${workspace} ${id}`),
      })),
  );
  const calls = endpoints.flatMap(({ id, routes }) =>
    routes
      .filter((route) => drawn.has(route))
      .map((route) => ({
        from: route,
        to: id,
        look: "open" as const,
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
        isFaint: !approvals.some(({ to, look }) => to === id && look === "open"),
      })),
      // In the order of the routes that are drawn, and of the endpoints in each.
      [
        ...new Set(
          [...drawn].flatMap((route) => endpoints.filter(({ routes }) => routes.includes(route))),
        ),
      ].map(({ id, provider, region, state }) => ({
        id,
        detail: [provider, region, ...(state === "healthy" ? [] : [humanise(state)])].join(" · "),
        isWell: state === "healthy",
      })),
    ],
    edges: [approvals, calls],
  };
}

function Reaching({
  models,
  region,
}: {
  readonly models: readonly Model[];
  readonly region: string;
}) {
  const reaching = models.filter(({ available, regions }) => available && regions.includes(region));
  return reaching.length === 0 ? <Name of={null} /> : <>{whole(reaching.length)}</>;
}

function useReach(workspaces: readonly string[]): readonly Line[] {
  const [found, setFound] = useState<ReadonlyMap<string, Line>>(new Map());
  useEffect(() => {
    const controller = new AbortController();
    const askAll = async (): Promise<void> => {
      for (const workspace of workspaces) {
        const result = await call<ModelList>("/v1/models?all=true", {
          workspace,
          signal: controller.signal,
        });
        if (controller.signal.aborted) return;
        const line = result.ok
          ? { workspace, models: result.value.data, failure: null }
          : { workspace, models: null, failure: result.failure };
        setFound((before) => new Map([...before, [workspace, line]]));
      }
    };
    void askAll();
    return () => controller.abort();
  }, [JSON.stringify(workspaces)]);
  return workspaces.map(
    (workspace) => found.get(workspace) ?? { workspace, models: null, failure: null },
  );
}
