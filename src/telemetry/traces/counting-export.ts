import type { Context } from "@opentelemetry/api";
import type { ReadableSpan, Span, SpanExporter, SpanProcessor } from "@opentelemetry/sdk-trace";

/** Spans that were dropped: the queue was full, or the collector did not take them. */
export class SpanLosses {
  #waiting = 0;
  lost = 0;
  readonly #most: number;

  /** @param most spans that wait at once. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Whether a span may join the queue. */
  admit(): boolean {
    if (this.#waiting >= this.#most) {
      this.lost += 1;
      return false;
    }
    this.#waiting += 1;
    return true;
  }

  sent(count: number): void {
    this.#waiting = Math.max(this.#waiting - count, 0);
  }
}

/** Lets spans into a queue as long as there is room, and counts the others; the SDK's own queue only writes a line about it. */
export function boundedProcessor(inner: SpanProcessor, losses: SpanLosses): SpanProcessor {
  return {
    onStart: (span: Span, context: Context) => inner.onStart(span, context),
    onEnd: (span: ReadableSpan) => {
      if (losses.admit()) inner.onEnd(span);
    },
    forceFlush: () => inner.forceFlush(),
    shutdown: () => inner.shutdown(),
  };
}

export function countingExporter(inner: SpanExporter, losses: SpanLosses): SpanExporter {
  return {
    export: (spans, done) => {
      losses.sent(spans.length);
      inner.export(spans, (result) => {
        if (result.error !== undefined) losses.lost += spans.length;
        done(result);
      });
    },
    shutdown: () => inner.shutdown(),
    forceFlush: () => inner.forceFlush?.() ?? Promise.resolve(),
  };
}
