import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type Span,
  type Tracer,
} from "@opentelemetry/api";
import type { CallTrace, CallTraceEnd } from "../canon/call-trace.ts";
import type { Candidate } from "../canon/decision.ts";
import type { ProviderRow } from "../canon/table.ts";
import type { EndedRequest, BeginTrace, RequestTrace, TraceHeaders } from "../evidence/observer.ts";
import { type DecisionRecord, asIdentifier, type Identifier } from "../evidence/record.ts";
import {
  callAttributes,
  callEndAttributes,
  decisionAttributes,
  errorType,
  genAiOperation,
  requestAttributes,
} from "./span-attributes.ts";
import { formatTraceContext, parseTraceContext, type TraceContext } from "./trace-context.ts";

/** Calls of one request that have a span: a batch may make thousands. */
const MOST_CALLS = 64;

/** Spans of requests, of their decisions and of their calls. */
export function spanTraces(tracer: Tracer): BeginTrace {
  return (operation, headers) => new SpanTrace(tracer, operation, headers);
}

class SpanTrace implements RequestTrace {
  readonly traceId: Identifier;
  readonly #tracer: Tracer;
  readonly #operation: DecisionRecord["operation"];
  readonly #parent: TraceContext | null;
  readonly #span: Span;
  readonly #context: Context;
  readonly #beganAt = now();
  #calls = 0;

  constructor(tracer: Tracer, operation: DecisionRecord["operation"], headers: TraceHeaders) {
    this.#tracer = tracer;
    this.#operation = operation;
    this.#parent = parseTraceContext(headers);
    const above = remoteContext(this.#parent);
    this.#span = tracer.startSpan(
      operation,
      { kind: SpanKind.SERVER, startTime: this.#beganAt },
      above,
    );
    this.#context = trace.setSpan(above, this.#span);
    this.traceId = asIdentifier(this.#span.spanContext().traceId);
  }

  readonly call = (candidate: Candidate, provider: ProviderRow): CallTrace => {
    this.#calls += 1;
    if (this.#calls > MOST_CALLS || !this.#span.isRecording()) {
      return { headers: this.#headers(this.#span, provider), end: () => {} };
    }
    const name = `${genAiOperation(this.#operation)} ${candidate.endpoint.upstreamModel}`;
    const attributes = callAttributes(this.#operation, candidate, provider);
    const span = this.#tracer.startSpan(
      name,
      { kind: SpanKind.CLIENT, attributes, startTime: now() },
      this.#context,
    );
    return {
      headers: this.#headers(span, provider),
      end: (end: CallTraceEnd) => {
        span.setAttributes(callEndAttributes(end));
        if (end.failure !== null) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end(now());
      },
    };
  };

  end(request: EndedRequest): void {
    if (!this.#span.isRecording()) return;
    const { decision, outcome } = request;
    const decide = this.#tracer.startSpan(
      "decide",
      {
        kind: SpanKind.INTERNAL,
        startTime: this.#beganAt,
        attributes: decisionAttributes(request),
      },
      this.#context,
    );
    decide.end(this.#beganAt + outcome.router);
    if (decision.route !== null) this.#span.updateName(`${decision.operation} ${decision.route}`);
    this.#span.setAttributes(requestAttributes(request));
    const isOurs = outcome.status >= 500 || outcome.terminal === "failed";
    if (isOurs && errorType(decision, outcome) !== null)
      this.#span.setStatus({ code: SpanStatusCode.ERROR });
    this.#span.end(this.#beganAt + outcome.total);
  }

  #headers(span: Span, provider: ProviderRow): readonly string[] {
    if (provider.traceContext !== true) return [];
    const { traceId, spanId, traceFlags } = span.spanContext();
    const state = this.#parent?.state ?? null;
    return formatTraceContext({ traceId, spanId, isSampled: (traceFlags & 1) === 1, state });
  }
}

/**
 * The caller's position in its trace. Its state is the client's text: it goes to providers that
 * request it, and into no span.
 */
function remoteContext(parent: TraceContext | null): Context {
  if (parent === null) return ROOT_CONTEXT;
  const { traceId, spanId, isSampled } = parent;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: isSampled ? 1 : 0,
    isRemote: true,
  });
}

/** Milliseconds since the epoch, with a fraction. */
function now(): number {
  return performance.timeOrigin + performance.now();
}
