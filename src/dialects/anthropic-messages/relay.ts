import type { ServiceError } from "../../canon/error.ts";
import { NO_EDITS, SIGNATURES_MARKED, editSet } from "../../canon/generate/edit.ts";
import type { TokenUsage } from "../../canon/generate/event.ts";
import { relayedSignature } from "../../canon/generate/signature.ts";
import {
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import { BETA_HEADER, type ProtocolHeaders } from "../../canon/request.ts";
import type { ProviderRow } from "../../canon/table.ts";
import { finishReason } from "../answer-ends.ts";
import {
  CONTENT_EVENTS,
  eventFailure,
  mergedUsage,
  messageFailure,
  readErrorFrame,
  readUsage,
} from "./read-answer.ts";
import {
  NATIVE_FAMILY,
  SIGNATURE_MEMBERS,
  budgetUnder,
  isUnsigned,
  readSigned,
} from "./reasoning.ts";
import { renderAnthropicError } from "./render.ts";
import { VERSIONS, fieldsOf } from "./request-facts.ts";
import type { AnswerContext, Relay, WholeAnswer } from "../dialect.ts";
import {
  countIn,
  mapObjects,
  memberIn,
  numberOrNull,
  ownValue,
  parseAnswerBytes,
  parseJsonBytes,
  parseJsonText,
  printJsonBytes,
  textOf,
  withMember,
  withObject,
} from "../json.ts";
import {
  RelayedStream,
  SIGNATURES_RESTORED,
  editedBody,
  failedWhole,
  outputCharacters,
  type BodyEdit,
} from "../relay.ts";
import { formatSseEvent } from "../sse.ts";

const VERSION_REPLACED = editSet("version_replaced");

/**
 * The caller's body as the provider gets it: with its model name, bare signatures and the edits of
 * policies, without our own and identity members. Everything else is sent unchanged, members of
 * nested objects included.
 */
export const editMessagesRequest: Relay["edit"] = (request, endpoint, provider, mode, edits) => {
  const { headers } = request;
  const { operation } = request.shape;
  const edit = editedBody(fieldsOf(operation), request, endpoint, mode, edits);
  const { body, stripped, dropped } = edit;
  edit.set("messages", bareMessages(body.messages, stripped), SIGNATURES_RESTORED);
  const trimmed = withTrimmedPrefill(body.messages);
  if (trimmed !== body.messages) {
    body.messages = trimmed;
    dropped.add("prefill_trimmed");
  }
  if (operation === "messages") capOutput(edit, edits.maxOutputTokens);
  const version = sentVersion(headers, provider);
  if (version !== (headers.version ?? VERSIONS[0])) edit.edits |= VERSION_REPLACED;
  return edit.result(protocolHeaders(headers, provider, version, stripped));
};

/** The caller's version, and those of its beta flags that the provider's row lists. */
function protocolHeaders(
  { betas }: ProtocolHeaders,
  provider: ProviderRow,
  version: string,
  stripped: string[],
): readonly string[] {
  const headers = ["anthropic-version", version];
  const allowed = betas.filter((beta) => provider.betas.includes(beta));
  if (allowed.length > 0) headers.push(BETA_HEADER, allowed.join(","));
  if (allowed.length < betas.length) stripped.push(BETA_HEADER);
  return headers;
}

function sentVersion({ version }: ProtocolHeaders, { flags }: ProviderRow) {
  return flags.includes("version_2023_06_01_only") ? VERSIONS[0] : (version ?? VERSIONS[0]);
}

/** Lowers the limit, and the budget for thinking with it. */
function capOutput(edit: BodyEdit, cap: number | null) {
  const { body } = edit;
  const requested = numberOrNull(body.max_tokens);
  edit.capOutput("max_tokens", cap);
  const { max_tokens: limit, thinking } = body;
  const budget = memberIn(thinking, "budget_tokens");
  if (cap === null || !isJsonObject(thinking) || typeof budget !== "number") return;
  const lowered = budgetUnder(budget, requested, numberOrNull(limit) ?? cap);
  body.thinking = { ...thinking, budget_tokens: lowered };
}

/**
 * The messages with their signatures as the provider made them: without the tags of other
 * protocols' answers, and without their unsigned reasoning. The decision has made sure that the
 * endpoint can read the signatures. Messages that need no change are the same objects.
 */
function bareMessages(messages: JsonMember, stripped: string[]) {
  return mapObjects(messages, (message) =>
    message.role === "assistant"
      ? withMember(message, "content", (content) => {
          const blocks = mapObjects(content, bareBlock);
          if (!Array.isArray(blocks) || !blocks.includes(null)) return blocks;
          if (!stripped.includes("thinking")) stripped.push("thinking");
          return blocks.filter((block: JsonValue) => block !== null);
        })
      : message,
  );
}

/**
 * The messages without trailing white space in a prefill, which the provider refuses ("final
 * assistant content cannot end with trailing whitespace").
 */
function withTrimmedPrefill(messages: JsonMember) {
  return withLast(messages, (message) =>
    message.role === "assistant"
      ? withMember(message, "content", (content) =>
          typeof content === "string"
            ? trimmedText(content)
            : withLast(content, (block) =>
                block.type === "text" ? withMember(block, "text", trimmedText) : block,
              ),
        )
      : message,
  );
}

function trimmedText(text: JsonMember) {
  return typeof text === "string" ? text.trimEnd() : text;
}

/** A list with its last object changed; the list itself where nothing changes. */
function withLast(list: JsonMember, change: (last: JsonObject) => JsonObject): JsonMember {
  const last = Array.isArray(list) ? list.at(-1) : undefined;
  if (!Array.isArray(list) || !isJsonObject(last)) return list;
  const changed = change(last);
  return changed === last ? list : [...list.slice(0, -1), changed];
}

/** The block itself if nothing changes; `null` if it is left out. */
function bareBlock(block: JsonObject): JsonObject | null {
  const type = textOf(block.type);
  const member = ownValue(SIGNATURE_MEMBERS, type);
  if (member === undefined) return block;
  const signature = block[member];
  if (isUnsigned(signature)) return null;
  const signed = readSigned(signature);
  return signed === null || signed.signature === signature
    ? block
    : { ...block, [member]: signed.signature };
}

/** Members of `message_start` with output. */
const MESSAGE_OUTPUT = ["content"];

/**
 * Members of a block or of a piece with output. Other members describe the model or the transport.
 */
const BLOCK_OUTPUT = [
  "text",
  "thinking",
  "signature",
  "data",
  "name",
  "partial_json",
  "content",
  "citation",
  "citations",
];

/**
 * Events that cannot follow themselves: a block begins and ends once, and a reported message is
 * final. An identical repetition is the same event.
 */
const ONCE: readonly unknown[] = ["content_block_start", "content_block_stop", "message_delta"];

/**
 * Observes a relayed messages stream (docs/protocols.md#messages). Whole events go through
 * unchanged, unknown ones too; only signatures get the tag of their family. `message_stop` alone
 * completes the answer; an error event, text that is not JSON, or an end without it is a failure.
 */
export class MessagesObserver extends RelayedStream {
  readonly #context: AnswerContext;
  #usage: JsonObject | null = null;
  #hasStarted = false;
  /** An event has followed the beginning. */
  #hasContinued = false;
  /** The signature of the open block has its tag: only the first of its pieces gets it. */
  #isTagged = false;

  constructor(context: AnswerContext) {
    super();
    this.#context = context;
  }

  override get usage(): TokenUsage | null {
    return readUsage(this.#usage);
  }

  protected override close(): void {
    if (!this.hasEnded) this.failAnswer("truncated");
  }

  override fail(error: ServiceError): Uint8Array {
    return formatSseEvent(renderAnthropicError(error, this.#context.requestId), "error");
  }

  protected override relay(
    bytes: Uint8Array,
    data: string,
    name: string | null,
    events: Uint8Array[],
  ): void {
    const event = parseJsonText(data);
    if (!isJsonObject(event)) return this.failAnswer("malformed");
    const type = event.type ?? name;
    if (type === "error" || name === "error") return this.failAnswer(readErrorFrame(event.error));
    if (this.isRepeated(data) && ONCE.includes(type)) return;
    this.#read(type, event);
    if (this.failure !== null) return;
    const tagged = this.#tagged(type, event);
    if (tagged !== event) this.edits = SIGNATURES_MARKED;
    events.push(tagged === event ? bytes : formatSseEvent(JSON.stringify(tagged), name));
  }

  #read(type: JsonMember, event: JsonObject): void {
    const { message, content_block: block, delta, usage } = event;
    const inner = eventFailure(event);
    if (inner !== null) return this.failAnswer(inner);
    const isContent = CONTENT_EVENTS.has(type);
    // Some servers send the beginning twice; in the middle of an answer it would be
    // another answer.
    if (type === "message_start" ? this.#hasContinued : isContent && !this.#hasStarted)
      return this.failAnswer("malformed");
    this.#hasContinued ||= isContent;
    if (type === "message_start") {
      // A reason at the beginning ends nothing yet.
      this.#hasStarted = true;
      this.#usage = mergedUsage(null, memberIn(message, "usage"), true);
      this.finish = finishReason(memberIn(message, "stop_reason"));
    } else if (type === "message_delta") {
      this.#usage = mergedUsage(this.#usage, usage, false);
      const reason = finishReason(memberIn(delta, "stop_reason"));
      this.finish = reason ?? this.finish;
      this.hasOutput ||= reason !== null;
    } else if (type === "message_stop") {
      // An end without a reason is not a proper end, as in a whole answer.
      if (this.finish === null && !isCacheWarmup(this.#context))
        return this.failAnswer("malformed");
      this.hasEnded = true;
    }
    if (isContent || type === "message_start")
      this.outputCharacters +=
        outputCharacters(message, MESSAGE_OUTPUT) +
        outputCharacters(block, BLOCK_OUTPUT) +
        outputCharacters(delta, BLOCK_OUTPUT);
    this.hasOutput ||= this.hasEnded || this.outputCharacters > 0;
  }

  /** The event as the client gets it; the event itself where nothing changes. */
  #tagged(type: JsonMember, event: JsonObject): JsonObject {
    const { signatureFamily: family } = this.#context;
    if (type === "message_start")
      return withObject(event, "message", (message) => tagMessage(message, family));
    const begins = type === "content_block_start";
    if (!begins && (type !== "content_block_delta" || this.#isTagged)) return event;
    const tagged = withObject(event, begins ? "content_block" : "delta", (part) =>
      tagBlock(part, family),
    );
    this.#isTagged = tagged !== event;
    return tagged;
  }
}

/**
 * Whether a request only fills the provider's cache: the answer is empty, and has no stop reason.
 */
function isCacheWarmup({ request }: AnswerContext) {
  return request.body.max_tokens === 0;
}

/** A whole message with its signatures tagged for the client. */
function tagMessage(message: JsonObject, family: string | null) {
  return withMember(message, "content", (content) =>
    mapObjects(content, (block) => tagBlock(block, family)),
  );
}

/** The same for a block, or a piece of one. */
function tagBlock(block: JsonObject, family: string | null): JsonObject {
  const member = ownValue(SIGNATURE_MEMBERS, textOf(block.type));
  if (member === undefined) return block;
  return withMember(block, member, (signature) =>
    typeof signature === "string" ? relayedSignature(signature, family, NATIVE_FAMILY) : signature,
  );
}

/**
 * Judges a whole message: content, and a reason why it ended. Unknown reasons and blocks are passed
 * on.
 */
export function readMessagesAnswer(bytes: Uint8Array, context: AnswerContext): WholeAnswer {
  const answer = parseAnswerBytes(bytes);
  if (!isJsonObject(answer)) return failedWhole("malformed");
  const broken = messageFailure(answer);
  if (broken !== null) return failedWhole(broken);
  const finish = finishReason(answer.stop_reason);
  const usage = readUsage(isJsonObject(answer.usage) ? answer.usage : null);
  const isEnded = finish !== null || isCacheWarmup(context);
  if (!isEnded || !Array.isArray(answer.content)) return failedWhole("malformed", usage);
  const tagged = withTags(bytes, answer, context.signatureFamily);
  const edits = tagged === bytes ? NO_EDITS : SIGNATURES_MARKED;
  return { ending: { failure: null, finish, usage, dropped: [], edits }, bytes: tagged };
}

/**
 * The bytes themselves where no signature needs a tag; else printed again, with every number as the
 * provider printed it.
 */
function withTags(bytes: Uint8Array, answer: JsonObject, family: string | null): Uint8Array {
  if (tagMessage(answer, family) === answer) return bytes;
  const exact = parseJsonBytes(bytes);
  return printJsonBytes(tagMessage(isJsonObject(exact) ? exact : answer, family));
}

/** Judges the answer to a count, which must have one. */
export function readCountAnswer(bytes: Uint8Array): WholeAnswer {
  const answer = parseAnswerBytes(bytes);
  if (memberIn(answer, "type") === "error")
    return failedWhole(readErrorFrame(memberIn(answer, "error")));
  const input = countIn(answer, "input_tokens");
  if (input === null) return failedWhole("malformed");
  const usage = { input, output: null, cacheRead: null, cacheWrite: null, reasoning: null };
  return { ending: { failure: null, finish: null, usage, dropped: [] }, bytes };
}
