import { invalidRequest } from "../../canon/error.ts";
import type {
  GenerateRequest,
  OutputFormat,
  ReasoningRequest,
  Tool,
  ToolChoice,
} from "../../canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { REASONING_EFFORTS, type BodyReader, type ReasoningEffort } from "../../canon/request.ts";
import { PLAIN_BODY, turnsOpening } from "../body-reader.ts";
import type { RequestReader, Translation } from "../dialect.ts";
import { flagOrNull, listOf, numberOrNull, textOf, textOrNull } from "../json.ts";
import { readKinds } from "../kinds.ts";
import { readHints, readPenalty, statefulMember } from "../openai-chat/family.ts";
import { readConversation } from "./read-input.ts";
import {
  ENCRYPTED_REASONING,
  OUTPUT_LOGPROBS,
  REASONING_MEMBERS,
  RESPONSES_FIELDS,
  RESPONSES_KINDS,
  STREAM_OPTION_MEMBERS,
  TEXT_MEMBERS,
  requestedFormat,
} from "./request-facts.ts";
import { RequestReading, hasUnknownMember, inferenceRequest } from "../request-reading.ts";
import {
  canonicalRequest,
  namedToolFeature,
  singleCallFeature,
  type CanonReader,
} from "../translate-request.ts";

/** Estimates for limits and balancing. */
export const RESPONSES_BODY: BodyReader = {
  ...PLAIN_BODY,
  conversationOpening: ({ input, instructions }) => turnsOpening(input, instructions),
};

/**
 * What each member that needs a provider's memory requests
 * (docs/protocols.md#stateful-members-of-responses).
 */
const STATEFUL: Readonly<Record<string, string>> = {
  store:
    "would make the provider keep the answer; this router never does that. Send false or leave it out",
  background:
    "would make the provider keep the answer until it is fetched. Send false or leave it out, and wait or stream",
  background_options: "configures answers that the provider keeps; leave it out",
  previous_response_id:
    "names an answer kept at a provider; send the whole conversation in input. Clients do so once their store setting is false (Agent Framework: default_options={'store': False}; docs/calling.md has others)",
  conversation: "names a conversation kept at a provider; send the whole conversation in input",
  prompt: "names a prompt kept at a provider; send its text in instructions or input",
  context_management: "lets the provider rewrite the conversation; shorten input before sending it",
};

/**
 * Reads a validated responses body: what it requires of models and of wire protocols, how large it
 * is, what it prefers.
 */
export const parseResponsesRequest: RequestReader["parse"] = (body, bytes, headers) => {
  const refused = statefulMember(body, STATEFUL);
  if (refused !== null) return refused;
  const reading = new RequestReading("native_responses");
  const { read, effort } = readResponsesBody(body, reading);
  readKinds(body, RESPONSES_FIELDS, RESPONSES_KINDS, reading);
  const { stream, maxOutputTokens } = read;
  return inferenceRequest(reading, {
    operation: "responses",
    stream,
    maxOutputTokens,
    effort,
    dimensions: null,
    bytes,
    headers,
    body,
    // The protocol's last event always has the counts of tokens.
    includeUsage: true,
    reader: RESPONSES_BODY,
  });
};

const READER: CanonReader = {
  native: "native_responses",
  registry: RESPONSES_FIELDS,
  read: (body, reading) => readResponsesBody(body, reading).read,
  hints: (body, reading) => {
    const hints = readHints(body, reading);
    // The protocol's default requests nothing.
    return hints.serviceTier === "auto" ? { ...hints, serviceTier: null } : hints;
  },
};

/** A parsed responses request in canon. */
export const responsesToCanon: Translation["toCanon"] = (request, mode, edits) => {
  const made = canonicalRequest(READER, request, mode, edits);
  if ("code" in made || made.request.turns.length > 0) return made;
  return invalidRequest("missing_field", "input must hold something to answer", "input");
};

const FORMAT_MEMBERS = ["type", "name", "description", "schema", "strict"];
const PLAIN_FORMAT_MEMBERS = ["type"];

/**
 * What the walk finds; hints are added where a request is translated, because edits change them.
 */
interface ResponsesBody {
  readonly read: Omit<GenerateRequest, "hints">;
  /** As policies see it. */
  readonly effort: ReasoningEffort;
}

/**
 * The one walk over a body: canon of all that a translation carries, and in `reading` what the body
 * requires.
 */
function readResponsesBody(body: JsonObject, reading: RequestReading): ResponsesBody {
  reading.noteFields(body, RESPONSES_FIELDS);
  noteOptions(body, reading);
  const temperature = numberOrNull(body.temperature);
  if ((temperature ?? 0) > 1) reading.use("temperature_above_1", "temperature");
  const frequencyPenalty = readPenalty(body, "frequency_penalty", reading);
  const presencePenalty = readPenalty(body, "presence_penalty", reading);
  const logprobs = readLogprobs(body, reading);
  const turns = readConversation(body, reading);
  const { tools, toolChoice, parallelToolCalls } = readTools(body, reading);
  const { effort, reasoning } = readReasoning(body, reading);
  const read: ResponsesBody["read"] = {
    purpose: "generate",
    turns,
    tools,
    toolChoice,
    parallelToolCalls,
    // Late, because reasoning and forced tools change what a schema requires.
    format: readFormat(body, reading),
    maxOutputTokens: numberOrNull(body.max_output_tokens),
    temperature,
    topP: numberOrNull(body.top_p),
    topK: null,
    frequencyPenalty,
    presencePenalty,
    logitBias: null,
    seed: null,
    stop: [],
    logprobs,
    reasoning,
    verbosity: readVerbosity(body.text, reading),
    stream: body.stream === true,
  };
  return { read, effort };
}

function noteOptions(body: JsonObject, reading: RequestReading): void {
  if (body.truncation === "auto") reading.useNative("truncation");
  const options = body.stream_options;
  if (isJsonObject(options)) reading.useUnknown(options, STREAM_OPTION_MEMBERS, "stream_options");
}

/** How many alternatives for each token; `null` where no log probabilities are requested. */
function readLogprobs(
  { top_logprobs, include }: JsonObject,
  reading: RequestReading,
): number | null {
  const alternatives = numberOrNull(top_logprobs) ?? 0;
  let path = alternatives > 0 ? "top_logprobs" : null;
  for (const [index, value] of listOf(include).entries()) {
    if (value === OUTPUT_LOGPROBS) path ??= `include[${index}]`;
    else if (value !== ENCRYPTED_REASONING) reading.useNative(`include[${index}]`);
  }
  if (path === null) return null;
  reading.need("logprobs", path);
  reading.use("token_logprobs", path);
  return alternatives;
}

function readReasoning(
  { reasoning, tool_choice: choice }: JsonObject,
  reading: RequestReading,
): { readonly effort: ReasoningEffort; readonly reasoning: ReasoningRequest | null } {
  if (!isJsonObject(reasoning)) return { effort: "unspecified", reasoning: null };
  const effort = REASONING_EFFORTS.find((known) => known === reasoning.effort) ?? "unspecified";
  if (effort !== "unspecified") reading.use(`effort_${effort}`, "reasoning.effort");
  const { summary, generate_summary: older, context, mode } = reasoning;
  const requested = summary ?? older;
  const display =
    requested === "auto" || requested === "concise" || requested === "detailed" ? requested : null;
  if (requested != null && display === null) reading.useNative("reasoning.summary");
  // Summaries are requested only from models that reason; where reasoning is switched off there is
  // nothing to sum up.
  if (effort !== "none" && (effort !== "unspecified" || display !== null)) {
    reading.need("reasoning", effort === "unspecified" ? "reasoning.summary" : "reasoning.effort");
    if (forcesTool(choice)) reading.use("forced_tool_with_reasoning", "tool_choice");
  }
  if (summary != null && older != null && summary !== older) {
    reading.useNative("reasoning.generate_summary");
  }
  if (context != null && context !== "auto") reading.useNative("reasoning.context");
  if (mode != null && mode !== "standard") {
    reading.need("reasoning", "reasoning.mode");
    reading.useNative("reasoning.mode");
  }
  reading.useUnknown(reasoning, REASONING_MEMBERS, "reasoning");
  const isPlain = effort === "unspecified" && display === null;
  return { effort, reasoning: isPlain ? null : { effort, budget: null, adaptive: false, display } };
}

/** The protocol's default requests nothing. */
function readVerbosity(text: JsonValue | undefined, reading: RequestReading): string | null {
  if (!isJsonObject(text)) return null;
  reading.useUnknown(text, TEXT_MEMBERS, "text");
  const { verbosity } = text;
  if (typeof verbosity !== "string" || verbosity === "medium") return null;
  reading.use("verbosity", "text.verbosity");
  return verbosity;
}

function readFormat(body: JsonObject, reading: RequestReading): OutputFormat | null {
  const found = requestedFormat(body);
  if (found === null) return null;
  if ("code" in found) {
    reading.refuse(found);
    return null;
  }
  const { format, path } = found;
  const { type, name, description, schema, strict } = format;
  const members = type === "json_schema" ? FORMAT_MEMBERS : PLAIN_FORMAT_MEMBERS;
  reading.useUnknown(format, members, path);
  if (type !== "json_object" && type !== "json_schema") {
    if (type !== "text") reading.useNative(path);
    return null;
  }
  reading.need(type, path);
  if (Array.isArray(body.tools) && body.tools.length > 0) reading.use("schema_with_tools", path);
  if (reading.has("reasoning") || forcesTool(body.tool_choice))
    reading.use("constrained_schema", path);
  if (type === "json_object") return { kind: type };
  if (!isJsonObject(schema)) {
    const sentence = `${path} must have a schema where its type is json_schema`;
    reading.refuse(invalidRequest("missing_field", sentence, path));
    return null;
  }
  return {
    kind: type,
    name: textOrNull(name),
    description: textOrNull(description),
    schema,
    strict: flagOrNull(strict),
  };
}

const FUNCTION_MEMBERS = ["type", "name", "description", "parameters", "strict"];
/** Of a tool that is not deferred, which is what leaving the member out means. */
const PRESENT_MEMBERS = [...FUNCTION_MEMBERS, "defer_loading"];
const NAMED_CHOICE_MEMBERS = ["type", "name"];
const ALLOWED_CHOICE_MEMBERS = ["type", "mode", "tools"];

/** The tools, the choice among them and their parallel use. */
function readTools(
  { tools: all, tool_choice: choice, parallel_tool_calls: parallel }: JsonObject,
  reading: RequestReading,
): Pick<GenerateRequest, "tools" | "toolChoice" | "parallelToolCalls"> {
  const tools: Tool[] = [];
  for (const [index, value] of listOf(all).entries()) {
    const tool = readTool(value, `tools[${index}]`, reading);
    if (tool !== null) tools.push(tool);
  }
  if (parallel === false) reading.use(singleCallFeature(all), "parallel_tool_calls");
  const toolChoice = readChoice(choice, all, tools, reading);
  // The protocol's default requests nothing.
  return { tools, toolChoice, parallelToolCalls: parallel === false ? false : null };
}

/** `null` for a tool that is no function. An unknown kind cannot be approved, so it is refused. */
function readTool(tool: JsonValue | undefined, path: string, reading: RequestReading): Tool | null {
  if (!isJsonObject(tool)) return null;
  if (tool.type !== "function") {
    // Which capability it needs is read by kind (`request-facts.ts`).
    reading.useNative(`${path}.type`);
    return null;
  }
  reading.need("tools", `${path}.type`);
  const { name, description, parameters, strict, defer_loading: isDeferred } = tool;
  if (strict === true) reading.use("tool_strict", `${path}.strict`);
  reading.useUnknown(tool, isDeferred === false ? PRESENT_MEMBERS : FUNCTION_MEMBERS, path);
  return {
    name: textOf(name),
    description: textOrNull(description),
    parameters: isJsonObject(parameters) ? parameters : null,
    strict: flagOrNull(strict),
    cache: null,
  };
}

/**
 * @param all the request's list of tools. @param tools its functions: a choice of another tool is
 * the provider's to judge.
 */
function readChoice(
  choice: JsonValue | undefined,
  all: JsonValue | undefined,
  tools: readonly Tool[],
  reading: RequestReading,
): ToolChoice | null {
  if (choice == null || choice === "auto") return null;
  if (choice === "none") return { mode: choice };
  const isOffered = (name: string): boolean => tools.some((tool) => tool.name === name);
  if (choice === "required" && tools.length > 0) {
    reading.use("tool_choice_required", "tool_choice");
    return { mode: choice };
  }
  if (isNamedChoice(choice) && isOffered(choice.name)) {
    reading.use(namedToolFeature(all), "tool_choice");
    return { mode: "named", name: choice.name };
  }
  const allowed = readAllowed(choice);
  if (allowed !== null && allowed.names.every(isOffered)) {
    reading.use("tool_choice_allowed", "tool_choice");
    return allowed;
  }
  reading.useNative("tool_choice");
  return null;
}

/** `null` for every choice that is no list of functions. */
function readAllowed(choice: JsonValue): Extract<ToolChoice, { readonly mode: "allowed" }> | null {
  if (
    !isJsonObject(choice) ||
    choice.type !== "allowed_tools" ||
    hasUnknownMember(choice, ALLOWED_CHOICE_MEMBERS)
  ) {
    return null;
  }
  const { tools, mode } = choice;
  if (!Array.isArray(tools) || tools.length === 0 || (mode !== "auto" && mode !== "required"))
    return null;
  const names = tools.filter(isNamedChoice).map(({ name }) => name);
  return names.length < tools.length
    ? null
    : { mode: "allowed", names, required: mode === "required" };
}

/** `{"type": "function", "name"}`: the choice of one function, or one that is allowed. */
function isNamedChoice(
  value: JsonValue | undefined,
): value is { readonly type: "function"; readonly name: string } {
  if (!isJsonObject(value) || value.type !== "function" || typeof value.name !== "string")
    return false;
  return !hasUnknownMember(value, NAMED_CHOICE_MEMBERS);
}

/** Whether the model must call some tool. */
function forcesTool(choice: JsonValue | undefined): boolean {
  if (choice === "required" || isNamedChoice(choice)) return true;
  return isJsonObject(choice) && choice.type === "allowed_tools" && choice.mode === "required";
}
