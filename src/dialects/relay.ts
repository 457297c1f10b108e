import type { RequestEdits } from "../canon/decision.ts";
import type { ServiceError } from "../canon/error.ts";
import type { FailureKind, UpstreamFailure } from "../canon/failure.ts";
import { NO_EDITS, editSet, type DroppedField, type EditSet } from "../canon/generate/edit.ts";
import type { FinishReason, TokenUsage } from "../canon/generate/event.ts";
import { isJsonObject, type JsonMember } from "../canon/json.ts";
import type { InferenceRequest } from "../canon/request.ts";
import type { EndpointRow, UnknownFields } from "../canon/table.ts";
import { failureOfAnswer } from "./answer-ends.ts";
import type { AnswerStream, EditedRequest, StreamEnd, WholeAnswer } from "./dialect.ts";
import { ownValue, type Members } from "./json.ts";
import { isEmptyValue, type FieldRegistry } from "./request-reading.ts";
import { MAXIMUM_EVENT_BYTES, SseFramer, parseSseEvent } from "./sse.ts";

/** Ends an event whose provider omitted the blank line. */
const BLANK_LINE = new TextEncoder().encode("\n\n");

/**
 * Observes a stream of server-sent events on its way to a caller of the same protocol, one whole
 * event at a time.
 */
export abstract class RelayedStream implements AnswerStream {
  readonly #framer = new SseFramer();
  #lastData = "";
  protected finish: FinishReason | null = null;
  failure: UpstreamFailure | null = null;
  hasOutput = false;
  outputCharacters = 0;
  hasEnded = false;
  edits: EditSet = NO_EDITS;

  abstract get usage(): TokenUsage | null;

  push(chunk: Uint8Array): readonly Uint8Array[] {
    if (this.failure !== null || this.hasEnded) return [];
    const events: Uint8Array[] = [];
    for (const event of this.#framer.push(chunk)) this.#relay(event, events);
    if (this.#framer.pendingBytes > MAXIMUM_EVENT_BYTES) this.failAnswer("too_large");
    return events;
  }

  endStream(): StreamEnd {
    const rest = this.#framer.lastEvent();
    const events: Uint8Array[] = [];
    if (parseSseEvent(rest).data !== null) {
      this.#relay(rest, events);
      if (events.at(-1) === rest) events.push(BLANK_LINE);
    }
    this.close(events);
    const { failure, finish, usage, edits } = this;
    return { ending: { failure, finish, usage, dropped: [], edits }, events };
  }

  abstract fail(error: ServiceError): Uint8Array;

  /** Reads one event with data, and adds the events that it causes for the client. */
  protected abstract relay(
    bytes: Uint8Array,
    data: string,
    name: string | null,
    events: Uint8Array[],
  ): void;

  /**
   * The provider's bytes have ended: judges whether the answer is whole, and adds the closing
   * events.
   */
  protected abstract close(events: Uint8Array[]): void;

  protected failAnswer(failure: UpstreamFailure | FailureKind): void {
    this.failure ??= failureOfAnswer(failure);
  }

  /** Whether the event before had the same data. Call once per event. */
  protected isRepeated(data: string): boolean {
    const isRepeated = data === this.#lastData;
    this.#lastData = data;
    return isRepeated;
  }

  #relay(bytes: Uint8Array, events: Uint8Array[]) {
    if (this.failure !== null || this.hasEnded) return;
    const { event, data } = parseSseEvent(bytes);
    if (data === null) events.push(bytes);
    // Official clients fail to parse blank data.
    else if (data.trim() !== "") this.relay(bytes, data, event, events);
  }
}

/** A whole answer that failed: none of it is sent to the client. */
export function failedWhole(
  failure: UpstreamFailure | FailureKind,
  usage: TokenUsage | null = null,
  dropped: readonly DroppedField[] = [],
): WholeAnswer {
  const ending = { failure: failureOfAnswer(failure), finish: null, usage, dropped };
  return { ending, bytes: EMPTY };
}

const EMPTY = new Uint8Array(0);

/** Members with types and ids, without content. */
const LABELS = [
  "type",
  "id",
  "call_id",
  "item_id",
  "tool_use_id",
  "object",
  "role",
  "status",
  "format",
];

/**
 * The number of UTF-16 code units of text in the given members of an object, and beneath them.
 * Providers open streams, blocks and items with every member that there could be, empty; 0 means
 * that there is no output yet.
 */
export function outputCharacters(value: JsonMember, members: readonly string[]): number {
  if (!isJsonObject(value)) return 0;
  let sum = 0;
  for (const name of members) sum += charactersIn(value[name]);
  return sum;
}

/** The same for one value, with everything beneath it. */
export function charactersIn(value: JsonMember): number {
  if (typeof value === "string") return value.length;
  let sum = 0;
  if (Array.isArray(value)) {
    for (const item of value) sum += charactersIn(item);
  } else if (isJsonObject(value)) {
    for (const name in value) if (!LABELS.includes(name)) sum += charactersIn(value[name]);
  }
  return sum;
}

/** The body of a request for its provider, and the changes made to it. */
export class BodyEdit {
  readonly body: Members;
  readonly dropped: Set<DroppedField>;
  /** Registered names of removed top-level members. */
  readonly stripped: string[] = [];
  edits: EditSet = NO_EDITS;

  constructor(body: Members = {}, dropped = new Set<DroppedField>()) {
    this.body = body;
    this.dropped = dropped;
  }

  /** Sets a member, and notes the edit where it had another value. */
  set(name: string, value: JsonMember, edit: EditSet): void {
    if (this.body[name] === value) return;
    this.body[name] = value;
    this.edits |= edit;
  }

  /** Removes a member that the provider refuses, and records it where the caller had sent it. */
  takeOut(name: string): void {
    if (!Object.hasOwn(this.body, name)) return;
    delete this.body[name];
    this.stripped.push(name);
  }

  /** Lowers the member with the output limit, or sets it. @param cap of a policy, tokens. */
  capOutput(name: string, cap: number | null, least = 0): void {
    if (cap === null) return;
    const requested = this.body[name];
    const limit = typeof requested === "number" ? Math.min(requested, cap) : cap;
    this.set(name, Math.max(limit, least), OUTPUT_LIMIT_SET);
  }

  result(headers: readonly string[] = []): EditedRequest {
    const { body, stripped, edits, dropped } = this;
    return { body, stripped, edits, headers, dropped: [...dropped].toSorted() };
  }
}

const MODEL_REPLACED = editSet("model_replaced");
const OUTPUT_LIMIT_SET = editSet("output_limit_set");
export const MEMBER_REWRITTEN = editSet("member_rewritten");
export const SIGNATURES_RESTORED = editSet("signatures_restored");
export const STORE_FALSE_SENT = editSet("store_false_sent");

/**
 * The caller's members that a provider may get, with the provider's model name: without our own and
 * identity members, unknown ones where the route strips them, and those that policies strip.
 * Everything else is sent unchanged, members of nested objects included.
 */
export function editedBody(
  registry: FieldRegistry,
  request: InferenceRequest,
  endpoint: EndpointRow,
  mode: UnknownFields,
  edits: RequestEdits,
): BodyEdit {
  const edit = new BodyEdit();
  const { body, stripped } = edit;
  const stripFields: readonly string[] = edits.stripFields;
  for (const name in request.body) {
    const facts = ownValue(registry, name);
    if (facts === undefined ? isDropped(request.body[name], mode) : facts.class === "identity") {
      stripped.push(facts === undefined ? "unknown_field" : name);
    } else if (
      stripFields.includes(name) ||
      (facts?.uses === "seed" && !endpoint.nativeFeatures.includes("seed"))
    ) {
      stripped.push(name);
    } else if (facts?.class !== "ours") {
      setMember(body, name, request.body[name]);
    }
  }
  body.model = endpoint.upstreamModel;
  if (request.model !== endpoint.upstreamModel) edit.edits = MODEL_REPLACED;
  return edit;
}

/**
 * A route that refuses unknown members accepts empty ones; providers refuse some of them, so they
 * are removed.
 */
function isDropped(value: JsonMember, mode: UnknownFields) {
  return mode === "strip" || (mode === "reject" && isEmptyValue(value));
}

/**
 * An object with a prototype: without one the engine keeps a table of the members, and prints it
 * three times as slowly. So `__proto__` is defined, to travel as a member and not to become the
 * prototype.
 */
function setMember(body: Members, name: string, value: JsonMember) {
  if (name !== "__proto__") body[name] = value;
  else
    Object.defineProperty(body, name, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
}
