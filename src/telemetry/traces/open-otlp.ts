import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { envDetector, detectResources, resourceFromAttributes, type Resource } from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type Sampler,
} from "@opentelemetry/sdk-trace";
import type { RequestObserver, BeginTrace } from "../../evidence/observer.ts";
import { boundedProcessor, countingExporter, DroppedSpans } from "./counting-export.ts";
import { genAiMetrics, type ModelOf } from "./gen-ai-metrics.ts";
import type { OtlpSettings, SamplerSettings } from "./settings.ts";
import { spanTraces } from "./span-trace.ts";

/** What goes out over OTLP. */
export interface Otlp {
  /** `null` where no spans are exported. */
  readonly beginTrace: BeginTrace | null;
  readonly observer: RequestObserver | null;
  /** Spans that were dropped. */
  readonly droppedSpans: () => number;
  /** Sends what waits, for at most `patience` milliseconds. Never rejects. */
  close(patience: number): Promise<void>;
}

const NAME = "signalbox";

/**
 * Begins to export spans and metrics (OTLP over HTTP, JSON). Addresses, headers and certificates of the exporters come from the process's environment, which
 * the exporters read by themselves. Load this file only where something is exported: it brings the SDK.
 */
export function openOtlp(settings: OtlpSettings, version: string, modelOf: ModelOf): Otlp {
  const resource = resourceFromAttributes({ "service.name": NAME, "service.version": version }).merge(
    detectResources({ detectors: [envDetector] }),
  );
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

function openTraces(settings: OtlpSettings, resource: Resource, dropped: DroppedSpans): TracerProvider {
  const processor = new BatchSpanProcessor({
    exporter: countingExporter(new OTLPTraceExporter({ timeoutMillis: settings.exportTimeout }), dropped),
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
    share === 1 ? new AlwaysOnSampler() : share === 0 ? new AlwaysOffSampler() : new TraceIdRatioBasedSampler(share);
  return isParentBased ? new ParentBasedSampler({ root }) : root;
}
