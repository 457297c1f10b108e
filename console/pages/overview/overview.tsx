import { withQuery } from "../../api/client.ts";
import type { Health, KeyList, ServerStatus, Spend, Summary } from "../../api/types.ts";
import { hasScope, inWorkspaces } from "../../api/session-state.ts";
import { useResource } from "../../api/use-resource.ts";
import { Segments } from "../../components/form.tsx";
import { Empty, Loaded, Panel } from "../../components/panel.tsx";
import { Facts } from "../../components/table.tsx";
import { compact, counted, dollars, milliseconds, share, whole } from "../../format/amounts.ts";
import { address, replaceQuery } from "../../router.ts";
import { soonEnd } from "../keys/keys.tsx";
import { useNow, useWindow, windowOf, WINDOWS } from "../window.ts";
import { AttentionPanel, concernsOf } from "./attention.tsx";
import { HealthPanel, ServerPanel } from "./health.tsx";
import { TrafficCharts } from "./traffic-charts.tsx";
import { TrafficTable } from "./traffic-table.tsx";

export function OverviewPage() {
  const name = address.value.query.get("window");
  const chosen = useWindow(name);
  const now = useNow();
  const health = useResource<Health>(withQuery("/v1/health", inWorkspaces()), 5_000);
  const summary = useResource<Summary>(
    withQuery("/v1/governance/summary", { start: chosen.start, ...inWorkspaces() }),
    15_000,
  );
  const spend = useResource<Spend>(
    hasScope("spend:read")
      ? withQuery("/v1/spend", { start: chosen.start, ...inWorkspaces() })
      : null,
    60_000,
  );
  const keys = useResource<KeyList>(
    hasScope("operations:manage")
      ? withQuery("/v1/keys", { limit: 100, expires_before: soonEnd(now), ...inWorkspaces() })
      : null,
  );
  // After the first summary: a workspace has four at a time, and the others are this page's, too.
  const lastHour = useResource<Summary>(
    summary.value === null
      ? null
      : withQuery("/v1/governance/summary", {
          start: windowOf("1h", now).start,
          group_by: "route",
          ...inWorkspaces(),
        }),
    30_000,
  );
  const status = useResource<ServerStatus>("/status", 10_000);
  const concerns = concernsOf({
    status: status.value,
    health: health.value,
    summary: summary.value,
    lastHour: lastHour.value,
    spend: spend.value,
    keys: keys.value,
  });
  return (
    <>
      <div class="title">
        <h1>Overview</h1>
        <Segments
          label="Time span"
          value={chosen.name}
          options={WINDOWS}
          onChange={(value) => replaceQuery({ window: value })}
        />
      </div>
      <AttentionPanel
        concerns={concerns}
        known={health.value !== null || summary.value !== null || status.value !== null}
      />
      <Panel title="Traffic">
        <Loaded of={summary} lines={6}>
          {({ totals }) =>
            totals.requests === 0 ? (
              <Empty title="No requests in this time span">
                Choose a longer one, or send a request with a key of this workspace.
              </Empty>
            ) : (
              <>
                <Totals totals={totals} cost={spend.value?.total.cost_usd} />
                <TrafficCharts window={chosen} />
              </>
            )
          }
        </Loaded>
      </Panel>
      <TrafficTable window={chosen} />
      <HealthPanel health={health} />
      <ServerPanel status={status} replicas={health.value?.replicas ?? null} />
    </>
  );
}

function Totals({
  totals,
  cost,
}: {
  readonly totals: Summary["totals"];
  readonly cost: number | null | undefined;
}) {
  const { requests, denied, refused, ended } = totals;
  const latency = ended?.latency_ms.total;
  const tokens = ended?.tokens;
  return (
    <Facts
      rows={[
        ["Requests", compact(requests)],
        ["Denied", `${whole(denied)} (${share(denied, requests)})`],
        ["Refused", `${whole(refused)} (${share(refused, requests)})`],
        [
          "Failed",
          ended === null
            ? "–"
            : `${whole(ended.terminals.failed)} (${share(ended.terminals.failed, requests)})`,
        ],
        [
          "With a fallback",
          ended === null ? "–" : `${whole(ended.fallbacks)} (${share(ended.fallbacks, requests)})`,
        ],
        [
          "Median, p95, p99",
          `${milliseconds(latency?.p50)}, ${milliseconds(latency?.p95)}, ${milliseconds(latency?.p99)}`,
        ],
        ["Tokens in, out", `${compact(tokens?.input)}, ${compact(tokens?.output)}`],
        ["Spend, estimated", cost === undefined ? "–" : dollars(cost)],
        ["Running", totals.running === null ? "–" : counted(totals.running, "request")],
      ]}
    />
  );
}
