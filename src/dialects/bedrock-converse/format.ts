import type {
  AssistantPart,
  CacheMark,
  DataSource,
  GenerateRequest,
  InputPart,
  Tool,
  ToolResult,
  Turn,
} from "../../canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { ReasoningEffort } from "../../canon/request.ts";
import type { ModelReasoning } from "../../canon/table.ts";
import { EFFORTS, formatThinking, redactedData } from "../anthropic-messages/reasoning.ts";
import { essenceOf } from "../data-url.ts";
import type { Target, Upstream } from "../dialect.ts";
import { NO_PARAMETERS } from "../fit-schema.ts";
import { effortOfBudget } from "../reasoning-effort.ts";
import {
  RequestDraft,
  allowedTools,
  argumentsOf,
  callsOf,
  isForced,
  membersWithValue,
} from "../request-draft.ts";
import { ownValue, type Members } from "../json.ts";

/** A request for Converse while it is printed. */
class Draft extends RequestDraft {
  /** Members of `additionalModelRequestFields`: fields that only some models have. */
  readonly additional: Members = {};
  /** Names of the request's documents: models refuse two of one name. */
  readonly documentNames = new Set<string>();
}

/**
 * Prints a request for Bedrock's Converse, ConverseStream or CountTokens
 * (docs/protocols.md#bedrock-converse).
 */
export const formatConverse: Upstream["format"] = (request, target) => {
  const draft = new Draft();
  const { body, dropped } = draft;
  const counts = request.purpose === "count";
  refuseUnsupported(request, draft);
  formatTurns(request.turns, draft);
  formatTools(request, draft);
  formatReasoning(request, target, draft);
  if (counts) {
    if (request.format !== null) dropped.add("not_counted");
  } else {
    formatInference(request, target, draft);
    formatOutput(request, draft);
    const type = draft.sentTier(request, TIERS);
    body.serviceTier = type && { type };
  }
  draft.dropCacheHints(request);
  body.additionalModelRequestFields = membersWithValue(draft.additional);
  const operation = counts ? "count-tokens" : request.stream ? "converse-stream" : "converse";
  return draft.finished(
    `/model/${encodeURIComponent(target.endpoint.upstreamModel)}/${operation}`,
    counts ? { input: { converse: body } } : body,
  );
};

function refuseUnsupported(request: GenerateRequest, draft: Draft) {
  const unsupported: Readonly<Record<string, JsonValue>> = {
    "frequency penalty": request.frequencyPenalty,
    "presence penalty": request.presencePenalty,
    "logit bias": request.logitBias,
    seed: request.seed,
    "log probabilities": request.logprobs,
    verbosity: request.verbosity,
    "JSON answers without a schema": request.format?.kind === "json_object" || null,
  };
  for (const [feature, value] of Object.entries(unsupported))
    if (value !== null) draft.refuseFeature(feature);
}

function formatInference(
  { maxOutputTokens, temperature, topP, topK, stop }: GenerateRequest,
  { provider }: Target,
  { body, additional }: Draft,
) {
  body.inferenceConfig = membersWithValue({
    maxTokens: maxOutputTokens,
    temperature,
    topP,
    stopSequences: stop.length > 0 ? stop : undefined,
  });
  // A field of the model; only requests to models that accept it have one.
  if (topK === null) return;
  if (provider.flags.includes("reasoning_config_field")) additional.inferenceConfig = { topK };
  else additional.top_k = topK;
}

function formatOutput({ format }: GenerateRequest, { body, dropped }: Draft) {
  if (format?.kind !== "json_schema") return;
  const { name, description, schema, strict } = format;
  if (strict !== null) dropped.add("schema_name_dropped");
  const jsonSchema = {
    // The protocol has the schema as a text.
    schema: JSON.stringify(schema),
    name: name ?? undefined,
    description: description ?? undefined,
  };
  const effort = body.outputConfig;
  body.outputConfig = {
    ...(isJsonObject(effort) && effort),
    textFormat: { type: "json_schema", structure: { jsonSchema } },
  };
}

/** Tiers of other protocols and their names in this one. */
const TIERS = {
  default: "default",
  standard_only: "default",
  flex: "flex",
  priority: "priority",
};

/**
 * Placeholder for a request that offers no tools although its history has calls: the protocol
 * requires one then. An answer that calls it fails.
 */
const PLACEHOLDER: JsonObject = {
  toolSpec: {
    name: "unavailable",
    description: "Stands for tools that cannot be called any more. Never call it.",
    inputSchema: { json: NO_PARAMETERS },
  },
};

/** The tools to send. The protocol has no choice `none`: no tools are sent instead. */
export function offeredTools(request: GenerateRequest): readonly Tool[] {
  return request.toolChoice?.mode === "none" ? [] : allowedTools(request);
}

/** Writes `toolConfig`, and a field of models that limit parallel calls. */
function formatTools(request: GenerateRequest, draft: Draft) {
  const { tools, toolChoice, turns, parallelToolCalls } = request;
  const offered = offeredTools(request);
  if (offered.length < tools.length)
    draft.dropped.add(toolChoice?.mode === "none" ? "tools_withheld" : "allowed_tools_filtered");
  if (offered.length === 0) {
    if (turns.some(({ role }) => role === "tool") || callsOf(turns).length > 0) {
      draft.dropped.add("tool_placeholder_sent");
      draft.body.toolConfig = { tools: [PLACEHOLDER] };
    }
    return;
  }
  const forced = isForced(toolChoice);
  const name = toolChoice?.mode === "named" ? toolChoice.name : null;
  draft.body.toolConfig = {
    tools: offered.flatMap((tool) => [formatTool(tool), ...cachePoint(tool.cache)]),
    // Not all models take the member, so it is left out where it would change nothing.
    toolChoice: name === null ? (forced ? { any: {} } : undefined) : { tool: { name } },
  };
  // Models that can be limited to one call take the choice and the limit in one field.
  if (parallelToolCalls === false)
    draft.additional.tool_choice = {
      ...(name === null ? { type: forced ? "any" : "auto" } : { type: "tool", name }),
      disable_parallel_tool_use: true,
    };
}

function formatTool({ name, description, parameters, strict }: Tool): JsonObject {
  return {
    toolSpec: {
      name,
      description: description || undefined,
      inputSchema: { json: parameters ?? NO_PARAMETERS },
      strict: strict || undefined,
    },
  };
}

/**
 * Writes the settings of reasoning. The protocol has an effort; a switch and budgets are fields of
 * the model. By default they are named as in the messages protocol (`thinking`); a provider's flag
 * names other ones.
 */
function formatReasoning(request: GenerateRequest, { model, provider }: Target, draft: Draft) {
  const { reasoning } = request;
  if (reasoning === null) return;
  const { additional, body, dropped } = draft;
  if (reasoning.display !== null) dropped.add("reasoning_display_dropped");
  const { reasoning: table } = model;
  const field = Object.keys(EFFORT_FIELDS).find((flag) => provider.flags.includes(flag));
  if (field !== undefined) {
    const effort = effortOf(reasoning.effort, reasoning.budget, table, draft);
    if (effort !== null) Object.assign(additional, EFFORT_FIELDS[field]?.(effort));
    else if (reasoning.adaptive) dropped.add("hint_dropped");
    return;
  }
  formatThinking(request, table, draft, {
    members: additional,
    setEffort: (effort) => {
      // Counting has no member for the effort; models with an effort have a field of their own.
      if (request.purpose === "count") additional.output_config = { effort };
      else body.outputConfig = { effort };
    },
    limitFor: () => request.maxOutputTokens,
  });
}

/** Effort fields of models that name it differently, by the provider's flag. */
const EFFORT_FIELDS: Readonly<Record<string, (effort: ReasoningEffort) => JsonObject>> = {
  reasoning_config_field: (effort) => ({
    reasoningConfig:
      effort === "none" ? { type: "disabled" } : { type: "enabled", maxReasoningEffort: effort },
  }),
  reasoning_effort_field: (effort) => ({ reasoning_effort: effort }),
};

/**
 * The effort to send where there are no budgets: a budget becomes the effort of the largest budget
 * of the model's table that it covers.
 */
function effortOf(
  effort: ReasoningEffort,
  budget: number | null,
  table: ModelReasoning | null,
  draft: Draft,
): ReasoningEffort | null {
  if (budget === null) return effort === "unspecified" ? null : effort;
  draft.dropped.add("budget_as_effort");
  if (effort !== "unspecified") return effort;
  const found = effortOfBudget(budget, table, EFFORTS);
  if (found === null)
    draft.refuseRequest(
      "invalid_reasoning_budget",
      "No endpoint that may get the request takes a reasoning budget",
    );
  return found;
}

/** Writes `system` and `messages`. */
function formatTurns(turns: readonly Turn[], draft: Draft) {
  const { system, rest } = draft.splitSystem(turns);
  const instructions = system.flatMap(({ content }) => formatInput(content, draft));
  if (instructions.length > 0) draft.body.system = instructions;
  draft.body.messages = draft.alternatingMessages(rest, (turn) => formatTurn(turn, draft));
}

function formatTurn(turn: Turn, draft: Draft): readonly JsonObject[] {
  switch (turn.role) {
    case "system":
      // Moved to the beginning, it would apply to the whole conversation.
      draft.refuseFeature("system text after the first turn of the conversation");
      return [];
    case "user":
      return formatInput(turn.content, draft);
    case "assistant":
      return turn.content.flatMap((part) => formatAssistantPart(part, draft));
    case "tool":
      return turn.results.flatMap((result) => formatResult(result, draft));
  }
}

function formatResult(
  { callId, content, isError, cache }: ToolResult,
  draft: Draft,
): readonly JsonObject[] {
  const blocks = content.map((part) => {
    // Content of a result cannot carry cache marks of its own.
    if (part.cache !== null) draft.dropped.add("cache_mark_dropped");
    return formatBlock(part, draft);
  });
  const status = isError === null ? undefined : isError ? "error" : "success";
  return [{ toolResult: { toolUseId: callId, content: blocks, status } }, ...cachePoint(cache)];
}

function formatAssistantPart(part: AssistantPart, draft: Draft): readonly JsonObject[] {
  switch (part.kind) {
    case "text":
      return formatInput([part], draft);
    case "refusal":
      return [{ text: part.text }];
    case "tool_call": {
      const toolUse = { toolUseId: part.id, name: part.name, input: argumentsOf(part) };
      return [{ toolUse }, ...cachePoint(part.cache)];
    }
    case "reasoning": {
      const { text, signature } = part;
      const data = redactedData(signature ?? "");
      const reasoningText = { text, signature };
      return [{ reasoningContent: data === null ? { reasoningText } : { redactedContent: data } }];
    }
  }
}

/** Blocks of a message. */
function formatInput(parts: readonly InputPart[], draft: Draft): readonly JsonObject[] {
  return parts.flatMap((part) => {
    const mark = part.kind === "audio" ? null : part.cache;
    return [formatBlock(part, draft), ...cachePoint(mark)];
  });
}

const IMAGE_FORMATS: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpeg",
  "image/gif": "gif",
  "image/webp": "webp",
};

const DOCUMENT_FORMATS: Readonly<Record<string, string>> = {
  "application/pdf": "pdf",
  "text/plain": "txt",
  "text/markdown": "md",
  "text/csv": "csv",
  "text/html": "html",
  "application/msword": "doc",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
  "application/vnd.ms-excel": "xls",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
};

const AUDIO_FORMATS: Readonly<Record<string, string>> = Object.fromEntries(
  "aac flac m4a mka mkv mp3 mp4 mpeg mpga ogg opus pcm wav webm x-aac"
    .split(" ")
    .map((name) => [name, name]),
);

function formatBlock(part: InputPart, draft: Draft): JsonObject {
  switch (part.kind) {
    case "text":
      return { text: part.text };
    case "image":
      if (part.detail !== null) draft.dropped.add("image_detail_dropped");
      return { image: formatBytes("image", IMAGE_FORMATS, part.source, draft) };
    case "file": {
      const document = formatBytes("file", DOCUMENT_FORMATS, part.source, draft);
      return { document: { ...document, name: documentName(part.name, draft) } };
    }
    case "audio": {
      const { format: mediaType, data } = part;
      const source = { kind: "base64", mediaType, data } as const;
      return { audio: formatBytes("audio", AUDIO_FORMATS, source, draft) };
    }
  }
}

/** The bytes of a part; the request is refused where the protocol has no format for them. */
function formatBytes(
  kind: "image" | "file" | "audio",
  formats: Readonly<Record<string, string>>,
  source: DataSource,
  draft: Draft,
): JsonObject {
  if (source.kind === "url") {
    draft.refuseFeature(`${kind} by URL`);
    return {};
  }
  const format = ownValue(formats, essenceOf(source.mediaType));
  if (format === undefined)
    draft.refuseRequest(
      `unsupported_${kind}_type`,
      `An endpoint that may get the request takes ${kind} content of these types only: ${Object.keys(formats).join(", ")}`,
    );
  return { format, source: { bytes: source.data } };
}

/** The block that ends the cacheable part of a message. */
function cachePoint(cache: CacheMark | null): readonly JsonObject[] {
  return cache === null ? [] : [{ cachePoint: { type: "default", ttl: cache.ttl ?? undefined } }];
}

/** Name of a document without a name, or without a character that the protocol takes. */
const UNNAMED = "document";

/** Characters; the protocol's limit. */
const LONGEST_NAME = 200;

/**
 * A name that no other document of the request has. The protocol takes letters, digits, single
 * spaces, hyphens, parentheses and square brackets: `Report (v2).pdf` becomes `Report (v2)-pdf`.
 */
function documentName(name: string | null, { dropped, documentNames }: Draft): string {
  const plain =
    (name ?? "")
      .replaceAll(/\s+/g, " ")
      .replaceAll(/[^a-zA-Z0-9 ()[\]-]+/g, "-")
      .replaceAll(/^[\s-]+|[\s-]+$/g, "") || UNNAMED;
  let uniqueName = plain.slice(0, LONGEST_NAME).trimEnd();
  for (let number = 2; documentNames.has(uniqueName); number += 1) {
    const ending = ` ${number}`;
    uniqueName = plain.slice(0, LONGEST_NAME - ending.length).trimEnd() + ending;
  }
  documentNames.add(uniqueName);
  if (name === null) dropped.add("file_name_made");
  else if (uniqueName !== name) dropped.add("file_name_changed");
  return uniqueName;
}
