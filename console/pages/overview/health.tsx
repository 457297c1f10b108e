import type { Health, ServerStatus } from "../../api/types.ts";
import type { Resource } from "../../api/use-resource.ts";
import { Empty, Loaded, Panel } from "../../components/panel.tsx";
import { numbers, Facts, Table } from "../../components/table.tsx";
import { Badge, Code, Name } from "../../components/text.tsx";
import { counted, milliseconds, span, whole, humanise } from "../../format/amounts.ts";
import { Time } from "../../format/time.tsx";
import { stateTone, type EndpointState, type useHealth } from "../endpoint-state.ts";

/** State and trouble of an endpoint, for a cell. */
export function StateCell({
  state,
  trouble,
}: {
  readonly state: string | null;
  readonly trouble: string;
}) {
  if (state === null) return <Name of={null} />;
  return state === "healthy" ? (
    <>healthy</>
  ) : (
    <>
      <Badge tone={stateTone(state)}>{humanise(state)}</Badge> <span class="prose">{trouble}</span>
    </>
  );
}

/** Those that are out or failing, and the others on demand. */
export function HealthPanel({ health }: { readonly health: ReturnType<typeof useHealth> }) {
  return (
    <Panel title="Endpoints">
      <Loaded of={health} lines={3}>
        {({ endpoints }) => {
          const out = endpoints.filter(({ state }) => state !== "healthy");
          const well = endpoints.filter(({ state }) => state === "healthy");
          if (endpoints.length === 0) {
            return (
              <Empty title="No endpoint can be reached">
                Approve a route for it in routes.yaml.
              </Empty>
            );
          }
          return (
            <>
              {out.length === 0 ? null : (
                <EndpointTable label="Endpoints that are out or failing" endpoints={out} />
              )}
              <details>
                <summary>
                  {counted(well.length, "healthy endpoint")}
                  {well.length === 0
                    ? ""
                    : `, ${whole(well.reduce((sum, each) => sum + each.in_flight, 0))} requests in flight`}
                </summary>
                <EndpointTable label="Healthy endpoints" endpoints={well} />
              </details>
            </>
          );
        }}
      </Loaded>
    </Panel>
  );
}

function EndpointTable({
  label,
  endpoints,
}: {
  readonly label: string;
  readonly endpoints: readonly EndpointState[];
}) {
  return (
    <Table
      label={label}
      cards
      rows={endpoints}
      keyOf={({ id }) => id}
      columns={[
        { head: "Endpoint", cell: ({ id }) => <Name of={id} /> },
        { head: "State", cell: StateCell },
        numbers("In flight", ({ in_flight }: EndpointState) => whole(in_flight)),
        numbers("First token", ({ latency_ms }: EndpointState) => milliseconds(latency_ms.p50)),
        { head: "Region", cell: ({ region }) => <Name of={region} /> },
        { head: "Provider", cell: ({ provider }) => <Name of={provider} /> },
        { head: "Routes", cell: ({ routes }) => <Name of={routes.join(", ")} /> },
      ]}
    />
  );
}

/** Build, table, policies and store of the process that answers; `/status` needs no scope. */
export function ServerPanel({
  status,
  replicas,
}: {
  readonly status: Resource<ServerStatus>;
  readonly replicas: Health["replicas"] | null;
}) {
  return (
    <Panel title="Server">
      <Loaded of={status} lines={3}>
        {({ build_id, table_sha256, policy_set, uptime_seconds, degraded, evidence, workers }) => (
          <>
            <Facts
              rows={[
                ["Build", <Code of={build_id} />],
                ["Routing table", <Code of={table_sha256} short={12} />],
                ["Policy set", <Code of={policy_set} />],
                ["Running for", span(uptime_seconds)],
                [
                  "Workers",
                  workers === undefined
                    ? "1"
                    : `${whole(workers.ready)} of ${whole(workers.configured)} ready`,
                ],
                [
                  "Evidence store",
                  evidence.state === "ok" ? (
                    "ok"
                  ) : (
                    <Badge tone="stop">{humanise(evidence.cause ?? evidence.state)}</Badge>
                  ),
                ],
                ["Degraded", degraded.length === 0 ? "nothing" : degraded.map(humanise).join(", ")],
                [
                  "Replicas",
                  replicas === null
                    ? "unknown"
                    : counted(running(replicas), "process", "processes"),
                ],
              ]}
            />
            {replicas === null || replicas.length < 2 ? null : <Replicas of={replicas} />}
          </>
        )}
      </Loaded>
    </Panel>
  );
}

type Replica = NonNullable<Health["replicas"]>[number];

const running = (replicas: readonly Replica[]): number =>
  replicas.filter(({ state }) => state === "running").length;

/**
 * Processes that write the shared store; figures of endpoints and workers are those of the one that
 * answers.
 */
function Replicas({ of }: { readonly of: readonly Replica[] }) {
  return (
    <Table
      label="Processes that write the shared store"
      rows={of}
      keyOf={({ started_at, seen_at }) => `${started_at} ${seen_at}`}
      columns={[
        { head: "Replica since", cell: ({ started_at }) => <Time at={started_at} /> },
        {
          head: "State",
          cell: ({ state }) =>
            state === "running" ? "running" : <Badge tone="stop">{humanise(state)}</Badge>,
        },
        { head: "Last seen", cell: ({ seen_at }) => <Time at={seen_at} /> },
      ]}
    />
  );
}
