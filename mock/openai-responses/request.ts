import type { JsonObject } from "../json.ts";
import { limitAt, listAt, numberWithin, objectAt, textAt } from "../members.ts";
import { tokensOfText, type Conversation } from "../model/conversation.ts";
import type { ToolUse } from "../model/plan.ts";
import { missingParameter } from "../openai/error.ts";
import type { Problem } from "../problem.ts";
import { readInput } from "./input.ts";
import { readTools } from "./tools.ts";

/** A responses request, as far as the simulated answer depends on it. */
export interface ResponsesRequest {
  readonly body: JsonObject;
  readonly input: Conversation;
  /** Estimated tokens of everything that the model reads. */
  readonly tokens: number;
  readonly stream: boolean;
  readonly limit: number | null;
  readonly reasoning: boolean;
  /** The reasoning is summed up in text. */
  readonly summary: boolean;
  /** The reasoning comes along sealed, to be sent back. */
  readonly encrypted: boolean;
  /** Alternatives for each token; `null` where no log probabilities are requested. */
  readonly logprobs: number | null;
  /** Deltas carry padding, so that their length does not reveal their text. */
  readonly obfuscated: boolean;
  readonly tools: ToolUse;
  /** Schema of the answer; `null` for text. */
  readonly schema: unknown;
}

/** Reads a request; one without input is refused. */
export function readResponsesRequest(body: JsonObject): ResponsesRequest | Problem {
  const input = readInput(body);
  if ("status" in input) return input;
  if (input.messages === 0) return missingParameter("input");
  const tools = readTools(body);
  const include = listAt(body, "include");
  return {
    body,
    input,
    tokens: input.tokens + tools.tokens + tokensOfText(textAt(body, "instructions")),
    stream: body.stream === true,
    limit: limitAt(body, "max_output_tokens"),
    ...readReasoning(objectAt(body, "reasoning")),
    encrypted: include.includes("reasoning.encrypted_content"),
    logprobs: include.includes("message.output_text.logprobs")
      ? numberWithin(body.top_logprobs, 0, 20, 0)
      : null,
    obfuscated: objectAt(body, "stream_options").include_obfuscation !== false,
    tools,
    schema: schemaOf(objectAt(objectAt(body, "text"), "format")),
  };
}

function schemaOf(format: JsonObject): unknown {
  if (format.type === "json_schema") return format.schema ?? { type: "object" };
  return format.type === "json_object" ? { type: "object" } : null;
}

function readReasoning(reasoning: JsonObject): Pick<ResponsesRequest, "reasoning" | "summary"> {
  const summary = (reasoning.summary ?? reasoning.generate_summary ?? null) !== null;
  const effort = reasoning.effort ?? (summary ? "medium" : "none");
  return { reasoning: effort !== "none", summary };
}
