import type { Behaviour, Fault, Moment } from "./behaviour.ts";

/**
 * What an event is for, so that faults can be placed without knowing the protocol. `end` both gives
 * the finish reason and is the last one.
 */
export type EventPurpose = "content" | "finish" | "usage" | "done" | "end" | "error";

/** One event of a stream. */
export interface StreamEvent {
  /** The field `event`; `null` omits it. */
  readonly name: string | null;
  /** One line. */
  readonly data: string;
  readonly purpose: EventPurpose;
}

interface Head {
  readonly status: number;
  /** Besides the content type and length. Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface JsonAnswer extends Head {
  readonly kind: "json";
  readonly body: string;
}

export interface StreamAnswer extends Head {
  readonly kind: "stream";
  readonly events: readonly StreamEvent[];
  /** How events are written where they are no server-sent events. */
  readonly framing?: Framing;
}

/** A way to write events as bytes. */
export interface Framing {
  readonly contentType: string;
  readonly encode: (event: StreamEvent) => Buffer;
}

/** An answer before anything goes wrong with it. */
export type Answer = JsonAnswer | StreamAnswer;

/**
 * Where the connection ends: before the headers, or at piece `index` of the body, before it or in
 * its middle.
 */
export interface Break {
  readonly how: "cut" | "close" | "reset" | "stall";
  readonly before: "headers" | "piece";
  readonly index: number;
  readonly half: boolean;
}

/** An answer as bytes, in the pieces in which it is written, with the position where it breaks. */
export interface Script extends Head {
  readonly contentType: string;
  readonly isStream: boolean;
  /** Text, or bytes where the stream is not one of text. */
  readonly pieces: readonly (string | Buffer)[];
  readonly break: Break | null;
}

/** How an answer fails, and which request it answers. */
export interface Failing {
  readonly failure: FailureGrammar;
  readonly sequence: number;
}

type Unplayable = { readonly problem: string };

/**
 * Puts the behaviour's omissions and its fault into an answer.
 *
 * @returns the script; or one sentence when the fault cannot happen in this answer, because a fault
 *   that does not happen would let a test pass that tests nothing.
 */
export function scriptOf(
  answer: Answer,
  behaviour: Behaviour,
  failing: Failing,
): Script | Unplayable {
  const { fault } = behaviour;
  const events =
    answer.kind === "stream"
      ? answer.events.filter((event) => isKept(event, behaviour))
      : [bodyEvent(answer)];
  const played =
    fault === null ? { events, break: null } : withFault(events, fault, answer, behaviour, failing);
  if ("problem" in played) return played;
  const isStream = answer.kind === "stream";
  const { contentType, encode } = isStream ? (answer.framing ?? serverSent(behaviour)) : JSON_BODY;
  return {
    status: answer.status,
    headers: answer.headers,
    contentType: behaviour.contentType ?? contentType,
    isStream,
    pieces: played.events.map((event) => encode(event)),
    break: played.break,
  };
}

interface Written {
  readonly contentType: string;
  readonly encode: (event: StreamEvent) => string | Buffer;
}

const JSON_BODY: Written = { contentType: "application/json", encode: ({ data }) => data };

function serverSent(behaviour: Behaviour): Written {
  return {
    contentType: "text/event-stream; charset=utf-8",
    encode: (event) => frame(event, behaviour),
  };
}

function isKept({ purpose }: StreamEvent, behaviour: Behaviour): boolean {
  if (purpose === "done") return !behaviour.noDone;
  if (purpose === "finish") return !behaviour.noFinish;
  if (purpose === "end") return !behaviour.noDone && !behaviour.noFinish;
  return purpose !== "usage" || !behaviour.noUsage;
}

function bodyEvent(answer: JsonAnswer): StreamEvent {
  return { name: null, data: answer.body, purpose: "content" };
}

interface Played {
  readonly events: readonly StreamEvent[];
  readonly break: Break | null;
}

function withFault(
  events: readonly StreamEvent[],
  fault: Fault,
  answer: Answer,
  behaviour: Behaviour,
  failing: Failing,
): Played | Unplayable {
  const { kind } = fault;
  const moment: Moment =
    fault.moment ?? (answer.kind === "stream" ? { at: "after", event: 2 } : { at: "in", event: 1 });
  const position = positionOf(moment, events);
  const never = {
    problem: `mock: the moment of "${kind}" never comes: this answer has ${events.length} event(s), ${answer.kind === "stream" ? "streamed" : "not streamed"}; choose another moment, or chunks=N`,
  };
  if (position === null) return never;
  if (kind === "cut" || kind === "close" || kind === "reset" || kind === "stall")
    return { events, break: { how: kind, ...position } };
  const changed =
    answer.kind === "json"
      ? changedBody(answer, kind, failing)
      : changedEvents(events, kind, position.index, behaviour, failing);
  return changed === null ? never : { events: changed, break: null };
}

type ContentFault = Exclude<Fault["kind"], Break["how"]>;

/** `null` where the fault has no form in an answer that is not streamed. */
function changedBody(
  answer: JsonAnswer,
  kind: ContentFault,
  failing: Failing,
): readonly StreamEvent[] | null {
  const { failure, sequence } = failing;
  switch (kind) {
    case "malformed":
      return [failure.malformed];
    case "error-frame":
      return [{ name: null, data: failure.body(sequence), purpose: "error" }];
    case "failed":
      return failure.failed === null || answer.status !== 200
        ? null
        : [{ name: null, data: failure.failed.body(answer.body), purpose: "error" }];
    case "duplicate":
      return null;
  }
}

/** `null` where the fault cannot come at this position. */
function changedEvents(
  events: readonly StreamEvent[],
  kind: ContentFault,
  index: number,
  behaviour: Behaviour,
  failing: Failing,
): readonly StreamEvent[] | null {
  const { failure, sequence } = failing;
  const sent = events.slice(0, index);
  const [last] = sent.slice(-1);
  switch (kind) {
    case "malformed":
      return [...sent, failure.malformed, ...events.slice(index)];
    case "duplicate":
      return last === undefined ? null : [...sent, last, ...events.slice(index)];
    case "error-frame":
      return [
        ...sent,
        ...failure.errorFrame(sent, sequence).filter((event) => isKept(event, behaviour)),
      ];
    case "failed": {
      const ending = failure.failed?.events(sent) ?? null;
      return ending === null ? null : [...sent, ...ending];
    }
  }
}

type BreakPosition = Pick<Break, "before" | "index" | "half">;

function positionOf(moment: Moment, events: readonly StreamEvent[]): BreakPosition | null {
  switch (moment.at) {
    case "before-headers":
      return { before: "headers", index: 0, half: false };
    case "after":
      return moment.event <= events.length
        ? { before: "piece", index: moment.event, half: false }
        : null;
    case "in":
      return moment.event <= events.length
        ? { before: "piece", index: moment.event - 1, half: true }
        : null;
    case "before-finish":
    case "before-done": {
      const wanted = moment.at === "before-finish" ? "finish" : "done";
      const index = events.findIndex(({ purpose }) => purpose === wanted || purpose === "end");
      return index === -1 ? null : { before: "piece", index, half: false };
    }
    case "end":
      return { before: "piece", index: events.length, half: false };
  }
}

function frame(event: StreamEvent, behaviour: Behaviour): string {
  const end = behaviour.crlf ? "\r\n" : "\n";
  const colon = behaviour.noSpace ? ":" : ": ";
  const comment = behaviour.keepalive ? `: keepalive${end}${end}` : "";
  const name = event.name === null ? "" : `event${colon}${event.name}${end}`;
  return `${comment}${name}data${colon}${event.data}${end}${end}`;
}

/** How the answers of a protocol fail after they have begun. */
export interface FailureGrammar {
  /** An event of this protocol that no JSON parser takes. */
  readonly malformed: StreamEvent;
  /** An error as the whole body of an answer with status 200. */
  body(sequence: number): string;
  /** The error event, and what the protocol sends after it. */
  errorFrame(sent: readonly StreamEvent[], sequence: number): readonly StreamEvent[];
  /**
   * An ending that marks the answer as failed, without an error event; `null` where the protocol
   * has none.
   */
  readonly failed: FailedEnding | null;
}

export interface FailedEnding {
  /** `null` where the protocol cannot express it after these events. */
  events(sent: readonly StreamEvent[]): readonly StreamEvent[] | null;
  /** The body of an answer, made one that failed. */
  body(whole: string): string;
}
