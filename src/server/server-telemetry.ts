import type { RequestObserver, BeginTrace } from "../evidence/observer.ts";
import type { Otlp } from "../telemetry/open-otlp.ts";
import { passTraceOn } from "../telemetry/trace-context.ts";
import {
  OtlpSettingError,
  readOtlpSettings,
  type OtlpSettings,
} from "../telemetry/otlp-settings.ts";
import { StartError } from "./start-error.ts";
import type { LogOptions } from "./serve-options.ts";
import { ServerLog } from "./server-log.ts";
import { type StatusSources, statusMetrics } from "./status-metrics.ts";
import { formatExposition, type Exposition, type Family } from "../telemetry/families.ts";
import { processMetrics } from "../telemetry/process-metrics.ts";
import { RequestMetrics } from "../telemetry/request-metrics.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Longest wait for the collector at the end, milliseconds. */
const PATIENCE = 2_000;

/** Metrics, logs and traces of one server, made from its evidence. */
export class ServerTelemetry {
  readonly metrics = new ServerMetrics();
  readonly log: ServerLog;
  readonly observer: RequestObserver;
  readonly beginTrace: BeginTrace;
  readonly #otlp: Otlp | null;
  #sources: Sources | null = null;

  private constructor(
    log: ServerLog,
    openOtlp: ((modelOf: (endpointId: string) => string | null) => Otlp) | null,
  ) {
    this.log = log;
    this.#otlp = openOtlp?.((endpointId) => this.#modelOf(endpointId)) ?? null;
    this.observer = observers([this.metrics.requests, log.observer, this.#otlp?.observer ?? null]);
    this.beginTrace = this.#otlp?.beginTrace ?? passTraceOn;
  }

  /** @throws {StartError} for a variable that cannot be used. */
  static async open(
    log: LogOptions,
    environment: Environment,
    version: string,
  ): Promise<ServerTelemetry> {
    const settings = otlpSettings(environment);
    // Most routers export nothing, and the SDK takes its time to load.
    const library = settings === null ? null : await import("../telemetry/open-otlp.ts");
    const opened = await ServerLog.open(log);
    if (settings === null || library === null) return new ServerTelemetry(opened, null);
    return new ServerTelemetry(opened, (modelOf) => library.openOtlp(settings, version, modelOf));
  }

  /** Call it when the sources can be read. Returns the function that stops all reading. */
  begin(sources: Sources): () => Promise<void> {
    this.#sources = sources;
    const droppedSpans = (): number => this.#otlp?.droppedSpans() ?? 0;
    const stopMetrics = this.metrics.begin({
      ...sources,
      droppedLines: this.log.dropped,
      droppedSpans,
    });
    const stopLooking = this.log.watchStore(() => sources.evidence.health());
    return () => {
      stopMetrics();
      stopLooking();
      return Promise.resolve();
    };
  }

  readonly close = async (): Promise<void> => {
    await this.#otlp?.close(PATIENCE);
    await this.log.close();
  };

  #modelOf(endpointId: string): string | null {
    return (
      this.#sources?.runtime.snapshots.current.decider.table.endpoints[endpointId]?.upstreamModel ??
      null
    );
  }
}

/** Calls several observers; the only one of them itself. */
export function observers(all: readonly (RequestObserver | null)[]): RequestObserver {
  const present = all.filter((one) => one !== null);
  const [first, ...others] = present;
  if (first !== undefined && others.length === 0) return first;
  return {
    began: (operation) => {
      for (const one of present) one.began(operation);
    },
    ended: (operation, request) => {
      for (const one of present) one.ended(operation, request);
    },
    unrouted: (status) => {
      for (const one of present) one.unrouted?.(status);
    },
  };
}

type Sources = Omit<StatusSources, "droppedLines" | "droppedSpans">;

function otlpSettings(environment: Environment): OtlpSettings | null {
  try {
    return readOtlpSettings(environment);
  } catch (error) {
    if (error instanceof OtlpSettingError) throw new StartError(error.message);
    throw error;
  }
}

/** Everything that one server exposes at `GET /metrics`. */
export class ServerMetrics {
  readonly requests = new RequestMetrics();
  #families: readonly Family[] = this.requests.families;

  get families(): readonly Family[] {
    return this.#families;
  }

  /** @param accept the request's header of that name. */
  readonly page = (accept: string | undefined): Exposition =>
    formatExposition(this.#families, accept);

  /** Adds the metrics of a running server. Returns the function that removes them. */
  begin(sources: StatusSources): () => void {
    const { families, stop } = processMetrics();
    this.#families = [...this.requests.families, ...statusMetrics(sources), ...families];
    return stop;
  }
}
