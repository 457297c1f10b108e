import { useEffect, useRef, useState } from "preact/hooks";
import UPlot from "uplot";
import { Time } from "../format/time.tsx";
import { Table } from "./table.tsx";

export interface Series {
  readonly title: string;
  /** Of the palette: the colour of the line. */
  readonly tone: "link" | "stop" | "widen" | "good" | "muted";
  readonly values: readonly (number | null)[];
}

/** Pixels. */
const HEIGHT = 170;

/** Lines over time, and the same numbers as a table for people who cannot see them. */
export function Chart({
  title,
  times,
  series,
  format,
}: {
  readonly title: string;
  /** Seconds since the epoch, ascending. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly format: (value: number | null) => string;
}) {
  const container = useRef<HTMLDivElement>(null);
  const [dark, setDark] = useState(() => DARK.matches);
  useEffect(() => {
    const follow = (): void => setDark(DARK.matches);
    DARK.addEventListener("change", follow);
    return () => DARK.removeEventListener("change", follow);
  }, []);
  // Strings of numbers: equal ones of another poll must not draw anew.
  const data = JSON.stringify([times, ...series.map(({ values }) => values)]);
  const heads = JSON.stringify(series.map(({ title: name, tone }) => [name, tone]));
  useEffect(() => {
    const element = container.current;
    if (element === null) return undefined;
    const plot = new UPlot(
      optionsOf(element.clientWidth, series, isDaily(times), format),
      [[...times], ...series.map(({ values }) => [...values])],
      element,
    );
    const observer = new ResizeObserver(() =>
      plot.setSize({ width: element.clientWidth, height: HEIGHT }),
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [data, heads, dark]);
  const rows = times.map((time, at) => ({
    time,
    values: series.map(({ values }) => values[at] ?? null),
  }));
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
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
              cell: ({ time }) => <Time at={time * 1_000} />,
            },
            ...series.map(({ title: head }, at) => ({
              head,
              number: true,
              cell: ({ values }: (typeof rows)[number]) => format(values[at] ?? null),
            })),
          ]}
        />
      </details>
    </figure>
  );
}

const HOUR_OF_DAY = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});
const DAY_OF_YEAR = new Intl.DateTimeFormat(undefined, { day: "2-digit", month: "short" });

const DAY_OF_UTC = new Intl.DateTimeFormat(undefined, {
  day: "2-digit",
  month: "short",
  timeZone: "UTC",
});

const DAY = 86_400;

/**
 * Whether every point is the beginning of a day of UTC: local times would then name the wrong day,
 * or one hour again and again.
 */
function isDaily(times: readonly number[]): boolean {
  return times.length > 1 && times.every((time) => time % DAY === 0);
}

/** The hour, and at midnight the day. @param time seconds since the epoch. */
function tickOf(time: number, daily: boolean): string {
  const date = new Date(time * 1_000);
  if (daily) return time % DAY === 0 ? DAY_OF_UTC.format(date) : "";
  return date.getHours() === 0 && date.getMinutes() === 0
    ? DAY_OF_YEAR.format(date)
    : HOUR_OF_DAY.format(date);
}

const DARK = matchMedia("(prefers-color-scheme: dark)");

function optionsOf(
  width: number,
  series: readonly Series[],
  daily: boolean,
  format: (value: number | null) => string,
): UPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const axis: UPlot.Axis = {
    stroke: colour("muted"),
    font: `11px ${style.getPropertyValue("--sans")}`,
    grid: { stroke: colour("line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width,
    height: HEIGHT,
    // Half of the last label of the axis.
    padding: [8, 20, 0, 0],
    ...(daily && { tzDate: (time: number) => UPlot.tzDate(new Date(time * 1_000), "Etc/UTC") }),
    cursor: { drag: { x: false, y: false }, points: { size: 6 } },
    scales: { y: { range: (_, __, most) => [0, most > 0 ? most * 1.08 : 1] } },
    axes: [
      {
        ...axis,
        size: 26,
        space: 64,
        values: (_, ticks) => ticks.map((tick) => tickOf(tick, daily)),
        ...(daily && { incrs: [DAY, 2 * DAY, 5 * DAY, 7 * DAY, 10 * DAY] }),
      },
      { ...axis, size: 56, values: (_, ticks) => ticks.map((tick) => format(tick)) },
    ],
    series: [
      {
        // Without a label the legend has a time only where the pointer is.
        label: "\u00A0",
        value: (_, time) =>
          time === null
            ? ""
            : daily
              ? DAY_OF_UTC.format(new Date(time * 1_000))
              : new Date(time * 1_000).toLocaleString(),
      },
      ...series.map(({ title, tone, values }) => ({
        label: title,
        stroke: colour(tone),
        width: 1.6,
        points: { show: values.filter((value) => value !== null).length < 3, size: 5 },
        // Of a point only: uPlot also calls this while the pointer is elsewhere.
        value: (_: UPlot, value: number | null) => (value === null ? "" : format(value)),
      })),
    ],
  };
}
