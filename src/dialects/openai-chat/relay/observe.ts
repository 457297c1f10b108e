import type { ServiceError } from "../../../canon/error.ts";
import type { UpstreamFailure } from "../../../canon/failure.ts";
import type { FinishReason } from "../../../canon/generate/event.ts";
import type { TokenUsage } from "../../../canon/generate/usage.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import type { AnswerContext, AnswerStream, Ending, WholeAnswer } from "../../dialect.ts";
import { parseAnswerBytes, parseJsonText } from "../../json-bytes.ts";
import { saysSomething } from "../../relay/says-something.ts";
import { renderOpenAiStreamFailure } from "../../openai-errors.ts";
import { formatSseEvent, MAXIMUM_EVENT_BYTES, parseSseEvent, SseFramer } from "../../sse.ts";
import { finishFailure, finishReason } from "../finish.ts";
import { errorIn, readErrorFrame } from "../read-error.ts";
import { answerFailure } from "../../translation/answer-failure.ts";
import { readUsage } from "../usage.ts";

const DONE = formatSseEvent("[DONE]");

/** Members of a delta in which providers say something. Others tell of the model or the transport. */
const SAID = [
  "content",
  "refusal",
  "reasoning_content",
  "reasoning",
  "reasoning_details",
  "tool_calls",
  "function_call",
  "executed_tools",
  "audio",
  "images",
  "annotations",
] as const;

/** Where legacy completions have their text. */
const COMPLETION = ["text"] as const;

/** Ends an event whose provider left the blank line out. */
const BLANK_LINE = new TextEncoder().encode("\n\n");

/**
 * Watches a relayed chat completions stream (protocols.md §3.1). Whole events go through as they are. The stream has succeeded
 * when every choice had its finish reason, or `[DONE]` was said; an error object, text that is not JSON, or an end without either is a failure.
 */
class RelayedChatStream implements AnswerStream {
  readonly #framer = new SseFramer();
  readonly #requestId: string;
  readonly #expectedChoices: number;
  /** We asked for usage that the caller did not: the chunk that holds nothing else is ours to keep. */
  readonly #hideUsageChunk: boolean;
  /** Choice index → whether it had its finish reason. */
  readonly #choices = new Map<number, boolean>();
  #finish: FinishReason | null = null;
  usage: TokenUsage | null = null;
  failure: UpstreamFailure | null = null;
  hasOutput = false;
  done = false;

  constructor({ request, requestId }: AnswerContext, expectedChoices: number) {
    this.#requestId = requestId;
    this.#expectedChoices = expectedChoices;
    this.#hideUsageChunk = !request.includeUsage;
  }

  push(chunk: Uint8Array): readonly Uint8Array[] {
    if (this.failure !== null || this.done) return [];
    const events = this.#framer.push(chunk).filter((event) => this.#isRelayed(event));
    if (this.#framer.pendingBytes > MAXIMUM_EVENT_BYTES) this.failure ??= answerFailure("too_large");
    return events;
  }

  end(): { readonly ending: Ending; readonly events: readonly Uint8Array[] } {
    const rest = this.#framer.end();
    const events: Uint8Array[] = [];
    if (parseSseEvent(rest).data !== null) {
      if (this.#isRelayed(rest)) events.push(rest, BLANK_LINE);
    }
    if (this.failure === null && !this.#isWhole()) this.failure = answerFailure("truncated");
    if (this.failure === null && !this.done) events.push(DONE);
    return { ending: { failure: this.failure, finish: this.#finish, usage: this.usage, losses: [] }, events };
  }

  fail(error: ServiceError): Uint8Array {
    return renderOpenAiStreamFailure(error, this.#requestId);
  }

  #isWhole(): boolean {
    if (this.done) return true;
    return this.#choices.size >= this.#expectedChoices && ![...this.#choices.values()].includes(false);
  }

  /** Reads one event; says whether it goes to the client. */
  #isRelayed(bytes: Uint8Array): boolean {
    if (this.failure !== null || this.done) return false;
    const { event, data } = parseSseEvent(bytes);
    return data === null || this.#take(event, data);
  }

  /** Reads one event with data; says whether it is relayed. */
  #take(event: string | null, data: string): boolean {
    if (data === "[DONE]") {
      // An end without a beginning: there is no choice that could have been finished.
      if (this.#choices.size === 0) this.failure = answerFailure("truncated");
      else this.done = true;
      this.hasOutput ||= this.done;
      return this.done;
    }
    const chunk = parseJsonText(data);
    if (!isJsonObject(chunk)) {
      this.failure = answerFailure("malformed");
      return false;
    }
    const error = errorIn(chunk, event);
    if (error !== null) {
      this.failure = readErrorFrame(error);
      return false;
    }
    const usage = readUsage(chunk);
    if (usage !== null) this.usage = usage;
    const choices = this.#readChoices(chunk);
    if (this.failure !== null) return false;
    this.hasOutput ||= this.#finish !== null || saysOutput(chunk["choices"]);
    return !(this.#hideUsageChunk && usage !== null && choices === 0);
  }

  #readChoices(chunk: JsonObject): number {
    const choices = chunk["choices"];
    if (!Array.isArray(choices)) return 0;
    for (const choice of choices) {
      if (!isJsonObject(choice)) continue;
      const index = typeof choice["index"] === "number" ? choice["index"] : 0;
      const finish = finishReason(choice["finish_reason"]);
      this.failure ??= finishFailure(choice["finish_reason"]);
      if (finish !== null) {
        this.#choices.set(index, true);
        this.#finish = finish;
      } else if (!this.#choices.has(index)) {
        this.#choices.set(index, false);
      }
    }
    return choices.length;
  }
}

function saysOutput(choices: JsonValue | undefined): boolean {
  return Array.isArray(choices) && choices.some((choice) => isJsonObject(choice) && saysInChoice(choice));
}

/** Some providers send the message so far, beside the delta or in its place. */
function saysInChoice(choice: JsonObject): boolean {
  return (
    saysSomething(choice["delta"], SAID) || saysSomething(choice["message"], SAID) || saysSomething(choice, COMPLETION)
  );
}

/** @param expectedChoices how many answers the request asks for; each must end before the stream is whole. */
export function observeChatStream(context: AnswerContext, expectedChoices = choicesAsked(context)): AnswerStream {
  return new RelayedChatStream(context, expectedChoices);
}

function choicesAsked({ request }: AnswerContext): number {
  const { n } = request.body;
  return typeof n === "number" ? n : 1;
}

/**
 * Judges a whole answer: a JSON object with at least one choice, each with a finish reason. The empty text is let through as one:
 * a recorded provider (Snowflake) ends every whole answer with it.
 */
export function readChatAnswer(bytes: Uint8Array): WholeAnswer {
  return { ending: judge(parseAnswerBytes(bytes)), bytes };
}

function judge(answer: JsonValue | undefined): Ending {
  if (!isJsonObject(answer)) return failed(answerFailure("malformed"), null);
  const usage = readUsage(answer);
  const error = errorIn(answer, null);
  if (error !== null) return failed(readErrorFrame(error), usage);
  const choices = answer["choices"];
  if (!Array.isArray(choices) || choices.length === 0 || !choices.every(isFinished)) {
    return failed(answerFailure("malformed"), usage);
  }
  for (const { finish_reason } of choices) {
    const failure = finishFailure(finish_reason);
    if (failure !== null) return failed(failure, usage);
  }
  return { failure: null, finish: finishReason(choices[0]?.["finish_reason"]), usage, losses: [] };
}

function isFinished(choice: JsonValue): choice is JsonObject {
  return isJsonObject(choice) && typeof choice["finish_reason"] === "string";
}

function failed(failure: UpstreamFailure, usage: TokenUsage | null): Ending {
  return { failure, finish: null, usage, losses: [] };
}
