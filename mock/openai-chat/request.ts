import type { JsonObject } from "../json.ts";
import { limitAt, numberWithin, objectAt, textsOf } from "../members.ts";
import type { Conversation } from "../model/conversation.ts";
import type { ToolUse } from "../model/plan.ts";
import { missingParameter } from "../openai/error.ts";
import type { Problem } from "../problem.ts";
import { readMessages } from "./messages.ts";
import { readTools } from "./tools.ts";

/** A chat-completions request, as far as the simulated answer depends on it. */
export interface ChatRequest {
  readonly conversation: Conversation;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly choices: number;
  readonly limit: number | null;
  readonly stop: readonly string[];
  /** Alternatives for each token; `null` where no log probabilities are requested. */
  readonly logprobs: number | null;
  readonly reasoning: boolean;
  readonly tools: ToolUse;
  /** Schema of the answer; `null` for text. */
  readonly schema: unknown;
}

/** Reads a request; one without messages is refused. */
export function readChatRequest(body: JsonObject): ChatRequest | Problem {
  const conversation = readMessages(body);
  if (conversation.messages === 0) return missingParameter("messages");
  return {
    conversation,
    stream: body.stream === true,
    includeUsage: objectAt(body, "stream_options").include_usage === true,
    choices: numberWithin(body.n, 1, 128, 1),
    limit: limitAt(body, "max_completion_tokens") ?? limitAt(body, "max_tokens"),
    stop: textsOf(body.stop),
    logprobs: body.logprobs === true ? numberWithin(body.top_logprobs, 0, 20, 0) : null,
    reasoning: (body.reasoning_effort ?? "none") !== "none",
    tools: readTools(body),
    schema: schemaOf(objectAt(body, "response_format")),
  };
}

function schemaOf(format: JsonObject): unknown {
  if (format.type === "json_schema")
    return objectAt(format, "json_schema").schema ?? { type: "object" };
  return format.type === "json_object" ? { type: "object" } : null;
}
