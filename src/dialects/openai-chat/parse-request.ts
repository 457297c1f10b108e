import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { REASONING_EFFORTS, type ReasoningEffort, type BodyReader } from "../../canon/request.ts";
import type { RequestReader, Translation } from "../dialect.ts";
import {
  readHints,
  readIncludeUsage,
  readLogitBias,
  readPenalty,
  readStop,
  statefulMember,
} from "./family.ts";
import { hasUnknownMember, inferenceRequest, RequestReading } from "../request-reading.ts";
import { readKinds } from "../kinds.ts";
import { canonicalRequest, type CanonReader } from "../translate-request.ts";
import { CHAT_FIELDS, STREAM_OPTION_MEMBERS } from "./request-facts.ts";
import { PLAIN_BODY, turnsOpening } from "../body-reader.ts";
import type { GenerateRequest, OutputFormat } from "../../canon/generate/generate-request.ts";
import { readMessages } from "./read-messages.ts";
import { CHAT_KINDS, forcesTool, readTools } from "./read-tools.ts";
import { flagOrNull, numberOrNull, textOrNull } from "../json.ts";

/** Estimates for limits and balancing. */
export const CHAT_BODY: BodyReader = {
  ...PLAIN_BODY,
  conversationOpening: ({ messages }) => turnsOpening(messages),
};

/** What each member that needs a provider's memory requests, of chat and legacy completions. */
export const CHAT_STATEFUL: Readonly<Record<string, string>> = {
  store:
    "would make the provider keep the conversation; this router never does that. Send false or leave it out",
  background:
    "would make the provider keep the answer until it is fetched. Send false or leave it out, and wait or stream",
  previous_response_id: "names an answer kept at a provider; send the messages themselves",
  conversation: "names a conversation kept at a provider; send the messages themselves",
};

/**
 * Reads a validated chat completions body: what it requires of models and of wire protocols, how
 * large it is, what it prefers.
 */
export const parseChatRequest: RequestReader["parse"] = (body, bytes, headers) => {
  const refused = statefulMember(body, CHAT_STATEFUL);
  if (refused !== null) return refused;
  const reading = new RequestReading("native_chat");
  reading.noteFields(body, CHAT_FIELDS);
  const { stream, maxOutputTokens } = readChatBody(body, reading);
  readKinds(body, CHAT_FIELDS, CHAT_KINDS, reading);
  const includeUsage = readIncludeUsage(body, stream);
  if (typeof includeUsage === "object") return reading.refusal ?? includeUsage;
  return inferenceRequest(reading, {
    operation: "chat.completions",
    stream,
    maxOutputTokens,
    effort: effortOf(requestedEffort(body).effort),
    dimensions: null,
    bytes,
    headers,
    body,
    includeUsage,
    reader: CHAT_BODY,
  });
};

const READER: CanonReader = {
  native: "native_chat",
  registry: CHAT_FIELDS,
  read: readChatBody,
  hints: readHints,
};

/** A parsed chat completions request in canon. */
export const chatToCanon: Translation["toCanon"] = (request, mode, edits) => {
  return canonicalRequest(READER, request, mode, edits);
};

/** More than the protocol's own four are an extension of some vendors. */
const MAXIMUM_STOPS = 4;

/**
 * The one walk over a body of chat completions: canon of all that a translation carries, and in
 * `reading` what the body requires. What of it an edit or the route decides is added where the
 * request is translated.
 */
function readChatBody(body: JsonObject, reading: RequestReading): Omit<GenerateRequest, "hints"> {
  const temperature = numberOrNull(body.temperature);
  if ((temperature ?? 0) > 1) reading.use("temperature_above_1", "temperature");
  const logitBias = readLogitBias(body, reading);
  if ((numberOrNull(body.n) ?? 1) > 1) {
    reading.need("multiple_choices", "n");
    reading.useNative("n");
  }
  const frequencyPenalty = readPenalty(body, "frequency_penalty", reading);
  const presencePenalty = readPenalty(body, "presence_penalty", reading);
  const logprobs = readLogprobs(body, reading);
  const maxOutputTokens = readLimit(body, reading);
  const stop = readStop(body, reading);
  if (stop.length > MAXIMUM_STOPS) reading.useNative("stop");
  const reasoning = readReasoning(body, reading);
  noteModalities(body.modalities, reading);
  noteStreamOptions(body.stream_options, reading);
  const turns = readMessages(body, reading);
  const { tools, toolChoice, parallelToolCalls } = readTools(body, reading);
  return {
    purpose: "generate",
    turns,
    tools,
    toolChoice,
    parallelToolCalls,
    frequencyPenalty,
    presencePenalty,
    logprobs,
    maxOutputTokens,
    stop,
    reasoning,
    // Last, because reasoning and forced tools change what a schema requires.
    format: readFormat(body, reading),
    temperature,
    topP: numberOrNull(body.top_p),
    topK: null,
    logitBias,
    seed: numberOrNull(body.seed),
    verbosity: textOrNull(body.verbosity),
    stream: body.stream === true,
  };
}

/** How many alternatives for each token; `null` where no log probabilities are requested. */
function readLogprobs(
  { logprobs, top_logprobs }: JsonObject,
  reading: RequestReading,
): number | null {
  const alternatives = numberOrNull(top_logprobs);
  if (logprobs === true) return alternatives ?? 0;
  // Providers disagree on alternatives for probabilities that were not requested.
  if (alternatives !== null) reading.useNative("top_logprobs");
  return null;
}

/** The protocol has an old and a new member for the limit; only the protocol itself has both. */
function readLimit(
  { max_tokens, max_completion_tokens }: JsonObject,
  reading: RequestReading,
): number | null {
  const [limit, older] = [numberOrNull(max_completion_tokens), numberOrNull(max_tokens)];
  // In messages a limit of 0 fills the cache and answers nothing, so it is not translated
  // (docs/protocols.md#chat-completions).
  if (limit === 0) reading.useNative("max_completion_tokens");
  if (older === 0 || (older !== null && limit !== null)) reading.useNative("max_tokens");
  return limit ?? older;
}

/**
 * Other members are vendors' own: what they need must be approved, and they are never translated.
 */
function readReasoning(body: JsonObject, reading: RequestReading): GenerateRequest["reasoning"] {
  const { thinking, reasoning } = body;
  const { effort, path } = requestedEffort(body);
  const known = effortOf(effort ?? undefined);
  if (effort !== null) {
    if (path === "reasoning.effort") {
      reading.replace(body, "reasoning", undefined, "effort_member_renamed");
      reading.replace(body, "reasoning_effort", effort, "effort_member_renamed");
    }
    if (effort !== "none") reading.need("reasoning", path);
    reading.use(known === "unspecified" ? reading.native : `effort_${known}`, path);
  }
  if (isJsonObject(thinking) && thinking.type !== "disabled") reading.need("reasoning", "thinking");
  if (isJsonObject(reasoning) && reasoning.enabled !== false && reasoning.effort !== "none") {
    reading.need("reasoning", "reasoning");
  }
  if (body.enable_thinking === true) reading.need("reasoning", "enable_thinking");
  return effort === null ? null : { effort: known, budget: null, adaptive: false, display: null };
}

/**
 * The effort of a request; `reasoning: {effort}` is how OpenRouter's libraries write it, whose
 * other members are vendors' own.
 */
function requestedEffort({ reasoning_effort: own, reasoning }: JsonObject): {
  readonly effort: string | null;
  readonly path: string;
} {
  if (own == null && isJsonObject(reasoning) && !hasUnknownMember(reasoning, EFFORT_MEMBER)) {
    return { effort: textOrNull(reasoning.effort), path: "reasoning.effort" };
  }
  return { effort: textOrNull(own), path: "reasoning_effort" };
}

const EFFORT_MEMBER = ["effort"];

function noteModalities(modalities: JsonValue | undefined, reading: RequestReading): void {
  if (!Array.isArray(modalities)) return;
  if (modalities.includes("audio")) reading.need("audio_output", "modalities");
  if (modalities.includes("image")) reading.need("image_output", "modalities");
  if (modalities.some((modality) => modality !== "text")) reading.useNative("modalities");
}

/**
 * Whether the answer ends with its counts is the printer's business; padding against observers of a
 * connection is not made.
 */
function noteStreamOptions(options: JsonValue | undefined, reading: RequestReading): void {
  if (!isJsonObject(options)) return;
  reading.useUnknown(options, STREAM_OPTION_MEMBERS, "stream_options");
  if (options.include_obfuscation === true) reading.dropped.add("hint_dropped");
}

const FORMAT_MEMBERS = ["type", "json_schema"];
const SCHEMA_MEMBERS = ["name", "description", "schema", "strict"];

function readFormat(body: JsonObject, reading: RequestReading): OutputFormat | null {
  const { response_format: format, tools } = body;
  if (!isJsonObject(format)) return null;
  const { type, json_schema: definition } = format;
  const isSchema = type === "json_schema";
  if (isSchema || type === "json_object") {
    reading.need(type, "response_format");
    if (Array.isArray(tools) && tools.length > 0)
      reading.use("schema_with_tools", "response_format");
    if (reading.has("reasoning") || forcesTool(body.tool_choice)) {
      reading.use("constrained_schema", "response_format");
    }
  }
  const isKnown = reading.useUnknown(format, FORMAT_MEMBERS, "response_format");
  if (isKnown && isSchema && isJsonObject(definition)) {
    const { name, description, schema, strict } = definition;
    const path = "response_format.json_schema";
    if (reading.useUnknown(definition, SCHEMA_MEMBERS, path) && isJsonObject(schema)) {
      return {
        kind: "json_schema",
        name: textOrNull(name),
        description: textOrNull(description),
        schema,
        strict: flagOrNull(strict),
      };
    }
  }
  if (!isKnown || (type !== "text" && type !== "json_object") || definition != null) {
    reading.useNative("response_format");
  }
  return type === "json_object" ? { kind: "json_object" } : null;
}

/** `unspecified` for an unknown value. */
function effortOf(value: JsonValue | undefined): ReasoningEffort {
  return REASONING_EFFORTS.find((effort) => effort === value) ?? "unspecified";
}
