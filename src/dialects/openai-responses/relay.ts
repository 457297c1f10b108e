import type { ServiceError } from "../../canon/error.ts";
import { NO_EDITS, SIGNATURES_MARKED, editSet } from "../../canon/generate/edit.ts";
import type { TokenUsage } from "../../canon/generate/event.ts";
import {
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import type { AnswerContext, Relay, WholeAnswer } from "../dialect.ts";
import {
  listOf,
  mapObjects,
  mergeUsage,
  numberOrNull,
  parseAnswerBytes,
  parseExactJsonText,
  parseJsonBytes,
  parseJsonText,
  printJsonBytes,
  textOf,
} from "../json.ts";
import { readErrorFrame } from "../openai-chat/read-answer.ts";
import { printPart, type OpenPart } from "./render.ts";
import {
  readUsage,
  summarizeOutput,
  endingOf,
  terminalStatus,
  wholeEnding,
  type OutputSummary,
} from "./read-answer.ts";
import {
  ENCRYPTED_REASONING,
  MINIMUM_OUTPUT_TOKENS,
  RESPONSES_FIELDS,
  requestedFormat,
} from "./request-facts.ts";
import {
  EventPositions,
  failedObject,
  failureObject,
  fillEvent,
  fillItem,
  fillResource,
  isFullResource,
  ITEM_EVENTS,
  printErrorEvent,
  printFailed,
  readSealedReasoning,
  tagEvent,
  tagResource,
} from "./resource.ts";
import {
  MEMBER_REWRITTEN,
  RelayedStream,
  SIGNATURES_RESTORED,
  STORE_FALSE_SENT,
  editedBody,
  failedWhole,
  outputCharacters,
  type BodyEdit,
} from "../relay.ts";
import { DONE_EVENT, formatSseEvent } from "../sse.ts";

const ENCRYPTED_REASONING_REQUESTED = editSet("encrypted_reasoning_requested");

/**
 * The caller's body for a provider of the same protocol: with the provider's model name, `store:
 * false` (providers store answers by default, docs/protocols.md#stored-state), `text.format`
 * instead of its alias, and bare signatures, without our own and identity members, and with the
 * policies' edits. Everything else is sent unchanged, members of nested objects included.
 */
export const editResponsesRequest: Relay["edit"] = (request, endpoint, provider, mode, edits) => {
  const edit = editedBody(RESPONSES_FIELDS, request, endpoint, mode, edits);
  const { body } = edit;
  const { text, store } = request.body;
  edit.set("store", false, STORE_FALSE_SENT);
  const requested = requestedFormat(request.body);
  if (requested?.path === "response_format") {
    const { format } = requested;
    edit.set("text", { ...(isJsonObject(text) && text), format }, MEMBER_REWRITTEN);
  }
  if (provider.flags.includes("no_include")) dropEncryptedReasoning(edit);
  // A client that has not turned storing off replays reasoning by its id, and would be answered
  // 404. A model that does not reason refuses the option.
  else if (store !== false && endpoint.capabilities.includes("reasoning"))
    requestEncryptedReasoning(edit);
  edit.set("input", mapObjects(body.input, withBareSignature), SIGNATURES_RESTORED);
  edit.capOutput("max_output_tokens", edits.maxOutputTokens, MINIMUM_OUTPUT_TOKENS);
  return edit.result();
};

function requestEncryptedReasoning(edit: BodyEdit) {
  const values = listOf(edit.body.include);
  if (values.includes(ENCRYPTED_REASONING)) return;
  edit.set("include", [...values, ENCRYPTED_REASONING], ENCRYPTED_REASONING_REQUESTED);
}

/** Removes encrypted reasoning from `include`; other values stay. */
function dropEncryptedReasoning({ body, stripped }: BodyEdit) {
  const { include } = body;
  if (!Array.isArray(include) || !include.includes(ENCRYPTED_REASONING)) return;
  const rest = include.filter((value: JsonValue) => value !== ENCRYPTED_REASONING);
  if (rest.length === 0) delete body.include;
  else body.include = rest;
  stripped.push("include");
}

/** The provider gets its signature without our tag. */
function withBareSignature(item: JsonObject): JsonObject {
  const text = item.encrypted_content;
  if (typeof text !== "string") return item;
  const { signature, text: sealed } = readSealedReasoning(text);
  if (signature === text) return item;
  const bare = { ...item, encrypted_content: signature };
  return sealed === "" || Array.isArray(item.content)
    ? bare
    : { ...bare, content: [{ type: "reasoning_text", text: sealed }] };
}

/** Lifecycle events before any output. */
const PRELUDE = ["response.created", "response.queued", "response.in_progress"];
const TERMINALS = ["response.completed", "response.incomplete", "response.failed"];

/** Members of an event with output, beside its item. */
const OUTPUT_MEMBERS = [
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
];

/** The same for an added item. Reasoning begins with a seal, which is no output yet. */
const ADDED_ITEM_OUTPUT = [
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
];

/** The same for an item that is done. */
const DONE_ITEM_OUTPUT = [...ADDED_ITEM_OUTPUT, "encrypted_content"];

/**
 * Observes a relayed responses stream (docs/protocols.md#responses). Events go through byte for
 * byte, except resources, items and texts that lack members which the surface promises, and
 * encrypted reasoning, which gets the tag of its family. The stream has succeeded when its terminal
 * event has come; `[DONE]` follows in any case, because clients of Open Responses wait for it and
 * OpenAI does not send it.
 */
export class ResponsesStreamObserver extends RelayedStream {
  readonly #context: AnswerContext;
  readonly #output = new PartialOutput();
  readonly #positions = new EventPositions();
  /** An event of the answer has been sent: its end must be one too. */
  #begun = false;
  /** The resource of the last lifecycle event. */
  #response: JsonObject | null = null;
  #nextSequence = 0;
  override usage: TokenUsage | null = null;
  override edits = REQUEST_ID_ADDED;

  constructor(context: AnswerContext) {
    super();
    this.#context = context;
  }

  protected override close(events: Uint8Array[]): void {
    if (!this.hasEnded) this.failAnswer("truncated");
    if (this.failure === null) events.push(DONE_EVENT);
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
    if (data === "[DONE]") return this.failAnswer("truncated");
    const value = parseJsonText(data);
    if (!isJsonObject(value)) return this.failAnswer("malformed");
    const type = typeof value.type === "string" ? value.type : event;
    if (type === "error" || (type === null && isJsonObject(value.error)))
      return this.failAnswer(readErrorFrame(value.error ?? value));
    if (type === null) return this.failAnswer("malformed");
    // The number identifies the event: an identical repetition is not a second one.
    if (this.isRepeated(data) && typeof value.sequence_number === "number") return;
    const isPrelude = PRELUDE.includes(type);
    const missing = this.#missing(type, value);
    if (!isPrelude && !TERMINALS.includes(type)) {
      const placed = missing === null ? value : { ...value, ...missing };
      const tagged = tagEvent(placed, this.#context.signatureFamily);
      this.#count(placed);
      this.#output.add(type, tagged);
      const characters = charactersOf(type, value);
      this.hasOutput ||= characters > 0;
      // Later events of a part or item repeat its pieces.
      if (type.endsWith(DELTA) && !type.endsWith(SOUND)) this.outputCharacters += characters;
      this.#begun = true;
      events.push(
        tagged === value && fillEvent(type, value) === value
          ? bytes
          : this.#printed(type, data, missing),
      );
      return;
    }
    const { response } = value;
    if (!isJsonObject(response)) return this.failAnswer("malformed");
    const usage = readUsage(response.usage);
    if (usage !== null) this.usage = mergeUsage(this.usage, usage);
    this.#response = response;
    if (!isPrelude) {
      // Some providers have items in this resource only.
      this.#output.summarize(response.output);
      const ending = endingOf(terminalStatus(type, response), response, this.#output);
      // The failure event that follows takes this one's number.
      if (typeof ending === "object") return this.failAnswer(ending);
      this.finish = ending;
    }
    this.#count(value);
    const isTagged = tagEvent(value, this.#context.signatureFamily) !== value;
    const isWhole = missing === null && isFullResource(response) && !isTagged;
    const hasRequestId = isPrelude || Object.hasOwn(response, "request_id");
    const withId = isWhole && !hasRequestId ? withRequestId(data, this.#context.requestId) : null;
    if (withId !== null) events.push(formatSseEvent(withId, type));
    else events.push(isWhole && isPrelude ? bytes : this.#printed(type, data, missing));
    this.#begun = true;
    this.hasEnded = !isPrelude;
    this.hasOutput ||= this.hasEnded;
  }

  /**
   * The event with tagged signatures and missing members. Numbers are read exactly, and printed as
   * the provider printed them.
   */
  #printed(type: string, data: string, missing: JsonObject | null): Uint8Array {
    const exact = parseExactJsonText(data);
    const placed: JsonObject = { ...(isJsonObject(exact) ? exact : {}), ...missing };
    const event = tagEvent(placed, this.#context.signatureFamily);
    if (event !== placed) this.edits |= SIGNATURES_MARKED;
    const { response } = event;
    const isLifecycle = isJsonObject(response);
    const filled = isLifecycle
      ? { ...event, response: fillResource(response, this.#context) }
      : fillEvent(type, event);
    const isFull = isLifecycle ? isFullResource(response) : filled === event;
    if (!isFull || missing !== null) this.edits |= MEMBERS_FILLED;
    const isUnchanged = isFull && !TERMINALS.includes(type);
    return formatSseEvent(JSON.stringify(isUnchanged ? event : filled), type);
  }

  /** The positions that the event lacks; `null` where it has all. */
  #missing(type: string, event: JsonObject): JsonObject | null {
    const positions = this.#positions.missing(type, event);
    if (typeof event.sequence_number === "number" || !type.startsWith("response."))
      return positions;
    return { sequence_number: this.#nextSequence, ...positions };
  }

  #count(event: JsonObject) {
    this.#nextSequence = (numberOrNull(event.sequence_number) ?? this.#nextSequence) + 1;
  }
}

/**
 * Characters of output in an event of an item. Events of other families (keep-alives, rate limits)
 * are not part of an answer.
 */
function charactersOf(type: string, event: JsonObject): number {
  if (!type.startsWith("response.")) return 0;
  const inItem = type === "response.output_item.added" ? ADDED_ITEM_OUTPUT : DONE_ITEM_OUTPUT;
  return outputCharacters(event, OUTPUT_MEMBERS) + outputCharacters(event.item, inItem);
}

/** Suffix of event types with a new piece of output. */
const DELTA = ".delta";

/** Pieces of sound in base64: output, but their length is unrelated to tokens. */
const SOUND = "audio.delta";

const MEMBERS_FILLED = editSet("answer_members_filled");
const REQUEST_ID_ADDED = editSet("request_id_added");

/** An event up to the first member of its response; scalars may stand before it. */
const HEAD = /^\s*\{(?:\s*"\w+"\s*:\s*(?:"[^"\\]*"|\d+|null)\s*,)*\s*"response"\s*:\s*\{/;

function requestIdMember(requestId: string) {
  return `"request_id":"${requestId}",`;
}

/**
 * The text of a terminal event with `request_id` in its response; `null` where it has to be printed
 * anew.
 */
function withRequestId(data: string, requestId: string): string | null {
  const begin = data.includes("\n") ? undefined : HEAD.exec(data)?.[0];
  return begin === undefined ? null : begin + requestIdMember(requestId) + data.slice(begin.length);
}

/** The bytes of a whole response with `request_id` as the first member. */
function namedResponse(bytes: Uint8Array, requestId: string): Uint8Array {
  const member = new TextEncoder().encode(requestIdMember(requestId));
  const begin = bytes.indexOf(0x7b) + 1;
  const joined = new Uint8Array(bytes.length + member.length);
  joined.set(bytes.subarray(0, begin));
  joined.set(member, begin);
  joined.set(bytes.subarray(begin), begin + member.length);
  return joined;
}

/**
 * Judges a whole answer: a response resource with a final status. Its bytes are sent unchanged,
 * unless it lacks members that the surface promises, or has encrypted reasoning that needs the tag
 * of its family. A failed one is sent too, with its output but without the provider's text about
 * the failure.
 */
export function readResponsesAnswer(bytes: Uint8Array, context: AnswerContext): WholeAnswer {
  const response = parseAnswerBytes(bytes);
  if (!isJsonObject(response)) return failedWhole("malformed");
  const usage = readUsage(response.usage);
  const { error, output } = response;
  const end = wholeEnding(response, summarizeOutput(output));
  const isFailed = typeof end === "object";
  if (isFailed && end.final !== true) return failedWhole(end, usage);
  const { signatureFamily } = context;
  const isFull = !isFailed && isFullResource(response);
  const failure = isFailed ? end : null;
  const ending = { failure, finish: isFailed ? null : end, usage, dropped: [] };
  const hasRequestId = Object.hasOwn(response, "request_id");
  if (isFull && !hasRequestId && tagResource(response, signatureFamily) === response) {
    return {
      ending: { ...ending, edits: REQUEST_ID_ADDED },
      bytes: namedResponse(bytes, context.requestId),
    };
  }
  // Parsed exactly, so that numbers are printed as the provider printed them.
  const exact = parseJsonBytes(bytes);
  const tagged = tagResource(isJsonObject(exact) ? exact : response, signatureFamily);
  const filled = fillResource(tagged, context);
  const printed = isFailed ? { ...filled, error: failedObject(error, context.requestId) } : filled;
  const edits =
    REQUEST_ID_ADDED |
    (isFull ? NO_EDITS : MEMBERS_FILLED) |
    (tagged === exact ? NO_EDITS : SIGNATURES_MARKED);
  return { ending: { ...ending, edits }, bytes: printJsonBytes(printed) };
}

interface PartialItem {
  readonly item: JsonObject;
  readonly isDone: boolean;
  readonly pieces: Piece[];
}

/** A text of an item so far; for calls, their arguments or input. */
interface Piece {
  readonly kind: OpenPart["kind"];
  readonly index: number;
  text: string;
}

/** Types of events that add text, with its kind and the member that numbers it in its item. */
const DELTAS: ReadonlyMap<string, readonly [Piece["kind"], string]> = new Map([
  ["response.output_text.delta", ["output_text", "content_index"]],
  ["response.refusal.delta", ["refusal", "content_index"]],
  ["response.reasoning_text.delta", ["reasoning_text", "content_index"]],
  ["response.reasoning.delta", ["reasoning_text", "content_index"]],
  ["response.reasoning_summary_text.delta", ["summary_text", "summary_index"]],
  // A call has a single one.
  ["response.function_call_arguments.delta", ["output_text", "output_index"]],
  ["response.custom_tool_call_input.delta", ["output_text", "output_index"]],
]);

/**
 * The output of a relayed stream so far: a stream that breaks ends with it (`response.failed` keeps
 * partial items).
 */
class PartialOutput implements OutputSummary {
  readonly #items = new Map<number, PartialItem>();
  calls = false;
  refusal = false;

  /**
   * Takes one event of the stream. Events of items that were not added, and of unknown kinds,
   * change nothing.
   */
  add(type: string, event: JsonObject): void {
    const { output_index: index, item, delta } = event;
    if (typeof index !== "number") return;
    if (ITEM_EVENTS.includes(type) && isJsonObject(item))
      return this.#setItem(index, item, type === "response.output_item.done");
    const pieces = this.#items.get(index)?.pieces;
    const [kind, numbered] = DELTAS.get(type) ?? [];
    if (
      pieces === undefined ||
      kind === undefined ||
      numbered === undefined ||
      typeof delta !== "string"
    )
      return;
    this.refusal ||= kind === "refusal";
    const number = numberOrNull(event[numbered]) ?? 0;
    const begun = pieces.find((piece) => piece.kind === kind && piece.index === number);
    if (begun === undefined) pieces.push({ kind, index: number, text: delta });
    else begun.text += delta;
  }

  /** Notes whether items have calls or refusals. */
  summarize(items: JsonMember): void {
    const { calls, refusal } = summarizeOutput(items);
    this.calls ||= calls;
    this.refusal ||= refusal;
  }

  /** The items in their order; those that were not done are marked as incomplete. */
  items(): readonly JsonObject[] {
    const entries = [...this.#items].toSorted(([left], [right]) => left - right);
    return entries.map(([, partial]) => (partial.isDone ? partial.item : asIncomplete(partial)));
  }

  #setItem(index: number, item: JsonObject, isDone: boolean) {
    this.summarize([item]);
    const pieces = this.#items.get(index)?.pieces ?? [];
    this.#items.set(index, { item, isDone, pieces });
  }
}

/** The item with the text that has arrived. */
function asIncomplete({ item, pieces }: PartialItem): JsonObject {
  const printed = (...kinds: readonly Piece["kind"][]): readonly JsonObject[] =>
    pieces
      .filter(({ kind }) => kinds.includes(kind))
      .toSorted((left, right) => left.index - right.index)
      .map(({ kind, text }) => printPart({ kind, text, annotations: [], logprobs: [] }));
  const incomplete = { ...item, status: "incomplete" };
  const call = pieces[0]?.text ?? "";
  const content = printed("output_text", "refusal", "reasoning_text");
  switch (textOf(item.type)) {
    case "function_call":
      return { ...incomplete, arguments: call };
    case "custom_tool_call":
      return { ...incomplete, input: call };
    case "message":
      return { ...incomplete, content };
    case "reasoning":
      return {
        ...incomplete,
        summary: printed("summary_text"),
        content: content.length === 0 ? undefined : content,
      };
    default:
      return incomplete;
  }
}
