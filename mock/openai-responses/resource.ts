import { isJsonObject, type JsonObject } from "../json.ts";
import type { Behaviour, FinishReason } from "../behaviour.ts";
import { listAt } from "../members.ts";
import { CREATED } from "../openai/created.ts";
import { FAILURE_MESSAGE } from "../openai/error.ts";
import { itemJson, type OutputItem, type ResponsesAnswer } from "./output.ts";

/**
 * How responses end: with nothing to add, or incomplete for a reason. The last one is a reason that
 * they do not have.
 */
export const ENDINGS: ReadonlyMap<FinishReason, string> = new Map([
  ["stop", "completed"],
  ["tool_calls", "completed"],
  ["length", "max_output_tokens"],
  ["content_filter", "content_filter"],
  ["unknown", "mock_unknown"],
]);

/** Why the answer is incomplete; `null` where it is not. */
export function incompleteReason({ completion }: ResponsesAnswer): string | null {
  const ending = ENDINGS.get(completion.finish) ?? completion.finish;
  return ending === "completed" ? null : ending;
}

/** The response at its beginning. */
export function startedResource(answer: ResponsesAnswer): Record<string, unknown> {
  return resource(answer, { status: "in_progress", service_tier: "auto" });
}

/** The response at its end. */
export function endedResource(
  answer: ResponsesAnswer,
  items: readonly OutputItem[],
  behaviour: Behaviour,
): Record<string, unknown> {
  const reason = incompleteReason(answer);
  return resource(answer, {
    status: reason === null ? "completed" : "incomplete",
    completed_at: reason === null ? CREATED : null,
    incomplete_details: reason === null ? null : { reason },
    output: items.map((item) => itemJson(item, answer.request.logprobs)),
    usage: behaviour.noUsage ? null : usage(answer, behaviour),
  });
}

/** A response, made one that failed: what was finished is kept. */
export function failedResource(
  response: JsonObject,
  output: readonly unknown[],
): Record<string, unknown> {
  return {
    ...response,
    status: "failed",
    completed_at: null,
    error: { code: "server_error", message: FAILURE_MESSAGE },
    incomplete_details: null,
    output,
    usage: null,
  };
}

/** Every member that OpenAI's resource has, those of the request with their defaults. */
function resource(
  { request, sequence, model }: ResponsesAnswer,
  state: object,
): Record<string, unknown> {
  const { body } = request;
  return {
    id: `resp_mock_${sequence}`,
    object: "response",
    created_at: CREATED,
    status: "in_progress",
    background: false,
    completed_at: null,
    error: null,
    frequency_penalty: 0,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    model,
    output: [],
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    presence_penalty: 0,
    previous_response_id: null,
    prompt_cache_key: body.prompt_cache_key ?? null,
    prompt_cache_retention: body.prompt_cache_retention ?? "in_memory",
    reasoning: reasoningOf(body.reasoning),
    safety_identifier: body.safety_identifier ?? null,
    service_tier: "default",
    store: body.store ?? true,
    temperature: body.temperature ?? 1,
    text: textOf(body.text),
    tool_choice: body.tool_choice ?? "auto",
    tools: listAt(body, "tools").map(toolOf),
    top_logprobs: body.top_logprobs ?? 0,
    top_p: body.top_p ?? 1,
    truncation: body.truncation ?? "disabled",
    usage: null,
    user: body.user ?? null,
    metadata: body.metadata ?? {},
    ...state,
  };
}

function reasoningOf(value: unknown): object {
  const given = isJsonObject(value) ? value : {};
  return { ...given, effort: given.effort ?? null, summary: given.summary ?? null };
}

function textOf(value: unknown): object {
  const given = isJsonObject(value) ? value : {};
  const format = isJsonObject(given.format) ? given.format : { type: "text" };
  const whole =
    format.type === "json_schema" ? { description: null, strict: false, ...format } : format;
  return { format: whole, verbosity: given.verbosity ?? "medium" };
}

function toolOf(tool: unknown): unknown {
  return isJsonObject(tool) && tool.type === "function"
    ? { description: null, parameters: null, strict: true, ...tool }
    : tool;
}

function usage(
  { completion, request }: ResponsesAnswer,
  { cached, cacheWrite }: Behaviour,
): object {
  const input = Math.max(request.tokens, cached + cacheWrite);
  const output = completion.pieces.length;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: cacheWrite },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: completion.reasoningTokens },
    total_tokens: input + output,
  };
}
