import { useEffect, useRef, useState } from "preact/hooks";
import UPlot from "uplot";
import { ABSENT, axisLabels, FORMATS, type Measure } from "../format/amounts.ts";
import { CLOCK, DATE, dayOfUtc, formatTime, Time } from "../format/time.tsx";
import { Table } from "./table.tsx";

export interface Series {
  readonly title: string;
  /** One of the `--series-` colours; `stop` and `widen` are failures and refusals. */
  readonly tone: SeriesTone;
  readonly values: readonly (number | null)[];
  /** An estimate, not a measurement. */
  readonly dashed?: boolean;
}

export type SeriesTone = "a" | "b" | "c" | "d" | "rest" | "stop" | "widen";

/** Pixels. */
const HEIGHT = 170;

interface ChartData {
  readonly title: string;
  /** Seconds since the epoch, ascending. */
  readonly times: readonly number[];
  /** Counts are stacked bars, the first series at the bottom; measurements are lines. */
  readonly kind: "bars" | "lines";
  readonly series: readonly Series[];
  readonly measure: Measure;
  /** The last step is not over: it is drawn pale. */
  readonly running?: boolean;
}

/** Values over time, and the same numbers as a table for people who cannot see them. */
export function Chart(chart: ChartData) {
  const { title, times, series, measure, kind, running = false } = chart;
  const container = useRef<HTMLDivElement>(null);
  const [dark, setDark] = useState(() => DARK.matches);
  useEffect(() => {
    const follow = (): void => setDark(DARK.matches);
    DARK.addEventListener("change", follow);
    return () => DARK.removeEventListener("change", follow);
  }, []);
  // Strings of numbers: equal ones of another poll must not draw anew.
  const data = JSON.stringify([times, kind, running, ...series.map(({ values }) => values)]);
  const heads = JSON.stringify(series.map(({ title: name, tone }) => [name, tone]));
  useEffect(() => {
    const element = container.current;
    if (element === null) return undefined;
    let isGone = false;
    const plot = new UPlot(
      optionsOf(element.clientWidth, chart),
      [[...times], ...drawnValues(chart)],
      element,
    );
    const observer = new ResizeObserver(() =>
      plot.setSize({ width: element.clientWidth, height: HEIGHT }),
    );
    observer.observe(element);
    // A canvas keeps the font that it was drawn with.
    void document.fonts.ready.then(() => {
      if (!isGone) plot.redraw(false, true);
    });
    return () => {
      isGone = true;
      observer.disconnect();
      plot.destroy();
    };
  }, [data, heads, dark]);
  const daily = isDaily(times);
  const isEmpty = !series.some(({ values }) => values.some((value) => (value ?? 0) > 0));
  if (isEmpty) return <p class="nothing">Nothing in this time span</p>;
  const formatted = (value: number | null | undefined): string =>
    value == null ? ABSENT : FORMATS[measure](value);
  const rows = times.map((time, at) => ({
    time,
    values: series.map(({ values }) => values[at] ?? null),
  }));
  return (
    <figure class="chart">
      <figcaption class="visually-hidden">{title}</figcaption>
      <div ref={container} class="plot" aria-hidden="true" />
      <details>
        <summary>As a table</summary>
        <Table
          label={title}
          rows={rows}
          keyOf={({ time }) => String(time)}
          columns={[
            {
              head: "From",
              cell: ({ time }) => (
                <>
                  {daily ? dayOfUtc(time) : <Time at={time * 1_000} />}
                  {running && time === times.at(-1) ? <small> so far</small> : null}
                </>
              ),
            },
            ...series.map(({ title: head }, at) => ({
              head,
              number: true,
              cell: ({ values }: (typeof rows)[number]) => formatted(values[at]),
            })),
          ]}
        />
      </details>
    </figure>
  );
}

const DAY = 86_400;

/**
 * True if every point is the beginning of a day of UTC: local times would name the wrong day,
 * or one hour again and again.
 */
function isDaily(times: readonly number[]): boolean {
  return times.length > 1 && times.every((time) => time % DAY === 0);
}

/** The hour, and at midnight the day. @param time seconds since the epoch. */
function tickOf(time: number, daily: boolean): string {
  if (daily) return time % DAY === 0 ? dayOfUtc(time) : "";
  const date = new Date(time * 1_000);
  return formatTime(date, date.getHours() === 0 && date.getMinutes() === 0 ? DATE : CLOCK);
}

const DARK = matchMedia("(prefers-color-scheme: dark)");

/** Bars of the last series cover those of the earlier ones, each from zero: sums, largest first. */
function drawnValues({ kind, series }: ChartData): readonly (number | null)[][] {
  if (kind === "lines") return series.map(({ values }) => [...values]);
  return series
    .map((_, first) =>
      (series[0]?.values ?? []).map((__, at) =>
        series.slice(0, first + 1).reduce((sum, { values }) => sum + (values[at] ?? 0), 0),
      ),
    )
    .toReversed();
}

function optionsOf(width: number, chart: ChartData): UPlot.Options {
  const { times, kind, measure } = chart;
  const daily = isDaily(times);
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const axis: UPlot.Axis = {
    stroke: colour("muted"),
    font: `11px ${style.getPropertyValue("--sans")}`,
    grid: { stroke: colour("line"), width: 1 },
    ticks: { show: false },
  };
  const step = (times[1] ?? 0) - (times[0] ?? 0);
  const isBars = kind === "bars";
  const bars = UPlot.paths.bars?.({ size: [0.76, 32] });
  const series = isBars ? chart.series.toReversed() : chart.series;
  return {
    width,
    height: HEIGHT,
    // Half of the last label of the axis.
    padding: [8, 20, 0, 0],
    ...(daily && { tzDate: (time: number) => UPlot.tzDate(new Date(time * 1_000), "Etc/UTC") }),
    legend: { markers: { width: 0, fill: (_, at) => colour(`series-${series[at - 1]?.tone}`) } },
    cursor: { drag: { x: false, y: false }, points: { size: 6, show: !isBars } },
    scales: {
      x: {
        range: (_, least, most) => (isBars ? [least - step / 2, most + step / 2] : [least, most]),
      },
      y: { range: (_, __, most) => [0, most * 1.08 || 1] },
    },
    hooks: { draw: [(plot) => drawRunning(plot, chart, colour("card"))] },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 26,
        space: 84,
        values: (_, ticks) => ticks.map((tick) => tickOf(tick, daily)),
        ...(daily && { incrs: [DAY, 2 * DAY, 5 * DAY, 7 * DAY, 10 * DAY] }),
      },
      {
        ...axis,
        size: 60,
        values: (_, ticks) => axisLabels(measure, ticks),
      },
    ],
    series: [
      {
        // Without a label the legend has a time only where the pointer is.
        label: "\u00A0",
        value: (_, time) =>
          time === null
            ? ""
            : daily
              ? dayOfUtc(time)
              : formatTime(new Date(time * 1_000), { ...DATE, ...CLOCK }),
      },
      ...series.map(({ title, tone, values, dashed = false }) => ({
        label: title,
        stroke: colour(`series-${tone}`),
        width: 1.8,
        ...(dashed && { dash: [5, 4] }),
        ...(isBars &&
          bars !== undefined && { fill: colour(`series-${tone}`), width: 0, paths: bars }),
        points: { show: !isBars && values.some((_, at) => isAlone(values, at)), size: 4 },
        // uPlot also calls this while the pointer is on no point.
        value: (_: UPlot, drawn: number | null, __: number, at: number | null) => {
          const value = at === null || drawn === null ? null : (values[at] ?? null);
          return value === null ? "" : FORMATS[measure](value);
        },
      })),
    ],
  };
}

/** A line has no length there. */
const isAlone = (values: Series["values"], at: number): boolean =>
  values[at] != null && values[at - 1] == null && values[at + 1] == null;

/** Draws a veil over the step that is not over: its bar is not that of a whole one. */
function drawRunning(plot: UPlot, chart: ChartData, card: string): void {
  const { ctx, bbox } = plot;
  const { times, kind, running = false } = chart;
  const last = times.at(-1);
  if (!running || kind !== "bars" || last === undefined) return;
  const step = last - (times.at(-2) ?? last);
  const from = plot.valToPos(last - step / 2, "x", true);
  ctx.save();
  ctx.globalAlpha = 0.55;
  ctx.fillStyle = card;
  ctx.fillRect(from, bbox.top, bbox.left + bbox.width - from, bbox.height);
  ctx.restore();
}
