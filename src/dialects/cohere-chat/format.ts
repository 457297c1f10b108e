import type {
  AssistantPart,
  GenerateRequest,
  InputPart,
  ToolResult,
  Turn,
} from "../../canon/generate/generate-request.ts";
import type { JsonObject, JsonValue } from "../../canon/json.ts";
import type { Target, Upstream } from "../dialect.ts";
import { NO_PARAMETERS } from "../fit-schema.ts";
import { printCall, printImage } from "../openai-chat/format.ts";
import { RequestDraft, allowedTools, isForced } from "../request-draft.ts";

/** Prints a request in Cohere's second chat protocol (docs/protocols.md#cohere-chat). */
export const formatCohere: Upstream["format"] = (request, target) => {
  const draft = new RequestDraft();
  const { body } = draft;
  body.model = target.endpoint.upstreamModel;
  if (request.purpose === "count") draft.refuseFeature("token counting");
  if (request.logitBias !== null) draft.refuseFeature("logit_bias");
  if (request.verbosity !== null) draft.refuseFeature("verbosity");
  body.messages = request.turns.flatMap((turn) => formatTurn(turn, draft));
  formatTools(request, draft);
  formatSampling(request, draft);
  formatReasoning(request.reasoning, target, draft);
  formatOutput(request, draft);
  body.max_tokens = request.maxOutputTokens ?? undefined;
  // The protocol has no service tiers; `auto` is the tier of requests that name none.
  draft.sentTier(request, { auto: null });
  draft.dropCacheHints(request);
  // The protocol's description demands the member for every value.
  body.stream = request.stream;
  return draft.finished("/v2/chat");
};

/** JSON mode takes a schema too; there is no other mode for one. */
function formatOutput({ format }: GenerateRequest, draft: RequestDraft) {
  if (format === null) return;
  if (draft.body.tools !== undefined) {
    draft.refuseRequest(
      "unsupported_combination",
      "An endpoint that may get the request takes no response format together with tools; leave one of them out",
    );
  }
  const isSchema = format.kind === "json_schema";
  if (isSchema) draft.dropSchemaName(format);
  draft.body.response_format = {
    type: "json_object",
    json_schema: isSchema ? format.schema : undefined,
  };
}

/**
 * Writes `thinking`. The protocol has on, off and a budget; an effort becomes a budget by the table
 * in routes.yaml, and by nothing else. Models that can think do so unless the request forbids it.
 */
function formatReasoning(
  reasoning: GenerateRequest["reasoning"],
  { model }: Target,
  draft: RequestDraft,
) {
  if (reasoning === null) return;
  const { body, dropped } = draft;
  const { effort, adaptive, display } = reasoning;
  if (effort === "none") {
    body.thinking = { type: "disabled" };
    return;
  }
  if (display !== null) dropped.add("reasoning_display_dropped");
  const budget = reasoning.budget ?? model.reasoning?.budgets?.[effort] ?? null;
  if (effort !== "unspecified") {
    if (budget === null)
      draft.refuseFeature(`value for the reasoning effort ${effort}, and no budget for it either`);
    dropped.add("effort_as_budget");
  }
  if (budget !== null && budget < 1) {
    draft.refuseRequest(
      "invalid_reasoning_budget",
      "The reasoning budget must be at least 1 token",
    );
  }
  if (budget !== null || adaptive)
    body.thinking = { type: "enabled", token_budget: budget ?? undefined };
}

/** The most and the least of `p`. */
const TOP_P = [0.01, 0.99] as const;

/** Stop sequences that a request may have. */
const MOST_STOPS = 5;

/** Writes the numbers. Values outside this protocol's ranges are refused, never moved into them. */
function formatSampling(request: GenerateRequest, draft: RequestDraft) {
  const { body, dropped } = draft;
  const { topP, stop, logprobs } = request;
  // A `top_p` of 1 limits nothing in protocols whose range ends there. Here the default is less.
  if (topP === 1) dropped.add("top_p_limited");
  const numbers = [
    ["temperature", "temperature", request.temperature, 0, 1],
    ["top_p", "p", topP === 1 ? TOP_P[1] : topP, ...TOP_P],
    ["top_k", "k", request.topK, 0, 500],
    ["seed", "seed", request.seed, 0, Number.MAX_SAFE_INTEGER],
    // 0 requests nothing, and some models refuse two penalties, also of 0.
    ["frequency_penalty", "frequency_penalty", request.frequencyPenalty || null, 0, 1],
    ["presence_penalty", "presence_penalty", request.presencePenalty || null, 0, 1],
  ] as const;
  for (const [param, name, value, least, most] of numbers) {
    if (value === null) continue;
    if (value < least || value > most) refuseValue(param, `from ${least} to ${most}`, draft);
    body[name] = value;
  }
  if (stop.length > MOST_STOPS) refuseValue("stop", `a list of at most ${MOST_STOPS} texts`, draft);
  if (stop.length > 0) body.stop_sequences = stop;
  if (logprobs !== null) {
    body.logprobs = true;
    if (logprobs > 0) dropped.add("logprobs_coarser");
  }
}

function refuseValue(param: string, range: string, draft: RequestDraft) {
  draft.refuseRequest(
    "unsupported_value",
    `An endpoint that may get the request takes \`${param}\` only as ${range}`,
    param,
  );
}

/** Writes `tools`, `tool_choice` and `strict_tools`. */
function formatTools(request: GenerateRequest, draft: RequestDraft) {
  const { body, dropped } = draft;
  const { toolChoice, parallelToolCalls } = request;
  const tools = allowedTools(request);
  if (tools.length < request.tools.length) dropped.add("allowed_tools_filtered");
  if (tools.length === 0) return;
  const isForbidden = toolChoice?.mode === "none";
  if (toolChoice?.mode === "named") draft.refuseFeature("tool choice that names one tool");
  if (parallelToolCalls === false && !isForbidden)
    draft.refuseFeature("way to switch parallel tool calls off");
  body.tools = tools.map(({ name, description, parameters }) => ({
    type: "function",
    function: {
      name,
      description: description ?? undefined,
      parameters: parameters ?? NO_PARAMETERS,
    },
  }));
  // Without the member the model decides.
  body.tool_choice = isForbidden ? "NONE" : isForced(toolChoice) ? "REQUIRED" : undefined;
  const strict = tools.filter((tool) => tool.strict === true);
  if (strict.length === 0) return;
  // All tools are strict or none: where one must be, the others are too.
  body.strict_tools = true;
  if (strict.length < tools.length) dropped.add("tool_strictness_widened");
}

function formatTurn(turn: Turn, draft: RequestDraft): readonly JsonObject[] {
  switch (turn.role) {
    case "system":
      if (turn.authority === "developer") draft.dropped.add("developer_as_system");
      return [{ role: "system", content: plain(formatInput(turn.content, draft)) }];
    case "user":
      return [{ role: "user", content: plain(formatInput(turn.content, draft)) }];
    case "assistant":
      return [formatAssistant(turn.content, draft)];
    case "tool":
      return turn.results.map((result) => formatResult(result, draft));
  }
}

function formatInput(parts: readonly InputPart[], draft: RequestDraft): readonly JsonObject[] {
  return parts.flatMap((part): readonly JsonObject[] => {
    if (part.kind === "text") return [{ type: "text", text: part.text }];
    if (part.kind !== "image") {
      draft.refuseFeature(part.kind === "file" ? "files" : "audio");
      return [];
    }
    return [printImage(part)];
  });
}

/**
 * A message has a member for each kind of content, in this order: thoughts and text, the plan,
 * calls. The text before calls is their plan: the model's own plan comes back to it this way.
 */
function formatAssistant(parts: readonly AssistantPart[], draft: RequestDraft): JsonObject {
  const content: JsonObject[] = [];
  const calls: JsonObject[] = [];
  for (const part of parts) {
    if (part.kind === "tool_call") {
      calls.push(printCall(part));
      continue;
    }
    if (calls.length > 0) draft.dropped.add("parts_reordered");
    if (part.kind === "reasoning") {
      if (part.signature !== null)
        draft.refuseFeature("member for signed reasoning of an earlier answer");
      if (part.summary) draft.dropped.add("reasoning_display_dropped");
      content.push({ type: "thinking", thinking: part.text });
    } else content.push({ type: "text", text: part.text });
  }
  const plan = calls.length > 0 && content.at(-1)?.type === "text" ? content.pop() : undefined;
  return {
    role: "assistant",
    content: content.length === 0 ? undefined : plain(content),
    tool_plan: plan?.text,
    tool_calls: calls.length === 0 ? undefined : calls,
  };
}

function formatResult({ callId, content, isError }: ToolResult, draft: RequestDraft): JsonObject {
  if (isError === true) draft.dropped.add("tool_error_flag_dropped");
  const texts = content.filter(({ kind }) => kind === "text");
  return {
    role: "tool",
    tool_call_id: callId,
    // Every call needs a result, an empty one too.
    content: texts.length === 0 ? "" : plain(formatInput(texts, draft)),
  };
}

/** A single text as a string, other content as a list. */
function plain(parts: readonly JsonObject[]): JsonValue {
  const [only] = parts;
  return parts.length === 1 && only?.type === "text" ? (only.text ?? "") : parts;
}
