import type { Capability } from "../../canon/capability.ts";
import type { InferenceEvent } from "../../canon/generate/event.ts";
import { isJsonObject, type JsonValue } from "../../canon/json.ts";
import type { AnswerReading, EventParser, Relay, Target } from "../dialect.ts";
import { parseAnswerBytes, parseJsonText } from "../json.ts";
import { SseEventParser } from "../sse.ts";
import { answerFailure } from "../answer-failure.ts";
import { toolName } from "./read-tools.ts";
import { ChatAnswerReader, type ChatQuestion } from "./answer-reader.ts";

/** Reads a provider's stream as events (docs/protocols.md#chat-streams-of-providers). */
class ChatEventParser extends SseEventParser<ChatAnswerReader> {
  protected override take(data: string, event: string | null): void {
    if (data === "[DONE]") return this.reader.conclude(true);
    const object = parseJsonText(data);
    if (!isJsonObject(object)) this.reader.fail(answerFailure("malformed"));
    else this.reader.take(object, event, false);
  }

  protected override close(): void {
    this.reader.conclude(false);
  }
}

export function parseChatStream(request: ChatQuestion, target: Target, answerId = ""): EventParser {
  return new ChatEventParser(new ChatAnswerReader(request, target, answerId));
}

/** A whole completion as the events of a stream. */
export function parseChatAnswer(
  bytes: Uint8Array,
  request: ChatQuestion,
  target: Target,
  answerId = "",
): readonly InferenceEvent[] {
  const reader = new ChatAnswerReader(request, target, answerId);
  const answer = parseAnswerBytes(bytes);
  if (!isJsonObject(answer)) reader.fail(answerFailure("malformed"));
  else {
    reader.take(answer, null, true);
    const choice = Array.isArray(answer["choices"]) ? answer["choices"][0] : null;
    if (isJsonObject(choice) && isJsonObject(choice["message"])) reader.conclude(true);
    else reader.fail(answerFailure("malformed"));
  }
  return reader.drain();
}

/** What events do not carry: such answers are relayed whatever the flags. */
const RELAYED_NEEDS: ReadonlySet<Capability> = new Set<Capability>([
  "multiple_choices",
  "audio_output",
  "image_output",
  "custom_tools",
  "web_search",
  "file_search",
  "code_execution",
  "mcp",
]);

/**
 * Reads answers for callers of this protocol, where the provider has the flag `rewritten_answers`.
 */
export const readingOfChat: NonNullable<Relay["reading"]> = (
  { request, answerId },
  target,
): AnswerReading | null => {
  const { shape, body } = request;
  if (!target.provider.flags.includes("rewritten_answers")) return null;
  if (shape.needs.some((need) => RELAYED_NEEDS.has(need)) || body["functions"] !== undefined)
    return null;
  const tools = Array.isArray(body["tools"]) ? body["tools"] : [];
  const question: ChatQuestion = {
    logprobs: body["logprobs"] === true ? 0 : null,
    tools: tools.map((tool: JsonValue) => ({ name: toolName(tool) })),
    ownProtocol: true,
  };
  return {
    parseStream: () => parseChatStream(question, target, answerId),
    parseAnswer: (bytes) => parseChatAnswer(bytes, question, target, answerId),
  };
};
