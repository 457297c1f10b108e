import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import type { DroppedField } from "../../canon/generate/edit.ts";
import type {
  AssistantPart,
  AssistantTurn,
  FilePart,
  GenerateRequest,
  ImagePart,
  InputPart,
  OutputFormat,
  ReasoningPart,
  RefusalPart,
  TextPart,
  Tool,
  ToolCallPart,
  ToolChoice,
  ToolResult,
  Turn,
} from "../../canon/generate/generate-request.ts";
import type { JsonObject, JsonValue } from "../../canon/json.ts";
import { REASONING_EFFORTS, type ReasoningEffort } from "../../canon/request.ts";
import type { ModelReasoning } from "../../canon/table.ts";
import { printDataUrl } from "../data-url.ts";
import type { FormattedRequest, Target } from "../dialect.ts";
import { readMarked } from "../gemini/signatures.ts";
import { SERVICE_TIERS } from "./family.ts";
import { applyFlags, type EditableBody } from "./flags.ts";
import { reasoningDetails } from "./reasoning.ts";
import { effortOfBudget } from "../reasoning-effort.ts";

/** Name of a schema without one; the protocol requires a name. */
const SCHEMA_NAME = "response";

/** Other protocols' values for one of them. */
const OTHER_TIERS: ReadonlyMap<string, string> = new Map([["standard_only", "default"]]);

/** Prints a request as providers of this protocol take it. */
export function formatChat(
  request: GenerateRequest,
  target: Target,
): FormattedRequest | ServiceError {
  const unsupported = unsupportedField(request);
  if (unsupported !== null) return unsupported;
  const dropped = new Set<DroppedField>();
  const messages = formatTurns(request.turns, target, dropped);
  if ("code" in messages) return messages;
  const body: EditableBody = { model: target.endpoint.upstreamModel, messages: messages.list };
  writeTools(body, request, dropped);
  writeNumbers(body, request);
  if (request.format !== null) body.response_format = formatSchema(request.format, dropped);
  writeReasoning(body, request.reasoning, target, dropped);
  if (request.verbosity !== null) body.verbosity = request.verbosity;
  writeHints(body, request, dropped);
  const { flags } = target.provider;
  if (!flags.includes("no_store_field")) body.store = false;
  if (request.stream) {
    body.stream = true;
    if (!flags.includes("no_stream_options")) body.stream_options = { include_usage: true };
  }
  for (const field of applyFlags(body, flags).dropped) dropped.add(field);
  return { path: "/chat/completions", body, headers: [], dropped: [...dropped].toSorted() };
}

/**
 * The decision keeps such requests away; one that gets here all the same must not lose what it
 * says.
 */
function unsupportedField(request: GenerateRequest): ServiceError | null {
  const what =
    request.purpose === "count" ? "token counting" : request.topK === null ? null : "top_k";
  if (what === null) return null;
  return invalidRequest("feature_not_supported", `The chat completions protocol has no ${what}`);
}

function writeTools(
  body: EditableBody,
  request: GenerateRequest,
  dropped: Set<DroppedField>,
): void {
  if (request.tools.length === 0) return;
  body.tools = request.tools.map((tool) => {
    if (tool.cache !== null) dropped.add("cache_mark_dropped");
    return { type: "function", function: formatTool(tool) };
  });
  if (request.toolChoice !== null) body.tool_choice = formatChoice(request.toolChoice);
  if (request.parallelToolCalls !== null) body.parallel_tool_calls = request.parallelToolCalls;
}

function formatTool({ name, description, parameters, strict }: Tool): JsonObject {
  return {
    name,
    description: description ?? undefined,
    parameters: parameters ?? undefined,
    strict: strict ?? undefined,
  };
}

function formatChoice(choice: ToolChoice): JsonValue {
  switch (choice.mode) {
    case "auto":
    case "none":
    case "required":
      return choice.mode;
    case "named":
      return { type: "function", function: { name: choice.name } };
    case "allowed":
      return {
        type: "allowed_tools",
        allowed_tools: {
          mode: choice.required ? "required" : "auto",
          tools: choice.names.map((name) => ({ type: "function", function: { name } })),
        },
      };
  }
}

function writeNumbers(body: EditableBody, request: GenerateRequest): void {
  const members: readonly (readonly [string, JsonValue])[] = [
    ["max_completion_tokens", request.maxOutputTokens],
    ["temperature", request.temperature],
    ["top_p", request.topP],
    ["frequency_penalty", request.frequencyPenalty],
    ["presence_penalty", request.presencePenalty],
    ["logit_bias", request.logitBias],
    ["seed", request.seed],
  ];
  for (const [name, value] of members) if (value !== null) body[name] = value;
  if (request.stop.length > 0) body.stop = request.stop;
  if (request.logprobs === null) return;
  body.logprobs = true;
  if (request.logprobs > 0) body.top_logprobs = request.logprobs;
}

function formatSchema(format: OutputFormat, dropped: Set<DroppedField>): JsonObject {
  if (format.kind === "json_object") return { type: "json_object" };
  const { name, description, schema, strict } = format;
  if (name === null) dropped.add("schema_name_made");
  return {
    type: "json_schema",
    json_schema: {
      name: name ?? SCHEMA_NAME,
      description: description ?? undefined,
      schema,
      strict: strict ?? undefined,
    },
  };
}

function writeReasoning(
  body: EditableBody,
  reasoning: GenerateRequest["reasoning"],
  { model, provider }: Target,
  dropped: Set<DroppedField>,
): void {
  // Such a provider's own member has budgets, and a value that leaves the amount to the model.
  if (reasoning?.effort === "unspecified" && provider.flags.includes("reasoning_object")) {
    const { budget, adaptive, display } = reasoning;
    if (display !== null) dropped.add("reasoning_display_dropped");
    if (budget !== null) body.reasoning = { max_tokens: budget };
    else if (adaptive) body.reasoning = { enabled: true };
    return;
  }
  const effort = effortOf(reasoning, model.reasoning, dropped);
  if (effort !== "unspecified") body.reasoning_effort = effort;
}

/**
 * The value to send: this protocol has no budgets, so one becomes the effort of the largest budget
 * of the model's table that it covers.
 */
function effortOf(
  reasoning: GenerateRequest["reasoning"],
  model: ModelReasoning | null,
  dropped: Set<DroppedField>,
): ReasoningEffort {
  if (reasoning === null) return "unspecified";
  const { effort, budget, adaptive, display } = reasoning;
  if (display !== null) dropped.add("reasoning_display_dropped");
  if (budget !== null) dropped.add("budget_as_effort");
  if (effort !== "unspecified") return effort;
  if (budget !== null) return effortOfBudget(budget, model, REASONING_EFFORTS) ?? "unspecified";
  // How much to think is the model's to decide here where not given.
  if (adaptive) dropped.add("hint_dropped");
  return "unspecified";
}

function writeHints(
  body: EditableBody,
  { hints }: GenerateRequest,
  dropped: Set<DroppedField>,
): void {
  const { serviceTier, promptCacheKey, promptCacheRetention } = hints;
  if (serviceTier !== null) {
    const tier = SERVICE_TIERS.includes(serviceTier) ? serviceTier : OTHER_TIERS.get(serviceTier);
    if (tier !== serviceTier) dropped.add("service_tier_changed");
    if (tier !== undefined) body.service_tier = tier;
  }
  if (promptCacheKey !== null) body.prompt_cache_key = promptCacheKey;
  if (promptCacheRetention !== null) body.prompt_cache_retention = promptCacheRetention;
}

/**
 * What to call a file that came without a name; the provider recognises its kind by the extension.
 */
const FILE_NAMES: ReadonlyMap<string, string> = new Map([
  ["application/pdf", "file.pdf"],
  ["text/plain", "file.txt"],
]);

/** A turn's messages, and what they could not say. */
class TurnFormatter {
  readonly messages: JsonObject[] = [];
  refusal: ServiceError | null = null;
  readonly #dropped: Set<DroppedField>;
  readonly #family: string | null;

  constructor({ model }: Target, dropped: Set<DroppedField>) {
    this.#dropped = dropped;
    this.#family = model.signatureFamily;
  }

  add(turn: Turn): void {
    switch (turn.role) {
      case "system":
        this.messages.push({ role: turn.authority, content: this.#inputs(turn.content) });
        break;
      case "user":
        this.messages.push({
          role: "user",
          ...named(turn.name),
          content: this.#inputs(turn.content),
        });
        break;
      case "assistant":
        this.messages.push(this.#assistant(turn));
        break;
      case "tool":
        for (const result of turn.results) this.messages.push(this.#result(result));
    }
  }

  #inputs(parts: readonly InputPart[]): JsonValue {
    const [first] = parts;
    if (first === undefined) return "";
    if (parts.length === 1 && first.kind === "text") return this.#text(first);
    return parts.map((part) => this.#input(part));
  }

  #text({ text, cache }: TextPart): string {
    this.#dropMark(cache);
    return text;
  }

  #input(part: InputPart): JsonObject {
    switch (part.kind) {
      case "text":
        return { type: "text", text: this.#text(part) };
      case "image":
        return { type: "image_url", image_url: this.#image(part) };
      case "file":
        return { type: "file", file: this.#file(part) };
      case "audio":
        return { type: "input_audio", input_audio: { data: part.data, format: part.format } };
    }
  }

  #image({ source, detail, cache }: ImagePart): JsonObject {
    this.#dropMark(cache);
    const url = source.kind === "url" ? source.url : printDataUrl(source.mediaType, source.data);
    return { url, detail: detail ?? undefined };
  }

  #file({ source, name, cache }: FilePart): JsonObject {
    this.#dropMark(cache);
    if (source.kind === "url") {
      this.#refuse("files by URL");
      return {};
    }
    if (name === null) this.#dropped.add("file_name_made");
    const filename = name ?? FILE_NAMES.get(source.mediaType) ?? "file";
    return { filename, file_data: printDataUrl(source.mediaType, source.data) };
  }

  #assistant({ name, content }: AssistantTurn): JsonObject {
    const reasoning: ReasoningPart[] = [];
    let unsigned = "";
    const said: (TextPart | RefusalPart)[] = [];
    const calls: JsonObject[] = [];
    const callSignatures: string[] = [];
    let extra: JsonObject = {};
    let rank = 0;
    for (const part of content) {
      if (part.kind === "reasoning" && !this.#isReadable(part)) {
        if (part.signature === null) unsigned += part.text;
        else this.#dropped.add("unsigned_reasoning_dropped");
        continue;
      }
      const marked = part.kind === "reasoning" ? readMarked(part.signature ?? "") : NOT_MARKED;
      if (marked.part === "call") callSignatures.push(marked.signature);
      else if (marked.part === "text" || marked.part === "empty")
        extra = signedExtra(marked.signature);
      if (marked.part !== null && marked.part !== "thought") continue;
      // A message has one member for each kind, in this order.
      if (RANKS[part.kind] < rank) this.#dropped.add("parts_reordered");
      rank = Math.max(rank, RANKS[part.kind]);
      if (part.kind === "reasoning") reasoning.push(part);
      else if (part.kind === "tool_call")
        calls.push({ ...this.#call(part), ...signedExtra(callSignatures.shift()) });
      else said.push(part);
    }
    const details = reasoning.flatMap((part) => reasoningDetails(part, part.signature, null));
    return {
      role: "assistant",
      ...named(name),
      ...this.#said(said, calls.length > 0),
      reasoning_content: unsigned === "" ? undefined : unsigned,
      reasoning_details: details.length === 0 ? undefined : details,
      tool_calls: calls.length === 0 ? undefined : calls,
      ...extra,
    };
  }

  /** Reasoning that the model can check; few providers take other reasoning back. */
  #isReadable({ signature, family }: ReasoningPart): boolean {
    return signature !== null && family === this.#family;
  }

  #said(parts: readonly (TextPart | RefusalPart)[], calls: boolean): JsonObject {
    const [first] = parts;
    if (first === undefined) return { content: calls ? null : "" };
    if (parts.length === 1) {
      return first.kind === "text"
        ? { content: this.#text(first) }
        : { content: null, refusal: first.text };
    }
    const content = parts.map((part) =>
      part.kind === "text"
        ? { type: "text", text: this.#text(part) }
        : { type: "refusal", refusal: part.text },
    );
    return { content };
  }

  #call(call: ToolCallPart): JsonObject {
    this.#dropMark(call.cache);
    return {
      id: call.id,
      type: "function",
      function: { name: call.name, arguments: call.arguments },
    };
  }

  #result({ callId, content, isError, cache }: ToolResult): JsonObject {
    this.#dropMark(cache);
    if (isError === true) this.#dropped.add("tool_error_flag_dropped");
    return { role: "tool", tool_call_id: callId, content: this.#inputs(content) };
  }

  #dropMark(cache: TextPart["cache"]): void {
    if (cache !== null) this.#dropped.add("cache_mark_dropped");
  }

  /**
   * The decision keeps such requests away; one that gets here all the same must not lose what it
   * says.
   */
  #refuse(what: string): void {
    this.refusal ??= invalidRequest(
      "feature_not_supported",
      `The chat completions protocol has no ${what}`,
    );
  }
}

const NOT_MARKED = readMarked("");

/**
 * A signature where the provider has it
 * (https://ai.google.dev/gemini-api/docs/thought-signatures#openai): in the call, or in the message
 * of a text.
 */
function signedExtra(signature: string | undefined): JsonObject {
  return signature === undefined
    ? {}
    : { extra_content: { google: { thought_signature: signature } } };
}

const RANKS: Readonly<Record<AssistantPart["kind"], number>> = {
  reasoning: 0,
  text: 1,
  refusal: 1,
  tool_call: 2,
};

function named(name: string | null): JsonObject {
  return name === null ? {} : { name };
}

/** The turns as messages; the error is a 400 for what this protocol cannot say. */
function formatTurns(
  turns: readonly Turn[],
  target: Target,
  dropped: Set<DroppedField>,
): { readonly list: readonly JsonObject[] } | ServiceError {
  const formatter = new TurnFormatter(target, dropped);
  for (const turn of turns) formatter.add(turn);
  return formatter.refusal ?? { list: formatter.messages };
}
