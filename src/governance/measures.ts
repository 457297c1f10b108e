import { FAILURE_KINDS, type FailureKind } from "../canon/failure.ts";
import type { Terminal } from "../evidence/record.ts";
import type { Cell, Latency } from "./cell.ts";
import type { QuantileSketch } from "./quantile-sketch.ts";

/** What shadow revisions said. Requests, except in groups by constraint or reason: verdicts there. */
export interface ShadowMeasures {
  /** How many were judged by a shadow revision: what the other numbers are parts of. */
  readonly judged: number;
  readonly would_deny: number;
  /** The part of `would_deny` that was let through: what promoting would break. */
  readonly newly_denied: number;
  readonly would_narrow: number;
  /** The policy could not be evaluated, or did not say. */
  readonly indeterminate: number;
}

/** Milliseconds, each within the summary's `relative_error`; `null` where nothing was measured. */
export interface Percentiles {
  /** How many were measured. */
  readonly count: number;
  readonly p50: number | null;
  readonly p90: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

/** Of the requests that have ended. */
export interface EndMeasures {
  readonly terminals: Readonly<Record<Terminal, number>>;
  /** Requests for which more than one endpoint was tried. */
  readonly fallbacks: number;
  readonly attempts: { readonly total: number; readonly failed: Readonly<Partial<Record<FailureKind, number>>> };
  readonly tokens: {
    readonly input: number;
    readonly output: number;
    readonly cache_read: number;
    readonly reasoning: number;
    /** Requests whose provider said how many; the sums are of these. */
    readonly counted_requests: number;
  };
  /** Of requests that were let through. */
  readonly latency_ms: Readonly<Record<Latency, Percentiles>>;
}

/** Numbers of a set of requests; `null` where they are not kept for the grouping. */
export interface Measures {
  readonly requests: number;
  /** Decided and not ended. */
  readonly running: number | null;
  readonly allowed: number;
  /** Answered by the router itself: catalogue, simulation, control. */
  readonly answered: number;
  /** By a policy, or by what the table approves. */
  readonly denied: number;
  /** Before there was a decision: no key, a malformed request. */
  readonly refused: number;
  readonly shadow: ShadowMeasures | null;
  readonly ended: EndMeasures | null;
}

/** Of a cell in which each request counts. */
export function requestMeasures(cell: Cell): Measures {
  return {
    ...decisionMeasures(cell),
    running: Math.max(0, cell.get("requests") - cell.get("ended")),
    shadow: shadowMeasures(cell, cell.get("judged")),
    ended: endMeasures(cell),
  };
}

/** Of a place: requests are counted where they ended, attempts where they were made. */
export function endpointMeasures(cell: Cell): Measures {
  return { ...decisionMeasures(cell), running: null, shadow: null, ended: endMeasures(cell) };
}

/** Of a verdict: denials and refusals only. */
export function verdictMeasures(cell: Cell, shadow: ShadowMeasures): Measures {
  return { ...decisionMeasures(cell), running: null, shadow, ended: null };
}

export function shadowMeasures(cell: Cell, judged: number): ShadowMeasures {
  return {
    judged,
    would_deny: cell.get("would_deny"),
    newly_denied: cell.get("newly_denied"),
    would_narrow: cell.get("would_narrow"),
    indeterminate: cell.get("indeterminate"),
  };
}

function decisionMeasures(cell: Cell): Pick<Measures, "requests" | "allowed" | "answered" | "denied" | "refused"> {
  return {
    requests: cell.get("requests"),
    allowed: cell.get("allowed"),
    answered: cell.get("answered"),
    denied: cell.get("denied"),
    refused: cell.get("refused"),
  };
}

function endMeasures(cell: Cell): EndMeasures {
  const failed: Partial<Record<FailureKind, number>> = {};
  for (const kind of FAILURE_KINDS) {
    const count = cell.get(`failure.${kind}`);
    if (count > 0) failed[kind] = count;
  }
  const terminal = (name: Terminal): number => cell.get(`terminal.${name}`);
  return {
    terminals: {
      completed: terminal("completed"),
      incomplete: terminal("incomplete"),
      failed: terminal("failed"),
      denied: terminal("denied"),
      refused: terminal("refused"),
      client_closed: terminal("client_closed"),
      unknown: terminal("unknown"),
    },
    fallbacks: cell.get("fell_back"),
    attempts: { total: cell.get("attempts"), failed },
    tokens: {
      input: cell.get("input_tokens"),
      output: cell.get("output_tokens"),
      cache_read: cell.get("cache_read_tokens"),
      reasoning: cell.get("reasoning_tokens"),
      counted_requests: cell.get("metered"),
    },
    latency_ms: {
      total: percentiles(cell.latencies("total")),
      first_byte: percentiles(cell.latencies("first_byte")),
      router: percentiles(cell.latencies("router")),
    },
  };
}

function percentiles(sketch: QuantileSketch): Percentiles {
  const at = (share: number): number | null => {
    const value = sketch.quantile(share);
    return value === null ? null : Math.round(value * 1_000) / 1_000;
  };
  return { count: sketch.count, p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99) };
}
