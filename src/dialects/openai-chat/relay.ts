import type { ServiceError } from "../../canon/error.ts";
import { failureOf } from "../../canon/failure.ts";
import { NO_EDITS, SIGNATURES_MARKED, editSet } from "../../canon/generate/edit.ts";
import type { FinishReason, TokenUsage } from "../../canon/generate/event.ts";
import {
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import { finishReason } from "../answer-ends.ts";
import type { AnswerContext, Ending, Relay, WholeAnswer } from "../dialect.ts";
import {
  listOf,
  mapObjects,
  memberIn,
  numberOrNull,
  parseAnswerBytes,
  parseExactJsonText,
  parseJsonBytes,
  parseJsonText,
  withMember,
  type Members,
} from "../json.ts";
import {
  MISSING_FINISH_REASON,
  TEXT,
  choiceFailure,
  failureIn,
  holdsAnswer,
  readUsage,
} from "./read-answer.ts";
import { renderOpenAiStreamFailure } from "./family.ts";
import { applyFlags, renameLimit, requestUsage } from "./flags.ts";
import { tagAnswer, untagMessage } from "./reasoning.ts";
import { formatFinishReason } from "./render.ts";
import { CHAT_FIELDS } from "./parse-request.ts";
import {
  RelayedStream,
  SIGNATURES_RESTORED,
  STORE_FALSE_SENT,
  charactersIn,
  editedBody,
  failedWhole,
  outputCharacters,
  type BodyEdit,
} from "../relay.ts";
import { DONE_EVENT, formatSseEvent } from "../sse.ts";

/**
 * The caller's body for a provider of the same protocol: with the provider's model name, `store:
 * false`, token counts requested on streams, without our own and identity members, and with the
 * policies' edits. Everything else is sent unchanged, members of nested objects included.
 */
export const editChatRequest: Relay["edit"] = (request, endpoint, { flags }, mode, edits) => {
  const edit = editedBody(CHAT_FIELDS, request, endpoint, mode, edits);
  const { body } = edit;
  if (mode === "forward" && request.dropped?.includes("effort_member_renamed") === true) {
    // A route that forwards vendors' members sends the effort where the caller wrote it.
    body.reasoning = { effort: body.reasoning_effort };
    delete body.reasoning_effort;
  }
  if (request.shape.signatureFamilies.length > 0)
    edit.set("messages", mapObjects(body.messages, untagMessage), SIGNATURES_RESTORED);
  fitRelayed(edit);
  edit.capOutput(limitMember(body), edits.maxOutputTokens);
  // Providers that keep conversations do so by default (docs/protocols.md#stored-state).
  if (!flags.includes("no_store_field")) edit.set("store", false, STORE_FALSE_SENT);
  requestUsage(edit, request, flags);
  applyFlags(edit, flags);
  return edit.result();
};

/**
 * Rewrites values that every provider refuses to equivalent ones: two output limits, an empty list
 * of tools. The rest is sent unchanged.
 */
function fitRelayed(edit: BodyEdit) {
  const { max_tokens, max_completion_tokens, tools, tool_choice: choice } = edit.body;
  if (typeof max_tokens === "number" && typeof max_completion_tokens === "number")
    renameLimit("max_tokens", "max_completion_tokens")(edit);
  if (!Array.isArray(tools) || tools.length > 0) return;
  edit.takeOut("tools");
  // Only allowed where tools are (platform.openai.com/docs/api-reference/chat/create).
  if (choice === "auto" || choice === "none") edit.takeOut("tool_choice");
  edit.takeOut("parallel_tool_calls");
}

/** The member with the output limit; without one, the member that the caller names. */
function limitMember(body: Members) {
  return typeof body.max_completion_tokens !== "number" && Object.hasOwn(body, "max_tokens")
    ? "max_tokens"
    : "max_completion_tokens";
}

/** Members of a delta with output. Others describe the model or the transport. */
const OUTPUT_MEMBERS = [
  "content",
  "refusal",
  "tool_calls",
  "function_call",
  "executed_tools",
  "annotations",
];

/**
 * Members with sound or pictures in base64. They are output, but their length is unrelated to
 * tokens.
 */
const MEDIA = ["audio", "images"];

/** Members of a delta with reasoning. Providers that send several of them repeat the same text. */
const REASONING = ["reasoning_content", "reasoning", "reasoning_details"];

/**
 * State of a choice's end. `null` is the protocol's value for an unfinished answer. A recorded
 * provider (Snowflake) never sends a reason: it omits the member, or leaves it empty, and closes
 * the answer. Output after a reason makes it doubtful until another one arrives, or `[DONE]`.
 */
type ChoiceEnd = "finished" | "resumed" | "unfinished" | "missing";

function choiceEnd(value: JsonMember): ChoiceEnd {
  if (value === null || value === "null") return "unfinished";
  return finishReason(value) === null ? "missing" : "finished";
}

/**
 * Failure of an answer that was closed, by `[DONE]` or the end of its body; `null` for an answer
 * that is relayed. A requested choice that never arrived has no finish reason either. The rule is
 * the same for streams and whole answers.
 */
function closingFailure(ends: readonly ChoiceEnd[], expectedChoices: number) {
  return ends.length < expectedChoices || ends.includes("unfinished")
    ? MISSING_FINISH_REASON
    : null;
}

/**
 * The finish reason of an answer that was closed. Without a reason it
 * is not recorded as completed.
 */
function closingReason(finish: FinishReason | null, ends: readonly ChoiceEnd[]) {
  return ends.includes("missing") ? "other" : finish;
}

/**
 * Observes a relayed chat completions stream (docs/protocols.md#chat-completions). Whole events go
 * through unchanged. The stream has succeeded when every choice had its finish reason, or a
 * provider that never gives one sent `[DONE]`; an error object, text that is not JSON, or an end
 * without either is a failure.
 */
export class RelayedChatStream extends RelayedStream {
  readonly #context: AnswerContext;
  readonly #expectedChoices: number;
  /**
   * The router requested usage, not the caller: the chunk with usage alone is not relayed, nor is
   * `usage: null` in others.
   */
  readonly #hideUsage: boolean;
  /** Lowest index so far: as in a whole answer, the reason is that of the first choice. */
  #first = Infinity;
  /** Choice index → state of its end. */
  readonly #choices = new Map<number, ChoiceEnd>();
  override usage: TokenUsage | null = null;

  constructor(context: AnswerContext) {
    super();
    this.#context = context;
    this.#expectedChoices = requestedChoices(context);
    this.#hideUsage = !context.request.includeUsage;
  }

  protected override close(events: Uint8Array[]): void {
    if (this.hasEnded) return;
    const ends = this.#ends;
    if (ends.length < this.#expectedChoices || ends.some((end) => end !== "finished"))
      this.failAnswer("truncated");
    if (this.failure === null) events.push(DONE_EVENT);
  }

  override fail(error: ServiceError): Uint8Array {
    return renderOpenAiStreamFailure(error, this.#context.requestId);
  }

  protected override relay(
    bytes: Uint8Array,
    data: string,
    event: string | null,
    events: Uint8Array[],
  ): void {
    if (data === "[DONE]") {
      this.#endChoices();
      if (this.hasEnded) events.push(bytes);
      return;
    }
    const chunk = parseJsonText(data);
    if (!isJsonObject(chunk)) this.failAnswer("malformed");
    else if (this.#readChunk(event, chunk)) events.push(this.#printed(bytes, event, data, chunk));
  }

  /**
   * The event itself where nothing has to change; else printed again, with every number as the
   * provider printed it.
   */
  #printed(bytes: Uint8Array, event: string | null, data: string, chunk: JsonObject): Uint8Array {
    const { signatureFamily } = this.#context;
    const { edits } = clientAnswer(chunk, signatureFamily);
    const shown = this.#hideUsage && chunk.usage === null ? withoutNullUsage(data) : data;
    if (edits === NO_EDITS) return shown === data ? bytes : formatSseEvent(shown, event);
    this.edits |= edits;
    const exact = parseExactJsonText(shown);
    const { answer } = clientAnswer(isJsonObject(exact) ? exact : chunk, signatureFamily);
    return formatSseEvent(JSON.stringify(answer), event);
  }

  /** Reads one chunk; returns whether it is relayed. */
  #readChunk(event: string | null, chunk: JsonObject): boolean {
    this.failure = failureIn(chunk, event);
    if (this.failure !== null) return false;
    const usage = readUsage(chunk);
    if (usage !== null) this.usage = usage;
    const choices = this.#readChoices(chunk);
    if (this.failure !== null) return false;
    this.#countOutput(chunk.choices);
    this.hasOutput ||= this.finish !== null;
    return !(this.#hideUsage && usage !== null && choices === 0);
  }

  #countOutput(choices: JsonMember) {
    for (const choice of listOf(choices)) {
      if (!isJsonObject(choice)) continue;
      const { delta, message } = choice;
      this.outputCharacters += charactersOf(delta) + outputCharacters(choice, TEXT);
      // Some providers send the message so far, beside the delta or alone.
      this.hasOutput ||=
        this.outputCharacters > 0 ||
        outputCharacters(delta, MEDIA) > 0 ||
        charactersOf(message) > 0 ||
        outputCharacters(message, MEDIA) > 0;
    }
  }

  get #ends(): readonly ChoiceEnd[] {
    return [...this.#choices.values()];
  }

  /** The provider has sent `[DONE]`. */
  #endChoices() {
    // `[DONE]` before any choice.
    this.failure =
      this.#choices.size === 0
        ? failureOf("truncated")
        : closingFailure(this.#ends, this.#expectedChoices);
    if (this.failure !== null) return;
    this.finish = closingReason(this.finish, this.#ends);
    this.hasEnded = true;
    this.hasOutput = true;
  }

  /** @returns how many choices the chunk has. */
  #readChoices(chunk: JsonObject): number {
    const choices = listOf(chunk.choices);
    for (const choice of choices) {
      if (!isJsonObject(choice)) continue;
      const index = numberOrNull(choice.index) ?? 0;
      const reason = choice.finish_reason;
      const earlier = this.#choices.get(index);
      this.failure ??= choiceFailure(choice);
      this.#first = Math.min(this.#first, index);
      if (index === this.#first) this.finish = finishReason(reason) ?? this.finish;
      // Later output does not cancel a reason; after a `null` the member has the protocol's
      // meaning.
      const end = choiceEnd(reason);
      if (
        earlier === undefined ||
        end === "finished" ||
        (earlier === "missing" && end === "unfinished")
      )
        this.#choices.set(index, end);
      else if (earlier === "finished" && holdsAnswer(choice)) this.#choices.set(index, "resumed");
    }
    return choices.length;
  }
}

const NULL_USAGE = ',"usage":null}';

/**
 * A chunk's text without `usage: null`: strict clients refuse the member where they did not request
 * it.
 */
function withoutNullUsage(data: string): string {
  if (data.endsWith(NULL_USAGE)) return `${data.slice(0, -NULL_USAGE.length)}}`;
  const exact = parseExactJsonText(data);
  if (!isJsonObject(exact)) return data;
  const { usage: _, ...rest } = exact;
  return JSON.stringify(rest);
}

/** @param message a delta, or a message. */
function charactersOf(message: JsonMember): number {
  if (!isJsonObject(message)) return 0;
  let output = 0;
  let reasoning = 0;
  // Faster than nine look-ups: a delta has one or two members.
  for (const name in message) {
    if (OUTPUT_MEMBERS.includes(name)) output += charactersIn(message[name]);
    else if (REASONING.includes(name)) reasoning = Math.max(reasoning, charactersIn(message[name]));
  }
  return output + reasoning;
}

/** Answers that a body requests; each must end before the stream is whole. */
function requestedChoices({ request: { body, reader } }: AnswerContext) {
  return reader.prompts(body) * (numberOrNull(body.n) ?? 1);
}

/** Reads a whole answer of chat or legacy completions. */
export function readChatAnswer(bytes: Uint8Array, context: AnswerContext): WholeAnswer {
  const { signatureFamily } = context;
  const answer = parseAnswerBytes(bytes);
  if (!isJsonObject(answer)) return { ...failedWhole("malformed"), bytes };
  const ending = judge(answer, requestedChoices(context));
  const { edits } = clientAnswer(answer, signatureFamily);
  const exact = edits === NO_EDITS ? null : parseJsonBytes(bytes);
  if (!isJsonObject(exact)) return { ending, bytes };
  const printed = JSON.stringify(clientAnswer(exact, signatureFamily).answer);
  return { ending: { ...ending, edits }, bytes: new TextEncoder().encode(printed) };
}

/** Values of `finish_reason` that official clients know. */
const PROTOCOL_REASONS: readonly string[] = [
  "stop",
  "length",
  "tool_calls",
  "function_call",
  "content_filter",
];

/**
 * An answer or a chunk as the client gets it: signatures with the tag of their family, and known
 * finish reasons with the protocol's own value.
 */
function clientAnswer(answer: JsonObject, family: string | null) {
  const tagged = tagAnswer(answer, family);
  const edits = tagged === answer ? NO_EDITS : SIGNATURES_MARKED;
  const choices = listOf(tagged.choices);
  if (!choices.some(hasForeignReason)) return { answer: tagged, edits };
  const mapped = choices.map((choice) =>
    hasForeignReason(choice) ? withMember(choice, "finish_reason", protocolReason) : choice,
  );
  return { answer: { ...tagged, choices: mapped }, edits: edits | FINISH_MAPPED };
}

function hasForeignReason(choice: JsonValue): choice is JsonObject {
  const value = isJsonObject(choice) ? choice.finish_reason : null;
  return (
    typeof value === "string" &&
    value !== "" &&
    !PROTOCOL_REASONS.includes(value) &&
    finishReason(value) !== "other"
  );
}

function protocolReason(value: JsonMember): string | null {
  const reason = finishReason(value);
  return reason === null ? null : formatFinishReason(reason);
}

const FINISH_MAPPED = editSet("finish_reason_mapped");

function judge(answer: JsonObject, expectedChoices: number): Ending {
  const choices = listOf(answer.choices);
  const reasons = choices.map((choice) => memberIn(choice, "finish_reason"));
  const ends = reasons.map(choiceEnd);
  const failure =
    failureIn(answer) ??
    (choices.length > 0 && choices.every(isAnswer)
      ? (choices.map(choiceFailure).find((one) => one !== null) ??
        closingFailure(ends, expectedChoices))
      : failureOf("malformed"));
  const finish = failure === null ? closingReason(finishReason(reasons[0]), ends) : null;
  return { failure, finish, usage: readUsage(answer), dropped: [] };
}

/** Whether a choice has a message, the text of a completion, or a finish reason. */
function isAnswer(choice: JsonValue): choice is JsonObject {
  return ["message", "text", "finish_reason"].some((name) => memberIn(choice, name) !== undefined);
}
