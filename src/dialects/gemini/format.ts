import type {
  AssistantPart,
  GenerateRequest,
  ImagePart,
  InputPart,
  OutputFormat,
  ReasoningPart,
  ReasoningRequest,
  ToolCallPart,
  ToolChoice,
  ToolResult,
  Turn,
} from "../../canon/generate/generate-request.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { ReasoningEffort } from "../../canon/request.ts";
import type { ModelReasoning } from "../../canon/table.ts";
import type { Target, Upstream } from "../dialect.ts";
import { UNSIGNED_CALL, readMarked } from "./signatures.ts";
import { RequestDraft, argumentsOf, callsOf, membersWithValue } from "../request-draft.ts";
import type { Members } from "../json.ts";

/** A request for generateContent while it is printed. */
class Draft extends RequestDraft {
  /** Members of `generationConfig`. */
  readonly config: Members = {};
  /** Details of the request's images: the protocol has one for all of them. */
  readonly details = new Set<ImagePart["detail"]>();
  /** Whether calls and results carry ids. */
  readonly hasIds: boolean;
  /** Whether the model signs, and refuses calls that are not signed. */
  readonly isSigned: boolean;

  constructor({ provider, model }: Target) {
    super();
    this.hasIds = !provider.flags.includes("no_call_ids");
    this.isSigned = model.signatureFamily !== null;
  }
}

/** Prints a request for generateContent, its stream, or countTokens (docs/protocols.md#gemini). */
export const formatGemini: Upstream["format"] = (request, target) => {
  const draft = new Draft(target);
  const { body, dropped } = draft;
  const { upstreamModel } = target.endpoint;
  const counts = request.purpose === "count";
  formatTurns(request.turns, draft);
  if (!counts) formatSampling(request, draft);
  formatTools(request, draft);
  formatOutput(request.format, draft);
  if (counts) {
    // The counter has no generation settings and no tool choice.
    const { toolChoice, tools, reasoning } = request;
    if (toolChoice !== null || reasoning !== null || tools.some(({ strict }) => strict === true))
      dropped.add("not_counted");
  } else formatReasoning(request.reasoning, target.model.reasoning, draft);
  formatDetail(draft);
  draft.dropCacheHints(request);
  body.serviceTier = draft.sentTier(request, TIERS);
  body.generationConfig = membersWithValue(draft.config);
  // Without the option a stream is one JSON array, whose end only its last byte shows.
  const stream = request.stream ? "streamGenerateContent?alt=sse" : "generateContent";
  const path = `${modelPath(upstreamModel)}:${counts ? "countTokens" : stream}`;
  return draft.finished(path, counts ? countBody(draft, target) : body);
};

/**
 * The resource name of a model below the provider's base URL. A plain name is one of `models/`; one
 * with a slash is a resource name already, such as `tunedModels/x`, or `endpoints/7` where the base
 * URL ends before `publishers`.
 */
export function resourceName(upstreamModel: string): string {
  return upstreamModel.includes("/") ? upstreamModel : `models/${upstreamModel}`;
}

/** Path of a model; the name of a method follows after a colon. */
export function modelPath(upstreamModel: string): string {
  return `/${resourceName(upstreamModel).split("/").map(encodeURIComponent).join("/")}`;
}

/** A count covers the input only. */
function countBody({ body }: Draft, { endpoint, provider }: Target): JsonObject {
  const { toolConfig: _choice, ...read } = body;
  if (provider.flags.includes("flat_count_tokens")) return read;
  return { generateContentRequest: { model: resourceName(endpoint.upstreamModel), ...read } };
}

function formatOutput(format: OutputFormat | null, draft: Draft) {
  if (format === null) return;
  const { config } = draft;
  config.responseMimeType = "application/json";
  if (format.kind === "json_object") return;
  draft.dropSchemaName(format);
  config.responseJsonSchema = format.schema;
}

/** Levels of detail by their cost; one is for all images of the request. */
const RESOLUTIONS = { low: "MEDIA_RESOLUTION_LOW", high: "MEDIA_RESOLUTION_HIGH" } as const;

function formatDetail({ details, config, dropped }: Draft) {
  if (details.has("auto")) dropped.add("image_detail_dropped");
  // The greatest detail requested for any image, so that no image gets less than its own.
  const detail = details.has("high") ? "high" : details.has("low") ? "low" : null;
  if (detail === null) return;
  dropped.add("image_detail_for_all");
  if (detail === "high" || details.size === 1) config.mediaResolution = RESOLUTIONS[detail];
}

/** Tiers of other protocols and their names in this one. */
const TIERS = {
  // The provider's default, as without the member.
  auto: null,
  default: "standard",
  flex: "flex",
  priority: "priority",
};

/** Efforts that the protocol has. */
const LEVELS: readonly ReasoningEffort[] = ["minimal", "low", "medium", "high"];

/** The budget that lets the model decide. */
const DYNAMIC = -1;

/**
 * Writes `thinkingConfig`. Models take levels or budgets, never both at once: the table in
 * routes.yaml defines which, and a model that takes no effort values has an empty list of efforts
 * there.
 */
function formatReasoning(
  reasoning: ReasoningRequest | null,
  table: ModelReasoning | null,
  { config, dropped }: Draft,
) {
  if (reasoning === null) return;
  const { effort, budget, adaptive, display } = reasoning;
  const tabled = effort === "unspecified" ? undefined : table?.budgets?.[effort];
  const isLevel = (table?.efforts ?? LEVELS).includes(effort) || tabled === undefined;
  const amount: Members = {};
  if (effort === "none") amount.thinkingBudget = tabled ?? 0;
  else if (budget !== null) amount.thinkingBudget = budget;
  else if (effort === "unspecified") {
    if (adaptive && table?.efforts?.length === 0) amount.thinkingBudget = DYNAMIC;
  } else if (isLevel) amount.thinkingLevel = effort;
  else {
    dropped.add("effort_as_budget");
    amount.thinkingBudget = tabled;
  }
  if (display === "concise" || display === "detailed") dropped.add("reasoning_display_dropped");
  const isShown = display !== "omitted" && effort !== "none";
  config.thinkingConfig = membersWithValue({ ...amount, includeThoughts: isShown || undefined });
}

/** The most stop sequences that the protocol takes. */
const MOST_STOPS = 5;

/** Seeds are 32 bits. */
const GREATEST_SEED = 2 ** 31 - 1;
const LEAST_SEED = -(2 ** 31);

/** Writes the members of `generationConfig` that are numbers and texts of the caller. */
function formatSampling(request: GenerateRequest, draft: Draft) {
  const { config, dropped } = draft;
  const { seed, stop, logprobs, maxOutputTokens } = request;
  if (stop.length > MOST_STOPS) {
    draft.refuseRequest(
      "too_many_stop_sequences",
      `An endpoint that may get the request takes at most ${MOST_STOPS} stop sequences`,
    );
  }
  if (seed !== null && (seed > GREATEST_SEED || seed < LEAST_SEED)) {
    draft.refuseRequest(
      "invalid_seed",
      `An endpoint that may get the request takes seeds from ${LEAST_SEED} to ${GREATEST_SEED}`,
    );
  }
  if (maxOutputTokens !== null) {
    // On the wire zero is the same as no limit at all.
    if (maxOutputTokens < 1) dropped.add("output_limit_raised");
    config.maxOutputTokens = Math.max(maxOutputTokens, 1);
  }
  const { temperature, topP, topK, frequencyPenalty, presencePenalty } = request;
  Object.assign(config, { temperature, topP, topK, frequencyPenalty, presencePenalty, seed });
  if (stop.length > 0) config.stopSequences = stop;
  if (logprobs !== null) {
    config.responseLogprobs = true;
    if (logprobs > 0) config.logprobs = logprobs;
    dropped.add("token_bytes_unknown");
  }
}

/**
 * Writes `tools` and `toolConfig`. Schemas go whole: `parameters` would take a dialect of OpenAPI
 * only.
 */
function formatTools({ tools, toolChoice }: GenerateRequest, { body, dropped }: Draft) {
  if (tools.length > 0) {
    const functionDeclarations = tools.map(({ name, description, parameters }) => ({
      name,
      description: description ?? undefined,
      parametersJsonSchema: parameters ?? undefined,
    }));
    body.tools = [{ functionDeclarations }];
  }
  const isStrict = tools.some(({ strict }) => strict === true);
  const isAutoChoice = toolChoice === null || toolChoice.mode === "auto";
  // Forced, limited and forbidden calls follow their schemas without a flag.
  if (isStrict && !isAutoChoice) dropped.add("hint_dropped");
  else if (isStrict && tools.some(({ strict }) => strict !== true))
    dropped.add("tool_strictness_widened");
  const config = callingConfig(tools.length > 0, toolChoice, isStrict);
  if (config !== null) body.toolConfig = { functionCallingConfig: config };
}

/**
 * `null` where the member would change nothing. A call that must be made and cannot is for the
 * provider to refuse.
 */
function callingConfig(
  hasTools: boolean,
  choice: ToolChoice | null,
  isStrict: boolean,
): JsonObject | null {
  switch (choice?.mode) {
    case undefined:
      return isStrict ? { mode: "VALIDATED" } : null;
    case "auto":
      return hasTools ? { mode: isStrict ? "VALIDATED" : "AUTO" } : null;
    case "none":
      return hasTools ? { mode: "NONE" } : null;
    case "required":
      return { mode: "ANY" };
    case "named":
      return { mode: "ANY", allowedFunctionNames: [choice.name] };
    case "allowed":
      // AUTO takes no names; VALIDATED is free to answer in text too.
      return { mode: choice.required ? "ANY" : "VALIDATED", allowedFunctionNames: choice.names };
  }
}

/** Writes `systemInstruction` and `contents`. */
function formatTurns(turns: readonly Turn[], draft: Draft) {
  const { body, dropped } = draft;
  const { system, rest } = draft.splitSystem(turns);
  const parts = system.flatMap(({ content }) => content.map(({ text }) => ({ text })));
  if (parts.length > 0) body.systemInstruction = { parts };
  const calls: OpenCalls = new Map();
  body.contents = groupTurns(rest).map((group) => {
    for (const { id, name } of callsOf(group)) calls.set(id, { name, position: calls.size });
    return {
      role: group[0]?.role === "assistant" ? "model" : "user",
      parts: formatGroup(group, calls, draft),
    };
  });
  if (turns.at(-1)?.role === "assistant") dropped.add("prefill_as_turn");
}

/**
 * Results must follow the calls that they answer in one turn, so adjacent turns of tools are
 * joined, and so are turns of the model. Turns of the user stay apart: the provider takes several
 * in a row.
 */
function groupTurns(turns: readonly Turn[]): readonly (readonly Turn[])[] {
  const groups: Turn[][] = [];
  for (const turn of turns) {
    const last = groups.at(-1);
    if (last?.[0]?.role === turn.role && turn.role !== "user") last.push(turn);
    else groups.push([turn]);
  }
  return groups;
}

/** Parts of turns of one role. */
function formatGroup(
  group: readonly Turn[],
  calls: OpenCalls,
  draft: Draft,
): readonly JsonObject[] {
  const results: ToolResult[] = [];
  const parts = new AssistantParts(draft);
  for (const turn of group) {
    switch (turn.role) {
      case "user":
        return turn.content.map((part) => formatInput(part, draft));
      case "assistant":
        if (turn !== group[0]) draft.dropped.add("turns_merged");
        for (const part of turn.content) parts.add(part);
        break;
      case "tool":
        results.push(...turn.results);
        break;
      case "system":
        throw new Error("formatGemini: system text after the first turn, which no feature allows");
    }
  }
  return results.length > 0 ? formatResults(results, calls, draft) : parts.allParts();
}

/**
 * Makes the parts of one model turn, and puts signatures back on the parts that they were taken
 * from (`markSignature`).
 */
class AssistantParts {
  readonly #parts: Members[] = [];
  readonly #draft: Draft;
  /** Signatures that wait for the part that they belong to. */
  readonly #waiting: Readonly<Record<"call" | "text", string[]>> = { call: [], text: [] };
  /** A signature without the kind of its part: it belongs to the next part. */
  #forNext: string | null = null;
  #hasCall = false;

  constructor(draft: Draft) {
    this.#draft = draft;
  }

  add(part: AssistantPart): void {
    switch (part.kind) {
      case "reasoning":
        return this.#addReasoning(part);
      case "tool_call":
        return this.#addCall(part);
      case "refusal":
      case "text":
        this.#parts.push({ text: part.text, thoughtSignature: this.#signatureOf("text") });
    }
  }

  /**
   * All parts; a signature without its part is put on an empty text, as the provider itself does at
   * the end of a stream.
   */
  allParts(): readonly JsonObject[] {
    this.#flushNext();
    for (const signature of [...this.#waiting.call, ...this.#waiting.text])
      this.#addEmpty(signature);
    return this.#parts;
  }

  #addReasoning({ text, signature }: ReasoningPart) {
    this.#flushNext();
    const { part, signature: bare } = readMarked(signature ?? "");
    const isThoughtSignature =
      signature !== null && (part === "thought" || (part === null && text !== ""));
    if (text !== "" || isThoughtSignature) {
      this.#parts.push({
        text,
        thought: true,
        thoughtSignature: isThoughtSignature ? bare : undefined,
      });
    }
    if (signature === null || isThoughtSignature) return;
    if (part === "call" || part === "text") this.#waiting[part].push(bare);
    else if (part === "empty") this.#addEmpty(bare);
    else this.#forNext = bare;
  }

  #addCall(call: ToolCallPart) {
    const functionCall = {
      id: this.#draft.hasIds ? call.id : undefined,
      name: call.name,
      args: argumentsOf(call),
    };
    const thoughtSignature = this.#signatureOf("call") ?? this.#placeholder();
    this.#hasCall = true;
    this.#parts.push({ functionCall, thoughtSignature });
  }

  #signatureOf(part: "call" | "text"): string | undefined {
    const next = this.#forNext;
    this.#forNext = null;
    return next ?? this.#waiting[part].shift();
  }

  /** Only the first of several calls at once is signed. */
  #placeholder(): string | undefined {
    if (this.#hasCall || !this.#draft.isSigned) return undefined;
    this.#draft.dropped.add("signature_placeholder");
    return UNSIGNED_CALL;
  }

  #flushNext() {
    if (this.#forNext !== null) this.#addEmpty(this.#forNext);
    this.#forNext = null;
  }

  #addEmpty(signature: string) {
    this.#parts.push({ text: "", thoughtSignature: signature });
  }
}

/** A part of a user's turn or of a result. Bytes of all kinds have one form of part. */
function formatInput(part: InputPart, { details, dropped }: Draft): JsonObject {
  if (part.kind === "text") return { text: part.text };
  if (part.kind === "audio")
    return { inlineData: { mimeType: `audio/${part.format}`, data: part.data } };
  if (part.kind === "image") details.add(part.detail);
  else if (part.name !== null) dropped.add("file_name_dropped");
  const { source } = part;
  if (source.kind === "url") throw new Error("formatGemini: a URL, which no feature allows");
  return { inlineData: { mimeType: source.mediaType, data: source.data } };
}

/**
 * The calls that results may answer, by id: the protocol requires their names, which clients do not
 * send with results. Later answers may repeat an id; it then means the later call.
 */
type OpenCalls = Map<string, { readonly name: string; readonly position: number }>;

/** The results of tools as parts of one user turn; each must answer a call. */
function formatResults(
  results: readonly ToolResult[],
  calls: OpenCalls,
  draft: Draft,
): readonly JsonObject[] {
  // Without ids, results are distinguished by the order of their calls alone.
  const position = ({ callId }: ToolResult) => calls.get(callId)?.position ?? 0;
  const ordered = draft.hasIds
    ? results
    : results.toSorted((left, right) => position(left) - position(right));
  return ordered.map((result) => {
    const name = calls.get(result.callId)?.name;
    if (name === undefined)
      draft.refuseRequest(
        "unknown_tool_call",
        "A tool result answers no tool call of the conversation; an endpoint that may get the request needs the name of the function, which is in the call",
      );
    const id = draft.hasIds ? result.callId : undefined;
    return { functionResponse: { id, name, ...formatResult(result, draft) } };
  });
}

/** Models get `output` and `error`; files are beside them. */
function formatResult({ content, isError }: ToolResult, draft: Draft): JsonObject {
  const texts: string[] = [];
  const files: JsonObject[] = [];
  for (const part of content) {
    if (part.kind === "text") texts.push(part.text);
    else files.push(formatInput(part, draft));
  }
  if (files.length > 0 && texts.length > 0) draft.dropped.add("result_files_apart");
  const output = texts.length === 1 ? texts[0] : texts;
  const member = isError === true ? "error" : "output";
  return {
    response: texts.length === 0 && isError !== true ? {} : { [member]: output },
    parts: files.length === 0 ? undefined : files,
  };
}
