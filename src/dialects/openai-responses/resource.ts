import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { requestedFormat } from "./response-format.ts";

/** Every member that Open Responses requires of a response resource (docs/protocols.md#responses); providers leave some of them out. */
export const RESOURCE_MEMBERS = [
  "id",
  "object",
  "created_at",
  "completed_at",
  "status",
  "incomplete_details",
  "model",
  "previous_response_id",
  "instructions",
  "output",
  "error",
  "tools",
  "tool_choice",
  "truncation",
  "parallel_tool_calls",
  "text",
  "top_p",
  "presence_penalty",
  "frequency_penalty",
  "top_logprobs",
  "temperature",
  "reasoning",
  "usage",
  "max_output_tokens",
  "max_tool_calls",
  "store",
  "background",
  "service_tier",
  "metadata",
  "safety_identifier",
  "prompt_cache_key",
] as const;

/** The members of a resource that repeat the request, with the protocol's documented defaults where the request says nothing. */
export function requestEcho(body: JsonObject): JsonObject {
  const { instructions, tools, reasoning, metadata } = body;
  return {
    previous_response_id: null,
    instructions: instructions ?? null,
    tools: Array.isArray(tools) ? tools.map(echoedTool) : [],
    tool_choice: body["tool_choice"] ?? "auto",
    truncation: body["truncation"] ?? "disabled",
    parallel_tool_calls: body["parallel_tool_calls"] ?? true,
    text: echoedText(body),
    top_p: body["top_p"] ?? 1,
    presence_penalty: body["presence_penalty"] ?? 0,
    frequency_penalty: body["frequency_penalty"] ?? 0,
    top_logprobs: body["top_logprobs"] ?? 0,
    temperature: body["temperature"] ?? 1,
    reasoning: isJsonObject(reasoning) ? echoedReasoning(reasoning) : null,
    max_output_tokens: body["max_output_tokens"] ?? null,
    max_tool_calls: body["max_tool_calls"] ?? null,
    store: false,
    background: false,
    service_tier: body["service_tier"] ?? "default",
    metadata: metadata ?? {},
    safety_identifier: body["safety_identifier"] ?? null,
    prompt_cache_key: body["prompt_cache_key"] ?? null,
    user: body["user"] ?? null,
  };
}

/** Function tools have all their members in an answer, also those that the request left out. */
function echoedTool(tool: JsonValue): JsonValue {
  if (!isJsonObject(tool) || tool["type"] !== "function") return tool;
  const { description, parameters, strict } = tool;
  return { ...tool, description: description ?? null, parameters: parameters ?? null, strict: strict ?? null };
}

function echoedText(body: JsonObject): JsonObject {
  const { text } = body;
  const verbosity = isJsonObject(text) ? (text["verbosity"] ?? null) : null;
  const found = requestedFormat(body);
  const format = found !== null && "format" in found ? echoedFormat(found.format) : { type: "text" };
  return verbosity === null ? { format } : { format, verbosity };
}

function echoedFormat(format: JsonObject): JsonObject {
  if (format["type"] !== "json_schema") return { type: format["type"] ?? "text" };
  return {
    type: "json_schema",
    name: format["name"] ?? "response",
    description: format["description"] ?? null,
    schema: format["schema"] ?? {},
    strict: format["strict"] ?? false,
  };
}

function echoedReasoning(reasoning: JsonObject): JsonObject {
  const { effort, summary, generate_summary: older } = reasoning;
  return { effort: effort ?? null, summary: summary ?? older ?? null };
}
