import type {
  AssistantPart,
  CacheMark,
  DataSource,
  GenerateRequest,
  InputPart,
  ReasoningRequest,
  SystemTurn,
  Turn,
} from "../../canon/generate/generate-request.ts";
import {
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import { base64ToText } from "../../canon/json/text-base64.ts";
import { essenceOf } from "../data-url.ts";
import type { Target, Upstream } from "../dialect.ts";
import { NO_PARAMETERS } from "../fit-schema.ts";
import { numberOrNull } from "../json.ts";
import { RequestDraft, allowedTools, argumentsOf, isForced } from "../request-draft.ts";
import { formatThinking, redactedData } from "./reasoning.ts";
import { COUNT_PATH, MESSAGES_PATH, VERSIONS } from "./request-facts.ts";

/** Prints a request as messages (docs/protocols.md#messages). */
export const formatMessages: Upstream["format"] = (request, target) => {
  const draft = new RequestDraft();
  const { body } = draft;
  const counts = request.purpose === "count";
  body.model = target.endpoint.upstreamModel;
  if (!counts) formatLimit(request, target, draft);
  const { system, rest } = draft.splitSystem(request.turns);
  body.system = formatSystem(system);
  body.messages = draft.alternatingMessages(rest, (turn) => formatTurn(turn, draft));
  formatThinking(request, target.model.reasoning, draft, {
    members: body,
    setEffort: (effort) => {
      body.output_config = { effort };
    },
    limitFor: (budget) => roomFor(budget, request, target, draft),
    display: () => displayOf(request.reasoning, draft),
  });
  formatTools(request, draft);
  formatOutput(request, draft);
  if (!counts) {
    const { temperature, topP, topK, stop, stream } = request;
    body.temperature = temperature ?? undefined;
    body.top_p = topP ?? undefined;
    body.top_k = topK ?? undefined;
    body.stop_sequences = stop.length > 0 ? stop : undefined;
    body.stream = stream || undefined;
  }
  draft.dropCacheHints(request);
  body.service_tier = draft.sentTier(request, TIERS);
  const version = target.provider.flags.includes("version_2026_10_21") ? VERSIONS[1] : VERSIONS[0];
  return draft.finished(counts ? COUNT_PATH : MESSAGES_PATH, body, ["anthropic-version", version]);
};

/** The protocol requires a limit; the compiler ensures that its models have a default. */
function formatLimit({ maxOutputTokens }: GenerateRequest, { model }: Target, draft: RequestDraft) {
  const limit = maxOutputTokens ?? model.defaultMaxOutputTokens ?? model.maxOutputTokens;
  if (limit === null)
    draft.refuseRequest(
      "missing_output_limit",
      "An endpoint that may get the request needs an output limit, and its model has no default; send one",
    );
  draft.body.max_tokens = limit;
  if (maxOutputTokens === null) draft.dropped.add("output_limit_defaulted");
}

function formatOutput({ format }: GenerateRequest, draft: RequestDraft) {
  if (format?.kind !== "json_schema") return;
  draft.dropSchemaName(format);
  const { output_config: effort } = draft.body;
  draft.body.output_config = {
    ...(isJsonObject(effort) && effort),
    format: { type: "json_schema", schema: format.schema },
  };
}

/** Tiers of other protocols and their names in this one. */
const TIERS: Readonly<Record<string, string>> = { auto: "auto", default: "standard_only" };

/**
 * The output limit beside a budget. A default is meant for the answer alone, so the budget is added
 * to it, up to the model's maximum.
 */
function roomFor(
  budget: number,
  { maxOutputTokens }: GenerateRequest,
  { model }: Target,
  { body }: RequestDraft,
): number {
  const limit = numberOrNull(body.max_tokens) ?? 0;
  if (maxOutputTokens !== null || limit > budget) return limit;
  const raised = Math.min(limit + budget, model.maxOutputTokens ?? Infinity);
  body.max_tokens = raised;
  return raised;
}

/** How reasoning is shown. The protocol has one kind of summary. */
function displayOf(
  reasoning: ReasoningRequest | null,
  { dropped }: RequestDraft,
): string | undefined {
  const display = reasoning?.display ?? null;
  if (display === null) return undefined;
  if (display === "concise" || display === "detailed") dropped.add("reasoning_display_dropped");
  return display === "omitted" ? "omitted" : "summarized";
}

/** Writes `tools` and `tool_choice`, which the provider refuses without tools. */
function formatTools(request: GenerateRequest, { body, dropped }: RequestDraft) {
  const tools = allowedTools(request);
  if (tools.length < request.tools.length) dropped.add("allowed_tools_filtered");
  if (tools.length === 0) return;
  body.tools = tools.map(({ name, description, parameters, strict, cache }) => ({
    name,
    description: description ?? undefined,
    input_schema: parameters ?? NO_PARAMETERS,
    strict: strict ?? undefined,
    ...formatMark(cache),
  }));
  const { toolChoice: choice, parallelToolCalls: parallel } = request;
  if (choice?.mode === "none") {
    body.tool_choice = { type: "none" };
  } else if (choice !== null || parallel === false) {
    body.tool_choice = {
      ...(choice?.mode === "named"
        ? { type: "tool", name: choice.name }
        : { type: isForced(choice) ? "any" : "auto" }),
      disable_parallel_tool_use: parallel === null ? undefined : !parallel,
    };
  }
}

/** One plain text as a string, other content as blocks. */
function formatSystem(turns: readonly SystemTurn[]): JsonMember {
  const blocks = turns.flatMap(formatSystemTurn);
  return blocks.length === 0 ? undefined : plain(blocks);
}

function formatSystemTurn({ content }: SystemTurn): readonly JsonObject[] {
  return content.map(({ text, cache }) => formatText(text, cache));
}

function formatTurn(turn: Turn, draft: RequestDraft): readonly JsonObject[] {
  switch (turn.role) {
    case "system":
      if (turn.authority === "developer") draft.dropped.add("developer_as_system");
      return formatSystemTurn(turn);
    case "user":
      return formatInput(turn.content, draft);
    case "assistant":
      return turn.content.map(formatAssistantPart);
    case "tool":
      return turn.results.map(({ callId, content, isError, cache }) => ({
        type: "tool_result",
        tool_use_id: callId,
        content: content.length === 0 ? undefined : plain(formatInput(content, draft)),
        is_error: isError ?? undefined,
        ...formatMark(cache),
      }));
  }
}

/** A single text without a cache mark as a string, other blocks as a list. */
function plain(blocks: readonly JsonObject[]): JsonValue {
  const [only] = blocks;
  const isPlain = blocks.length === 1 && only?.type === "text" && only.cache_control === undefined;
  return isPlain ? (only.text ?? "") : blocks;
}

function formatAssistantPart(part: AssistantPart): JsonObject {
  switch (part.kind) {
    case "text":
      return formatText(part.text, part.cache);
    case "refusal":
      return formatText(part.text, null);
    case "tool_call": {
      const { id, name, cache } = part;
      return { type: "tool_use", id, name, input: argumentsOf(part), ...formatMark(cache) };
    }
    case "reasoning": {
      const { text, signature } = part;
      const data = redactedData(signature ?? "");
      return data === null
        ? { type: "thinking", thinking: text, signature }
        : { type: "redacted_thinking", data };
    }
  }
}

function formatText(text: string, cache: CacheMark | null): JsonObject {
  return { type: "text", text, ...formatMark(cache) };
}

/** The blocks of a user's turn or of a tool's result. */
function formatInput(parts: readonly InputPart[], draft: RequestDraft): readonly JsonObject[] {
  return parts.map((part): JsonObject => {
    switch (part.kind) {
      case "text":
        return formatText(part.text, part.cache);
      case "image":
        if (part.detail !== null) draft.dropped.add("image_detail_dropped");
        return { type: "image", source: formatSource(part.source), ...formatMark(part.cache) };
      case "file":
        return {
          type: "document",
          source: formatFile(part.source, draft),
          title: part.name ?? undefined,
          ...formatMark(part.cache),
        };
      case "audio":
        throw new Error("formatMessages: audio, which the dialect does not express");
    }
  });
}

function formatSource(source: DataSource): JsonObject {
  return source.kind === "url"
    ? { type: "url", url: source.url }
    : { type: "base64", media_type: source.mediaType, data: source.data };
}

/** Plain text is sent as text. */
function formatFile(source: DataSource, draft: RequestDraft): JsonObject {
  if (source.kind === "url") return formatSource(source);
  if (essenceOf(source.mediaType) !== "text/plain") return formatSource(source);
  const data = base64ToText(source.data);
  if (data === null)
    draft.refuseRequest("invalid_file_data", "A text file's data must be base64 of UTF-8 text");
  return { type: "text", media_type: "text/plain", data };
}

/** The member that marks the end of a cacheable prefix. */
function formatMark(cache: CacheMark | null): JsonObject {
  return cache === null
    ? {}
    : { cache_control: { type: "ephemeral", ttl: cache.ttl ?? undefined } };
}
