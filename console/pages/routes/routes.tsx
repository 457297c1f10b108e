import { useState } from "preact/hooks";
import { hasScope, showsAll, signedIn } from "../../api/session-state.ts";
import type { Model, ModelList } from "../../api/types.ts";
import { useResource } from "../../api/use-resource.ts";
import { Choice, Fold } from "../../components/form.tsx";
import { Empty, ErrorBox, Loaded, Panel } from "../../components/panel.tsx";
import { numbers, Table } from "../../components/table.tsx";
import { Badge, Code, Name } from "../../components/text.tsx";
import { counted, humanise } from "../../format/amounts.ts";
import { AsOf } from "../../format/time.tsx";
import { printable } from "../../format/printable.ts";
import { address, replaceQuery } from "../../router.ts";
import { stateTone, useHealth } from "../endpoint-state.ts";
import { StateCell } from "../overview/health.tsx";
import { Drawing, LineHint, type Graph } from "./drawing.tsx";
import { ReachPanel } from "./reach.tsx";
import type { RouteEndpoint, RouteFacts } from "./route-facts.ts";
import { SimulateForm } from "./simulate-form.tsx";
import { PAGE, useRoutes } from "./use-routes.ts";
import { useTraffic, type Traffic } from "./traffic.ts";
import { priceOf } from "./wording.ts";

export function RoutesPage() {
  return (
    <>
      <div class="title">
        <h1>Routes</h1>
      </div>
      {showsAll.value ? <ReachPanel /> : <RoutesOfWorkspace />}
    </>
  );
}

function RoutesOfWorkspace() {
  const resource = useResource<ModelList>("/v1/models?all=true");
  return (
    <Loaded of={resource} lines={10}>
      {({ data }) =>
        data.length === 0 ? (
          <Empty title="No route may be used">
            Approve routes for it under <code>workspaces</code> in routes.yaml.
          </Empty>
        ) : hasScope("route:simulate") ? (
          <Routes models={data} />
        ) : (
          <Panel title="Routes of the workspace">
            <p class="hint">Endpoints, prices and health need a session with route:simulate.</p>
            <ModelTable models={data} />
          </Panel>
        )
      }
    </Loaded>
  );
}

function Routes({ models }: { readonly models: readonly Model[] }) {
  const [shown, setShown] = useState(PAGE);
  const found = useRoutes(models, shown);
  const health = useHealth(30_000);
  const states = new Map(health.value?.endpoints.map((each) => [each.id, each]));
  // The health of now is newer than that of the simulation.
  const routes = found.routes.map(({ model, endpoints }) => ({
    model,
    endpoints: endpoints && endpoints.map((each) => ({ ...each, ...states.get(each.id) })),
  }));
  const lines = routes.flatMap(({ model, endpoints }) =>
    (endpoints ?? []).map((each) => ({ ...each, route: model.id })),
  );
  const traffic = useTraffic(lines);
  const out = lines.flatMap(({ id, state }) =>
    state === null || state === "healthy" ? [] : [`${printable(id)} ${humanise(state)}`],
  );
  const region = address.value.query.get("region") ?? "";
  const regions = [...new Set(lines.map((each) => each.region))].toSorted();
  return (
    <>
      <Panel
        title="Who may reach what"
        aside={
          <span class="actions">
            <AsOf at={traffic.at} />
            <Choice
              label="Region"
              value={region}
              options={[["", "every region"], ...regions]}
              onChange={(value) => replaceQuery({ region: value })}
            />
          </span>
        }
      >
        <Reach routes={routes} region={region} />
        <ErrorBox failure={found.failure} />
        <Drawing of={graphOf(signedIn()?.workspace ?? "", routes, lines, region, traffic)} />
        <LineHint />
        <p class="hint">Prices are US dollars for a million tokens, input / output.</p>
        {models.length > shown ? (
          <button type="button" onClick={() => setShown(shown + PAGE)}>
            Show {Math.min(PAGE, models.length - shown)} more of {counted(models.length, "route")}
          </button>
        ) : null}
      </Panel>
      <Panel title="Endpoints of the routes">
        <Fold title={[counted(lines.length, "endpoint"), ...new Set(out)].join(", ")}>
          <EndpointTable lines={lines} region={region} />
        </Fold>
      </Panel>
      <SimulateForm models={models} />
    </>
  );
}

/** What a plain request of the session reaches in one workspace, for the drawing. */
function graphOf(
  workspace: string,
  routes: readonly RouteFacts[],
  lines: readonly Line[],
  region: string,
  traffic: Traffic,
): Graph {
  const leads = (endpoint: RouteEndpoint): boolean =>
    endpoint.inPlan && (region === "" || endpoint.region === region);
  const reached = new Set(lines.filter(leads).map(({ id }) => id));
  const isOpen = ({ endpoints: known }: RouteFacts): boolean => known?.some(leads) ?? true;
  const countOf = (route: string): number => traffic.requests.get(route) ?? 0;
  const columns = [
    [{ id: workspace, detail: "workspace" }],
    routes.map((route) => ({
      id: route.model.id,
      detail:
        route.endpoints === null
          ? "loading"
          : route.model.available
            ? route.model.regions.join(", ")
            : (route.model.denial?.reason_code ?? "denied"),
      requests: countOf(route.model.id),
      tone: isOpen(route) ? ("quiet" as const) : ("faint" as const),
    })),
    [...new Map(lines.map((line) => [line.id, line])).values()].map((endpoint) => {
      const { state } = endpoint;
      const details = [
        endpoint.provider,
        endpoint.region,
        ...(state === null || state === "healthy" ? [] : [humanise(state)]),
        ...(endpoint.plaintext ? ["plain http"] : []),
        priceOf(endpoint),
      ];
      return {
        id: endpoint.id,
        detail: details.join(" · "),
        tone: reached.has(endpoint.id) ? stateTone(state) : ("faint" as const),
      };
    }),
  ] as const;
  const edges = [
    routes.map((route) => ({
      from: workspace,
      to: route.model.id,
      look: isOpen(route) ? ("quiet" as const) : ("shut" as const),
      requests: countOf(route.model.id),
    })),
    lines.map((line) => ({
      from: line.route,
      to: line.id,
      look: leads(line)
        ? stateTone(line.state)
        : line.inPlan
          ? ("faint" as const)
          : ("shut" as const),
      requests: traffic.calls.get(`${line.route} ${line.id}`) ?? 0,
    })),
  ] as const;
  return { columns, edges };
}

/** The answer to "who may reach the US?" in a sentence. */
function Reach({
  routes,
  region,
}: {
  readonly routes: readonly RouteFacts[];
  readonly region: string;
}) {
  if (region === "") return null;
  const reaching = routes.filter(({ endpoints }) =>
    endpoints?.some((each) => each.inPlan && each.region === region),
  );
  return (
    <p role="status">
      {reaching.length === 0 ? (
        <>
          No plain request of this session can reach <Name of={region} />.
        </>
      ) : (
        <>
          {counted(reaching.length, "route")} of {routes.length} can lead to <Name of={region} />:{" "}
          {reaching.map(({ model }, at) => (
            <span key={model.id}>
              {at === 0 ? "" : ", "}
              <Name of={model.id} />
            </span>
          ))}
          .
        </>
      )}
    </p>
  );
}

interface Line extends RouteEndpoint {
  readonly route: string;
}

/** Calls are http without TLS in a network of the operator's: `plaintext: true` in routes.yaml. */
function PlainBadge() {
  return <Badge tone="widen">plain http</Badge>;
}

function EndpointTable({
  lines,
  region,
}: {
  readonly lines: readonly Line[];
  readonly region: string;
}) {
  return (
    <Table
      label="Endpoints of the routes"
      cards="brief"
      rows={lines.filter((line) => region === "" || line.region === region)}
      keyOf={({ route, id }) => `${route} ${id}`}
      columns={[
        { head: "Route", cell: ({ route }) => <Name of={route} /> },
        {
          head: "Endpoint",
          cell: ({ id, model }) => (
            <div class="lines">
              <Name of={id} />
              <small>
                <Name of={model} />
              </small>
            </div>
          ),
        },
        {
          head: "Provider, region",
          cell: ({ provider, region: where, plaintext }) => (
            <div class="lines">
              <span>
                <Name of={provider} /> {plaintext ? <PlainBadge /> : null}
              </span>
              <small>
                <Name of={where} />
              </small>
            </div>
          ),
        },
        {
          head: "A plain request",
          cell: ({ inPlan, leftOutBy, state }) =>
            inPlan ? (
              stateTone(state) === "stop" ? (
                `allowed, ${humanise(state ?? "")} now`
              ) : (
                "allowed"
              )
            ) : (
              <>
                <Badge tone="stop">left out</Badge> <Code of={leftOutBy} />
              </>
            ),
        },
        { head: "Health", cell: StateCell },
        numbers("Price in / out", priceOf),
        {
          head: "Capabilities",
          cell: ({ capabilities }) => (
            <span class="wrap">{printable(capabilities.join(", "))}</span>
          ),
        },
      ]}
    />
  );
}

function ModelTable({ models }: { readonly models: readonly Model[] }) {
  return (
    <Table
      label="Routes"
      rows={models}
      keyOf={({ id }) => id}
      columns={[
        {
          head: "Route",
          cell: ({ id, plaintext }) => (
            <>
              <Name of={id} /> {plaintext ? <PlainBadge /> : null}
            </>
          ),
        },
        {
          head: "A plain request",
          cell: ({ available, denial }) =>
            available ? (
              <Badge tone="good">allowed</Badge>
            ) : (
              <Badge tone="stop">{denial?.reason_code ?? "denied"}</Badge>
            ),
        },
        { head: "Regions", cell: ({ regions }) => <Name of={regions.join(", ")} /> },
        { head: "Operations", cell: ({ operations }) => <Name of={operations.join(", ")} /> },
        { head: "Capabilities", cell: ({ capabilities }) => <Name of={capabilities.join(", ")} /> },
      ]}
    />
  );
}
