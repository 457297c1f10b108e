/**
 * The behaviour of a simulated answer. Written as settings, either in the header `x-mock`
 * (`cut=after-2; delay=50ms`) or at the end of the model's name (`gpt-5+cut=after-2+delay=50ms`):
 * one grammar for both, documented in docs/mock.md. It is closed: a setting that is not listed here
 * is refused, because a misspelt fault would otherwise make a test pass that tests nothing.
 */
export interface Behaviour {
  /** Milliseconds before the headers. */
  readonly delay: number;
  /** Milliseconds between the headers and the first byte of the body. */
  readonly firstByte: number;
  /** Milliseconds between two events of a stream. */
  readonly chunkDelay: number;
  /** 300 to 599: an error answer instead of a completion. */
  readonly status: number | null;
  /** Seconds, for the header `retry-after` of an error answer. */
  readonly retryAfter: number | null;
  readonly fault: Fault | null;
  /** Pieces of text, each an event of its own when streamed. */
  readonly chunks: number | null;
  /** Bytes of text. */
  readonly size: number | null;
  readonly reasoning: boolean;
  /** Tool calls in one answer; `null` leaves it to the request. */
  readonly toolCalls: number | null;
  /** The model declines, in the protocol's own member for it. */
  readonly refusal: boolean;
  readonly finish: FinishReason | null;
  /** Reasoning that only the provider can read. */
  readonly redacted: boolean;
  /**
   * Text with characters of two, three and four bytes, and with line separators that are none in
   * JSON.
   */
  readonly unicode: boolean;
  /** Prompt tokens reported as read from a cache. */
  readonly cached: number;
  /** Prompt tokens reported as written to a cache. */
  readonly cacheWrite: number;
  readonly noDone: boolean;
  readonly noFinish: boolean;
  readonly noUsage: boolean;
  readonly gzip: boolean;
  /**
   * Bytes per write of the body; `awkward` cuts where parsers break; `null` writes an event at a
   * time.
   */
  readonly split: number | "awkward" | null;
  readonly crlf: boolean;
  /** `data:x` instead of `data: x`. */
  readonly noSpace: boolean;
  /** A comment before every event. */
  readonly keepalive: boolean;
  /** The header `content-type` of the answer; `null` leaves the right one. */
  readonly contentType: string | null;
  readonly requireAuth: boolean;
  /**
   * Only the first so many requests for the model are answered like this; `null` for all of them.
   */
  readonly times: number | null;
  /** Length of vectors where the request gives none. */
  readonly dimensions: number | null;
  /** Moderations in the categories of a provider that is not OpenAI. */
  readonly categories: "other" | null;
  /** Results in another order than they should have, each with its true index. */
  readonly permute: boolean;
  /** Results that are missing at the end of the list. */
  readonly short: number;
  /** The second result has the index of the first. */
  readonly duplicateIndex: boolean;
  /** The last result has an index that no input has. */
  readonly indexOutOfRange: boolean;
  readonly noIndex: boolean;
  /** The last vector is one number shorter than the others. */
  readonly wrongDimension: boolean;
  /** The first result holds something that is no finite number. */
  readonly nan: boolean;
  /** Most inputs that a request may have; more get a 400. */
  readonly failOver: number | null;
  /** 400 to 599: the status of the answer to requests that hold {@link POISON}. */
  readonly poison: number | null;
}

/**
 * Members about lists of results: embeddings, rankings, moderations. An endpoint has no form for
 * them unless it declares one, because most endpoints answer in text.
 */
export const RESULT_MEMBERS = [
  "dimensions",
  "categories",
  "permute",
  "short",
  "duplicateIndex",
  "indexOutOfRange",
  "noIndex",
  "wrongDimension",
  "nan",
  "failOver",
  "poison",
] as const satisfies readonly (keyof Behaviour)[];
export type ResultMember = (typeof RESULT_MEMBERS)[number];

/** Requests that contain this text fail where `poison` is set. */
export const POISON = "simulated-poison";

/**
 * `unknown` is a value that no protocol has. A protocol without a value for a reason refuses to end
 * with it.
 */
export const FINISH_REASONS = [
  "stop",
  "length",
  "tool_calls",
  "content_filter",
  "pause",
  "context_window",
  "unknown",
] as const;
export type FinishReason = (typeof FINISH_REASONS)[number];

/**
 * `cut`: the body ends early, but properly in the sense of HTTP. `close`: the connection is closed
 * (FIN) in the middle of the message. `reset`: the same with RST. `stall`: silence on an open
 * connection. `malformed`: something that is not JSON. `duplicate`: the last event before the
 * moment, once more. `error-frame`: the protocol's error event; in an answer that is not streamed,
 * an error body with status 200. `failed`: the protocol's ending for answers that failed, without
 * an error event.
 */
export const FAULT_KINDS = [
  "cut",
  "close",
  "reset",
  "stall",
  "malformed",
  "duplicate",
  "error-frame",
  "failed",
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/**
 * When a fault happens. Events of any kind are counted from 1; an answer that is not streamed is
 * one event.
 */
export type Moment =
  | { readonly at: "before-headers" | "before-finish" | "before-done" | "end" }
  | { readonly at: "after" | "in"; readonly event: number };

export interface Fault {
  readonly kind: FaultKind;
  /** `null`: after the second event of a stream, in the middle of any other answer. */
  readonly moment: Moment | null;
}

/** The answer of a healthy provider. */
export const PLAIN: Behaviour = Object.freeze({
  delay: 0,
  firstByte: 0,
  chunkDelay: 0,
  status: null,
  retryAfter: null,
  fault: null,
  chunks: null,
  size: null,
  reasoning: false,
  toolCalls: null,
  refusal: false,
  finish: null,
  redacted: false,
  unicode: false,
  cached: 0,
  cacheWrite: 0,
  noDone: false,
  noFinish: false,
  noUsage: false,
  gzip: false,
  split: null,
  crlf: false,
  noSpace: false,
  keepalive: false,
  contentType: null,
  requireAuth: false,
  times: null,
  dimensions: null,
  categories: null,
  permute: false,
  short: 0,
  duplicateIndex: false,
  indexOutOfRange: false,
  noIndex: false,
  wrongDimension: false,
  nan: false,
  failOver: null,
  poison: null,
});

/**
 * The behaviour once its `times` are used up. What kind of model it is does not change: vectors of
 * two lengths could not be compared.
 */
export function healed({ dimensions, categories }: Behaviour): Behaviour {
  return dimensions === null && categories === null ? PLAIN : { ...PLAIN, dimensions, categories };
}
