import type { CallTrace } from "../../canon/call-trace.ts";
import { asIdentifier } from "../../evidence/record.ts";
import type { BeginTrace, RequestTrace } from "../../evidence/observer.ts";
import { formatTraceContext, parseTraceContext } from "./trace-context.ts";

const SILENT: CallTrace = { headers: [], end: () => {} };

const NO_TRACE: RequestTrace = { traceId: null, call: () => SILENT, end: () => {} };

/** For a router that traces nothing itself: the client's trace headers go unchanged to providers whose row requests them. */
export const passTraceOn: BeginTrace = (_, headers) => {
  if (headers.traceparent === undefined) return NO_TRACE;
  const context = parseTraceContext(headers);
  if (context === null) return NO_TRACE;
  const passed: CallTrace = { headers: formatTraceContext(context), end: () => {} };
  return {
    traceId: asIdentifier(context.traceId),
    call: (_candidate, provider) => (provider.traceContext === true ? passed : SILENT),
    end: () => {},
  };
};
