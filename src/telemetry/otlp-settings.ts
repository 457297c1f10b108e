type Environment = Readonly<Record<string, string | undefined>>;

/** Signals exported over OTLP, by OpenTelemetry's standard variables. */
export interface OtlpSettings {
  readonly traces: boolean;
  readonly metrics: boolean;
  readonly sampler: SamplerSettings;
  /** Spans that wait at most. */
  readonly queueSize: number;
  readonly batchSize: number;
  /** Milliseconds between two exports of spans. */
  readonly traceInterval: number;
  /** Milliseconds between two exports of metrics. */
  readonly metricInterval: number;
  /**
   * Longest wait for the collector with all repetitions, milliseconds; the end of the process waits
   * as long at most.
   */
  readonly exportTimeout: number;
}

export interface SamplerSettings {
  readonly isParentBased: boolean;
  /** From 0 to 1. */
  readonly share: number;
}

/** A variable of OpenTelemetry's that cannot be used. The message names it, and never its value. */
export class OtlpSettingError extends Error {
  override readonly name = "OtlpSettingError";
}

/** `null`: nothing is exported. @throws {OtlpSettingError} */
export function readOtlpSettings(environment: Environment): OtlpSettings | null {
  const get = (name: string) => environment[name]?.trim() ?? "";
  if (get("OTEL_SDK_DISABLED").toLowerCase() === "true") return null;
  const isExported = (signal: "TRACES" | "METRICS") =>
    get(`OTEL_${signal}_EXPORTER`) !== "none" &&
    (get("OTEL_EXPORTER_OTLP_ENDPOINT") !== "" ||
      get(`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`) !== "");
  const traces = isExported("TRACES");
  const metrics = isExported("METRICS");
  if (!traces && !metrics) return null;
  const variables = [
    "OTEL_EXPORTER_OTLP_PROTOCOL",
    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
    "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL",
  ];
  const grpc = variables.find((name) => get(name) === "grpc");
  if (grpc !== undefined)
    throw new OtlpSettingError(
      `${grpc}: grpc is not supported; give http/json and the collector's HTTP address`,
    );
  const queueSize = wholeNumber(get, "OTEL_BSP_MAX_QUEUE_SIZE", 2_048);
  return {
    traces,
    metrics,
    sampler: readSampler(get),
    queueSize,
    batchSize: Math.min(wholeNumber(get, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512), queueSize),
    traceInterval: wholeNumber(get, "OTEL_BSP_SCHEDULE_DELAY", 5_000),
    metricInterval: wholeNumber(get, "OTEL_METRIC_EXPORT_INTERVAL", 60_000),
    exportTimeout: wholeNumber(get, "OTEL_EXPORTER_OTLP_TIMEOUT", 3_000),
  };
}

const SAMPLERS = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
];

function readSampler(get: (name: string) => string): SamplerSettings {
  const name = get("OTEL_TRACES_SAMPLER") || "parentbased_always_on";
  if (!SAMPLERS.includes(name))
    throw new OtlpSettingError(`OTEL_TRACES_SAMPLER: must be one of ${SAMPLERS.join(", ")}`);
  const isParentBased = name.startsWith("parentbased_");
  if (!name.endsWith("traceidratio"))
    return { isParentBased, share: name.endsWith("always_on") ? 1 : 0 };
  const share = Number(get("OTEL_TRACES_SAMPLER_ARG") || "1");
  if (!(share >= 0 && share <= 1))
    throw new OtlpSettingError("OTEL_TRACES_SAMPLER_ARG: must be a number from 0 to 1");
  return { isParentBased, share };
}

function wholeNumber(get: (name: string) => string, name: string, preset: number): number {
  const text = get(name);
  if (text === "") return preset;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new OtlpSettingError(`${name}: must be a whole number above 0`);
  return value;
}
