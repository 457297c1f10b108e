import { withQuery } from "../../api/client.ts";
import type { Summary } from "../../api/types.ts";
import { inWorkspaces } from "../../api/session-state.ts";
import { useResource } from "../../api/use-resource.ts";
import { Chart } from "../../components/chart.tsx";
import { Loaded } from "../../components/panel.tsx";
import { compact, milliseconds } from "../../format/amounts.ts";
import { groupLabel } from "../group-label.ts";
import { beginningOf, type Window } from "../window.ts";

const HOUR = 3_600;

/**
 * Requests, latency and tokens over the window. The API counts by the hour, so an hour has no
 * course.
 */
export function TrafficCharts({ window }: { readonly window: Window }) {
  const path = withQuery("/v1/governance/summary", {
    start: window.start,
    group_by: window.unit,
    ...inWorkspaces(),
  });
  const resource = useResource<Summary>(window.name === "1h" ? null : path, 30_000);
  if (window.name === "1h")
    return (
      <p class="hint">
        Counts are kept by the hour. Choose a longer time span to see their course.
      </p>
    );
  return (
    <Loaded of={resource} lines={8}>
      {(summary) => <Charts summary={summary} unit={window.unit} />}
    </Loaded>
  );
}

type Measures = Summary["groups"][number];

function Charts({ summary, unit }: { readonly summary: Summary; readonly unit: "hour" | "day" }) {
  const step = unit === "hour" ? HOUR : 24 * HOUR;
  const byTime = new Map(
    summary.groups.map((each) => [beginningOf(groupLabel(each.group, unit) ?? ""), each]),
  );
  const first = Math.floor(Date.parse(summary.window.start) / 1_000 / step) * step;
  const last = Math.floor((Date.parse(summary.window.end) / 1_000 - 1) / step) * step;
  // An hour without requests is 0, not missing.
  const times = Array.from(
    { length: Math.max(0, (last - first) / step) + 1 },
    (_, at) => first + at * step,
  );
  const counts = (pick: (each: Measures) => number): readonly number[] =>
    times.map((time) => {
      const found = byTime.get(time);
      return found === undefined ? 0 : pick(found);
    });
  const percentiles = (name: "p50" | "p95"): readonly (number | null)[] =>
    times.map((time) => byTime.get(time)?.ended?.latency_ms.total[name] ?? null);
  return (
    <div class="charts">
      <Chart
        title="Requests"
        times={times}
        format={compact}
        series={[
          { title: "All", tone: "link", values: counts(({ requests }) => requests) },
          { title: "Denied", tone: "widen", values: counts(({ denied }) => denied) },
          {
            title: "Failed",
            tone: "stop",
            values: counts(({ ended }) => ended?.terminals.failed ?? 0),
          },
        ]}
      />
      <Chart
        title="Latency"
        times={times}
        format={milliseconds}
        series={[
          { title: "Median", tone: "link", values: percentiles("p50") },
          { title: "p95", tone: "widen", values: percentiles("p95") },
        ]}
      />
      <Chart
        title="Tokens"
        times={times}
        format={compact}
        series={[
          { title: "Input", tone: "link", values: counts(({ ended }) => ended?.tokens.input ?? 0) },
          {
            title: "Output",
            tone: "good",
            values: counts(({ ended }) => ended?.tokens.output ?? 0),
          },
        ]}
      />
    </div>
  );
}
