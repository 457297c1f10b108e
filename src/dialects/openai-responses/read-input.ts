import type {
  AssistantPart,
  AudioPart,
  CacheMark,
  FilePart,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResult,
  Turn,
} from "../../canon/generate/generate-request.ts";
import { readSignature } from "../../canon/generate/signature.ts";
import {
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import { isWebUrl } from "../data-url.ts";
import { listOf, memberIn, textIn, textOf, textOrNull } from "../json.ts";
import { storedState } from "../kinds.ts";
import {
  COMMON_FILES,
  isAnswerPart,
  isInputPart,
  isResultPart,
  isTextPart,
  partType,
  readArguments,
  readImage,
  sourceOf,
  type ContentPart,
} from "../openai-chat/family.ts";
import { NATIVE_FAMILY, RESPONSES_TYPES } from "./request-facts.ts";
import { readSealedReasoning } from "./resource.ts";
import type { RequestReading } from "../request-reading.ts";
import { textPart } from "../request-draft.ts";

/** Members of the items that canon can hold. */
const MESSAGE_MEMBERS = ["type", "id", "status", "role", "phase", "content"];
const REASONING_MEMBERS = ["type", "id", "status", "summary", "content", "encrypted_content"];
const CALL_MEMBERS = ["type", "id", "status", "call_id", "name", "arguments"];
const OUTPUT_MEMBERS = ["type", "id", "status", "call_id", "output"];
/** `caller: {"type": "direct"}` is the default. */
const DIRECT_CALL_MEMBERS = [...CALL_MEMBERS, "caller"];
const DIRECT_OUTPUT_MEMBERS = [...OUTPUT_MEMBERS, "caller"];

const ROLES = ["user", "assistant", "system", "developer"];

/**
 * The conversation as turns: `instructions` first, then the items. Reasoning, texts and calls that
 * follow one another are one assistant's turn, unless two messages do; tool results that follow one
 * another are one turn.
 */
export function readConversation(
  { instructions, input }: JsonObject,
  reading: RequestReading,
): readonly Turn[] {
  const turns: Turn[] = [];
  if (instructions === "") reading.dropped.add("empty_text_dropped");
  else if (typeof instructions === "string") {
    turns.push({ role: "system", authority: "system", content: [textPart(instructions)] });
  }
  if (typeof input === "string")
    turns.push({ role: "user", name: null, content: [textPart(input)] });
  if (!Array.isArray(input)) return turns;
  if (!isSinglePrompt(input)) reading.use("conversation", "input");
  let begun = false;
  for (let index = 0; index < input.length; index += 1) {
    const item = input[index];
    if (!isJsonObject(item)) continue;
    const path = `input[${index}]`;
    readItem(item, path, turns, reading);
    if (item.role !== "system" && item.role !== "developer") begun = true;
    else if (begun) reading.use("mid_conversation_system", `${path}.role`);
  }
  if (reading.forTranslation && turns.length === 0)
    reading.refuseMember("missing_field", "input", "must hold something to answer");
  // Other protocols continue a trailing answer; this one does not.
  const last = input.at(-1);
  if (isJsonObject(last) && isAssistantItem(last)) reading.useNative(`input[${input.length - 1}]`);
  return turns;
}

/** One user message of one text: a plain prompt can carry it. */
function isSinglePrompt(input: readonly JsonValue[]): boolean {
  const [item] = input;
  if (input.length !== 1 || !isJsonObject(item) || item.role !== "user") return false;
  const { content } = item;
  if (!Array.isArray(content)) return true;
  const [part] = content;
  return content.length <= 1 && (!isJsonObject(part) || typeof part.text === "string");
}

function isAssistantItem(item: JsonObject) {
  return item.role === "assistant" || item.type === "function_call" || item.type === "reasoning";
}

const STORED_ITEM =
  "names an item kept at a provider, and none is kept; send the item itself (AI SDK: providerOptions.openai.store = false; others: their setting for store)";

function readItem(item: JsonObject, path: string, turns: Turn[], reading: RequestReading): void {
  // A reference may leave its type out.
  const isUntypedReference = item.type == null && item.id != null && item.role == null;
  if (isUntypedReference || item.type === "item_reference")
    reading.refuseRequest(storedState(path, STORED_ITEM));
  if (item.id != null || item.status != null) reading.dropped.add("item_id_dropped");
  const type = typeof item.type === "string" ? item.type : "message";
  switch (type) {
    case "message":
      return readMessage(item, path, turns, reading);
    case "reasoning":
      return addAnswer(turns, readReasoning(item, path, reading));
    case "function_call":
      return addAnswer(turns, [readCall(item, path, reading)]);
    case "function_call_output":
      return addResult(turns, readOutput(item, path, reading));
    default:
      return noteNativeItem(item, type, path, reading);
  }
}

function readMessage(item: JsonObject, path: string, turns: Turn[], reading: RequestReading) {
  const { role, content, phase } = item;
  reading.useUnknown(item, MESSAGE_MEMBERS, path, role ?? null);
  if (phase != null) reading.dropped.add("message_phase_dropped");
  const member = `${path}.content`;
  if (role === "user") {
    const parts = readContent(content, role, isInputPart, member, reading);
    turns.push({ role, name: null, content: parts });
  } else if (role === "assistant") {
    const parts = readContent(content, role, isAnswerPart, member, reading);
    const last = turns.at(-1);
    const previous = last?.role === "assistant" ? last.content.at(-1)?.kind : undefined;
    // Two messages are two turns.
    if (previous === "text" || previous === "refusal")
      turns.push({ role, name: null, content: parts });
    else addAnswer(turns, parts);
  } else if (role === "system" || role === "developer") {
    const texts = readContent(content, "system", isTextPart, member, reading);
    turns.push({ role: "system", authority: role, content: texts });
  } else {
    reading.refuseMember("invalid_value", `${path}.role`, `must be one of ${ROLES.join(", ")}`);
  }
}

const UNSIGNED = { text: "", signature: null, family: null } as const;

/** Full text carries the signature, if there is any; a summary beside it has none. */
function readReasoning(
  item: JsonObject,
  path: string,
  reading: RequestReading,
): readonly ReasoningPart[] {
  const { content, summary } = item;
  const encrypted = readEncrypted(item, path, reading);
  if (
    !areTexts(content, ["reasoning_text"], reading) ||
    !areTexts(summary, SUMMARY_TYPES, reading)
  ) {
    reading.useNative(path);
  } else reading.useUnknown(item, REASONING_MEMBERS, path, "assistant");
  // Opening the sealed text costs more than the rest of this function.
  if (!reading.forTranslation) return [];
  const { text: sealed, ...signed } =
    encrypted === null ? UNSIGNED : readSealedReasoning(encrypted);
  const text = joinedTexts(content) || sealed;
  const summed = joinedTexts(summary);
  if (text === "" && summed === "" && signed.signature === null) {
    reading.dropped.add("unsigned_reasoning_dropped");
    return [];
  }
  if (text === "") return [{ kind: "reasoning", text: summed, summary: summed !== "", ...signed }];
  const full: ReasoningPart = { kind: "reasoning", text, summary: false, ...signed };
  if (summed === "") return [full];
  return [{ kind: "reasoning", text: summed, summary: true, signature: null, family: null }, full];
}

/** Notes who can read the encrypted content of an item; `null` where it has none. */
function readEncrypted(item: JsonObject, path: string, reading: RequestReading): string | null {
  const encrypted = textIn(item, "encrypted_content");
  if (encrypted !== null)
    reading.signed(readSignature(encrypted, NATIVE_FAMILY).family, `${path}.encrypted_content`);
  return encrypted;
}

/** Types of summary parts; other types are not read as a summary. */
const SUMMARY_TYPES = [undefined, null, "summary_text", "reasoning_text", "text"] as const;
const TEXT_MEMBERS = ["type", "text"];

/** Whether a list, which may be absent, holds texts of these types alone. */
function areTexts(
  parts: JsonMember,
  types: readonly JsonMember[],
  reading: RequestReading,
): boolean {
  if (parts == null) return true;
  return (
    Array.isArray(parts) &&
    parts.every(
      (part) =>
        isJsonObject(part) &&
        types.includes(part.type) &&
        typeof part.text === "string" &&
        reading.unknownIn(part, TEXT_MEMBERS) === null,
    )
  );
}

/** Texts of several parts, a paragraph each. */
function joinedTexts(parts: JsonMember): string {
  const texts = listOf(parts).map((part) => textOf(memberIn(part, "text")));
  return texts.join("\n\n");
}

function readCall(item: JsonObject, path: string, reading: RequestReading): ToolCallPart {
  reading.need("tools", path);
  reading.useUnknown(item, isDirect(item) ? DIRECT_CALL_MEMBERS : CALL_MEMBERS, path, "assistant");
  const id = requireText(item.call_id, `${path}.call_id`, reading);
  const name = requireText(item.name, `${path}.name`, reading);
  const text = requireText(item.arguments, `${path}.arguments`, reading);
  reading.noteCall(id);
  const json = readArguments(text, `${path}.arguments`, reading);
  return { kind: "tool_call", id, name, arguments: json, cache: null };
}

function readOutput(item: JsonObject, path: string, reading: RequestReading): ToolResult {
  const { call_id: callId, output } = item;
  reading.need("tools", path);
  reading.useUnknown(item, isDirect(item) ? DIRECT_OUTPUT_MEMBERS : OUTPUT_MEMBERS, path, "tool");
  // The protocol's newest form has the function's name and no call id.
  if (typeof callId !== "string") reading.useNative(path);
  else reading.noteResult(callId, `${path}.call_id`);
  return {
    callId: textOf(callId),
    content: readContent(output, "tool_result", isResultPart, `${path}.output`, reading),
    isError: null,
    cache: null,
  };
}

/** The content is read by kind (`request-facts.ts`). */
function noteNativeItem(item: JsonObject, type: string, path: string, reading: RequestReading) {
  if (!Object.hasOwn(RESPONSES_TYPES, type)) {
    const rule = "is not an item type that this router supports";
    reading.noteUnknownKind("unknown_item_type", `${path}.type`, rule);
  }
  reading.useNative(`${path}.type`);
  readEncrypted(item, path, reading);
}

function isDirect({ caller }: JsonObject) {
  return isJsonObject(caller) && caller.type === "direct";
}

/**
 * Known content parts, and the members of each that canon can hold. An unknown part cannot be
 * approved, so it is refused.
 */
const PARTS = {
  input_text: ["type", "text", "prompt_cache_breakpoint"],
  output_text: ["type", "text", "annotations", "logprobs", "prompt_cache_breakpoint"],
  text: ["type", "text", "prompt_cache_breakpoint"],
  refusal: ["type", "refusal"],
  input_image: ["type", "image_url", "detail", "prompt_cache_breakpoint"],
  input_file: ["type", "file_data", "file_url", "filename", "detail", "prompt_cache_breakpoint"],
  input_audio: ["type", "input_audio"],
  input_video: ["type"],
} as const;

const AUDIO_MEMBERS = ["data", "format"];

/** Position of a content part, which decides its allowed types. */
type PartContext = "user" | "assistant" | "system" | "tool_result";

/**
 * A text, or a list of parts. Nothing at all is the empty text.
 *
 * @param canHold whether canon can hold the part in this turn; other parts are noted as the
 *   protocol's own.
 */
function readContent<Part extends ContentPart>(
  content: JsonMember,
  context: PartContext,
  canHold: (part: ContentPart) => part is Part,
  path: string,
  reading: RequestReading,
): readonly (Part | TextPart)[] {
  if (typeof content === "string") return [textPart(content)];
  if (!Array.isArray(content)) {
    requireText(content, path, reading);
    return [];
  }
  const parts: Part[] = [];
  for (let index = 0; index < content.length; index += 1) {
    const part = readPart(content[index], context, `${path}[${index}]`, reading);
    if (part !== null && canHold(part)) parts.push(part);
  }
  return parts.length === 0 ? [textPart("")] : parts;
}

/**
 * `null` where canon cannot hold the part. A file kept at a provider is refused by kind
 * (`RESPONSES_KINDS`).
 */
function readPart(
  part: JsonMember,
  context: PartContext,
  path: string,
  reading: RequestReading,
): ContentPart | null {
  const type = partType(part, PARTS, path, reading);
  if (type === null || !isJsonObject(part)) {
    reading.useNative(path);
    return null;
  }
  reading.useUnknown(part, PARTS[type], path, context);
  // Refused by kind; the file's own members need not be there.
  if (typeof part.file_id === "string") return null;
  if (!isPlainMark(part.prompt_cache_breakpoint)) {
    reading.useNative(`${path}.prompt_cache_breakpoint`);
  }
  switch (type) {
    case "input_image": {
      reading.need("image_input", path);
      noteFileContext(context, path, reading);
      const url = requireText(part.image_url, `${path}.image_url`, reading);
      const image = readImage(url, part.detail, path, "image_url", reading);
      return { ...image, cache: cacheMark(part) };
    }
    case "input_file":
      return readFile(part, context, path, reading);
    case "input_audio":
      return readAudio(part, context, path, reading);
    case "input_video":
      reading.need("video_input", path);
      reading.useNative(path);
      return null;
    case "refusal":
      if (context !== "assistant") reading.useNative(path);
      return { kind: "refusal", text: requireText(part.refusal, `${path}.refusal`, reading) };
    case "input_text":
    case "output_text":
    case "text":
      return readText(part, path, reading);
  }
}

/** Whether a breakpoint has no settings beside its mode. */
function isPlainMark(mark: JsonMember): boolean {
  if (mark == null) return true;
  return isJsonObject(mark) && mark.mode === "explicit" && Object.keys(mark).length === 1;
}

function cacheMark({ prompt_cache_breakpoint: mark }: JsonObject): CacheMark | null {
  return mark == null ? null : { ttl: null };
}

function readText(part: JsonObject, path: string, reading: RequestReading): TextPart {
  const { annotations, logprobs, text } = part;
  if (listOf(annotations).length > 0) reading.dropped.add("citations_dropped");
  if (listOf(logprobs).length > 0) reading.dropped.add("logprobs_dropped");
  return { kind: "text", text: requireText(text, `${path}.text`, reading), cache: cacheMark(part) };
}

function noteFileContext(context: PartContext, path: string, reading: RequestReading) {
  if (context === "tool_result") reading.use("tool_result_files", path);
  else if (context !== "user") reading.useNative(path);
}

/** `null` where canon cannot hold the file. */
function readFile(
  part: JsonObject,
  context: PartContext,
  path: string,
  reading: RequestReading,
): FilePart | null {
  const { file_data: data, file_url: url, filename, detail = null } = part;
  reading.need("file_input", path);
  noteFileContext(context, path, reading);
  if (detail !== null && detail !== "auto") reading.useNative(`${path}.detail`);
  const rest = { name: textOrNull(filename), cache: cacheMark(part) };
  // With two members, the provider decides which one counts.
  if (typeof url === "string" && typeof data === "string") reading.useNative(path);
  const member = typeof url === "string" ? "file_url" : "file_data";
  const text = typeof url === "string" ? url : requireText(data, `${path}.file_data`, reading);
  const source = sourceOf(text);
  if (source.kind === "base64") {
    if (!COMMON_FILES.includes(source.mediaType))
      reading.use("file_of_other_type", `${path}.${member}`);
    return { kind: "file", source, ...rest };
  }
  if (typeof url !== "string") {
    reading.useNative(`${path}.file_data`);
    return null;
  }
  reading.use("file_url", `${path}.file_url`);
  if (!isWebUrl(url)) reading.useNative(path);
  return { kind: "file", source, ...rest };
}

function readAudio(
  part: JsonObject,
  context: PartContext,
  path: string,
  reading: RequestReading,
): AudioPart | null {
  const { input_audio: audio } = part;
  reading.need("audio_input", path);
  if (context !== "user") reading.useNative(path);
  if (!isJsonObject(audio)) {
    requireText(null, `${path}.input_audio`, reading);
    return null;
  }
  reading.useUnknown(audio, AUDIO_MEMBERS, `${path}.input_audio`);
  const data = requireText(audio.data, `${path}.input_audio.data`, reading);
  const format = requireText(audio.format, `${path}.input_audio.format`, reading);
  return { kind: "audio", format, data };
}

/** The text of a member that must be one; refused, and empty, where it is none. */
function requireText(value: JsonMember, path: string, reading: RequestReading): string {
  if (typeof value === "string") return value;
  if (value == null) reading.refuseMember("missing_field", path, "is required");
  else reading.refuseMember("invalid_type", path, "must be a string");
  return "";
}

/** Adds the parts of an item to the assistant's turn, or begins one. */
function addAnswer(turns: Turn[], parts: readonly AssistantPart[]) {
  const last = turns.at(-1);
  if (parts.length === 0) return;
  if (last?.role !== "assistant") turns.push({ role: "assistant", name: null, content: parts });
  else turns[turns.length - 1] = { ...last, content: [...last.content, ...parts] };
}

/** Adds a result to those before it. */
function addResult(turns: Turn[], result: ToolResult) {
  const last = turns.at(-1);
  if (last?.role !== "tool") turns.push({ role: "tool", results: [result] });
  else turns[turns.length - 1] = { ...last, results: [...last.results, result] };
}
