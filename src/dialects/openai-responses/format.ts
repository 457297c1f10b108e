import type { DroppedField } from "../../canon/generate/edit.ts";
import type {
  AssistantPart,
  GenerateRequest,
  InputPart,
  OutputFormat,
  ReasoningPart,
  ReasoningRequest,
  TextPart,
  Tool,
  ToolResult,
  Turn,
} from "../../canon/generate/generate-request.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { ModelRow } from "../../canon/table.ts";
import { urlOf } from "../data-url.ts";
import type { Upstream } from "../dialect.ts";
import { SERVICE_TIERS } from "../openai-chat/family.ts";
import {
  SAMPLING_SETTINGS,
  fileMembers,
  formatChoice,
  formatEffort,
  schemaMembers,
  writeCacheHints,
  writeSettings,
} from "../openai-chat/format.ts";
import { ENCRYPTED_REASONING, MINIMUM_OUTPUT_TOKENS, OUTPUT_LOGPROBS } from "./request-facts.ts";
import { RequestDraft, membersWithValue } from "../request-draft.ts";

/**
 * Formats a canonical request for providers of this protocol. Nothing is stored (`store: false`);
 * reasoning is requested encrypted, so that clients can send it back.
 */
export const formatResponsesRequest: Upstream["format"] = (request, target) => {
  const draft = new RequestDraft();
  const { body, dropped } = draft;
  refuseUnsupported(request, draft);
  body.model = target.endpoint.upstreamModel;
  const instructions = leadingInstructions(request.turns);
  if (instructions !== null) body.instructions = instructions.text;
  const turns = instructions === null ? request.turns : request.turns.slice(1);
  const input = turns.flatMap((turn) => formatTurn(turn, dropped));
  body.input = input;
  if (request.tools.length > 0) body.tools = request.tools.map(formatTool);
  if (request.toolChoice !== null) body.tool_choice = formatChoice(request.toolChoice, false);
  if (request.parallelToolCalls !== null) body.parallel_tool_calls = request.parallelToolCalls;
  const { format, verbosity, reasoning } = request;
  const text = membersWithValue({
    format: format && formatFormat(format, dropped),
    verbosity,
  });
  if (text !== undefined) body.text = text;
  const settings = reasoning && formatReasoning(reasoning, target.model, dropped);
  if (settings != null) body.reasoning = settings;
  if (request.purpose === "count") return draft.finished("/responses/input_tokens");
  writeSettings(body, request, SETTINGS);
  const limit = request.maxOutputTokens;
  if (limit !== null) {
    if (limit < MINIMUM_OUTPUT_TOKENS) dropped.add("output_limit_raised");
    body.max_output_tokens = Math.max(limit, MINIMUM_OUTPUT_TOKENS);
  }
  writeCacheHints(body, request.hints);
  const tier = draft.sentTier(request, SERVICE_TIERS);
  if (tier !== undefined) body.service_tier = tier;
  // The nearest tier to another protocol's is the one without promises.
  else if (request.hints.serviceTier !== null) body.service_tier = "default";
  const include: string[] = [];
  const reasons = reasoning !== null && reasoning.effort !== "none";
  const isSigned = input.some(({ type }) => type === "reasoning");
  if ((isSigned || reasons) && !target.provider.flags.includes("no_include"))
    include.push(ENCRYPTED_REASONING);
  if (request.logprobs !== null) include.push(OUTPUT_LOGPROBS);
  if (include.length > 0) body.include = include;
  body.store = false;
  if (request.stream) body.stream = true;
  return draft.finished("/responses");
};

/** The decision sends no such request; one that gets here must not lose a setting silently. */
function refuseUnsupported({ stop, seed, topK, logitBias }: GenerateRequest, draft: RequestDraft) {
  const settings = { stop: stop.length > 0 || null, seed, top_k: topK, logit_bias: logitBias };
  for (const [name, value] of Object.entries(settings)) {
    const sentence = `${name} has no counterpart in the responses protocol`;
    if (value !== null) draft.refuseRequest("unsupported_parameter", sentence, name);
  }
}

/** Explicitly strict or not, because the protocol's default is strict. */
function formatTool({ name, description, parameters, strict }: Tool): JsonObject {
  return { type: "function", name, description, parameters, strict: strict ?? false };
}

function formatFormat(format: OutputFormat, dropped: Set<DroppedField>): JsonObject {
  return format.kind === "json_object"
    ? { type: format.kind }
    : { type: format.kind, ...schemaMembers(format, dropped) };
}

const SETTINGS = { ...SAMPLING_SETTINGS, top_logprobs: "logprobs" } as const;

/** The protocol's `reasoning`. It omits reasoning from answers by default. */
function formatReasoning(
  reasoning: ReasoningRequest,
  model: ModelRow,
  dropped: Set<DroppedField>,
): JsonObject | undefined {
  const { display } = reasoning;
  const summary = display === "summarized" ? "auto" : display;
  return membersWithValue({
    effort: formatEffort(reasoning, model, dropped),
    summary: summary === "omitted" ? null : summary,
  });
}

/** One leading system text becomes `instructions`; several stay separate items. */
function leadingInstructions([first, second]: readonly Turn[]): TextPart | null {
  if (first?.role !== "system" || first.authority !== "system" || first.content.length !== 1)
    return null;
  // Without further turns there would be no input, which the protocol requires.
  if (second === undefined || second.role === "system") return null;
  const [part] = first.content;
  return part ?? null;
}

/** The items of a turn. */
function formatTurn(turn: Turn, dropped: Set<DroppedField>): readonly JsonObject[] {
  switch (turn.role) {
    case "system":
    case "user": {
      const content = turn.content.map((part) => formatInput(part, dropped));
      return [{ type: "message", role: turn.role === "user" ? "user" : turn.authority, content }];
    }
    case "assistant":
      return formatAnswer(turn.content);
    case "tool":
      return turn.results.map((result) => formatResult(result, dropped));
  }
}

/**
 * Texts and refusals that follow one another are one message; calls and reasoning are items of
 * their own.
 */
function formatAnswer(parts: readonly AssistantPart[]): readonly JsonObject[] {
  const items: JsonObject[] = [];
  let content: JsonObject[] | null = null;
  for (const part of parts) {
    if (part.kind === "text" || part.kind === "refusal") {
      if (content === null)
        items.push({ type: "message", role: "assistant", content: (content = []) });
      const { text } = part;
      content.push(
        part.kind === "text" ? { type: "output_text", text } : { type: "refusal", refusal: text },
      );
      continue;
    }
    content = null;
    if (part.kind === "tool_call") {
      const { id, name, arguments: json } = part;
      items.push({ type: "function_call", call_id: id, name, arguments: json });
    } else items.push(reasoningItem(part));
  }
  return items;
}

function formatResult(
  { callId, content, isError }: ToolResult,
  dropped: Set<DroppedField>,
): JsonObject {
  if (isError === true) dropped.add("tool_error_flag_dropped");
  const output =
    content.length <= 1 && content.every((part) => part.kind === "text")
      ? (content[0]?.text ?? "")
      : content.map((part) => formatInput(part, dropped));
  return { type: "function_call_output", call_id: callId, output };
}

function formatInput(part: InputPart, dropped: Set<DroppedField>): JsonObject {
  switch (part.kind) {
    case "text":
      return { type: "input_text", text: part.text };
    case "audio":
      return { type: "input_audio", input_audio: { data: part.data, format: part.format } };
    case "image":
      return {
        type: "input_image",
        image_url: urlOf(part.source),
        detail: part.detail ?? undefined,
      };
    case "file": {
      const { source, name } = part;
      if (source.kind !== "url")
        return { type: "input_file", ...fileMembers(source, name, dropped) };
      // The provider derives the name from the URL.
      if (name !== null) dropped.add("file_name_dropped");
      return { type: "input_file", file_url: source.url };
    }
  }
}

function reasoningItem({ text, summary, signature }: ReasoningPart): JsonObject {
  return {
    type: "reasoning",
    summary: summary && text !== "" ? [{ type: "summary_text", text }] : [],
    content: summary || text === "" ? undefined : [{ type: "reasoning_text", text }],
    encrypted_content: signature,
  };
}
