import type { JsonObject } from "../json.ts";
import { limitAt, objectAt, textsOf } from "../members.ts";
import type { Conversation } from "../model/conversation.ts";
import type { ToolUse } from "../model/plan.ts";
import { invalid, type Problem } from "../problem.ts";
import { readMessages } from "./messages.ts";
import { readTools } from "./tools.ts";

/** A chat request, as far as the simulated answer depends on it. */
export interface CohereRequest {
  readonly conversation: Conversation;
  readonly stream: boolean;
  readonly limit: number | null;
  readonly stop: readonly string[];
  readonly logprobs: boolean;
  readonly thinks: boolean;
  readonly tools: ToolUse;
  /** Schema of the answer; `null` for text. */
  readonly schema: unknown;
}

/** Reads a request; one without messages is refused. */
export function readCohereRequest(body: JsonObject): CohereRequest | Problem {
  const conversation = readMessages(body);
  if (conversation.messages === 0)
    return invalid("messages", "invalid request: list of messages must not be empty.");
  const format = objectAt(body, "response_format");
  return {
    conversation,
    stream: body.stream === true,
    limit: limitAt(body, "max_tokens"),
    stop: textsOf(body.stop_sequences),
    logprobs: body.logprobs === true,
    thinks: objectAt(body, "thinking").type === "enabled",
    tools: readTools(body),
    schema: format.type === "json_object" ? (format.json_schema ?? { type: "object" }) : null,
  };
}
