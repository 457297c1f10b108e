import type { JsonObject } from "../json.ts";
import { limitAt, objectAt, textAt, textsOf } from "../members.ts";
import type { ToolUse } from "../model/plan.ts";
import { invalid, type Problem } from "../problem.ts";
import { readMessages, type MessagesConversation } from "./messages.ts";
import { readThinking, type Thinking } from "./thinking.ts";
import { readTools } from "./tools.ts";

/** A messages request, as far as the simulated answer depends on it. */
export interface MessagesRequest {
  readonly conversation: MessagesConversation;
  /** Estimated tokens of everything that the model reads. */
  readonly tokens: number;
  readonly stream: boolean;
  readonly limit: number | null;
  readonly stop: readonly string[];
  readonly thinking: Thinking;
  readonly tools: ToolUse;
  /** Schema of the answer; `null` for text. */
  readonly schema: unknown;
  readonly region: string | null;
}

/** Reads a request; one without messages is refused. */
export function readMessagesRequest(body: JsonObject): MessagesRequest | Problem {
  const conversation = readMessages(body);
  if ("status" in conversation) return conversation;
  if (conversation.messages === 0) return invalid("messages", "Field required");
  const tools = readTools(body);
  return {
    conversation,
    tokens: conversation.tokens + tools.tokens,
    stream: body.stream === true,
    limit: limitAt(body, "max_tokens"),
    stop: textsOf(body.stop_sequences),
    thinking: readThinking(body, conversation),
    tools,
    schema: schemaOf(body),
    region: textAt(body, "inference_geo") || null,
  };
}

/** The schema in `output_config`, or in `output_format` as it was called in its beta. */
function schemaOf(body: JsonObject): unknown {
  return (
    objectAt(objectAt(body, "output_config"), "format").schema ??
    objectAt(body, "output_format").schema ??
    null
  );
}
