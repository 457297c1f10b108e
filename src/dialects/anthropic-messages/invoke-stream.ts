import type { ServiceError } from "../../canon/error.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import type { TokenUsage } from "../../canon/generate/event.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { type Frame, FrameReader } from "../bedrock-converse/event-stream-frames.ts";
import { readException } from "../bedrock-converse/read-error.ts";
import type { AnswerStream, Ending } from "../dialect.ts";
import { parseAnswerBytes, parseExactJsonText, textOf } from "../json.ts";
import { answerFailure } from "../answer-failure.ts";
import { formatSseEvent, MAXIMUM_EVENT_BYTES } from "../sse.ts";
import { base64ToText } from "../../canon/json/text-base64.ts";

/**
 * Beginning of the members that the cloud adds to answers and events: measurements, and what its
 * guardrails did and why.
 */
const PREFIX = "amazon-bedrock-";

/** Says that a guardrail has replaced the model's text, or the prompt, by its own. */
const ACTION = `${PREFIX}guardrailAction`;
const INTERVENED = "INTERVENED";

/** The protocol's stop reason for a withheld answer. */
const WITHHELD = "refusal";

/**
 * Whether an object of JSON may have members that the cloud has added; most have none, and need not
 * be parsed to know that.
 */
function mayBeMarked(text: string): boolean {
  return text.includes(`"${PREFIX}`);
}

/** An object without the cloud's members, and whether they said that a guardrail had stepped in. */
function withoutMarks(marked: JsonObject): {
  readonly plain: JsonObject;
  readonly intervened: boolean;
} {
  // Without a prototype, as in every copy of members that come from outside.
  const plain: Record<string, JsonValue | undefined> = Object.create(null);
  for (const name in marked) if (!name.startsWith(PREFIX)) plain[name] = marked[name];
  return { plain, intervened: marked[ACTION] === INTERVENED };
}

/**
 * The object with the stop reason of answers that were withheld: what a guardrail did must not look
 * like a normal end.
 */
function asWithheld(object: JsonObject): JsonObject {
  return { ...object, stop_reason: WITHHELD };
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** A whole answer without the cloud's members: the bytes themselves where there are none. */
export function plainAnswer(bytes: Uint8Array): Uint8Array {
  const text = decoder.decode(bytes);
  const answer = mayBeMarked(text) ? parseExactJsonText(text) : undefined;
  if (!isJsonObject(answer) || !Object.keys(answer).some((name) => name.startsWith(PREFIX)))
    return bytes;
  const { plain, intervened } = withoutMarks(answer);
  return encoder.encode(JSON.stringify(intervened ? asWithheld(plain) : plain));
}

/** The common event: one line of JSON that begins with the event's name. */
const PLAIN_EVENT = /^\{"type":"([a-z_]+)"[^\r\n]*$/;

/** Names that may stand in the field `event`, which ends with its line. */
const EVENT_NAME = /^[\w.-]+$/;

/**
 * Takes the frames of Bedrock's InvokeModelWithResponseStream off: each holds one event of the
 * messages protocol, which goes to the inner stream as the server-sent event that it would be
 * elsewhere. Broken frames and exceptions are failures here; all else is the inner stream's to
 * judge.
 */
export class InvokeStream implements AnswerStream {
  readonly #inner: AnswerStream;
  readonly #frames = new FrameReader(MAXIMUM_EVENT_BYTES);
  /**
   * The event that says why the answer ended. It waits for the next one, which may say that a
   * guardrail has stepped in.
   */
  #ending: JsonObject | null = null;
  #intervened = false;
  #failure: UpstreamFailure | null = null;

  constructor(inner: AnswerStream) {
    this.#inner = inner;
  }

  get failure(): UpstreamFailure | null {
    return this.#failure ?? this.#inner.failure;
  }

  get hasOutput(): boolean {
    return this.#inner.hasOutput;
  }

  get outputCharacters(): number {
    return this.#inner.outputCharacters;
  }

  get done(): boolean {
    return this.#inner.done;
  }

  get usage(): TokenUsage | null {
    return this.#inner.usage;
  }

  push(chunk: Uint8Array): readonly Uint8Array[] {
    const events: Uint8Array[] = [];
    if (this.failure !== null || this.done) return events;
    for (const frame of this.#frames.push(chunk)) {
      if (this.failure !== null || this.done) break;
      this.#take(frame, events);
    }
    const { fault } = this.#frames;
    if (fault !== null && this.failure === null && !this.done)
      this.#fail(answerFailure(fault), events);
    return events;
  }

  end(): { readonly ending: Ending; readonly events: readonly Uint8Array[] } {
    const released: Uint8Array[] = [];
    this.#release(released);
    const { ending, events } = this.#inner.end();
    if (this.#failure !== null)
      return { ending: { ...ending, failure: this.#failure }, events: [] };
    return { ending, events: [...released, ...events] };
  }

  fail(error: ServiceError): Uint8Array {
    return this.#inner.fail(error);
  }

  #take({ headers, payload }: Frame, events: Uint8Array[]): void {
    const kind = headers.get(":message-type");
    const body = parseAnswerBytes(payload);
    if (kind === "exception")
      return this.#fail(readException(headers.get(":exception-type"), body), events);
    if (kind === "error")
      return this.#fail(readException(headers.get(":error-code"), body), events);
    if (kind !== "event") return this.#fail(answerFailure("malformed"), events);
    // Events of other names say nothing of the answer.
    if (headers.get(":event-type") !== "chunk") return;
    const bytes = isJsonObject(body) ? body["bytes"] : undefined;
    const text = typeof bytes === "string" ? base64ToText(bytes) : null;
    if (text === null) return this.#fail(answerFailure("malformed"), events);
    this.#pass(text, events);
  }

  /** Gives one event of the protocol to the inner stream. */
  #pass(text: string, events: Uint8Array[]): void {
    const name = mayBeMarked(text) ? undefined : PLAIN_EVENT.exec(text)?.[1];
    if (name !== undefined && name !== "message_delta") {
      this.#release(events);
      return this.#give(text, name, events);
    }
    const event = parseExactJsonText(text);
    if (!isJsonObject(event)) return this.#fail(answerFailure("malformed"), events);
    const { plain, intervened } = withoutMarks(event);
    this.#intervened ||= intervened;
    this.#release(events);
    if (textOf(plain["type"]) === "message_delta") this.#ending = plain;
    else this.#giveObject(plain, events);
  }

  /** Lets the event go that waits. */
  #release(events: Uint8Array[]): void {
    const ending = this.#ending;
    if (ending === null) return;
    this.#ending = null;
    const { delta } = ending;
    const withheld =
      this.#intervened && isJsonObject(delta) && typeof delta["stop_reason"] === "string";
    this.#giveObject(withheld ? { ...ending, delta: asWithheld(delta) } : ending, events);
  }

  #giveObject(event: JsonObject, events: Uint8Array[]): void {
    const name = textOf(event["type"]);
    this.#give(JSON.stringify(event), EVENT_NAME.test(name) ? name : null, events);
  }

  #give(data: string, name: string | null, events: Uint8Array[]): void {
    for (const event of this.#inner.push(formatSseEvent(data, name))) events.push(event);
  }

  /**
   * What the provider has said of the answer's end still counts, though the answer is not whole.
   */
  #fail(failure: UpstreamFailure, events: Uint8Array[]): void {
    this.#release(events);
    this.#failure = this.#inner.failure ?? failure;
  }
}
