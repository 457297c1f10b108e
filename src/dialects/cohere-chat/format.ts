import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import type { DroppedField } from "../../canon/generate/edit.ts";
import type {
  AssistantPart,
  AssistantTurn,
  CacheMark,
  GenerateRequest,
  ImagePart,
  InputPart,
  ReasoningPart,
  SystemTurn,
  TextPart,
  Tool,
  ToolCallPart,
  ToolChoice,
  ToolResult,
  Turn,
  UserTurn,
} from "../../canon/generate/generate-request.ts";
import type { JsonObject, JsonValue } from "../../canon/json.ts";
import { printDataUrl } from "../data-url.ts";
import type { FormattedRequest, Target } from "../dialect.ts";
import { NO_PARAMETERS } from "../fit-schema.ts";
import { dropCacheHints, dropSchemaName, sentTier } from "../reasoning-effort.ts";

/** Where providers answer, after their base URL. */
const PATH = "/v2/chat";

/** Prints a request in Cohere's second chat protocol (docs/protocols.md#cohere-chat). */
export function formatCohere(
  request: GenerateRequest,
  target: Target,
): FormattedRequest | ServiceError {
  const draft: Draft = { body: { model: target.endpoint.upstreamModel }, dropped: new Set() };
  const problem =
    unsupportedField(request) ??
    formatTurns(request.turns, draft) ??
    formatTools(request, draft) ??
    formatSampling(request, draft) ??
    formatReasoning(request.reasoning, target, draft) ??
    formatOutput(request, draft);
  if (problem !== null) return problem;
  if (request.maxOutputTokens !== null) draft.body.max_tokens = request.maxOutputTokens;
  // The protocol has no service tiers; `auto` is the tier of requests that name none.
  sentTier(request, { auto: null }, draft.dropped);
  dropCacheHints(request, draft.dropped);
  // The protocol's description demands the member, whatever its value.
  draft.body.stream = request.stream;
  return { path: PATH, body: draft.body, headers: [], dropped: [...draft.dropped].toSorted() };
}

/**
 * The decision keeps such requests away; one that gets here all the same must not lose what it
 * says.
 */
function unsupportedField({ purpose, logitBias, verbosity }: GenerateRequest): ServiceError | null {
  if (purpose === "count") return lacking("token counting");
  if (logitBias !== null) return lacking("logit_bias");
  return verbosity === null ? null : lacking("verbosity");
}

/** A schema makes the mode that gives any object give one of its kind. */
function formatOutput({ format }: GenerateRequest, { body, dropped }: Draft): ServiceError | null {
  if (format === null) return null;
  if (body.tools !== undefined) {
    return invalidRequest(
      "unsupported_combination",
      "An endpoint that may get the request takes no response format together with tools; leave one of them out",
    );
  }
  if (format.kind === "json_object") {
    body.response_format = { type: "json_object" };
    return null;
  }
  dropSchemaName(format, dropped);
  body.response_format = { type: "json_object", json_schema: format.schema };
  return null;
}

/**
 * Writes `thinking`. The protocol knows on, off and a budget; an effort becomes a budget by the
 * table in routes.yaml, and by nothing else. Models that can think do so unless the request says
 * not to.
 */
function formatReasoning(
  reasoning: GenerateRequest["reasoning"],
  { model }: Target,
  { body, dropped }: Draft,
): ServiceError | null {
  if (reasoning === null) return null;
  const { effort, adaptive, display } = reasoning;
  if (effort === "none") {
    body.thinking = { type: "disabled" };
    return null;
  }
  if (display !== null) dropped.add("reasoning_display_dropped");
  const tabled = effort === "unspecified" ? null : (model.reasoning?.budgets?.[effort] ?? null);
  const budget = reasoning.budget ?? tabled;
  if (budget === null) {
    if (effort !== "unspecified")
      return lacking(`value for the reasoning effort ${effort}, and no budget for it either`);
    if (adaptive) body.thinking = { type: "enabled" };
    return null;
  }
  if (budget < 1) {
    return invalidRequest(
      "invalid_reasoning_budget",
      "The reasoning budget must be at least 1 token",
    );
  }
  if (effort !== "unspecified") dropped.add("effort_as_budget");
  body.thinking = { type: "enabled", token_budget: budget };
  return null;
}

/** The most and the least of `p`. */
const TOP_P = [0.01, 0.99] as const;

/** Stop sequences that a request may have. */
const MOST_STOPS = 5;

/**
 * A number as the caller's protocol calls it, what it is called here, and the values that it may
 * have.
 */
interface Bounded {
  readonly param: string;
  readonly name: string;
  readonly value: number | null;
  readonly least: number;
  readonly most: number;
}

/** Writes the numbers. Values outside this protocol's ranges are refused, never moved into them. */
function formatSampling(request: GenerateRequest, { body, dropped }: Draft): ServiceError | null {
  const { topP, stop, logprobs } = request;
  // Among protocols whose `top_p` goes up to 1, that is to say nothing: here the default is less.
  if (topP === 1) dropped.add("top_p_limited");
  const numbers: readonly Bounded[] = [
    { param: "temperature", name: "temperature", value: request.temperature, least: 0, most: 1 },
    {
      param: "top_p",
      name: "p",
      value: topP === 1 ? TOP_P[1] : topP,
      least: TOP_P[0],
      most: TOP_P[1],
    },
    { param: "top_k", name: "k", value: request.topK, least: 0, most: 500 },
    { param: "seed", name: "seed", value: request.seed, least: 0, most: Number.MAX_SAFE_INTEGER },
    ...penalties(request),
  ];
  for (const { param, name, value, least, most } of numbers) {
    if (value === null) continue;
    if (value < least || value > most) return outside(param, `from ${least} to ${most}`);
    body[name] = value;
  }
  if (stop.length > MOST_STOPS) return outside("stop", `a list of at most ${MOST_STOPS} texts`);
  if (stop.length > 0) body.stop_sequences = stop;
  if (logprobs !== null) {
    body.logprobs = true;
    if (logprobs > 0) dropped.add("logprobs_coarser");
  }
  return null;
}

/**
 * A penalty of 0 requests nothing; some models refuse both members side by side, whatever they say.
 */
function penalties({ frequencyPenalty, presencePenalty }: GenerateRequest): readonly Bounded[] {
  return [
    { name: "frequency_penalty", value: frequencyPenalty },
    { name: "presence_penalty", value: presencePenalty },
  ].map(({ name, value }) => ({
    param: name,
    name,
    value: value === 0 ? null : value,
    least: 0,
    most: 1,
  }));
}

function outside(param: string, range: string): ServiceError {
  return invalidRequest(
    "unsupported_value",
    `An endpoint that may get the request takes \`${param}\` only as ${range}`,
    param,
  );
}

/** Writes `tools`, `tool_choice` and `strict_tools`. */
function formatTools(request: GenerateRequest, { body, dropped }: Draft): ServiceError | null {
  const { toolChoice, parallelToolCalls } = request;
  const tools = offered(request);
  if (tools.length < request.tools.length) dropped.add("allowed_tools_filtered");
  if (tools.some(({ cache }) => cache !== null)) dropped.add("cache_mark_dropped");
  if (tools.length === 0) return null;
  if (toolChoice?.mode === "named") return lacking("tool choice that names one tool");
  if (parallelToolCalls === false && toolChoice?.mode !== "none") {
    return lacking("way to switch parallel tool calls off");
  }
  body.tools = tools.map(formatTool);
  const choice = toolChoiceValue(toolChoice);
  if (choice !== null) body.tool_choice = choice;
  const strict = tools.filter((tool) => tool.strict === true);
  if (strict.length === 0) return null;
  // All or none: the promise that was requested is kept, and the others get it as well.
  body.strict_tools = true;
  if (strict.length < tools.length) dropped.add("tool_strictness_widened");
  return null;
}

/** Where only some tools may be called, only those are sent. */
function offered({ tools, toolChoice }: GenerateRequest): readonly Tool[] {
  return toolChoice?.mode === "allowed"
    ? tools.filter(({ name }) => toolChoice.names.includes(name))
    : tools;
}

function formatTool({ name, description, parameters }: Tool): JsonObject {
  return {
    type: "function",
    function: {
      name,
      description: description ?? undefined,
      parameters: parameters ?? NO_PARAMETERS,
    },
  };
}

/** `null`: the model decides, which the protocol expresses by leaving the member out. */
function toolChoiceValue(choice: ToolChoice | null): string | null {
  if (choice?.mode === "none") return "NONE";
  const isForced = choice?.mode === "required" || (choice?.mode === "allowed" && choice.required);
  return isForced ? "REQUIRED" : null;
}

/** The body of a request while it is made, and what could not be said in it. */
interface Draft {
  readonly body: Record<string, JsonValue>;
  readonly dropped: Set<DroppedField>;
}

/** The 400 for what the protocol cannot express. */
function lacking(what: string): ServiceError {
  return invalidRequest(
    "feature_not_supported",
    `An endpoint that may get the request has no ${what}`,
  );
}

/** Writes `messages`; the error is a 400 for what this protocol cannot say. */
function formatTurns(turns: readonly Turn[], draft: Draft): ServiceError | null {
  const formatter = new TurnFormatter(draft);
  for (const turn of turns) formatter.add(turn);
  if (formatter.refusal !== null) return formatter.refusal;
  draft.body.messages = formatter.messages;
  return null;
}

/** A turn's messages, and what they could not say. */
class TurnFormatter {
  readonly messages: JsonObject[] = [];
  refusal: ServiceError | null = null;
  readonly #draft: Draft;

  constructor(draft: Draft) {
    this.#draft = draft;
  }

  add(turn: Turn): void {
    switch (turn.role) {
      case "system":
        return this.#addSystem(turn);
      case "user":
        return this.#addUser(turn);
      case "assistant":
        return this.#addAssistant(turn);
      case "tool":
        for (const result of turn.results) this.#addResult(result);
    }
  }

  #addSystem({ authority, content }: SystemTurn): void {
    if (authority === "developer") this.#draft.dropped.add("developer_as_system");
    this.#push("system", this.#inputs(content));
  }

  #addUser({ name, content }: UserTurn): void {
    this.#dropName(name);
    this.#push("user", this.#inputs(content));
  }

  #push(role: string, content: readonly JsonObject[]): void {
    this.messages.push({ role, content: plain(content) });
  }

  #inputs(parts: readonly InputPart[]): readonly JsonObject[] {
    return parts.flatMap((part) => this.#input(part));
  }

  #input(part: InputPart): readonly JsonObject[] {
    switch (part.kind) {
      case "text":
        return this.#text(part);
      case "image":
        return [this.#image(part)];
      case "file":
        return this.#refuse("files");
      case "audio":
        return this.#refuse("audio");
    }
  }

  #text({ text, cache }: TextPart): readonly JsonObject[] {
    this.#dropMark(cache);
    return [{ type: "text", text }];
  }

  #image({ source, detail, cache }: ImagePart): JsonObject {
    this.#dropMark(cache);
    const url = source.kind === "url" ? source.url : printDataUrl(source.mediaType, source.data);
    return { type: "image_url", image_url: { url, detail: detail ?? undefined } };
  }

  /**
   * A message has a member for each kind of content, in this order: thought, text, the plan, calls.
   */
  #addAssistant({ name, content }: AssistantTurn): void {
    this.#dropName(name);
    const said: JsonObject[] = [];
    const calls: JsonObject[] = [];
    for (const part of content) {
      if (part.kind === "tool_call") {
        calls.push(this.#call(part));
        continue;
      }
      const printed = this.#said(part);
      if (calls.length > 0 && printed.length > 0) this.#draft.dropped.add("parts_reordered");
      for (const one of printed) said.push(one);
    }
    this.messages.push({
      role: "assistant",
      ...spoken(said, calls.length > 0),
      tool_calls: calls.length === 0 ? undefined : calls,
    });
  }

  #said(part: Exclude<AssistantPart, ToolCallPart>): readonly JsonObject[] {
    switch (part.kind) {
      case "text":
        return this.#text(part);
      case "refusal":
        this.#draft.dropped.add("refusal_as_text");
        return this.#text({ kind: "text", text: part.text, cache: null });
      case "reasoning":
        return this.#thinking(part);
    }
  }

  #thinking({ text, summary, signature }: ReasoningPart): readonly JsonObject[] {
    if (signature !== null) return this.#refuse("member for signed reasoning of an earlier answer");
    if (summary) this.#draft.dropped.add("reasoning_display_dropped");
    return [{ type: "thinking", thinking: text }];
  }

  #call({ id, name, arguments: json, cache }: ToolCallPart): JsonObject {
    this.#dropMark(cache);
    return { id, type: "function", function: { name, arguments: json } };
  }

  #addResult({ callId, content, isError, cache }: ToolResult): void {
    this.#dropMark(cache);
    if (isError === true) this.#draft.dropped.add("tool_error_flag_dropped");
    const texts = content.flatMap((part) => (part.kind === "text" ? this.#text(part) : []));
    // Every call needs a result, one that says nothing too.
    this.messages.push({
      role: "tool",
      tool_call_id: callId,
      content: texts.length === 0 ? "" : plain(texts),
    });
  }

  #dropMark(cache: CacheMark | null): void {
    if (cache !== null) this.#draft.dropped.add("cache_mark_dropped");
  }

  #dropName(name: string | null): void {
    if (name !== null) this.#draft.dropped.add("participant_name_dropped");
  }

  /**
   * The decision keeps such requests away; one that gets here all the same must not lose what it
   * says.
   */
  #refuse(what: string): readonly JsonObject[] {
    this.refusal ??= lacking(what);
    return [];
  }
}

/** One text stands for itself, anything else in a list. */
function plain(parts: readonly JsonObject[]): JsonValue {
  const [only] = parts;
  return parts.length === 1 && only?.type === "text" ? (only.text ?? "") : parts;
}

/**
 * The text before calls is their plan: this is how the model's own plan, as text, comes back to it.
 */
function spoken(said: readonly JsonObject[], called: boolean): JsonObject {
  const last = said.at(-1);
  const plan = called && last?.type === "text" ? last.text : undefined;
  const content = plan === undefined ? said : said.slice(0, -1);
  return {
    content: content.length === 0 ? undefined : plain(content),
    ...(plan === undefined ? {} : { tool_plan: plan }),
  };
}
