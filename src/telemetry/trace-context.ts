import type { CallTrace } from "../canon/call-trace.ts";
import { asIdentifier } from "../evidence/record.ts";
import type { BeginTrace, RequestTrace, TraceHeaders } from "../evidence/observer.ts";

/** The position of a request in a trace, by W3C Trace Context. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** The caller's span: 16 hexadecimal digits. */
  readonly spanId: string;
  readonly isSampled: boolean;
  /** State of tracing vendors; at most 512 characters. Passed on, never stored. */
  readonly state: string | null;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Longest header that is read; one of a later version may be longer than today's 55 characters. */
const LONGEST_PARENT = 512;

/**
 * Characters that every party is to give on (W3C Trace Context, §3.3.1.5); a longer one is left out
 * whole.
 */
const LONGEST_STATE = 512;

const MOST_MEMBERS = 32;

const KEY = /^(?:[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})$/;
const VALUE = /^[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/**
 * Reads the client's headers; `null` where there is no trace, or none that can be trusted to be
 * one.
 */
export function parseTraceContext({ traceparent, tracestate }: TraceHeaders): TraceContext | null {
  if (typeof traceparent !== "string" || traceparent.length > LONGEST_PARENT) return null;
  const [, version, traceId = "", spanId = "", flags = "", more] =
    TRACEPARENT.exec(traceparent.trim()) ?? [];
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined))
    return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return {
    traceId,
    spanId,
    isSampled: (Number.parseInt(flags, 16) & 1) === 1,
    state: parseState(tracestate),
  };
}

/** The headers of a call that `spanId` makes; names and values by turns. */
export function formatTraceContext({
  traceId,
  spanId,
  isSampled,
  state,
}: TraceContext): readonly string[] {
  const parent = ["traceparent", `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`];
  return state === null ? parent : [...parent, "tracestate", state];
}

function parseState(header: TraceHeaders["tracestate"]): string | null {
  const text = typeof header === "string" ? header : (header?.join(",") ?? "");
  if (text.length > LONGEST_STATE) return null;
  const members = text
    .split(",")
    .map((member) => member.trim())
    .filter((member) => member !== "");
  if (members.length === 0 || members.length > MOST_MEMBERS) return null;
  const keys = new Set<string>();
  for (const member of members) {
    const equals = member.indexOf("=");
    const key = member.slice(0, equals);
    if (equals < 1 || !KEY.test(key) || !VALUE.test(member.slice(equals + 1)) || keys.has(key))
      return null;
    keys.add(key);
  }
  return members.join(",");
}

const SILENT: CallTrace = { headers: [], endCall: () => {} };

const NO_TRACE: RequestTrace = { traceId: null, call: () => SILENT, endRequest: () => {} };

/**
 * For a router that traces nothing itself: the client's trace headers go unchanged to providers
 * whose row requests them.
 */
export const passTraceOn: BeginTrace = (_, headers) => {
  if (headers.traceparent === undefined) return NO_TRACE;
  const context = parseTraceContext(headers);
  if (context === null) return NO_TRACE;
  const callTrace: CallTrace = { headers: formatTraceContext(context), endCall: () => {} };
  return {
    traceId: asIdentifier(context.traceId),
    call: (_candidate, provider) => (provider.traceContext === true ? callTrace : SILENT),
    endRequest: () => {},
  };
};
