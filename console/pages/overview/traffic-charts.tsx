import type { Summary } from "../../api/types.ts";
import { Chart, type Series, type SeriesTone } from "../../components/chart.tsx";
import { Panel } from "../../components/panel.tsx";
import type { Measure } from "../../format/amounts.ts";
import { courseOf, isRunning, type Window } from "../window.ts";

type Group = Summary["groups"][number];

export const failedOf = ({ ended }: Pick<Group, "ended">): number => ended?.terminals.failed ?? 0;

export const stoppedOf = ({ denied, refused }: Pick<Group, "denied" | "refused">): number =>
  denied + refused;

/** Requests, latency and tokens over the window, by its unit. */
export function TrafficCharts({
  summary,
  window: { unit },
}: {
  readonly summary: Summary;
  readonly window: Window;
}) {
  const { times, valuesOf } = courseOf(summary, unit);
  const last = times.at(-1);
  const running = last !== undefined && isRunning(last, unit);
  // A step without requests is 0, not missing.
  const counts = (pick: (each: Group) => number) => valuesOf(pick, 0);
  const percentiles = (name: "p50" | "p95") =>
    valuesOf(({ ended }) => ended?.latency_ms.total[name] ?? null, null);
  const tokens = (name: "input" | "output") => counts(({ ended }) => ended?.tokens[name] ?? 0);
  const each = { minute: "by minute", hour: "by hour", day: "by day, in UTC" }[unit];
  const panelOf = (
    title: string,
    kind: "bars" | "lines",
    measure: Measure,
    series: readonly (readonly [title: string, tone: SeriesTone, values: Series["values"]])[],
  ) => (
    <Panel
      title={`${title} ${each}`}
      aside={running && kind === "bars" ? <small>the last {unit} so far</small> : undefined}
    >
      <Chart
        title={title}
        times={times}
        kind={kind}
        running={running}
        measure={measure}
        series={series.map(([name, tone, values]) => ({ title: name, tone, values }))}
      />
    </Panel>
  );
  return (
    <>
      {panelOf("Requests", "bars", "count", [
        ["Failed", "stop", counts(failedOf)],
        ["Denied or refused", "widen", counts(stoppedOf)],
        [
          "Served",
          "a",
          counts((one) => Math.max(0, one.requests - stoppedOf(one) - failedOf(one))),
        ],
      ])}
      <div class="columns">
        {panelOf("Latency", "lines", "milliseconds", [
          ["Median", "a", percentiles("p50")],
          ["p95", "c", percentiles("p95")],
        ])}
        {panelOf("Tokens", "bars", "count", [
          ["In", "a", tokens("input")],
          ["Out", "b", tokens("output")],
        ])}
      </div>
    </>
  );
}
