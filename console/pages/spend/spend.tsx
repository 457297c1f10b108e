import { callText, withQuery } from "../../api/client.ts";
import type { Spend, SpendFigures, Summary } from "../../api/types.ts";
import { hasScope, inWorkspaces, showsAll } from "../../api/session-state.ts";
import { useAction } from "../../api/use-action.ts";
import { useResource } from "../../api/use-resource.ts";
import { Chart, type SeriesTone } from "../../components/chart.tsx";
import { Change, Figures } from "../../components/figure.tsx";
import { Segments } from "../../components/form.tsx";
import { Empty, ErrorBox, Loaded, Panel } from "../../components/panel.tsx";
import { numbers, Table, type Column } from "../../components/table.tsx";
import { Name } from "../../components/text.tsx";
import { ABSENT, compact, counted, dollars, share, whole } from "../../format/amounts.ts";
import { printable } from "../../format/printable.ts";
import { AsOf, dayOfUtc } from "../../format/time.tsx";
import { address, link, replaceQuery } from "../../router.ts";
import { groupLabel } from "../group-label.ts";
import {
  isRunning,
  startOf,
  timesOf,
  useSpanWithTraffic,
  useWindow,
  WINDOWS,
  type Window,
} from "../window.ts";
import { BudgetsPanel } from "./budgets.tsx";
import { refusalsOf } from "./refusals.tsx";

const DIMENSIONS = [
  ["workspace", "Workspace"],
  ["route", "Route"],
  ["key", "Key"],
  ["provider", "Provider"],
  ["model", "Model"],
  ["day", "Day"],
] as const;

/** A longer table makes every change of the page slow. */
const MOST_ROWS = 200;

export function SpendPage() {
  const { query } = address.value;
  const named = query.get("window");
  const span = useSpanWithTraffic(named === null && hasScope("governance:read"));
  const name = named ?? (span?.first == null ? "30d" : "24h");
  // With one workspace there is nothing to distinguish.
  const offered = showsAll.value ? DIMENSIONS : DIMENSIONS.slice(1);
  const wanted = (query.get("by") ?? "route").split(",");
  const chosenOnes = offered.filter(([value]) => wanted.includes(value));
  const dimensions =
    chosenOnes.length === 0 ? DIMENSIONS.filter(([value]) => value === "route") : chosenOnes;
  const by = dimensions.map(([value]) => value);
  const chosen = useWindow(name);
  const path = withQuery("/v1/spend", {
    start: chosen.start,
    group_by: by.join(","),
    ...inWorkspaces(),
  });
  const resource = useResource<Spend>(span === null ? null : path, 30_000);
  const before = useResource<Spend>(
    chosen.before === null
      ? null
      : withQuery("/v1/spend", { ...chosen.before, group_by: by.join(","), ...inWorkspaces() }),
  );
  const reasons = useResource<Summary>(
    span === null || !hasScope("governance:read")
      ? null
      : withQuery("/v1/governance/summary", {
          start: chosen.start,
          group_by: showsAll.value ? "reason_code,workspace" : "reason_code",
          ...inWorkspaces(),
        }),
    60_000,
  );
  const unit = chosen.unit === "day" || name === "7d" ? "day" : "hour";
  return (
    <>
      <div class="title">
        <h1>Spend</h1>
        <span class="actions">
          <AsOf at={resource.at} />
          <Segments
            label="Time span"
            value={chosen.name}
            options={WINDOWS}
            onChange={(value) => replaceQuery({ window: value, by: by.join(",") })}
          />
        </span>
      </div>
      <Loaded of={resource} lines={10}>
        {(spend) => (
          <>
            <Totals total={spend.total} before={before.value?.total} />
            <BudgetsPanel
              budgets={spend.budgets}
              refusals={refusalsOf(reasons.value)}
              window={chosen}
            />
            {spend.total.requests === 0 ? (
              <NothingSpent window={chosen} />
            ) : (
              <>
                <Panel
                  title={`Cost by ${unit} and ${by[0] === "day" ? (by[1] ?? "route") : by[0]}`}
                  aside={<small>an estimate from list prices</small>}
                >
                  <CostChart
                    window={chosen}
                    unit={unit}
                    dimension={by.find((one) => one !== "day") ?? "route"}
                  />
                  {spend.total.unpriced_requests > 0 ? (
                    <p class="hint">
                      {counted(spend.total.unpriced_requests, "request")} had no known cost: the
                      endpoint has no price, or its provider did not count. They are not in the sum.
                    </p>
                  ) : null}
                </Panel>
                <Panel
                  title={`By ${by.join(", ")}`}
                  aside={
                    <span class="actions">
                      <Segments
                        label="Grouped by; several can be chosen"
                        value={by}
                        options={offered}
                        onChange={(value) =>
                          replaceQuery({ window: chosen.name, by: toggled(by, value).join(",") })
                        }
                      />
                      <Download path={path} />
                    </span>
                  }
                >
                  {/* Days have no day before of the same name. */}
                  <Groups
                    spend={spend}
                    before={by.includes("day") ? null : before.value}
                    dimensions={dimensions}
                  />
                </Panel>
              </>
            )}
          </>
        )}
      </Loaded>
    </>
  );
}

/** The longest span offers no longer one. */
function NothingSpent({ window: { name } }: { readonly window: Window }) {
  const longest = WINDOWS.at(-1)?.[0];
  return (
    <Empty title="Nothing was spent in this time span">
      {name === longest ? (
        <>
          Send a request with an inference key. <a href={link(["connect"])}>Connect</a> has one to
          paste.
        </>
      ) : (
        <a href={link(["spend"], { window: longest ?? "" })}>Show the last 30 days</a>
      )}
    </Empty>
  );
}

/** From this share of the requests on, a sum without them misleads. */
const MUCH_UNPRICED = 0.05;

/** Sums of the span, beside those of the one before it. */
function Totals({
  total,
  before,
}: {
  readonly total: SpendFigures;
  readonly before: SpendFigures | undefined;
}) {
  return (
    <Figures
      of={[
        {
          title: "Cost",
          value: dollars(total.requests === 0 ? 0 : total.cost_usd),
          now: total.cost_usd,
          before: before?.cost_usd,
          note:
            total.unpriced_requests === 0 ? null : (
              <span class={total.unpriced_requests > MUCH_UNPRICED * total.requests ? "widen" : ""}>
                without {counted(total.unpriced_requests, "request")} of unknown price
              </span>
            ),
        },
        ...(
          [
            ["Requests", "requests", null],
            ["Input tokens", "input_tokens", `${compact(total.cache_read_tokens)} from a cache`],
            ["Output tokens", "output_tokens", `${compact(total.reasoning_tokens)} of reasoning`],
          ] as const
        ).map(([title, name, note]) => ({
          title,
          value: compact(total[name]),
          now: total[name],
          before: before?.[name],
          note: total[name] === 0 ? null : note,
        })),
      ]}
    />
  );
}

/** Series of the chart beside "others", in their order. */
const TONES: readonly SeriesTone[] = ["a", "b", "c", "d"];

/** The largest of a dimension, stacked. */
function CostChart({
  window,
  unit,
  dimension,
}: {
  readonly window: Window;
  readonly unit: "hour" | "day";
  readonly dimension: string;
}) {
  const resource = useResource<Spend>(
    withQuery("/v1/spend", {
      start: window.start,
      group_by: `${dimension},${unit}`,
      ...inWorkspaces(),
    }),
    60_000,
  );
  return (
    <Loaded of={resource} lines={6}>
      {({ groups, window: { start, end } }) => {
        const times = timesOf(start, end, unit);
        const byName = Map.groupBy(groups, ({ group }) => groupLabel(group, dimension) ?? "none");
        const sum = (lines: Spend["groups"]): number =>
          lines.reduce((total, { cost_usd }) => total + (cost_usd ?? 0), 0);
        const ranked = [...byName].toSorted(([, left], [, right]) => sum(right) - sum(left));
        const valuesOf = (lines: Spend["groups"]): readonly number[] => {
          const at = Map.groupBy(lines, ({ group }) => startOf(group, unit));
          return times.map((time) => sum(at.get(time) ?? []));
        };
        const rest = ranked.slice(TONES.length).flatMap(([, lines]) => lines);
        const last = times.at(-1);
        return (
          <Chart
            title={`Cost by ${unit}, in UTC`}
            times={times}
            kind="bars"
            running={last !== undefined && isRunning(last, unit)}
            measure="dollars"
            series={[
              ...ranked.slice(0, TONES.length).map(([name, lines], at) => ({
                title: printable(name),
                tone: TONES[at] ?? "rest",
                values: valuesOf(lines),
              })),
              ...(sum(rest) === 0
                ? []
                : [{ title: "Others", tone: "rest" as const, values: valuesOf(rest) }]),
            ]}
          />
        );
      }}
    </Loaded>
  );
}

const nameOf = (label: string | null) =>
  label === null ? <small>none</small> : <Name of={label} />;

/** Providers are not counted by key and route. */
const APART: Readonly<Record<string, readonly string[]>> = {
  provider: ["route", "key"],
  route: ["provider"],
  key: ["provider"],
};

/** At least one stays chosen. */
function toggled(by: readonly string[], value: string): readonly string[] {
  if (!by.includes(value))
    return [...by.filter((one) => APART[value]?.includes(one) !== true), value];
  return by.length === 1 ? by : by.filter((one) => one !== value);
}

type Group = Spend["groups"][number];
type Dimensions = readonly (typeof DIMENSIONS)[number][];

function Groups({
  spend,
  before,
  dimensions,
}: {
  readonly spend: Spend;
  /** The same groups in the span before; `null` without one. */
  readonly before: Spend | null;
  readonly dimensions: Dimensions;
}) {
  const { groups, total, truncated } = spend;
  const by = dimensions.map(([value]) => value).join(", ");
  const isDay = by === "day" && spend.group_by.includes("day");
  const rows = isDay
    ? groups
    : groups.toSorted((left, right) => (right.cost_usd ?? -1) - (left.cost_usd ?? -1));
  const shown = rows.slice(0, MOST_ROWS);
  const costBefore = new Map(
    (before?.groups ?? []).map(({ group, cost_usd }) => [JSON.stringify(group), cost_usd]),
  );
  const columns: readonly Column<Group>[] = [
    ...dimensions.map(([dimension, title]): Column<Group> => ({
      head: title,
      cell: ({ group }) => {
        const label = groupLabel(group, dimension);
        return dimension === "day" && label !== null ? dayOfUtc(label) : nameOf(label);
      },
    })),
    // Requests that called no provider cost nothing, and are not unknown.
    numbers("Cost", ({ cost_usd, unpriced_requests }) =>
      cost_usd === null && unpriced_requests === 0 ? ABSENT : dollars(cost_usd),
    ),
    numbers("Share", ({ cost_usd }) =>
      cost_usd === null ? "–" : share(cost_usd, total.cost_usd ?? 0),
    ),
    ...(before === null
      ? []
      : [
          numbers("Change", ({ group, cost_usd }: Group) => (
            <small>
              <Change now={cost_usd} before={costBefore.get(JSON.stringify(group)) ?? null} />
            </small>
          )),
        ]),
    numbers("Requests", ({ requests }) => whole(requests)),
    numbers("Without a price", ({ unpriced_requests }) => whole(unpriced_requests)),
    numbers("Input tokens", ({ input_tokens }) => compact(input_tokens)),
    numbers("From cache", ({ cache_read_tokens }) => compact(cache_read_tokens)),
    numbers("Output tokens", ({ output_tokens }) => compact(output_tokens)),
  ];
  return (
    <>
      <Table
        label={`Spend by ${by}`}
        rows={shown}
        keyOf={({ group }) => JSON.stringify(group)}
        columns={columns}
      />
      {truncated || shown.length < rows.length ? (
        <p class="hint">
          There are more groups; these {truncated ? "have the most requests" : "cost most"}. The CSV
          has up to {whole(10_000)}.
        </p>
      ) : null}
    </>
  );
}

/** The API's own CSV, which guards against formulas. */
function Download({ path }: { readonly path: string }) {
  const { failure, run } = useAction<string>((csv) => {
    const url = URL.createObjectURL(new Blob([csv], { type: "text/csv" }));
    const anchor = document.createElement("a");
    anchor.href = url;
    anchor.download = "spend.csv";
    anchor.click();
    URL.revokeObjectURL(url);
  });
  return (
    <>
      <button
        type="button"
        class="small"
        onClick={() => void run(() => callText(path, { accept: "text/csv" }))}
      >
        Download CSV
      </button>
      <ErrorBox failure={failure} />
    </>
  );
}
