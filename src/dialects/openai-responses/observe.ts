import { RelayedStream, outputCharacters } from "../relay.ts";
import type { ServiceError } from "../../canon/error.ts";
import { editSet, SIGNATURES_MARKED, NO_EDITS } from "../../canon/generate/edit.ts";
import {
  mergeUsage,
  parseExactJsonText,
  parseJsonText,
  parseAnswerBytes,
  parseJsonBytes,
} from "../json.ts";
import type { TokenUsage } from "../../canon/generate/event.ts";
import { isJsonObject, type JsonObject } from "../../canon/json.ts";
import type { AnswerContext, AnswerStream, WholeAnswer } from "../dialect.ts";
import { readErrorFrame } from "../openai-chat/read-error.ts";
import { formatSseEvent } from "../sse.ts";
import { DONE, failureObject, printErrorEvent, printFailed, failedObject } from "./resource.ts";
import { terminalOf, terminalStatus, saidIn, wholeTerminal, readUsage } from "./ending.ts";
import {
  EventPositions,
  fillEvent,
  fillItem,
  fillResource,
  isFullEvent,
  isFullResource,
} from "./fill-resource.ts";
import { PartialOutput } from "./partial-output.ts";
import { tagEvent, tagResource } from "./sealed-reasoning.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import { answerFailure } from "../answer-failure.ts";

/** Events that say that an answer is being made, and nothing of it. */
const PRELUDE: ReadonlySet<string> = new Set([
  "response.created",
  "response.queued",
  "response.in_progress",
]);
const TERMINALS: ReadonlySet<string> = new Set([
  "response.completed",
  "response.incomplete",
  "response.failed",
]);

/** Members of an event in which something is said, beside its item. */
const SAID = [
  "delta",
  "text",
  "refusal",
  "arguments",
  "input",
  "code",
  "command",
  "diff",
  "output",
  "part",
  "annotation",
  "partial_image_b64",
] as const;

/** The same for an item that begins. Reasoning begins with a seal that says nothing yet. */
const SAID_AT_FIRST = [
  "content",
  "summary",
  "name",
  "arguments",
  "input",
  "code",
  "action",
  "operation",
  "queries",
  "results",
  "result",
  "output",
  "outputs",
  "tools",
] as const;

/** The same for an item that is done. */
const SAID_AT_LAST = [...SAID_AT_FIRST, "encrypted_content"] as const;

/**
 * Observes a relayed responses stream (docs/protocols.md#responses). Events go through byte for
 * byte, except resources, items and texts that lack members which the surface promises, and
 * encrypted reasoning, which gets the tag of its family. The stream has succeeded when its terminal
 * event has come; `[DONE]` follows in any case, because clients of Open Responses wait for it and
 * OpenAI does not send it.
 */
class ResponsesStreamObserver extends RelayedStream {
  readonly #context: AnswerContext;
  readonly #output = new PartialOutput();
  readonly #positions = new EventPositions();
  /** An event of the answer has been given: what ends it must be one too. */
  #begun = false;
  /** The resource of the last lifecycle event. */
  #response: JsonObject | null = null;
  #nextSequence = 0;
  #lastData = "";
  override usage: TokenUsage | null = null;
  override edits = REQUEST_ID_ADDED;

  constructor(context: AnswerContext) {
    super();
    this.#context = context;
  }

  protected override close(events: Uint8Array[]): void {
    if (!this.done) this.refuse("truncated");
    if (this.failure === null) events.push(DONE);
  }

  override fail(error: ServiceError): Uint8Array {
    const { requestId } = this.#context;
    if (!this.#begun || this.#response === null) return printErrorEvent(error, requestId);
    const response = {
      ...fillResource(this.#response, this.#context),
      status: "failed",
      completed_at: null,
      incomplete_details: null,
      error: failureObject(error, requestId),
      output: this.#output.items().map(fillItem),
    };
    return printFailed(response, this.#nextSequence);
  }

  protected override relay(
    bytes: Uint8Array,
    data: string,
    event: string | null,
    events: Uint8Array[],
  ): void {
    // The end of the transport before the end of the answer.
    if (data === "[DONE]") return this.refuse("truncated");
    const value = parseJsonText(data);
    if (!isJsonObject(value)) return this.refuse("malformed");
    const type = typeof value["type"] === "string" ? value["type"] : event;
    if (type === "error" || (type === null && isJsonObject(value["error"]))) {
      this.failure = readErrorFrame(value["error"] ?? value);
      return;
    }
    if (type === null) return this.refuse("malformed");
    if (this.#isRepeated(value, data)) return;
    const isPrelude = PRELUDE.has(type);
    const missing = this.#missing(type, value);
    if (!isPrelude && !TERMINALS.has(type)) {
      const placed = missing === null ? value : { ...value, ...missing };
      const tagged = tagEvent(placed, this.#context.signatureFamily);
      this.#count(placed);
      this.#output.take(type, tagged);
      const characters = charactersOf(type, value);
      this.hasOutput ||= characters > 0;
      // What follows the pieces of a part or of an item repeats them.
      if (type.endsWith(DELTA) && !type.endsWith(SOUND)) this.outputCharacters += characters;
      this.#begun = true;
      events.push(
        tagged === value && isFullEvent(type, value) ? bytes : this.#printed(type, data, missing),
      );
      return;
    }
    const { response } = value;
    if (!isJsonObject(response)) return this.refuse("malformed");
    this.#takeResource(type, response, isPrelude);
    // What ends the client's stream instead has its number.
    if (this.failure !== null) return;
    this.#count(value);
    const isTagged = tagEvent(value, this.#context.signatureFamily) !== value;
    const isWhole = missing === null && isFullResource(response) && !isTagged;
    const isNamed = isPrelude || Object.hasOwn(response, "request_id");
    const named = isWhole && !isNamed ? withRequestId(data, this.#context.requestId) : null;
    if (named !== null) events.push(formatSseEvent(named, type));
    else events.push(isWhole && isPrelude ? bytes : this.#printed(type, data, missing));
    this.#begun = true;
    this.done = !isPrelude;
    this.hasOutput ||= this.done;
  }

  #takeResource(type: string, response: JsonObject, isPrelude: boolean): void {
    const usage = readUsage(response["usage"]);
    if (usage !== null) this.usage = mergeUsage(this.usage, usage);
    this.#response = response;
    if (isPrelude) return;
    const terminal = terminalOf(terminalStatus(type, response), response, this.#output);
    if (terminal.kind === "failure") this.failure = terminal.failure;
    else this.finish = terminal.reason;
  }

  /**
   * The event with its signatures tagged and what it lacks filled. Numbers are read exactly: what
   * the provider printed is printed again.
   */
  #printed(type: string, data: string, missing: JsonObject | null): Uint8Array {
    const exact = parseExactJsonText(data);
    const placed: JsonObject = { ...(isJsonObject(exact) ? exact : {}), ...missing };
    const event = tagEvent(placed, this.#context.signatureFamily);
    if (event !== placed) this.edits |= SIGNATURES_MARKED;
    const { response } = event;
    const isLifecycle = isJsonObject(response);
    const isFull = isLifecycle ? isFullResource(response) : isFullEvent(type, event);
    if (!isFull || missing !== null) this.edits |= MEMBERS_FILLED;
    if (isFull && !TERMINALS.has(type)) return formatSseEvent(JSON.stringify(event), type);
    const filled = isLifecycle
      ? { ...event, response: fillResource(response, this.#context) }
      : fillEvent(type, event);
    return formatSseEvent(JSON.stringify(filled), type);
  }

  /** The positions that the event lacks; `null` where it has all. */
  #missing(type: string, event: JsonObject): JsonObject | null {
    const positions = this.#positions.missing(type, event);
    if (typeof event["sequence_number"] === "number" || !type.startsWith("response."))
      return positions;
    return { sequence_number: this.#nextSequence, ...positions };
  }

  /** The number says which event it is: an identical repetition is not a second one. */
  #isRepeated(event: JsonObject, data: string): boolean {
    const isRepeated = typeof event["sequence_number"] === "number" && data === this.#lastData;
    this.#lastData = data;
    return isRepeated;
  }

  #count(event: JsonObject): void {
    const sequence = event["sequence_number"];
    this.#nextSequence = typeof sequence === "number" ? sequence + 1 : this.#nextSequence + 1;
  }
}

/**
 * Characters of output in an event of an item. Events of other families (keep-alives, rate limits)
 * are not part of an answer.
 */
function charactersOf(type: string, event: JsonObject): number {
  if (!type.startsWith("response.")) return 0;
  const inItem = type === "response.output_item.added" ? SAID_AT_FIRST : SAID_AT_LAST;
  return outputCharacters(event, SAID) + outputCharacters(event["item"], inItem);
}

/** How the types of events end that hold a new piece of output. */
const DELTA = ".delta";

/** Pieces of sound in base64: output, but their characters say nothing about tokens. */
const SOUND = "audio.delta";

const MEMBERS_FILLED = editSet("answer_members_filled");
const REQUEST_ID_ADDED = editSet("request_id_added");

/** An event up to the first member of its response, behind the event's own scalars. */
const HEAD = /^\s*\{(?:\s*"\w+"\s*:\s*(?:"[^"\\]*"|\d+|null)\s*,)*\s*"response"\s*:\s*\{/;

function requestIdMember(requestId: string): string {
  return `"request_id":"${requestId}",`;
}

/**
 * The text of a terminal event with `request_id` in its response; `null` where it has to be printed
 * as a whole.
 */
function withRequestId(data: string, requestId: string): string | null {
  const begin = data.includes("\n") ? undefined : HEAD.exec(data)?.[0];
  return begin === undefined ? null : begin + requestIdMember(requestId) + data.slice(begin.length);
}

/**
 * A whole response, which has members, with `request_id` before them: nothing else of it is
 * printed.
 */
function namedResponse(bytes: Uint8Array, requestId: string): Uint8Array {
  const member = new TextEncoder().encode(requestIdMember(requestId));
  const begin = bytes.indexOf(0x7b) + 1;
  const named = new Uint8Array(bytes.length + member.length);
  named.set(bytes.subarray(0, begin));
  named.set(member, begin);
  named.set(bytes.subarray(begin), begin + member.length);
  return named;
}

export function observeResponsesStream(context: AnswerContext): AnswerStream {
  return new ResponsesStreamObserver(context);
}

/**
 * Judges a whole answer: a response resource whose status says that it is at its end. Its bytes go
 * on as they came, unless it lacks members that the surface promises, or has encrypted reasoning
 * that needs the tag of its family. One that has failed goes on too, with what it has; only the
 * provider's text about the failure does not.
 */
export function readResponsesAnswer(bytes: Uint8Array, context: AnswerContext): WholeAnswer {
  const response = parseAnswerBytes(bytes);
  if (!isJsonObject(response)) return failed(answerFailure("malformed"), null);
  const usage = readUsage(response["usage"]);
  const { error, output, status } = response;
  if (isJsonObject(error) && status === undefined) return failed(readErrorFrame(error), usage);
  const terminal = wholeTerminal(response, saidIn(output));
  if (terminal.kind === "failure" && terminal.failure.final !== true)
    return failed(terminal.failure, usage);
  const { signatureFamily } = context;
  const isFailed = terminal.kind === "failure";
  const isFull = !isFailed && isFullResource(response);
  const end = isFailed
    ? { failure: terminal.failure, finish: null }
    : { failure: null, finish: terminal.reason };
  const ending = { ...end, usage, dropped: [] };
  const isNamed = Object.hasOwn(response, "request_id");
  if (isFull && !isNamed && tagResource(response, signatureFamily) === response) {
    return {
      ending: { ...ending, edits: REQUEST_ID_ADDED },
      bytes: namedResponse(bytes, context.requestId),
    };
  }
  // Read again, exactly: what the provider printed is printed again.
  const exact = parseJsonBytes(bytes);
  const tagged = tagResource(isJsonObject(exact) ? exact : response, signatureFamily);
  const filled = fillResource(tagged, context);
  const printed = isFailed ? { ...filled, error: failedObject(error, context.requestId) } : filled;
  const edits =
    REQUEST_ID_ADDED |
    (isFull ? NO_EDITS : MEMBERS_FILLED) |
    (tagged === exact ? NO_EDITS : SIGNATURES_MARKED);
  return { ending: { ...ending, edits }, bytes: new TextEncoder().encode(JSON.stringify(printed)) };
}

function failed(failure: UpstreamFailure, usage: TokenUsage | null): WholeAnswer {
  return { ending: { failure, finish: null, usage, dropped: [] }, bytes: new Uint8Array(0) };
}
