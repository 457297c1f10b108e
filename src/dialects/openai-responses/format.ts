import type { DroppedField } from "../../canon/generate/edit.ts";
import type {
  AssistantPart,
  FilePart,
  GenerateRequest,
  ImagePart,
  InputPart,
  OutputFormat,
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
import { RequestDraft } from "../request-draft.ts";

/**
 * Formats a canonical request for providers of this protocol. Nothing is stored (`store: false`);
 * reasoning is requested encrypted, so that clients can send it back.
 */
export const formatResponsesRequest: Upstream["format"] = (request, target) => {
  const draft = new RequestDraft();
  const { body, dropped } = draft;
  refuseUnsupported(request, draft);
  body.model = target.endpoint.upstreamModel;
  const { instructions, input, signed } = formatInput(request.turns, dropped);
  body.input = input;
  if (instructions !== null) body.instructions = instructions;
  if (request.tools.length > 0) body.tools = request.tools.map(formatTool);
  if (request.toolChoice !== null) body.tool_choice = formatChoice(request.toolChoice, false);
  if (request.parallelToolCalls !== null) body.parallel_tool_calls = request.parallelToolCalls;
  const text = formatText(request.format, request.verbosity, dropped);
  if (text !== null) body.text = text;
  const reasoning = formatReasoning(request.reasoning, target.model, dropped);
  if (reasoning !== null) body.reasoning = reasoning;
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
  const sealed =
    (signed || wantsReasoning(request)) && !target.provider.flags.includes("no_include");
  const include = [
    ...(sealed ? [ENCRYPTED_REASONING] : []),
    ...(request.logprobs === null ? [] : [OUTPUT_LOGPROBS]),
  ];
  if (include.length > 0) body.include = include;
  body.store = false;
  if (request.stream) body.stream = true;
  return draft.finished("/responses");
};

/** For requests that the decision should have kept away: nothing of them may vanish silently. */
function refuseUnsupported(
  { stop, seed, topK, logitBias }: GenerateRequest,
  draft: RequestDraft,
): void {
  const settings = { stop: stop.length > 0 || null, seed, top_k: topK, logit_bias: logitBias };
  for (const [name, value] of Object.entries(settings)) {
    const sentence = `${name} has no counterpart in the responses protocol`;
    if (value !== null) draft.refuseRequest("unsupported_parameter", sentence, name);
  }
}

function wantsReasoning({ reasoning }: GenerateRequest): boolean {
  return reasoning !== null && reasoning.effort !== "none";
}

/** Explicitly strict or not, because the protocol's default is strict. */
function formatTool({ name, description, parameters, strict }: Tool): JsonObject {
  return { type: "function", name, description, parameters, strict: strict ?? false };
}

function formatText(
  format: OutputFormat | null,
  verbosity: string | null,
  dropped: Set<DroppedField>,
): JsonObject | null {
  if (format === null && verbosity === null) return null;
  return {
    format: format === null ? undefined : formatFormat(format, dropped),
    verbosity: verbosity ?? undefined,
  };
}

function formatFormat(format: OutputFormat, dropped: Set<DroppedField>): JsonObject {
  return format.kind === "json_object"
    ? { type: format.kind }
    : { type: format.kind, ...schemaMembers(format, dropped) };
}

const SETTINGS = { ...SAMPLING_SETTINGS, top_logprobs: "logprobs" } as const;

/** The protocol's `reasoning`; `null` where it would be empty. */
function formatReasoning(
  reasoning: ReasoningRequest | null,
  model: ModelRow,
  dropped: Set<DroppedField>,
): JsonObject | null {
  if (reasoning === null) return null;
  const effort = formatEffort(reasoning, model, dropped);
  const summary = formatSummary(reasoning.display);
  if (effort === null && summary === null) return null;
  return { effort: effort ?? undefined, summary: summary ?? undefined };
}

/** The protocol omits reasoning from answers by default. */
function formatSummary(display: ReasoningRequest["display"]): string | null {
  if (display === "summarized") return "auto";
  return display === "omitted" ? null : display;
}

/**
 * Prints turns as items, and notes whether the history holds signed reasoning. One leading system
 * text becomes `instructions`; several stay separate items.
 */
function formatInput(turns: readonly Turn[], dropped: Set<DroppedField>) {
  const instructions = leadingInstructions(turns);
  const rest = instructions === null ? turns : turns.slice(1);
  const printer = new ItemPrinter(dropped);
  const input = rest.flatMap((turn) => printer.turn(turn));
  return { instructions: instructions?.text ?? null, input, signed: printer.signed };
}

function leadingInstructions([first, second]: readonly Turn[]): TextPart | null {
  if (first?.role !== "system" || first.authority !== "system" || first.content.length !== 1)
    return null;
  // Without further turns there would be no input, which the protocol requires.
  if (second === undefined || second.role === "system") return null;
  const [part] = first.content;
  return part ?? null;
}

class ItemPrinter {
  readonly #dropped: Set<DroppedField>;
  signed = false;

  constructor(dropped: Set<DroppedField>) {
    this.#dropped = dropped;
  }

  turn(turn: Turn): readonly JsonObject[] {
    switch (turn.role) {
      case "system":
        return [
          {
            type: "message",
            role: turn.authority,
            content: turn.content.map((part) => this.#input(part)),
          },
        ];
      case "user":
        return [
          { type: "message", role: "user", content: turn.content.map((part) => this.#input(part)) },
        ];
      case "assistant":
        return this.#assistant(turn.content);
      case "tool":
        return turn.results.map((result) => this.#result(result));
    }
  }

  /**
   * Texts and refusals that follow one another are one message; calls and reasoning are items of
   * their own.
   */
  #assistant(parts: readonly AssistantPart[]): readonly JsonObject[] {
    const items: JsonObject[] = [];
    let content: JsonObject[] | null = null;
    for (const part of parts) {
      if (part.kind === "text" || part.kind === "refusal") {
        if (content === null)
          items.push({ type: "message", role: "assistant", content: (content = []) });
        content.push(this.#output(part));
        continue;
      }
      content = null;
      if (part.kind === "tool_call") {
        const { id, name, arguments: json } = part;
        items.push({ type: "function_call", call_id: id, name, arguments: json });
      } else {
        this.signed = true;
        items.push(reasoningItem(part.text, part.summary, part.signature));
      }
    }
    return items;
  }

  #output(part: Extract<AssistantPart, { kind: "text" | "refusal" }>): JsonObject {
    if (part.kind === "refusal") return { type: "refusal", refusal: part.text };
    return { type: "output_text", text: part.text };
  }

  #result({ callId, content, isError }: ToolResult): JsonObject {
    if (isError === true) this.#dropped.add("tool_error_flag_dropped");
    const item = { type: "function_call_output", call_id: callId };
    const [only] = content;
    if (only === undefined) return { ...item, output: "" };
    if (content.length > 1 || only.kind !== "text")
      return { ...item, output: content.map((part) => this.#input(part)) };
    return { ...item, output: only.text };
  }

  #input(part: InputPart): JsonObject {
    if (part.kind === "audio") {
      return { type: "input_audio", input_audio: { data: part.data, format: part.format } };
    }
    switch (part.kind) {
      case "text":
        return { type: "input_text", text: part.text };
      case "image":
        return image(part);
      case "file":
        return this.#file(part);
    }
  }

  #file({ source, name }: FilePart): JsonObject {
    if (source.kind === "url") {
      // The provider derives the name from the URL.
      if (name !== null) this.#dropped.add("file_name_dropped");
      return { type: "input_file", file_url: source.url };
    }
    return { type: "input_file", ...fileMembers(source, name, this.#dropped) };
  }
}

function reasoningItem(text: string, summary: boolean, signature: string | null): JsonObject {
  return {
    type: "reasoning",
    summary: summary && text !== "" ? [{ type: "summary_text", text }] : [],
    ...(summary || text === "" ? {} : { content: [{ type: "reasoning_text", text }] }),
    encrypted_content: signature,
  };
}

function image({ source, detail }: ImagePart): JsonObject {
  return { type: "input_image", image_url: urlOf(source), detail: detail ?? undefined };
}
