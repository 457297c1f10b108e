import type { Behaviour, FaultKind, Moment } from "./behaviour.ts";

/** What an event is for, so that faults can be placed without knowing the protocol. */
export type EventPurpose = "content" | "finish" | "usage" | "done" | "error";

/** One server-sent event. */
export interface StreamEvent {
  /** The field `event`; `null` leaves it out. */
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
}

/** An answer before anything goes wrong with it. */
export type Answer = JsonAnswer | StreamAnswer;

/** Where the connection ends: before the headers, or at piece `index` of the body, before it or in its middle. */
export interface Break {
  readonly how: "cut" | "close" | "reset" | "stall";
  readonly before: "headers" | "piece";
  readonly index: number;
  readonly half: boolean;
}

/** An answer as bytes, in the pieces in which it is written, with the place where it breaks. */
export interface Script extends Head {
  readonly contentType: string;
  readonly pieces: readonly string[];
  readonly break: Break | null;
}

/** An event that no JSON parser takes. */
const MALFORMED = '{"id":"malformed","choices":[{"index":0,"delta":{"content":';

/**
 * Places the behaviour's omissions and its fault into an answer.
 *
 * @param failure the protocol's error event and what follows it.
 * @returns the script; or one sentence when the fault's moment never comes in this answer, because a fault that does not happen
 *   would let a test pass that tests nothing.
 */
export function scriptOf(
  answer: Answer,
  behaviour: Behaviour,
  failure: readonly StreamEvent[],
): Script | { readonly problem: string } {
  const { fault } = behaviour;
  const head = { status: answer.status, headers: answer.headers };
  const events =
    answer.kind === "stream" ? answer.events.filter((event) => isKept(event, behaviour)) : [bodyEvent(answer)];
  const place = fault === null ? null : placeOf(fault.moment ?? usualMoment(answer), events);
  if (fault !== null && place === null) {
    return {
      problem: `mock: the moment of "${fault.kind}" never comes: this answer has ${events.length} event(s), ${answer.kind === "stream" ? "streamed" : "not streamed"}; choose another moment, or chunks=N`,
    };
  }
  const ending = failure.filter((event) => isKept(event, behaviour));
  const content =
    place === null || fault === null ? events : withContentFault(events, fault.kind, place.index, ending, answer.kind);
  return {
    ...head,
    contentType: answer.kind === "stream" ? "text/event-stream; charset=utf-8" : "application/json",
    pieces:
      answer.kind === "stream" ? content.map((event) => frame(event, behaviour)) : content.map((event) => event.data),
    break:
      fault === null || place === null || fault.kind === "malformed" || fault.kind === "error-frame"
        ? null
        : { how: fault.kind, ...place },
  };
}

function isKept(event: StreamEvent, behaviour: Behaviour): boolean {
  if (event.purpose === "done") return !behaviour.noDone;
  if (event.purpose === "finish") return !behaviour.noFinish;
  return event.purpose !== "usage" || !behaviour.noUsage;
}

function bodyEvent(answer: JsonAnswer): StreamEvent {
  return { name: null, data: answer.body, purpose: "content" };
}

function usualMoment(answer: Answer): Moment {
  return answer.kind === "stream" ? { at: "after", event: 2 } : { at: "in", event: 1 };
}

type Place = Pick<Break, "before" | "index" | "half">;

function placeOf(moment: Moment, events: readonly StreamEvent[]): Place | null {
  switch (moment.at) {
    case "before-headers":
      return { before: "headers", index: 0, half: false };
    case "after":
      return moment.event <= events.length ? { before: "piece", index: moment.event, half: false } : null;
    case "in":
      return moment.event <= events.length ? { before: "piece", index: moment.event - 1, half: true } : null;
    case "before-finish":
    case "before-done": {
      const purpose = moment.at === "before-finish" ? "finish" : "done";
      const index = events.findIndex((event) => event.purpose === purpose);
      return index === -1 ? null : { before: "piece", index, half: false };
    }
    case "end":
      return { before: "piece", index: events.length, half: false };
  }
}

function withContentFault(
  events: readonly StreamEvent[],
  kind: FaultKind,
  index: number,
  failure: readonly StreamEvent[],
  answered: Answer["kind"],
): readonly StreamEvent[] {
  if (kind === "malformed") {
    const malformed: StreamEvent = { name: null, data: MALFORMED, purpose: "content" };
    return answered === "json" ? [malformed] : [...events.slice(0, index), malformed, ...events.slice(index)];
  }
  if (kind === "error-frame")
    return answered === "json" ? failure.slice(0, 1) : [...events.slice(0, index), ...failure];
  return events;
}

function frame(event: StreamEvent, behaviour: Behaviour): string {
  const end = behaviour.crlf ? "\r\n" : "\n";
  const colon = behaviour.noSpace ? ":" : ": ";
  const comment = behaviour.keepalive ? `: keepalive${end}${end}` : "";
  const name = event.name === null ? "" : `event${colon}${event.name}${end}`;
  return `${comment}${name}data${colon}${event.data}${end}${end}`;
}
