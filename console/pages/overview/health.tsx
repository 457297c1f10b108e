import type { EndpointHealth, Health, ServerStatus } from "../../api/types.ts";
import type { Resource } from "../../api/use-resource.ts";
import { Empty, Loaded, Panel } from "../../components/panel.tsx";
import { numbers, Facts, Table } from "../../components/table.tsx";
import { Badge, Code, Name } from "../../components/text.tsx";
import { counted, milliseconds, span, whole, humanise } from "../../format/amounts.ts";
import { Time } from "../../format/time.tsx";

export const isWell = ({ state }: Pick<EndpointHealth, "state">): boolean => state === "healthy";

/** The fault of an endpoint, and when it gets calls again. */
export function troubleOf({
  state,
  failure,
  consecutive_failures,
  retry_in_ms,
}: EndpointHealth): string {
  const times = consecutive_failures > 1 ? ` ${whole(consecutive_failures)} times in a row` : "";
  const parts = [
    ...(failure === null ? [] : [`${humanise(failure)}${times}`]),
    ...(retry_in_ms !== null && retry_in_ms > 0
      ? [`tried again in ${milliseconds(retry_in_ms)}`]
      : []),
    ...(state === "half_open" ? ["the next call tries it again"] : []),
  ];
  return parts.join(", ");
}

/** Endpoints as this process sees them: those that are out, and the others on demand. */
export function HealthPanel({ health }: { readonly health: Resource<Health> }) {
  return (
    <Panel title="Endpoints">
      <Loaded of={health} lines={3}>
        {({ endpoints }) => {
          const out = endpoints.filter((each) => !isWell(each));
          const well = endpoints.filter(isWell);
          if (endpoints.length === 0) {
            return (
              <Empty title="This workspace reaches no endpoint">
                Approve a route for it in routes.yaml.
              </Empty>
            );
          }
          return (
            <>
              {out.length === 0 ? null : (
                <EndpointTable label="Endpoints that are out" endpoints={out} />
              )}
              <details>
                <summary>
                  {counted(well.length, "healthy endpoint")}
                  {well.length === 0 ? "" : `, ${whole(sumOf(well))} requests in flight`}
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

const sumOf = (endpoints: readonly EndpointHealth[]): number =>
  endpoints.reduce((sum, { in_flight }) => sum + in_flight, 0);

function EndpointTable({
  label,
  endpoints,
}: {
  readonly label: string;
  readonly endpoints: readonly EndpointHealth[];
}) {
  return (
    <Table
      label={label}
      cards
      rows={endpoints}
      keyOf={({ id }) => id}
      columns={[
        { head: "Endpoint", cell: ({ id }) => <Name of={id} /> },
        {
          head: "State",
          cell: (each) =>
            isWell(each) ? (
              humanise(each.state)
            ) : (
              <>
                <Badge tone="stop">{humanise(each.state)}</Badge>{" "}
                <span class="prose">{troubleOf(each)}</span>
              </>
            ),
        },
        numbers("In flight", ({ in_flight }: EndpointHealth) => whole(in_flight)),
        numbers("First token", ({ latency_ms }: EndpointHealth) => milliseconds(latency_ms.p50)),
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
                ["Build", <Code key="build" of={build_id} />],
                ["Routing table", <Code key="table" of={table_sha256} short={12} />],
                ["Policy set", <Code key="policies" of={policy_set} />],
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
                    <Badge key="evidence" tone="stop">
                      {humanise(evidence.cause ?? evidence.state)}
                    </Badge>
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
