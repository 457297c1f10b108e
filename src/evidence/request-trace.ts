import type { CallTracer } from "../canon/call-trace.ts";
import type { EndedRequest } from "./observer.ts";
import type { DecisionRecord } from "./record.ts";
import type { Word } from "./word.ts";

/** One request in a trace. */
export interface RequestTrace {
  /** 32 hexadecimal digits; `null` where there is no trace. */
  readonly traceId: Word | null;
  readonly call: CallTracer;
  /** Once. Not for requests without a record: their trace is forgotten. */
  end(request: EndedRequest): void;
}

/** Headers of the W3C recommendation, as the client sent them. */
export interface TraceHeaders {
  readonly traceparent: string | readonly string[] | undefined;
  readonly tracestate: string | readonly string[] | undefined;
}

/** A request begins. Does not wait, does not throw. */
export type BeginTrace = (operation: DecisionRecord["operation"], headers: TraceHeaders) => RequestTrace;
