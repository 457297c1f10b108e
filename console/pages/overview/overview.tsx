import { useState } from "preact/hooks";
import { withQuery } from "../../api/client.ts";
import type { KeyList, ServerStatus, Spend, Summary } from "../../api/types.ts";
import { hasScope, inWorkspaces } from "../../api/session-state.ts";
import { useResource } from "../../api/use-resource.ts";
import { Figures, type FigureData } from "../../components/figure.tsx";
import { Segments } from "../../components/form.tsx";
import { Empty, Loaded } from "../../components/panel.tsx";
import { compact, dollars, milliseconds, share, whole } from "../../format/amounts.ts";
import { AsOf, Time } from "../../format/time.tsx";
import { address, link, replaceQuery } from "../../router.ts";
import { FirstRequest } from "../connect/connect.tsx";
import { useHealth } from "../endpoint-state.ts";
import { soonEnd } from "../keys/expiry.ts";
import {
  courseOf,
  useNow,
  useSpanWithTraffic,
  useWindow,
  windowOf,
  WINDOWS,
  type Window,
} from "../window.ts";
import { AttentionPanel } from "./attention.tsx";
import { HealthPanel, ServerPanel } from "./health.tsx";
import { failedOf, stoppedOf, TrafficCharts } from "./traffic-charts.tsx";
import { VerdictsPanel } from "./verdicts.tsx";
import { TrafficTable } from "./traffic-table.tsx";

const summaryPath = (query: Readonly<Record<string, string | undefined>>): string =>
  withQuery("/v1/governance/summary", { ...query, ...inWorkspaces() });

export function OverviewPage() {
  const named = address.value.query.get("window");
  const span = useSpanWithTraffic(named === null);
  const window = useWindow(named ?? span?.name ?? null);
  const now = useNow();
  const health = useHealth(5_000);
  const summary = useResource<Summary>(
    span === null ? null : summaryPath({ start: window.start, group_by: window.unit }),
    15_000,
  );
  // Only minutes can be added up to spans that do not begin with an hour.
  const before = useResource<Summary>(
    summary.value === null || window.before === null
      ? null
      : summaryPath({
          ...window.before,
          ...(window.unit === "minute" && { group_by: "minute" }),
        }),
  );
  const spendPath = (query: object): string | null =>
    hasScope("spend:read") ? withQuery("/v1/spend", { ...query, ...inWorkspaces() }) : null;
  const spend = useResource<Spend>(spendPath({ start: window.start }), 60_000);
  const spendBefore = useResource<Spend>(
    window.before === null || window.unit === "minute" ? null : spendPath(window.before),
  );
  const keys = useResource<KeyList>(
    hasScope("operations:manage")
      ? withQuery("/v1/keys", { limit: 100, expires_before: soonEnd(now), ...inWorkspaces() })
      : null,
  );
  const lastHour = useResource<Summary>(
    summary.value === null
      ? null
      : summaryPath({ start: windowOf("1h", now).start, group_by: "minute,route" }),
    30_000,
  );
  const status = useResource<ServerStatus>("/status", 10_000);
  return (
    <>
      <div class="title">
        <h1>Overview</h1>
        <span class="actions">
          {named !== null || span?.first == null ? null : (
            <small>
              first request at <Time at={span.first * 1_000} short />
            </small>
          )}
          <AsOf at={summary.at} />
          <Segments
            label="Time span"
            value={window.name}
            options={WINDOWS}
            onChange={(value) => replaceQuery({ window: value })}
          />
        </span>
      </div>
      <AttentionPanel
        of={{
          status: status.value,
          health: health.value,
          summary: summary.value,
          lastHour: lastHour.value,
          spend: spend.value,
          keys: keys.value,
        }}
      />
      <Loaded of={summary} lines={8}>
        {(current) =>
          current.totals.requests === 0 ? (
            <NoTraffic />
          ) : (
            <>
              <Totals
                summary={current}
                window={window}
                before={before.value}
                cost={spend.value?.total.cost_usd}
                costBefore={spendBefore.value?.total.cost_usd}
              />
              <TrafficCharts summary={current} window={window} />
              <VerdictsPanel summary={current} since={window.since} />
              <TrafficTable window={window} />
            </>
          )
        }
      </Loaded>
      <HealthPanel health={health} />
      <ServerPanel status={status} replicas={health.value?.replicas ?? null} />
    </>
  );
}

/** Shown for a span without requests, whether or not other spans have some. */
function NoTraffic() {
  const [start] = useState(() => windowOf("30d", Date.now()).start);
  const all = useResource<Summary>(summaryPath({ start }));
  if (all.value === null) return null;
  if (all.value.totals.requests === 0) return <FirstRequest />;
  return (
    <Empty title="No requests in this time span">
      <a href={link([], { window: "30d" })}>Show the last 30 days</a>, which have some.
    </Empty>
  );
}

function Totals({
  summary,
  window,
  before,
  cost,
  costBefore,
}: {
  readonly summary: Summary;
  readonly window: Window;
  readonly before: Summary | null;
  readonly cost: number | null | undefined;
  readonly costBefore: number | null | undefined;
}) {
  const { totals } = summary;
  const { valuesOf } = courseOf(summary, window.unit);
  // Without the step that is not over.
  const trend = (pick: (each: Summary["groups"][number]) => number | null) =>
    valuesOf(pick, 0).slice(0, -1);
  const latency = totals.ended?.latency_ms.total;
  const tokens = totals.ended?.tokens;
  const { since } = window;
  // A share, also over time: with more requests more of them fail.
  const shareOf = (
    title: string,
    pick: (each: Summary["totals"]) => number,
    filter: Readonly<Record<string, string>>,
  ): FigureData => {
    const ofOne = (each: Summary["totals"]): number => pick(each) / Math.max(1, each.requests);
    return {
      title,
      value: share(pick(totals), totals.requests),
      now: ofOne(totals),
      before: before === null ? undefined : ofOne(before.totals),
      bad: true,
      trend: trend(ofOne),
      note: pick(totals) === 0 ? null : `${whole(pick(totals))} of ${compact(totals.requests)}`,
      href: link(["decisions"], { ...filter, since }),
    };
  };
  const figures: readonly FigureData[] = [
    {
      title: "Requests",
      value: compact(totals.requests),
      now: totals.requests,
      before: before?.totals.requests,
      trend: trend(({ requests }) => requests),
      note:
        totals.running === null || totals.running === 0 ? null : `${whole(totals.running)} running`,
      href: link(["decisions"], { since }),
    },
    shareOf("Failed", failedOf, { terminal: "failed" }),
    shareOf("Denied or refused", stoppedOf, {
      outcome: totals.denied >= totals.refused ? "deny" : "refuse",
    }),
    {
      title: "Latency, p95",
      value: milliseconds(latency?.p95),
      now: latency?.p95,
      before: before?.totals.ended?.latency_ms.total.p95,
      bad: true,
      trend: trend(({ ended }) => ended?.latency_ms.total.p95 ?? null),
      note: `median ${milliseconds(latency?.p50)}`,
    },
    {
      title: cost === undefined ? "Tokens" : "Spend, estimated",
      value:
        cost === undefined ? compact((tokens?.input ?? 0) + (tokens?.output ?? 0)) : dollars(cost),
      now: cost,
      before: costBefore,
      note: `${compact(tokens?.input)} tokens in, ${compact(tokens?.output)} out`,
      ...(cost !== undefined && { href: link(["spend"]) }),
    },
  ];
  return (
    <>
      <Figures of={figures} />
      {before === null ? null : (
        <p class="hint">
          {"\u25B2 \u25BC"} against the {window.title} before
        </p>
      )}
    </>
  );
}
