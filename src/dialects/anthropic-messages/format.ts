import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import type { DroppedField } from "../../canon/generate/edit.ts";
import type {
  AssistantPart,
  CacheMark,
  FilePart,
  GenerateRequest,
  ImagePart,
  InputPart,
  ReasoningRequest,
  SystemTurn,
  Tool,
  ToolChoice,
  ToolResult,
  Turn,
} from "../../canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { base64ToText } from "../../canon/json/text-base64.ts";
import { BUDGET_ABOVE_LIMIT, EFFORTS, LEAST_BUDGET, redactedData } from "./reasoning.ts";
import { COUNT_PATH, MESSAGES_PATH, VERSIONS } from "./request-facts.ts";
import type { FormattedRequest, Target } from "../dialect.ts";
import { NO_PARAMETERS } from "../fit-schema.ts";
import { parseExactJsonText } from "../json.ts";
import {
  alternatingMessages,
  budgetOfEffort,
  continuesWithoutSignedReasoning,
  dropCacheHints,
  dropSchemaName,
  sentTier,
  splitSystem,
} from "../reasoning-effort.ts";

/** Prints a request as messages (docs/protocols.md#messages). */
export function formatMessages(
  request: GenerateRequest,
  target: Target,
): FormattedRequest | ServiceError {
  const draft: Draft = {
    body: { model: target.endpoint.upstreamModel },
    dropped: new Set(),
    refusal: null,
  };
  const { body, dropped } = draft;
  const counts = request.purpose === "count";
  const problem =
    (counts ? null : formatLimit(request, target, draft)) ??
    formatTurns(request.turns, draft) ??
    formatReasoning(request, target, draft);
  if (problem !== null) return problem;
  body.tools = formatTools(request, draft);
  body.tool_choice = formatToolChoice(request, body.tools);
  formatOutput(request, draft);
  if (!counts) formatSampling(request, draft);
  formatHints(request, draft);
  const version = target.provider.flags.includes("version_2026_10_21") ? VERSIONS[1] : VERSIONS[0];
  return {
    path: counts ? COUNT_PATH : MESSAGES_PATH,
    body,
    headers: ["anthropic-version", version],
    dropped: [...dropped],
  };
}

/** The protocol demands a limit; the compiler has made sure that a model on it has a default. */
function formatLimit(
  request: GenerateRequest,
  { model }: Target,
  { body, dropped }: Draft,
): ServiceError | null {
  if (request.maxOutputTokens !== null) {
    body.max_tokens = request.maxOutputTokens;
    return null;
  }
  const limit = model.defaultMaxOutputTokens ?? model.maxOutputTokens;
  if (limit === null) {
    return invalidRequest(
      "missing_output_limit",
      "An endpoint that may get the request needs an output limit, and its model has no default; send one",
    );
  }
  body.max_tokens = limit;
  dropped.add("output_limit_defaulted");
  return null;
}

function formatOutput({ format }: GenerateRequest, { body, dropped }: Draft): void {
  if (format?.kind !== "json_schema") return;
  dropSchemaName(format, dropped);
  const config = body.output_config;
  body.output_config = {
    ...(isJsonObject(config) ? config : {}),
    format: { type: "json_schema", schema: format.schema },
  };
}

function formatSampling(request: GenerateRequest, { body }: Draft): void {
  if (request.temperature !== null) body.temperature = request.temperature;
  if (request.topP !== null) body.top_p = request.topP;
  if (request.topK !== null) body.top_k = request.topK;
  if (request.stop.length > 0) body.stop_sequences = request.stop;
  if (request.stream) body.stream = true;
}

/** Tiers of other protocols and their names in this one. */
const TIERS: Readonly<Record<string, string>> = { auto: "auto", default: "standard_only" };

function formatHints(request: GenerateRequest, { body, dropped }: Draft): void {
  dropCacheHints(request, dropped);
  body.service_tier = sentTier(request, TIERS, dropped);
}

/**
 * Writes `thinking` and `output_config.effort`. Efforts become budgets by the table in routes.yaml,
 * and nowhere else.
 */
function formatReasoning(
  request: GenerateRequest,
  target: Target,
  draft: Draft,
): ServiceError | null {
  const { reasoning } = request;
  if (reasoning === null) return null;
  const { body, dropped } = draft;
  if (reasoning.effort === "none") {
    body.thinking = { type: "disabled" };
    return null;
  }
  const table = target.model.reasoning;
  const tabled =
    reasoning.budget === null ? budgetOfEffort(reasoning.effort, table, EFFORTS) : null;
  if (tabled !== null) dropped.add("effort_as_budget");
  else if (reasoning.effort !== "unspecified") body.output_config = { effort: reasoning.effort };
  const budget = reasoning.budget ?? tabled;
  if (budget !== null) return formatBudget(budget, request, reasoning, target, draft);
  if (reasoning.adaptive || reasoning.effort !== "unspecified") {
    body.thinking = { type: "adaptive", ...displayOf(reasoning, draft) };
  } else if (reasoning.display !== null) {
    dropped.add("reasoning_display_dropped");
  }
  return null;
}

function formatBudget(
  budget: number,
  request: GenerateRequest,
  reasoning: ReasoningRequest,
  target: Target,
  draft: Draft,
): ServiceError | null {
  if (budget < LEAST_BUDGET) {
    return invalidRequest(
      "invalid_reasoning_budget",
      `The reasoning budget must be at least ${LEAST_BUDGET} tokens for an endpoint that may get the request`,
    );
  }
  if (continuesWithoutSignedReasoning(request.turns)) {
    draft.dropped.add("reasoning_turned_off");
    draft.body.thinking = { type: "disabled" };
    return null;
  }
  if (request.purpose === "generate") {
    const limit = roomFor(budget, request, target, draft);
    if (limit <= budget) {
      return invalidRequest("invalid_reasoning_budget", BUDGET_ABOVE_LIMIT);
    }
  }
  draft.body.thinking = {
    type: "enabled",
    budget_tokens: budget,
    ...displayOf(reasoning, draft),
  };
  return null;
}

/**
 * The output limit. One that was not requested makes room for the budget, as far as the model goes:
 * the default is meant for the answer.
 */
function roomFor(
  budget: number,
  request: GenerateRequest,
  { model }: Target,
  { body }: Draft,
): number {
  const written = body.max_tokens;
  const limit = typeof written === "number" ? written : 0;
  if (request.maxOutputTokens !== null || limit > budget) return limit;
  const raised = Math.min(limit + budget, model.maxOutputTokens ?? limit + budget);
  body.max_tokens = raised;
  return raised;
}

/** How reasoning is shown. The protocol sums up in one way only. */
function displayOf({ display }: ReasoningRequest, { dropped }: Draft): JsonObject {
  if (display === null) return {};
  if (display === "concise" || display === "detailed") dropped.add("reasoning_display_dropped");
  return { display: display === "omitted" ? "omitted" : "summarized" };
}

/**
 * The tools, or `undefined` where there are none. Where only some may be called, only those are
 * sent.
 */
function formatTools(
  { tools, toolChoice }: GenerateRequest,
  { dropped }: Draft,
): JsonValue | undefined {
  if (tools.length === 0) return undefined;
  if (toolChoice?.mode !== "allowed") return tools.map(formatTool);
  const allowed = tools.filter(({ name }) => toolChoice.names.includes(name));
  if (allowed.length < tools.length) dropped.add("allowed_tools_filtered");
  return allowed.length === 0 ? undefined : allowed.map(formatTool);
}

function formatTool({ name, description, parameters, strict, cache }: Tool): JsonObject {
  return {
    name,
    description: description ?? undefined,
    input_schema: parameters ?? NO_PARAMETERS,
    strict: strict ?? undefined,
    ...formatMark(cache),
  };
}

/** `undefined` where nothing is said that the absence of the member would not say. */
function formatToolChoice(
  { toolChoice, parallelToolCalls }: GenerateRequest,
  tools: JsonValue | undefined,
): JsonValue | undefined {
  // Without tools the provider refuses the member.
  if (tools === undefined) return undefined;
  if (toolChoice === null)
    return parallelToolCalls === false ? { type: "auto", ...parallel(false) } : undefined;
  if (toolChoice.mode === "none") return { type: "none" };
  return { ...choiceOf(toolChoice), ...parallel(parallelToolCalls) };
}

function choiceOf(choice: ToolChoice): JsonObject {
  switch (choice.mode) {
    case "auto":
      return { type: "auto" };
    case "none":
      return { type: "none" };
    case "required":
      return { type: "any" };
    case "named":
      return { type: "tool", name: choice.name };
    case "allowed":
      return { type: choice.required ? "any" : "auto" };
  }
}

function parallel(allowed: boolean | null): JsonObject {
  return allowed === null ? {} : { disable_parallel_tool_use: !allowed };
}

/** The body of a request while it is printed. */
interface Draft {
  readonly body: Record<string, JsonValue | undefined>;
  readonly dropped: Set<DroppedField>;
  /** The first 400. */
  refusal: ServiceError | null;
}

/** Writes `system` and `messages`. The error is for file data that is not text. */
function formatTurns(turns: readonly Turn[], draft: Draft): ServiceError | null {
  const { system, rest } = splitSystem(turns, draft.dropped);
  draft.body.system = formatSystem(system);
  draft.body.messages = alternatingMessages(rest, draft.dropped, (turn) => formatTurn(turn, draft));
  return draft.refusal;
}

/** One plain text as a string, anything else as blocks. */
function formatSystem(turns: readonly SystemTurn[]): JsonValue | undefined {
  const blocks = turns.flatMap(formatSystemTurn);
  const [only] = blocks;
  if (only === undefined) return undefined;
  return blocks.length === 1 && only.cache_control === undefined ? only.text : blocks;
}

function formatSystemTurn({ content }: SystemTurn): readonly JsonObject[] {
  return content.map(({ text, cache }) => formatText(text, cache));
}

function formatTurn(turn: Turn, draft: Draft): readonly JsonObject[] {
  const { dropped } = draft;
  switch (turn.role) {
    case "system":
      if (turn.authority === "developer") dropped.add("developer_as_system");
      return formatSystemTurn(turn);
    case "user":
      if (turn.name !== null) dropped.add("participant_name_dropped");
      return formatInput(turn.content, draft);
    case "assistant":
      if (turn.name !== null) dropped.add("participant_name_dropped");
      return turn.content.flatMap((part) => formatAssistantPart(part, draft));
    case "tool":
      return turn.results.map((result) => formatResult(result, draft));
  }
}

function formatResult({ callId, content, isError, cache }: ToolResult, draft: Draft): JsonObject {
  const blocks = formatInput(content, draft);
  const [only] = blocks;
  const plain = blocks.length === 1 && only?.type === "text" && only.cache_control === undefined;
  return {
    type: "tool_result",
    tool_use_id: callId,
    content: blocks.length === 0 ? undefined : plain ? only.text : blocks,
    is_error: isError ?? undefined,
    ...formatMark(cache),
  };
}

function formatAssistantPart(part: AssistantPart, { dropped }: Draft): readonly JsonObject[] {
  switch (part.kind) {
    case "text":
      return [formatText(part.text, part.cache)];
    case "refusal":
      dropped.add("refusal_as_text");
      return [formatText(part.text, null)];
    case "tool_call": {
      const { id, name, cache } = part;
      const input = parseExactJsonText(part.arguments);
      if (!isJsonObject(input))
        throw new Error("formatTurns: arguments that no parser at the door let in");
      return [{ type: "tool_use", id, name, input, ...formatMark(cache) }];
    }
    case "reasoning": {
      const { text, signature } = part;
      const data = redactedData(signature ?? "");
      return [
        data === null
          ? { type: "thinking", thinking: text, signature }
          : { type: "redacted_thinking", data },
      ];
    }
  }
}

function formatText(text: string, cache: CacheMark | null): JsonObject {
  return { type: "text", text, ...formatMark(cache) };
}

/** The blocks of a user's turn or of a tool's result. */
function formatInput(parts: readonly InputPart[], draft: Draft): readonly JsonObject[] {
  return parts.flatMap((part) => formatPart(part, draft));
}

function formatPart(part: InputPart, draft: Draft): readonly JsonObject[] {
  switch (part.kind) {
    case "text":
      return [formatText(part.text, part.cache)];
    case "image":
      return [formatImage(part, draft)];
    case "file":
      return formatFile(part, draft);
    case "audio":
      throw new Error("formatMessages: audio, which the dialect does not express");
  }
}

function formatImage({ source, detail, cache }: ImagePart, { dropped }: Draft): JsonObject {
  if (detail !== null) dropped.add("image_detail_dropped");
  const from =
    source.kind === "url"
      ? { type: "url", url: source.url }
      : { type: "base64", media_type: source.mediaType, data: source.data };
  return { type: "image", source: from, ...formatMark(cache) };
}

function formatFile({ source, name, cache }: FilePart, draft: Draft): readonly JsonObject[] {
  const more = { title: name ?? undefined, ...formatMark(cache) };
  if (source.kind === "url")
    return [{ type: "document", source: { type: "url", url: source.url }, ...more }];
  const [essence = ""] = source.mediaType.toLowerCase().split(";", 1);
  if (essence.trim() !== "text/plain") {
    const from = { type: "base64", media_type: source.mediaType, data: source.data };
    return [{ type: "document", source: from, ...more }];
  }
  const text = base64ToText(source.data);
  if (text === null) {
    draft.refusal ??= invalidRequest(
      "invalid_file_data",
      "A text file's data must be base64 of UTF-8 text",
    );
    return [];
  }
  return [
    { type: "document", source: { type: "text", media_type: "text/plain", data: text }, ...more },
  ];
}

/** The member that marks the end of what a provider may keep. */
function formatMark(cache: CacheMark | null): JsonObject {
  if (cache === null) return {};
  return {
    cache_control: { type: "ephemeral", ttl: cache.ttl ?? undefined },
  };
}
