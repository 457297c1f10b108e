import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { reading, single, type Family } from "./families.ts";

const NANOSECONDS = 1e9;
const MICROSECONDS = 1e6;

/** How often the event loop's lag is measured, milliseconds. */
const LAG_RESOLUTION = 20;

/** Resources of the process. `stop` ends the measuring of the event loop. */
export function processMetrics(): {
  readonly families: readonly Family[];
  readonly stop: () => void;
} {
  const lag = monitorEventLoopDelay({ resolution: LAG_RESOLUTION });
  lag.enable();
  let utilization = performance.eventLoopUtilization();
  const families = [
    single(
      "gauge",
      "process_start_time_seconds",
      "When the process began, since the epoch.",
      () => Math.round(performance.timeOrigin) / 1_000,
    ),
    single(
      "counter",
      "process_cpu_seconds",
      "Processor time of the process, user and system.",
      () => {
        const { user, system } = process.cpuUsage();
        return (user + system) / MICROSECONDS;
      },
    ),
    single("gauge", "process_resident_memory_bytes", "Resident memory of the process.", () =>
      process.memoryUsage.rss(),
    ),
    single(
      "gauge",
      "nodejs_heap_used_bytes",
      "Used heap of JavaScript.",
      () => process.memoryUsage().heapUsed,
    ),
    single(
      "gauge",
      "nodejs_heap_total_bytes",
      "Heap of JavaScript.",
      () => process.memoryUsage().heapTotal,
    ),
    single(
      "gauge",
      "nodejs_external_memory_bytes",
      "Memory of buffers and the like.",
      () => process.memoryUsage().external,
    ),
    reading(
      "gauge",
      "nodejs_eventloop_lag_seconds",
      "How late the event loop was since the last scrape, by percentile; max under 1.0.",
      ["quantile"],
      () => {
        const read = [
          [lateness(lag.percentile(50)), "0.5"],
          [lateness(lag.percentile(99)), "0.99"],
          [lateness(lag.max), "1.0"],
        ] as const;
        lag.reset();
        return read;
      },
    ),
    single(
      "gauge",
      "nodejs_eventloop_utilization_ratio",
      "Share of time that the event loop was busy since the last scrape.",
      () => {
        const now = performance.eventLoopUtilization();
        const since = performance.eventLoopUtilization(now, utilization);
        utilization = now;
        return since.utilization;
      },
    ),
  ];
  return { families, stop: () => void lag.disable() };
}

/** The histogram holds intervals between two turns, of which the requested one is no lag. */
function lateness(nanoseconds: number): number {
  const seconds = nanoseconds / NANOSECONDS - LAG_RESOLUTION / 1_000;
  return Number.isFinite(seconds) ? Math.max(seconds, 0) : 0;
}
