import type { DroppedField } from "../../canon/generate/edit.ts";
import type {
  AssistantPart,
  AssistantTurn,
  DataSource,
  GenerateRequest,
  ImagePart,
  InputPart,
  OutputFormat,
  ReasoningRequest,
  RefusalPart,
  TextPart,
  ToolCallPart,
  ToolChoice,
  ToolResult,
  Turn,
} from "../../canon/generate/generate-request.ts";
import type { JsonObject, JsonValue } from "../../canon/json.ts";
import { REASONING_EFFORTS, type ReasoningEffort } from "../../canon/request.ts";
import type { ModelRow } from "../../canon/table.ts";
import { printDataUrl, urlOf } from "../data-url.ts";
import type { Target, Upstream } from "../dialect.ts";
import { readMarked } from "../gemini/signatures.ts";
import { SERVICE_TIERS } from "./family.ts";
import { applyFlags } from "./flags.ts";
import { reasoningDetails } from "./reasoning.ts";
import { effortOfBudget } from "../reasoning-effort.ts";
import type { Members } from "../json.ts";
import { BodyEdit } from "../relay.ts";
import { RequestDraft, membersWithValue } from "../request-draft.ts";

/** Formats a canonical request for providers of this protocol. */
export const formatChat: Upstream["format"] = (request, target) => {
  const draft = new RequestDraft();
  const { body, dropped } = draft;
  if (request.purpose === "count") refuseSetting("token counting", draft);
  if (request.topK !== null) refuseSetting("top_k", draft);
  const { flags } = target.provider;
  body.model = target.endpoint.upstreamModel;
  body.messages = request.turns.flatMap((turn) =>
    formatTurn(turn, target.model.signatureFamily, draft),
  );
  writeTools(body, request);
  writeSettings(body, request, SETTINGS);
  if (request.stop.length > 0) body.stop = request.stop;
  if (request.logprobs !== null) {
    body.logprobs = true;
    if (request.logprobs > 0) body.top_logprobs = request.logprobs;
  }
  if (request.format !== null) body.response_format = formatSchema(request.format, dropped);
  writeReasoning(body, request.reasoning, target, dropped);
  writeCacheHints(body, request.hints);
  const tier = draft.sentTier(request, CHAT_TIERS);
  if (tier !== undefined) body.service_tier = tier;
  body.store = false;
  writeStream(body, request);
  applyFlags(new BodyEdit(body, dropped), flags);
  return draft.finished("/chat/completions");
};

/** For requests that the decision should have kept away: nothing of them may vanish silently. */
function refuseSetting(setting: string, draft: RequestDraft) {
  const sentence = `The chat completions protocol has no ${setting}`;
  draft.refuseRequest("feature_not_supported", sentence);
}

type Setting =
  | "parallelToolCalls"
  | "maxOutputTokens"
  | "temperature"
  | "topP"
  | "frequencyPenalty"
  | "presencePenalty"
  | "logitBias"
  | "logprobs"
  | "seed"
  | "verbosity";

/** Sampling settings of all of OpenAI's protocols. */
export const SAMPLING_SETTINGS = {
  temperature: "temperature",
  top_p: "topP",
  frequency_penalty: "frequencyPenalty",
  presence_penalty: "presencePenalty",
} as const;

const SETTINGS = {
  max_completion_tokens: "maxOutputTokens",
  ...SAMPLING_SETTINGS,
  logit_bias: "logitBias",
  seed: "seed",
  verbosity: "verbosity",
} as const;

/** @param settings member → setting; settings without a value are left out. */
export function writeSettings(
  body: Members,
  request: GenerateRequest,
  settings: Readonly<Record<string, Setting>>,
): void {
  for (const [name, setting] of Object.entries(settings))
    if (request[setting] !== null) body[name] = request[setting];
}

export function writeCacheHints(
  body: Members,
  { promptCacheKey, promptCacheRetention }: GenerateRequest["hints"],
): void {
  if (promptCacheKey !== null) body.prompt_cache_key = promptCacheKey;
  if (promptCacheRetention !== null) body.prompt_cache_retention = promptCacheRetention;
}

/** Streams end with token counts. */
export function writeStream(body: Members, { stream }: GenerateRequest): void {
  if (stream) Object.assign(body, { stream, stream_options: { include_usage: true } });
}

/** Other protocols' service tiers as OpenAI's. */
const CHAT_TIERS = { ...SERVICE_TIERS, standard_only: "default" };

function writeTools(body: Members, { tools, toolChoice, parallelToolCalls }: GenerateRequest) {
  if (tools.length === 0) return;
  body.tools = tools.map(({ name, description, parameters, strict }) => ({
    type: "function",
    function: membersWithValue({ name, description, parameters, strict }),
  }));
  if (toolChoice !== null) body.tool_choice = formatChoice(toolChoice, true);
  if (parallelToolCalls !== null) body.parallel_tool_calls = parallelToolCalls;
}

/** @param isNested as for `readToolChoice`. */
export function formatChoice(choice: ToolChoice, isNested: boolean): JsonValue {
  const functionOf = (name: string): JsonObject =>
    isNested ? { type: "function", function: { name } } : { type: "function", name };
  if (choice.mode === "named") return functionOf(choice.name);
  if (choice.mode !== "allowed") return choice.mode;
  const mode = choice.required ? "required" : "auto";
  const list = { mode, tools: choice.names.map(functionOf) };
  return { type: "allowed_tools", ...(isNested ? { allowed_tools: list } : list) };
}

function formatSchema(format: OutputFormat, dropped: Set<DroppedField>): JsonObject {
  return format.kind === "json_object"
    ? { type: format.kind }
    : { type: format.kind, json_schema: schemaMembers(format, dropped) };
}

/** The protocols require a name. */
export function schemaMembers(
  { name, description, schema, strict }: Extract<OutputFormat, { readonly kind: "json_schema" }>,
  dropped: Set<DroppedField>,
): JsonObject | undefined {
  if (name === null) dropped.add("schema_name_made");
  return membersWithValue({ name: name ?? "response", description, schema, strict });
}

function writeReasoning(
  body: Members,
  reasoning: GenerateRequest["reasoning"],
  { model, provider }: Target,
  dropped: Set<DroppedField>,
) {
  if (reasoning === null) return;
  const { budget, adaptive, display } = reasoning;
  if (display !== null) dropped.add("reasoning_display_dropped");
  // The provider's own member has budgets, and a value that leaves the amount to the model.
  if (reasoning.effort === "unspecified" && provider.flags.includes("reasoning_object")) {
    if (budget !== null) body.reasoning = { max_tokens: budget };
    else if (adaptive) body.reasoning = { enabled: true };
    return;
  }
  const effort = formatEffort(reasoning, model, dropped);
  if (effort !== null) body.reasoning_effort = effort;
  // Without an effort the model decides how much to think.
  else if (adaptive && budget === null) dropped.add("hint_dropped");
}

/**
 * OpenAI's protocols have no budgets: one becomes the effort of the largest budget of the model's
 * table that it covers. `null` sends no effort.
 */
export function formatEffort(
  { effort, budget }: ReasoningRequest,
  { reasoning: table }: ModelRow,
  dropped: Set<DroppedField>,
): ReasoningEffort | null {
  if (budget !== null) dropped.add("budget_as_effort");
  if (effort !== "unspecified") return effort;
  return budget === null ? null : effortOfBudget(budget, table, REASONING_EFFORTS);
}

/** Providers recognise the type of a file by the extension of its name, and require a name. */
const FILE_NAMES: ReadonlyMap<string, string> = new Map([
  ["application/pdf", "file.pdf"],
  ["text/plain", "file.txt"],
]);

/** A file that the request holds, as the members `filename` and `file_data`. */
export function fileMembers(
  { mediaType, data }: Extract<DataSource, { readonly kind: "base64" }>,
  name: string | null,
  dropped: Set<DroppedField>,
): JsonObject {
  if (name === null) dropped.add("file_name_made");
  const filename = name ?? FILE_NAMES.get(mediaType) ?? "file";
  return { filename, file_data: printDataUrl(mediaType, data) };
}

function formatTurn(turn: Turn, family: string | null, draft: RequestDraft): readonly JsonObject[] {
  switch (turn.role) {
    case "system":
      return [{ role: turn.authority, content: formatInputs(turn.content, draft) }];
    case "user":
      return [
        {
          role: "user",
          name: turn.name ?? undefined,
          content: formatInputs(turn.content, draft),
        },
      ];
    case "assistant":
      return [formatAssistant(turn, family, draft)];
    case "tool":
      return turn.results.map((result) => formatResult(result, draft));
  }
}

function formatInputs(parts: readonly InputPart[], draft: RequestDraft): JsonValue {
  const [first] = parts;
  if (first === undefined) return "";
  if (parts.length === 1 && first.kind === "text") return first.text;
  return parts.map((part) => formatInput(part, draft));
}

function formatInput(part: InputPart, draft: RequestDraft): JsonObject {
  switch (part.kind) {
    case "text":
      return { type: "text", text: part.text };
    case "image":
      return printImage(part);
    case "audio":
      return { type: "input_audio", input_audio: { data: part.data, format: part.format } };
    case "file":
      if (part.source.kind === "base64")
        return { type: "file", file: fileMembers(part.source, part.name, draft.dropped) };
      refuseSetting("files by URL", draft);
      return {};
  }
}

/** An image in this protocol, and in Cohere's. */
export function printImage({ source, detail }: ImagePart): JsonObject {
  return { type: "image_url", image_url: { url: urlOf(source), detail: detail ?? undefined } };
}

/** A call in this protocol, and in Cohere's. */
export function printCall({ id, name, arguments: json }: Omit<ToolCallPart, "cache">): JsonObject {
  return { id, type: "function", function: { name, arguments: json } };
}

/** @param family that can verify the model's reasoning; few providers accept other reasoning. */
function formatAssistant(
  { name, content }: AssistantTurn,
  family: string | null,
  { dropped }: RequestDraft,
): JsonObject {
  const details: JsonObject[] = [];
  let unsigned = "";
  const texts: (TextPart | RefusalPart)[] = [];
  const calls: JsonObject[] = [];
  const callSignatures: string[] = [];
  let textSignature: string | undefined;
  let rank = 0;
  for (const part of content) {
    if (part.kind === "reasoning" && (part.signature === null || part.family !== family)) {
      if (part.signature === null) unsigned += part.text;
      else dropped.add("unsigned_reasoning_dropped");
      continue;
    }
    const marked = part.kind === "reasoning" ? readMarked(part.signature ?? "") : NOT_MARKED;
    if (marked.part === "call") callSignatures.push(marked.signature);
    else if (marked.part === "text" || marked.part === "empty") textSignature = marked.signature;
    if (marked.part !== null && marked.part !== "thought") continue;
    // A message has one member for each kind, in this order.
    if (RANKS[part.kind] < rank) dropped.add("parts_reordered");
    rank = Math.max(rank, RANKS[part.kind]);
    if (part.kind === "reasoning") details.push(...reasoningDetails(part, part.signature, null));
    else if (part.kind === "tool_call")
      calls.push({ ...printCall(part), extra_content: signedExtra(callSignatures.shift()) });
    else texts.push(part);
  }
  return {
    role: "assistant",
    name: name ?? undefined,
    ...formatTexts(texts, calls.length > 0),
    reasoning_content: unsigned || undefined,
    reasoning_details: details.length === 0 ? undefined : details,
    tool_calls: calls.length === 0 ? undefined : calls,
    extra_content: signedExtra(textSignature),
  };
}

function formatTexts(parts: readonly (TextPart | RefusalPart)[], hasCalls: boolean): JsonObject {
  const [first] = parts;
  if (first === undefined) return { content: hasCalls ? null : "" };
  if (parts.length > 1)
    return { content: parts.map(({ kind, text }) => ({ type: kind, [kind]: text })) };
  return first.kind === "text" ? { content: first.text } : { content: null, refusal: first.text };
}

function formatResult({ callId, content, isError }: ToolResult, draft: RequestDraft): JsonObject {
  if (isError === true) draft.dropped.add("tool_error_flag_dropped");
  return { role: "tool", tool_call_id: callId, content: formatInputs(content, draft) };
}

const NOT_MARKED = readMarked("");

/**
 * A signature in the provider's member
 * (https://ai.google.dev/gemini-api/docs/thought-signatures#openai): in the call, or in the message
 * of a text.
 */
function signedExtra(signature: string | undefined) {
  return signature === undefined ? undefined : { google: { thought_signature: signature } };
}

const RANKS: Readonly<Record<AssistantPart["kind"], number>> = {
  reasoning: 0,
  text: 1,
  refusal: 1,
  tool_call: 2,
};
