import type { Context } from "@opentelemetry/api";
import type { ReadableSpan, Span, SpanExporter, SpanProcessor } from "@opentelemetry/sdk-trace";

/** Spans that were dropped: the queue was full, or the collector did not take them. */
export class DroppedSpans {
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

  sent(count: number): void {
    this.#waiting = Math.max(this.#waiting - count, 0);
  }
}

/** Adds spans to a queue that is not full, and counts the others; the SDK's own queue only writes a line about them. */
export function boundedProcessor(inner: SpanProcessor, dropped: DroppedSpans): SpanProcessor {
  return {
    onStart: (span: Span, context: Context) => inner.onStart(span, context),
    onEnd: (span: ReadableSpan) => {
      if (dropped.admit()) inner.onEnd(span);
    },
    forceFlush: () => inner.forceFlush(),
    shutdown: () => inner.shutdown(),
  };
}

export function countingExporter(inner: SpanExporter, dropped: DroppedSpans): SpanExporter {
  return {
    export: (spans, done) => {
      dropped.sent(spans.length);
      inner.export(spans, (result) => {
        if (result.error !== undefined) dropped.count += spans.length;
        done(result);
      });
    },
    shutdown: () => inner.shutdown(),
    forceFlush: () => inner.forceFlush?.() ?? Promise.resolve(),
  };
}
