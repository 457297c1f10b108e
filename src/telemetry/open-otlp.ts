import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  envDetector,
  detectResources,
  resourceFromAttributes,
  type Resource,
} from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type Sampler,
  type ReadableSpan,
  type Span,
  type SpanExporter,
  type SpanProcessor,
} from "@opentelemetry/sdk-trace";
import type { RequestObserver, BeginTrace } from "../evidence/observer.ts";
import type { OtlpSettings, SamplerSettings } from "./otlp-settings.ts";
import type { Context, Attributes, Meter } from "@opentelemetry/api";
import { endedAt, shares } from "../evidence/record.ts";
import { genAiOperation, spanTraces } from "./span-trace.ts";

/** Exporters over OTLP. */
export interface Otlp {
  /** `null` where no spans are exported. */
  readonly beginTrace: BeginTrace | null;
  readonly observer: RequestObserver | null;
  /** Spans that were dropped. */
  readonly droppedSpans: () => number;
  /** Sends waiting spans, for at most `patience` milliseconds. Never rejects. */
  close(patience: number): Promise<void>;
}

const NAME = "signalbox";

/**
 * Begins to export spans and metrics (OTLP over HTTP, JSON). Addresses, headers and certificates of
 * the exporters come from the process's environment, which the exporters read by themselves. Load
 * this file only where something is exported: it brings the SDK.
 */
export function openOtlp(settings: OtlpSettings, version: string, modelOf: ModelOf): Otlp {
  const resource = resourceFromAttributes({
    "service.name": NAME,
    "service.version": version,
  }).merge(detectResources({ detectors: [envDetector] }));
  const dropped = new DroppedSpans(settings.queueSize);
  const tracing = settings.traces ? openTraces(settings, resource, dropped) : null;
  const metering = settings.metrics ? openMetrics(settings, resource) : null;
  return {
    beginTrace: tracing === null ? null : spanTraces(tracing.getTracer(NAME, version)),
    observer: metering === null ? null : genAiMetrics(metering.getMeter(NAME, version), modelOf),
    droppedSpans: () => dropped.count,
    async close(patience) {
      const ended = Promise.allSettled([tracing?.shutdown(), metering?.shutdown()]);
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, patience).unref())]);
    },
  };
}

function openTraces(
  settings: OtlpSettings,
  resource: Resource,
  dropped: DroppedSpans,
): TracerProvider {
  const processor = new BatchSpanProcessor({
    exporter: countingExporter(
      new OTLPTraceExporter({ timeoutMillis: settings.exportTimeout }),
      dropped,
    ),
    maxQueueSize: settings.queueSize,
    maxExportBatchSize: settings.batchSize,
    scheduledDelayMillis: settings.traceInterval,
    exportTimeoutMillis: settings.exportTimeout,
  });
  return new TracerProvider({
    resource,
    sampler: samplerOf(settings.sampler),
    spanProcessors: [boundedProcessor(processor, dropped)],
  });
}

function openMetrics(settings: OtlpSettings, resource: Resource): MeterProvider {
  const reader = new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter({ timeoutMillis: settings.exportTimeout }),
    exportIntervalMillis: settings.metricInterval,
    exportTimeoutMillis: Math.min(settings.exportTimeout, settings.metricInterval),
  });
  return new MeterProvider({ resource, readers: [reader] });
}

function samplerOf({ isParentBased, share }: SamplerSettings): Sampler {
  const root =
    share === 1
      ? new AlwaysOnSampler()
      : share === 0
        ? new AlwaysOffSampler()
        : new TraceIdRatioBasedSampler(share);
  return isParentBased ? new ParentBasedSampler({ root }) : root;
}

/** Spans that were dropped: the queue was full, or the collector did not take them. */
class DroppedSpans {
  #waiting = 0;
  count = 0;
  readonly #most: number;

  /** @param most spans that wait at once. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Whether a span may join the queue. */
  admit(): boolean {
    if (this.#waiting >= this.#most) {
      this.count += 1;
      return false;
    }
    this.#waiting += 1;
    return true;
  }

  noteSent(count: number): void {
    this.#waiting = Math.max(this.#waiting - count, 0);
  }
}

/**
 * Adds spans to a queue that is not full, and counts the others; the SDK's own queue only writes a
 * line about them.
 */
function boundedProcessor(inner: SpanProcessor, dropped: DroppedSpans): SpanProcessor {
  return {
    onStart: (span: Span, context: Context) => inner.onStart(span, context),
    onEnd: (span: ReadableSpan) => {
      if (dropped.admit()) inner.onEnd(span);
    },
    forceFlush: () => inner.forceFlush(),
    shutdown: () => inner.shutdown(),
  };
}

function countingExporter(inner: SpanExporter, dropped: DroppedSpans): SpanExporter {
  return {
    export: (spans, callback) => {
      dropped.noteSent(spans.length);
      inner.export(spans, (result) => {
        if (result.error !== undefined) dropped.count += spans.length;
        callback(result);
      });
    },
    shutdown: () => inner.shutdown(),
    forceFlush: () => inner.forceFlush?.() ?? Promise.resolve(),
  };
}

/** Bounds of the semantic conventions, seconds. */
const DURATIONS = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];

/** The same of tokens. */
const TOKENS = [
  1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864,
];

/** The provider's name of an endpoint's model; `null` for an endpoint that is not in the table. */
type ModelOf = (endpointId: string) => string | null;

/** The metrics of the GenAI semantic conventions for a client of providers, from the evidence. */
function genAiMetrics(meter: Meter, modelOf: ModelOf): RequestObserver {
  const duration = meter.createHistogram("gen_ai.client.operation.duration", {
    unit: "s",
    description: "Duration of one call to a provider.",
    advice: { explicitBucketBoundaries: DURATIONS },
  });
  const usage = meter.createHistogram("gen_ai.client.token.usage", {
    unit: "{token}",
    description: "Tokens of a request, as the provider counted them.",
    advice: { explicitBucketBoundaries: TOKENS },
  });
  return {
    began: () => {},
    ended: (_, request) => {
      if (request === null) return;
      const { decision, outcome } = request;
      const operation = genAiOperation(decision.operation);
      const attributesOf = (endpoint: string, provider: string): Attributes => {
        const model = modelOf(endpoint);
        return {
          "gen_ai.operation.name": operation,
          "gen_ai.provider.name": provider,
          ...(model === null ? {} : { "gen_ai.request.model": model }),
        };
      };
      for (const { endpoint, provider, failure, duration: milliseconds } of outcome.attempts) {
        const error = failure === null ? {} : { "error.type": failure };
        duration.record(milliseconds / 1_000, { ...attributesOf(endpoint, provider), ...error });
      }
      const ended = endedAt(outcome);
      for (const [type, count] of [
        ["input", outcome.inputTokens],
        ["output", outcome.outputTokens],
      ] as const) {
        if (count === null) continue;
        for (const [index, share] of shares(count, ended).entries()) {
          const attempt = ended[index];
          if (attempt === undefined) continue;
          usage.record(share, {
            ...attributesOf(attempt.endpoint, attempt.provider),
            "gen_ai.token.type": type,
          });
        }
      }
    },
  };
}
