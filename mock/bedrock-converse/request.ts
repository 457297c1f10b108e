import { parseObject, type JsonObject } from "../json.ts";
import { limitAt, objectAt, textAt, textsOf } from "../members.ts";
import type { Conversation } from "../model/conversation.ts";
import type { ToolUse } from "../model/plan.ts";
import { invalid, type Problem } from "../problem.ts";
import { readMessages } from "./messages.ts";
import { readTools } from "./tools.ts";

/** A request, as far as the simulated answer depends on it. */
export interface ConverseRequest {
  readonly conversation: Conversation;
  /** Estimated tokens of everything that the model reads. */
  readonly tokens: number;
  readonly limit: number | null;
  readonly stop: readonly string[];
  readonly reasoning: boolean;
  readonly tools: ToolUse;
  /** Schema of the answer; `null` for text. */
  readonly schema: unknown;
}

/** Reads a request; one without messages is refused. */
export function readConverseRequest(body: JsonObject): ConverseRequest | Problem {
  const conversation = readMessages(body);
  if ("status" in conversation) return conversation;
  if (conversation.messages === 0)
    return invalid("messages", "A conversation must have at least one message. Try again.");
  const tools = readTools(body);
  const inference = objectAt(body, "inferenceConfig");
  return {
    conversation,
    tokens: conversation.tokens + tools.tokens,
    limit: limitAt(inference, "maxTokens"),
    stop: textsOf(inference.stopSequences),
    reasoning: thinks(objectAt(body, "additionalModelRequestFields")),
    tools,
    schema: schemaOf(objectAt(objectAt(body, "outputConfig"), "textFormat")),
  };
}

/** Schemas are written as texts. */
function schemaOf(format: JsonObject): unknown {
  return parseObject(textAt(objectAt(objectAt(format, "structure"), "jsonSchema"), "schema"));
}

/** Whether a field of the model turns its reasoning on. */
function thinks(fields: JsonObject): boolean {
  const effort = fields.reasoning_effort;
  if (typeof effort === "string") return effort !== "none";
  return ["thinking", "reasoning_config", "reasoningConfig"].some((name) => {
    const { type } = objectAt(fields, name);
    return type === "enabled" || type === "adaptive";
  });
}
