import type { Summary } from "../../api/types.ts";
import { Chart } from "../../components/chart.tsx";
import { Panel } from "../../components/panel.tsx";
import { courseOf, isRunning, type Window } from "../window.ts";

type Group = Summary["groups"][number];

export const failedOf = ({ ended }: Pick<Group, "ended">): number => ended?.terminals.failed ?? 0;

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
  return (
    <>
      <Panel
        title={`Requests ${each}`}
        aside={running ? <small>the last {unit} so far</small> : null}
      >
        <Chart
          title="Requests"
          times={times}
          kind="bars"
          running={running}
          measure="count"
          series={[
            { title: "Failed", tone: "stop", values: counts(failedOf) },
            {
              title: "Denied or refused",
              tone: "widen",
              values: counts(({ denied, refused }) => denied + refused),
            },
            {
              title: "Served",
              tone: "a",
              values: counts((one) =>
                Math.max(0, one.requests - one.denied - one.refused - failedOf(one)),
              ),
            },
          ]}
        />
      </Panel>
      <div class="columns">
        <Panel title={`Latency ${each}`}>
          <Chart
            title="Latency"
            times={times}
            kind="lines"
            measure="milliseconds"
            series={[
              { title: "Median", tone: "a", values: percentiles("p50") },
              { title: "p95", tone: "c", values: percentiles("p95") },
            ]}
          />
        </Panel>
        <Panel title={`Tokens ${each}`}>
          <Chart
            title="Tokens"
            times={times}
            kind="bars"
            running={running}
            measure="count"
            series={[
              { title: "In", tone: "a", values: tokens("input") },
              { title: "Out", tone: "b", values: tokens("output") },
            ]}
          />
        </Panel>
      </div>
    </>
  );
}
