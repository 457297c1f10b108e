import { parseTraceContext, type TraceContext, formatTraceContext } from "./trace-context.ts";
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
  type Tracer,
} from "@opentelemetry/api";
import type { CallTrace, CallTraceEnd } from "../canon/call-trace.ts";
import type { Candidate } from "../canon/decision.ts";
import type { ProviderRow } from "../canon/table.ts";
import type { BeginTrace, EndedRequest, RequestTrace, TraceHeaders } from "../evidence/observer.ts";
import {
  asIdentifier,
  endedAt,
  namesOf,
  type DecisionRecord,
  type Identifier,
  type OutcomeRecord,
} from "../evidence/record.ts";

/**
 * `gen_ai.operation.name` of the semantic conventions where they define a value, otherwise ours.
 */
const GEN_AI_OPERATIONS: Readonly<Partial<Record<DecisionRecord["operation"], string>>> = {
  "chat.completions": "chat",
  responses: "chat",
  messages: "chat",
  completions: "text_completion",
  embeddings: "embeddings",
};

export function genAiOperation(operation: DecisionRecord["operation"]): string {
  return GEN_AI_OPERATIONS[operation] ?? operation;
}

/**
 * Of the span of a whole request. Ids, enums and numbers; the conventions' attributes for content
 * are never set.
 */
export function requestAttributes({ decision, outcome }: EndedRequest): Attributes {
  const ended = endedAt(outcome);
  return {
    "gen_ai.operation.name": genAiOperation(decision.operation),
    "http.response.status_code": outcome.status,
    "signalbox.request_id": decision.requestId,
    "signalbox.terminal": outcome.terminal,
    "signalbox.stream": decision.stream,
    "signalbox.attempts": outcome.attempts.reduce((sum, { calls = 1 }) => sum + calls, 0),
    ...present("signalbox.workspace", decision.workspace),
    ...present("signalbox.route", decision.route),
    ...present("gen_ai.request.model", decision.route),
    ...present("gen_ai.provider.name", namesOf(ended, "provider")),
    ...(ended.length === 0
      ? {}
      : {
          "signalbox.endpoints": ended.map(({ endpoint }) => endpoint),
          "signalbox.regions": [...new Set(ended.map(({ region }) => region))],
        }),
    ...present("error.type", errorType(decision, outcome)),
    ...(outcome.finish === null ? {} : { "gen_ai.response.finish_reasons": [outcome.finish] }),
    ...present("gen_ai.usage.input_tokens", outcome.inputTokens),
    ...present("gen_ai.usage.output_tokens", outcome.outputTokens),
    ...present("gen_ai.usage.cache_read.input_tokens", outcome.cacheReadTokens),
  };
}

/** Of the span of the decision. */
function decisionAttributes({ decision }: EndedRequest): Attributes {
  return {
    "signalbox.outcome": decision.outcome,
    "signalbox.table": decision.tableRevision,
    "signalbox.plan": [...decision.plan],
    "signalbox.would_deny": decision.wouldDeny.length,
    ...present("signalbox.policy", decision.policy),
    ...present("signalbox.policy_revision", decision.policyRevision),
    ...present("signalbox.constraint", decision.constraint),
    ...present("signalbox.reason", decision.reason),
  };
}

/** Of the span of one call, as far as they are known when it begins. */
function callAttributes(
  operation: DecisionRecord["operation"],
  { endpoint }: Candidate,
  provider: ProviderRow,
): Attributes {
  const { hostname, port, protocol } = new URL(provider.baseUrl);
  return {
    "gen_ai.operation.name": genAiOperation(operation),
    "gen_ai.provider.name": provider.id,
    "gen_ai.request.model": endpoint.upstreamModel,
    "server.address": hostname,
    "server.port": port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
    "signalbox.endpoint": endpoint.id,
    "signalbox.region": endpoint.region,
  };
}

function callEndAttributes({ failure, status, finish, usage }: CallTraceEnd): Attributes {
  return {
    ...present("http.response.status_code", status),
    ...present("error.type", failure?.kind ?? null),
    ...(finish === null ? {} : { "gen_ai.response.finish_reasons": [finish] }),
    ...present("gen_ai.usage.input_tokens", usage?.input ?? null),
    ...present("gen_ai.usage.output_tokens", usage?.output ?? null),
    ...present("gen_ai.usage.cache_read.input_tokens", usage?.cacheRead ?? null),
  };
}

/**
 * The value of `error.type`: the reason of a denial or refusal, the last attempt's failure, or how
 * it ended.
 */
function errorType(
  { reason }: DecisionRecord,
  { terminal, attempts }: OutcomeRecord,
): string | null {
  if (terminal === "completed" || terminal === "incomplete") return null;
  return reason ?? attempts.at(-1)?.failure ?? terminal;
}

function present(name: string, value: string | number | null): Attributes {
  return value === null ? {} : { [name]: value };
}

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
      return { headers: this.#headers(this.#span, provider), endCall: () => {} };
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
      endCall: (end: CallTraceEnd) => {
        span.setAttributes(callEndAttributes(end));
        if (end.failure !== null) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end(now());
      },
    };
  };

  endRequest(request: EndedRequest): void {
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
    const isServerError = outcome.status >= 500 || outcome.terminal === "failed";
    if (isServerError && errorType(decision, outcome) !== null)
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
function now() {
  return performance.timeOrigin + performance.now();
}
