import type { DecisionRecord, OutcomeRecord, Identifier } from "./record.ts";
import type { CallTracer } from "../canon/call-trace.ts";

/** The two records of an ended request, exactly as they were handed to the evidence. */
export interface EndedRequest {
  readonly decision: DecisionRecord;
  readonly outcome: OutcomeRecord;
  /** 32 hexadecimal digits; `null` where the request belongs to no trace. */
  readonly traceId: Identifier | null;
}

/**
 * Observers of every request besides the evidence: metrics, logs, traces. They get the same records
 * as the evidence, so that they cannot disagree with it. Called while a request is served: must not
 * wait or throw.
 */
export interface RequestObserver {
  began(operation: DecisionRecord["operation"]): void;
  /** Once for each `began`. @param request `null`: the endpoint needs no key, and has no record. */
  ended(operation: DecisionRecord["operation"], request: EndedRequest | null): void;
  /** A request without an endpoint, such as an unknown path; it has no record. */
  unrouted?(status: number): void;
}

/** One request in a trace. */
export interface RequestTrace {
  /** 32 hexadecimal digits; `null` where there is no trace. */
  readonly traceId: Identifier | null;
  readonly call: CallTracer;
  /** Once. Not for requests without a record: their trace is forgotten. */
  endRequest(request: EndedRequest): void;
}

/** Headers of the W3C recommendation, as the client sent them. */
export interface TraceHeaders {
  readonly traceparent: string | readonly string[] | undefined;
  readonly tracestate: string | readonly string[] | undefined;
}

/** Called when a request begins. Must not wait or throw. */
export type BeginTrace = (
  operation: DecisionRecord["operation"],
  headers: TraceHeaders,
) => RequestTrace;
