import { FINISH_REASONS, type Behaviour, type FaultKind, type Moment } from "./behaviour.ts";

export type Change = Partial<Behaviour>;

/** The effect of a setting on a behaviour. */
export interface Setting {
  /** How the setting is written, for error messages, `--help` and the documentation. */
  readonly form: string;
  readonly meaning: string;
  /** What the form does not state, for error messages. */
  readonly detail?: string;
  /** `null` where the value (itself `null` when there was no `=`) is not of the form. */
  read(value: string | null): Change | null;
}

/** Moments at which every fault can come. */
const MOMENTS = "after-headers, after-N, before-finish, before-done or end";

/** Every setting, in the order of the documentation. */
export const SETTINGS: ReadonlyMap<string, Setting> = new Map<string, Setting>([
  duration("delay", "wait before the headers", (delay) => ({ delay })),
  duration(
    "first-byte",
    "wait between the headers and the first byte of the body",
    (firstByte) => ({ firstByte }),
  ),
  duration("chunk-delay", "wait between two events of a stream", (chunkDelay) => ({ chunkDelay })),
  flag("slow", "the same as first-byte=500ms and chunk-delay=100ms", {
    firstByte: 500,
    chunkDelay: 100,
  }),
  integer(
    "status",
    300,
    599,
    "an error answer with this status; the number alone means the same",
    (status) => ({
      status,
    }),
  ),
  integer(
    "retry-after",
    0,
    86_400,
    "seconds, in the header retry-after; goes with a status",
    (retryAfter) => ({
      retryAfter,
    }),
  ),
  fault("cut", true, "the body ends early, properly terminated in the sense of HTTP"),
  fault("close", true, "the connection closes in the middle of the message"),
  fault("reset", true, "the connection is reset"),
  fault("stall", true, "nothing more is sent, and the connection stays open"),
  fault("malformed", false, "an event (or the body) that is not JSON"),
  fault("duplicate", false, "the event before the moment is sent twice"),
  fault(
    "error-frame",
    false,
    "the protocol's error event; not streamed, an error body with status 200",
  ),
  fault(
    "failed",
    false,
    "the protocol's own ending for an answer that failed, without an error event",
  ),
  flag("refused", "the same as reset=before-headers", {
    fault: { kind: "reset", moment: { at: "before-headers" } },
  }),
  integer("chunks", 1, 10_000, "pieces of text", (chunks) => ({ chunks })),
  ["size", { form: "size=N[B|kB|MB]", meaning: "bytes of text, up to 16MB", read: readSize }],
  flag(
    "unicode",
    "text with characters of two to four bytes, and with line separators that are none in JSON",
    {
      unicode: true,
    },
  ),
  flag("reasoning", "reasoning before the answer", { reasoning: true }),
  flag("redacted", "reasoning before the answer that only the provider can read", {
    reasoning: true,
    redacted: true,
  }),
  integer("tool-calls", 0, 16, "tool calls in one answer; 0 answers in text", (toolCalls) => ({
    toolCalls,
  })),
  flag("refusal", "the model declines", { refusal: true }),
  [
    "finish",
    {
      form: `finish=${FINISH_REASONS.join("|")}`,
      meaning: "the finish reason to report",
      read: readFinish,
    },
  ],
  integer("cached", 0, 1_000_000, "prompt tokens reported as read from a cache", (cached) => ({
    cached,
  })),
  integer(
    "cache-write",
    0,
    1_000_000,
    "prompt tokens reported as written to a cache",
    (cacheWrite) => ({
      cacheWrite,
    }),
  ),
  flag("no-done", "a stream without its last event", { noDone: true }),
  flag("no-finish", "an answer without a finish reason", { noFinish: true }),
  flag("no-usage", "an answer without usage", { noUsage: true }),
  integer(
    "dimensions",
    1,
    16_384,
    "length of vectors where the request does not say",
    (dimensions) => ({
      dimensions,
    }),
  ),
  [
    "categories",
    {
      form: "categories=other",
      meaning: "moderations in the categories of another provider than OpenAI",
      read: (value) => (value === "other" ? { categories: "other" } : null),
    },
  ],
  flag("permute", "results in another order, each with its true index", { permute: true }),
  integer("short", 1, 10_000, "results missing at the end of the list", (short) => ({ short })),
  flag("duplicate-index", "the second result has the index of the first", { duplicateIndex: true }),
  flag("index-out-of-range", "the last result has an index that no input has", {
    indexOutOfRange: true,
  }),
  flag("no-index", "results without their index", { noIndex: true }),
  flag("wrong-dimension", "the last vector is one number shorter", { wrongDimension: true }),
  flag("nan", "no finite number in the first result: 1e999, or NaN in base64", { nan: true }),
  integer(
    "fail-over",
    1,
    10_000,
    "a 400 for every request with more than N inputs",
    (failOver) => ({ failOver }),
  ),
  [
    "poison",
    {
      form: "poison[=N], N from 400 to 599",
      meaning: "an error answer, 500 or N, to every request with the text simulated-poison",
      read: readPoison,
    },
  ],
  flag("gzip", "a compressed body, whatever the request accepts", { gzip: true }),
  [
    "split",
    {
      form: "split[=N], N from 1 to 65536",
      meaning: "bytes per write of the body; without a number cut where parsers break",
      read: readSplit,
    },
  ],
  flag("crlf", "CR LF at the end of a stream's lines", { crlf: true }),
  flag("no-space", "no space after the colon of a stream's fields", { noSpace: true }),
  flag("keepalive", "a comment before every event", { keepalive: true }),
  [
    "content-type",
    {
      form: "content-type=TYPE, such as text/html",
      meaning: "another content type than the right one",
      read: readContentType,
    },
  ],
  flag("require-auth", "401 unless the request carries a key", { requireAuth: true }),
  integer(
    "times",
    1,
    10_000,
    "only for the first N requests that name this model; healthy afterwards",
    (times) => ({
      times,
    }),
  ),
]);

function flag(name: string, meaning: string, change: Change): [string, Setting] {
  return [name, { form: name, meaning, read: (value) => (value === null ? change : null) }];
}

function integer(
  name: string,
  least: number,
  most: number,
  meaning: string,
  set: (value: number) => Change,
): [string, Setting] {
  const read = (text: string | null): Change | null => {
    if (text === null || !/^\d{1,9}$/.test(text)) return null;
    const value = Number(text);
    return value >= least && value <= most ? set(value) : null;
  };
  return [name, { form: `${name}=N, N from ${least} to ${most}`, meaning, read }];
}

/** Longest wait that can be set, milliseconds. */
const LONGEST_WAIT = 600_000;

function duration(
  name: string,
  meaning: string,
  set: (milliseconds: number) => Change,
): [string, Setting] {
  const read = (text: string | null): Change | null => {
    const match = /^(\d{1,6})(ms|s)$/.exec(text ?? "");
    if (match === null) return null;
    const milliseconds = Number(match[1]) * (match[2] === "s" ? 1000 : 1);
    return milliseconds <= LONGEST_WAIT ? set(milliseconds) : null;
  };
  return [name, { form: `${name}=Nms or ${name}=Ns, up to 600s`, meaning, read }];
}

/**
 * @param ofConnection a fault of the connection may also come before the headers, and within an
 * event.
 */
function fault(kind: FaultKind, ofConnection: boolean, meaning: string): [string, Setting] {
  const read = (text: string | null): Change | null => {
    if (text === null) return { fault: { kind, moment: null } };
    const moment = readMoment(text);
    if (
      moment === null ||
      (!ofConnection && (moment.at === "before-headers" || moment.at === "in"))
    )
      return null;
    return { fault: { kind, moment } };
  };
  const moments = ofConnection ? `before-headers, in-N, ${MOMENTS}` : MOMENTS;
  return [kind, { form: `${kind}[=MOMENT]`, meaning, read, detail: `MOMENT being ${moments}` }];
}

function readMoment(text: string): Moment | null {
  if (
    text === "before-headers" ||
    text === "before-finish" ||
    text === "before-done" ||
    text === "end"
  )
    return { at: text };
  if (text === "after-headers") return { at: "after", event: 0 };
  const match = /^(after|in)-(\d{1,5})$/.exec(text);
  const event = Number(match?.[2]);
  if (match?.[1] === "after") return { at: "after", event };
  return match?.[1] === "in" && event > 0 ? { at: "in", event } : null;
}

function readSize(text: string | null): Change | null {
  const match = /^(\d{1,8})(B|kB|MB)?$/.exec(text ?? "");
  if (match === null) return null;
  const size = Number(match[1]) * (match[2] === "MB" ? 1_000_000 : match[2] === "kB" ? 1_000 : 1);
  return size >= 1 && size <= 16_000_000 ? { size } : null;
}

function readSplit(text: string | null): Change | null {
  if (text === null) return { split: "awkward" };
  const split = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return split >= 1 && split <= 65_536 ? { split } : null;
}

function readContentType(text: string | null): Change | null {
  return text !== null && /^[a-z]{1,40}\/[a-z0-9.-]{1,80}$/.test(text)
    ? { contentType: text }
    : null;
}

function readFinish(text: string | null): Change | null {
  const finish = FINISH_REASONS.find((reason) => reason === text);
  return finish === undefined ? null : { finish };
}

function readPoison(text: string | null): Change | null {
  if (text === null) return { poison: 500 };
  const poison = /^\d{3}$/.test(text) ? Number(text) : 0;
  return poison >= 400 && poison <= 599 ? { poison } : null;
}
