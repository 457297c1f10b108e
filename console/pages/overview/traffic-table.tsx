import { useState } from "preact/hooks";
import { withQuery } from "../../api/client.ts";
import type { Measures, Summary } from "../../api/types.ts";
import { inWorkspaces, showsAll } from "../../api/session-state.ts";
import { useResource } from "../../api/use-resource.ts";
import { Segments } from "../../components/form.tsx";
import { Empty, Loaded, Panel } from "../../components/panel.tsx";
import { numbers, Table, type Column } from "../../components/table.tsx";
import { Name } from "../../components/text.tsx";
import { compact, milliseconds, share, whole } from "../../format/amounts.ts";
import { Time } from "../../format/time.tsx";
import { link } from "../../router.ts";
import { groupLabel } from "../group-label.ts";
import { secondChoices } from "../second-choice.tsx";
import { failedOf, stoppedOf } from "./traffic-charts.tsx";
import type { Window } from "../window.ts";

const DIMENSIONS = [
  ["route", "Route"],
  ["provider", "Provider"],
  ["key", "Key"],
  ["operation", "Operation"],
] as const;

const WORKSPACE = ["workspace", "Workspace"] as const;

/** The window's requests by one dimension, the most requests first. */
export function TrafficTable({ window }: { readonly window: Window }) {
  const [chosen, setDimension] = useState<string>("route");
  const options = showsAll.value ? [...DIMENSIONS, WORKSPACE] : DIMENSIONS;
  const dimension = options.some(([value]) => value === chosen) ? chosen : "route";
  return (
    <Panel
      title={`By ${dimension}`}
      aside={
        <Segments label="Grouped by" value={dimension} options={options} onChange={setDimension} />
      }
    >
      <Rows key={dimension} dimension={dimension} window={window} />
      {window.unit === "minute" ? (
        <p class="hint">
          Whole hours, from <Time at={wholeHour(window.start)} short />: minutes are counted by
          route only.
        </p>
      ) : null}
    </Panel>
  );
}

const MEASURED: readonly Column<Measures>[] = [
  numbers("Requests", ({ requests }) => whole(requests)),
  numbers("Denied or refused", (each) => whole(stoppedOf(each))),
  numbers("Failed", (each) => whole(failedOf(each))),
  numbers("Failed, %", (each) => share(failedOf(each), each.requests)),
  numbers("Second choice", (each) => whole(secondChoices(each))),
  numbers("Fallbacks", ({ ended }) => whole(ended?.fallbacks)),
  numbers("Attempts", ({ ended }) => whole(ended?.attempts.total)),
  numbers("Median", ({ ended }) => milliseconds(ended?.latency_ms.total.p50)),
  numbers("p95", ({ ended }) => milliseconds(ended?.latency_ms.total.p95)),
  numbers("Tokens in", ({ ended }) => compact(ended?.tokens.input)),
  numbers("Tokens out", ({ ended }) => compact(ended?.tokens.output)),
];

const wholeHour = (start: string): number => Math.floor(Date.parse(start) / 3_600_000) * 3_600_000;

function Rows({ dimension, window }: { readonly dimension: string; readonly window: Window }) {
  const path = withQuery("/v1/governance/summary", {
    start: window.start,
    group_by: dimension,
    ...inWorkspaces(),
  });
  const resource = useResource<Summary>(path, 30_000);
  const title = [...DIMENSIONS, WORKSPACE].find(([value]) => value === dimension)?.[1] ?? dimension;
  return (
    <Loaded of={resource} lines={6}>
      {({ groups, truncated }) =>
        groups.length === 0 ? (
          <Empty title="No requests in this time span" />
        ) : (
          <>
            <Table
              label={`Traffic by ${dimension}`}
              rows={groups.toSorted((left, right) => right.requests - left.requests)}
              keyOf={({ group }) => groupLabel(group, dimension) ?? ""}
              columns={[
                {
                  head: title,
                  cell: ({ group }) => {
                    const name = groupLabel(group, dimension);
                    if (name === null) return <small>none</small>;
                    if (dimension === "operation") return <Name of={name} />;
                    const isPage = dimension === "workspace";
                    return (
                      <a href={link(isPage ? [] : ["decisions"], { [dimension]: name })}>
                        <Name of={name} />
                      </a>
                    );
                  },
                },
                ...MEASURED,
              ]}
            />
            {truncated ? <p class="hint">There are more; these have the most requests.</p> : null}
          </>
        )
      }
    </Loaded>
  );
}
