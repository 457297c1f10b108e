import type {
  AssistantPart,
  AudioPart,
  CacheMark,
  FilePart,
  ImagePart,
  RefusalPart,
  TextPart,
  ToolCallPart,
  ToolResult,
  Turn,
} from "../../canon/generate/generate-request.ts";
import {
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import { cacheMark, isPlainMark } from "../anthropic-messages/read-messages.ts";
import { readDataUrl } from "../data-url.ts";
import { listOf, memberIn, ownValue, textOf, textOrNull } from "../json.ts";
import type { TypeNeeds } from "../kinds.ts";
import type { RequestReading } from "../request-reading.ts";
import {
  COMMON_FILES,
  isAnswerPart,
  isInputPart,
  isResultPart,
  isTextPart,
  partType,
  readArguments,
  readImage,
  type ContentPart,
} from "./family.ts";
import {
  isPieceName,
  noteReasoningHistory,
  noteSignatures,
  readReasoningHistory,
} from "./reasoning.ts";
import { textPart } from "../request-draft.ts";

/** The messages as turns; tool messages that follow each other are one turn's results. */
export function readMessages({ messages }: JsonObject, reading: RequestReading): readonly Turn[] {
  if (!Array.isArray(messages)) return [];
  const turns: Turn[] = [];
  /** Results of the turn that is last; `null` where another kind of turn is. */
  let results: ToolResult[] | null = null;
  let begun = false;
  let role: JsonMember;
  // An iterator of entries costs more than the rest of reading a plain message.
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index];
    if (!isJsonObject(message)) continue;
    const path = `messages[${index}]`;
    ({ role } = message);
    const isSystem = role === "system" || role === "developer";
    if (isSystem && begun) reading.use("mid_conversation_system", path);
    begun ||= !isSystem;
    noteMembers(message, path, reading);
    if (role === "tool") {
      if (results === null) turns.push({ role, results: (results = []) });
      results.push(readToolResult(message, path, reading));
      continue;
    }
    results = null;
    const turn = readTurn(message, path, reading);
    if (turn !== null) turns.push(turn);
  }
  const last = `messages[${messages.length - 1}]`;
  // This protocol does not continue an answer that the caller began, and other protocols do not
  // answer system text alone.
  if (role === "assistant" || !begun) reading.useNative(last);
  if (messages.length > 1) reading.use("conversation", "messages[1]");
  else if (!isPlainPrompt(messages[0])) reading.use("conversation", "messages[0]");
  return turns;
}

/** One text of the user: a prompt without turns can carry it. */
function isPlainPrompt(message: JsonMember): boolean {
  if (!isJsonObject(message) || message.role !== "user") return false;
  const content = message.content;
  return (
    !Array.isArray(content) || (content.length === 1 && memberIn(content[0], "type") === "text")
  );
}

const isNoPart = (_part: ContentPart): _part is never => false;

/** Members of messages that fit canon, by role. Any other member is another vendor's. */
const MESSAGE_MEMBERS = {
  system: ["role", "content", "name"],
  developer: ["role", "content", "name"],
  user: ["role", "content", "name"],
  assistant: [
    "role",
    "content",
    "name",
    "refusal",
    "tool_calls",
    "annotations",
    "reasoning_content",
    "reasoning",
    "reasoning_details",
  ],
  tool: ["role", "content", "name", "tool_call_id"],
} as const;

/** `null` for the legacy role `function`, which only this protocol has. */
function readTurn(message: JsonObject, path: string, reading: RequestReading): Turn | null {
  const { name } = message;
  const role = textOf(message.role);
  switch (role) {
    case "system":
    case "developer":
      if (typeof name === "string") reading.dropped.add("participant_name_dropped");
      return {
        role: "system",
        authority: role,
        content: readContent(message, isTextPart, path, reading),
      };
    case "user":
      return {
        role,
        name: textOrNull(name),
        content: readContent(message, isInputPart, path, reading),
      };
    case "assistant":
      return { role, name: textOrNull(name), content: readAssistant(message, path, reading) };
    default:
      reading.useNative(path);
      readContent(message, isNoPart, path, reading);
      return null;
  }
}

function readToolResult(message: JsonObject, path: string, reading: RequestReading): ToolResult {
  const { name, tool_call_id: callId } = message;
  reading.need("tools", path);
  if (typeof callId === "string") reading.noteResult(callId, `${path}.tool_call_id`);
  else reading.useNative(`${path}.tool_call_id`);
  if (typeof name === "string") reading.dropped.add("participant_name_dropped");
  const content = readContent(message, isResultPart, path, reading);
  const file = content.findIndex((part) => part.kind !== "text");
  if (file !== -1) reading.use("tool_result_files", `${path}.content[${file}]`);
  return { callId: textOf(callId), content, isError: null, cache: null };
}

/**
 * Notes unknown members, and the needs of calls, sound and signatures in a message of any role.
 */
function noteMembers(message: JsonObject, path: string, reading: RequestReading) {
  const { role = null, tool_calls: calls, function_call: functionCall, audio } = message;
  const members: readonly string[] | undefined = ownValue(MESSAGE_MEMBERS, textOf(role));
  if (members !== undefined) reading.useUnknown(message, members, path, role);
  if (role === "function" || isJsonObject(functionCall)) reading.need("tools", path);
  if (isJsonObject(audio)) reading.need("audio_output", `${path}.audio`);
  if (Array.isArray(calls) && calls.length === 0) {
    // OpenAI refuses the empty list, which its own libraries send back.
    reading.replace(message, "tool_calls", undefined, "empty_member_dropped");
  } else if (calls != null) {
    reading.need("tools", `${path}.tool_calls`);
  }
  noteSignatures(message, path, reading);
}

/** @param canHold whether canon can hold the part in a turn of this role. */
function readContent<Part extends ContentPart>(
  message: JsonObject,
  canHold: (part: ContentPart) => part is Part,
  path: string,
  reading: RequestReading,
): readonly (Part | TextPart)[] {
  const { role, content } = message;
  if (typeof content === "string") return [textPart(content)];
  if (!Array.isArray(content)) {
    if (role !== "assistant") reading.useNative(path);
    return [];
  }
  // OpenAI refuses a user's or tool's empty list; Mistral takes the assistant's beside calls.
  if (content.length === 0 && role !== "assistant")
    reading.replace(message, "content", "", "empty_member_dropped");
  const parts: Part[] = [];
  for (const [index, value] of content.entries()) {
    const part = readPart(value, role ?? null, `${path}.content[${index}]`, reading);
    if (part !== null && canHold(part)) parts.push(part);
    else reading.useNative(`${path}.content[${index}]`);
  }
  return parts;
}

function readAssistant(
  message: JsonObject,
  path: string,
  reading: RequestReading,
): readonly AssistantPart[] {
  const { content, refusal, annotations, reasoning_details: details } = message;
  const calls = readCalls(message.tool_calls, `${path}.tool_calls`, reading);
  noteReasoningHistory(message, path, reading);
  const { parts: reasoning, isWhole } = readReasoningHistory(message);
  if (!isWhole) reading.dropped.add("unsigned_reasoning_dropped");
  if (listOf(details).some(isNamed)) reading.dropped.add("item_id_dropped");
  if (listOf(annotations).length > 0) reading.dropped.add("citations_dropped");
  // Clients send back answers that only call tools with empty text.
  const answer = content === "" ? [] : readContent(message, isAnswerPart, path, reading);
  const text = textOf(refusal);
  const refusals: RefusalPart[] = text === "" ? [] : [{ kind: "refusal", text }];
  return [...reasoning, ...answer, ...refusals, ...calls];
}

function isNamed(detail: JsonValue): boolean {
  const id = memberIn(detail, "id");
  // The router's own names separate pieces; other names have no meaning here.
  return memberIn(detail, "index") != null || (id != null && !isPieceName(id));
}

/** `cache_control` is the messages protocol's: OpenRouter and LiteLLM take it in this one too. */
const PART_MEMBERS: Readonly<Partial<Record<string, readonly string[]>>> = {
  text: ["type", "text", "cache_control"],
  refusal: ["type", "refusal"],
  image_url: ["type", "image_url", "cache_control"],
  input_audio: ["type", "input_audio"],
  file: ["type", "file", "cache_control"],
};

/**
 * Known content parts, and the modality that each one needs. An unknown part cannot be
 * approved, so it is refused.
 */
export const PART_NEEDS: TypeNeeds = {
  text: null,
  refusal: null,
  image_url: "image_input",
  input_audio: "audio_input",
  file: "file_input",
  document_url: "file_input",
  video_url: "video_input",
  thinking: "reasoning",
};

/**
 * One content part; `null` where canon cannot hold it. A file kept at a provider is refused by kind
 * (`CHAT_KINDS`).
 */
function readPart(
  part: JsonValue,
  role: JsonValue,
  path: string,
  reading: RequestReading,
): ContentPart | null {
  const type = partType(part, PART_NEEDS, path, reading);
  if (type === null || !isJsonObject(part)) return null;
  if (!isPlainMark(part.cache_control)) reading.useNative(`${path}.cache_control`);
  const capability = PART_NEEDS[type];
  if (capability != null) reading.need(capability, path);
  const members = PART_MEMBERS[type];
  if (members === undefined) return null;
  reading.useUnknown(part, members, path, role);
  const { text, refusal, image_url: image } = part;
  const cache = cacheMark(part);
  switch (type) {
    case "text":
      return typeof text === "string" ? { kind: "text", text, cache } : null;
    case "refusal":
      return typeof refusal === "string" ? { kind: "refusal", text: refusal } : null;
    case "image_url":
      return readImagePart(image, cache, `${path}.image_url`, reading);
    case "input_audio":
      return readAudio(part.input_audio, `${path}.input_audio`, reading);
    case "file":
      return readFile(part.file, cache, `${path}.file`, reading);
    default:
      return null;
  }
}

function readImagePart(
  image: JsonMember,
  cache: CacheMark | null,
  path: string,
  reading: RequestReading,
): ImagePart | null {
  if (!isJsonObject(image)) return null;
  reading.useUnknown(image, ["url", "detail"], path);
  const { url, detail } = image;
  return typeof url === "string"
    ? { ...readImage(url, detail, path, "url", reading), cache }
    : null;
}

function readAudio(audio: JsonMember, path: string, reading: RequestReading): AudioPart | null {
  if (!isJsonObject(audio)) return null;
  reading.useUnknown(audio, ["data", "format"], path);
  const { data, format } = audio;
  return typeof data === "string" && typeof format === "string"
    ? { kind: "audio", format, data }
    : null;
}

function readFile(
  file: JsonMember,
  cache: CacheMark | null,
  path: string,
  reading: RequestReading,
): FilePart | null {
  if (!isJsonObject(file)) return null;
  reading.useUnknown(file, ["file_data", "filename"], path);
  const { file_data: data, filename } = file;
  const source = typeof data === "string" ? readDataUrl(data) : null;
  if (source === null) return null;
  if (!COMMON_FILES.includes(source.mediaType))
    reading.use("file_of_other_type", `${path}.file_data`);
  const name = textOrNull(filename);
  return { kind: "file", source: { kind: "base64", ...source }, name, cache };
}

/** The calls of an assistant message in the history. */
function readCalls(
  calls: JsonMember,
  path: string,
  reading: RequestReading,
): readonly ToolCallPart[] {
  if (calls == null) return [];
  const list: readonly JsonValue[] = Array.isArray(calls) ? calls : [calls];
  return list.flatMap((call, index) => {
    const part = readCall(call, `${path}[${index}]`, reading);
    if (part === null) reading.useNative(`${path}[${index}]`);
    return part ?? [];
  });
}

/** `null` where it is no function call, or has members that canon cannot hold. */
function readCall(call: JsonValue, path: string, reading: RequestReading): ToolCallPart | null {
  if (!isJsonObject(call) || (call.type ?? "function") !== "function") return null;
  const { function: toolFunction, id, index } = call;
  // Answers number their tool calls, and clients send the index back.
  reading.useUnknown(call, ["id", "type", "function", "index"], path, "assistant");
  if (!isJsonObject(toolFunction)) return null;
  const member = `${path}.function`;
  reading.useUnknown(toolFunction, ["name", "arguments"], member, "assistant");
  if (index != null) reading.dropped.add("item_id_dropped");
  reading.noteCall(textOf(id));
  return {
    kind: "tool_call",
    id: textOf(id),
    name: textOf(toolFunction.name),
    arguments: readArguments(textOf(toolFunction.arguments), `${member}.arguments`, reading),
    cache: null,
  };
}
