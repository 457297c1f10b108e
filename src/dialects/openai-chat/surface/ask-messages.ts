import type { Capability } from "../../../canon/capability.ts";
import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import type { Asked } from "../../asked.ts";
import {
  AUDIO_MEMBERS,
  CALLED_FUNCTION_MEMBERS,
  FILE_MEMBERS,
  IMAGE_MEMBERS,
  MESSAGE_MEMBERS,
  PART_MEMBERS,
  TOOL_CALL_MEMBERS,
} from "../fields.ts";
import { askUnknownMember, hasUnknownMember } from "../../fields.ts";
import { isWebUrl, readDataUrl } from "../../translation/data-url.ts";
import { askSignatures } from "../signatures.ts";
import { askReasoningHistory } from "./reasoning-history.ts";
import { storedFile } from "./stateful.ts";

/** Content parts that we know, and the modality each one needs. An unknown part cannot be approved, so it is refused. */
const PART_NEEDS: Readonly<Record<string, Capability | null>> = {
  text: null,
  refusal: null,
  image_url: "image_input",
  input_audio: "audio_input",
  file: "file_input",
  document_url: "file_input",
  video_url: "video_input",
  thinking: "reasoning",
};

/** Media types of files that every protocol with files takes. */
const COMMON_FILES: ReadonlySet<string> = new Set(["application/pdf", "text/plain"]);

/** What the conversation asks. */
export function askMessages(body: JsonObject, asked: Asked): ServiceError | null {
  const messages = body["messages"];
  if (!Array.isArray(messages)) return null;
  let begun = false;
  let role: JsonValue | undefined;
  for (const [index, message] of messages.entries()) {
    if (!isJsonObject(message)) continue;
    ({ role } = message);
    const isSystem = role === "system" || role === "developer";
    if (isSystem && begun) asked.use("mid_conversation_system", `messages[${index}]`);
    begun ||= !isSystem;
    const problem = askMessage(message, `messages[${index}]`, asked);
    if (problem !== null) return problem;
  }
  const last = `messages[${messages.length - 1}]`;
  // An answer begun by the caller is not continued here as it is elsewhere, and nobody else answers system text alone.
  if (role === "assistant" || !begun) asked.use("native_chat", last);
  if (messages.length > 1) asked.use("conversation", "messages[1]");
  else if (!isPlainPrompt(messages[0])) asked.use("conversation", "messages[0]");
  return null;
}

/** One user's text, which a prompt without turns can hold. */
function isPlainPrompt(message: JsonValue | undefined): boolean {
  if (!isJsonObject(message) || message["role"] !== "user") return false;
  const content = message["content"];
  return !Array.isArray(content) || (content.length === 1 && isJsonObject(content[0]) && content[0]["type"] === "text");
}

function askMessage(message: JsonObject, path: string, asked: Asked): ServiceError | null {
  const role = wordOfRole(message["role"]);
  if (role === null) asked.use("native_chat", path);
  else askUnknownMember(message, MESSAGE_MEMBERS[role], path, "native_chat", asked);
  if (role === "tool") {
    asked.need("tools", path);
    if (typeof message["tool_call_id"] !== "string") asked.use("native_chat", `${path}.tool_call_id`);
  }
  if (message["role"] === "function" || isJsonObject(message["function_call"])) asked.need("tools", path);
  if (isJsonObject(message["audio"])) asked.need("audio_output", `${path}.audio`);
  askCalls(message["tool_calls"], path, asked);
  askSignatures(message, path, asked);
  if (role === "assistant") askReasoningHistory(message, path, asked);
  const content = message["content"];
  if (typeof content === "string") return null;
  if (!Array.isArray(content)) {
    if (role !== "assistant") asked.use("native_chat", path);
    return null;
  }
  for (const [index, part] of content.entries()) {
    const problem = askPart(part, role, `${path}.content[${index}]`, asked);
    if (problem !== null) return problem;
  }
  return null;
}

/** The kind of turn that a role makes; `null` for the legacy role `function`, which only this protocol has. */
export function wordOfRole(role: JsonValue | undefined): keyof typeof MESSAGE_MEMBERS | null {
  if (typeof role !== "string") return null;
  switch (role) {
    case "system":
    case "developer":
      return "system";
    case "user":
    case "assistant":
    case "tool":
      return role;
    default:
      return null;
  }
}

function askCalls(calls: JsonValue | undefined, path: string, asked: Asked): void {
  if (calls === undefined || calls === null || (Array.isArray(calls) && calls.length === 0)) return;
  asked.need("tools", `${path}.tool_calls`);
  if (!Array.isArray(calls) || !calls.every(isFunctionCall)) asked.use("native_chat", `${path}.tool_calls`);
}

function isFunctionCall(call: JsonValue): boolean {
  if (!isJsonObject(call)) return false;
  const called = call["function"];
  return (
    (call["type"] ?? "function") === "function" &&
    !hasUnknownMember(call, TOOL_CALL_MEMBERS) &&
    isJsonObject(called) &&
    !hasUnknownMember(called, CALLED_FUNCTION_MEMBERS)
  );
}

/** Which parts canon has a place for, by the kind of turn. */
const PARTS_OF: Readonly<Record<keyof typeof MESSAGE_MEMBERS, ReadonlySet<string>>> = {
  system: new Set(["text"]),
  user: new Set(["text", "image_url", "input_audio", "file"]),
  assistant: new Set(["text", "refusal"]),
  tool: new Set(["text"]),
};

function askPart(
  part: JsonValue,
  role: keyof typeof MESSAGE_MEMBERS | null,
  path: string,
  asked: Asked,
): ServiceError | null {
  const type = isJsonObject(part) ? part["type"] : undefined;
  if (!isJsonObject(part) || typeof type !== "string" || !Object.hasOwn(PART_NEEDS, type)) {
    const known = Object.keys(PART_NEEDS).join(", ");
    return invalidRequest("unknown_content_part", `${path}.type must be one of ${known}`, `${path}.type`);
  }
  const stored = storedFile(part, path);
  if (stored !== null) return stored;
  const capability = PART_NEEDS[type];
  if (capability !== null && capability !== undefined) asked.need(capability, path);
  if (role === null || !PARTS_OF[role].has(type) || !isTranslatable(part, type, path, asked)) {
    asked.use("native_chat", path);
  }
  return null;
}

/** Whether canon can take the part in; what it asks besides is noted. */
function isTranslatable(part: JsonObject, type: string, path: string, asked: Asked): boolean {
  switch (type) {
    case "text":
      return typeof part["text"] === "string" && !hasUnknownMember(part, PART_MEMBERS.text);
    case "refusal":
      return typeof part["refusal"] === "string" && !hasUnknownMember(part, PART_MEMBERS.refusal);
    case "image_url":
      return !hasUnknownMember(part, PART_MEMBERS.image_url) && askImage(part["image_url"], path, asked);
    case "input_audio":
      return !hasUnknownMember(part, PART_MEMBERS.input_audio) && isAudio(part["input_audio"]);
    case "file":
      return !hasUnknownMember(part, PART_MEMBERS.file) && askFile(part["file"], path, asked);
    default:
      return false;
  }
}

function askImage(image: JsonValue | undefined, path: string, asked: Asked): boolean {
  if (!isJsonObject(image) || hasUnknownMember(image, IMAGE_MEMBERS)) return false;
  const { url, detail } = image;
  if (typeof url !== "string") return false;
  if (detail === "low" || detail === "high") asked.use("image_detail", `${path}.image_url.detail`);
  else if (detail !== undefined && detail !== null && detail !== "auto") return false;
  if (readDataUrl(url) !== null) return true;
  if (!isWebUrl(url)) return false;
  asked.use("image_url", `${path}.image_url.url`);
  return true;
}

function isAudio(audio: JsonValue | undefined): boolean {
  if (!isJsonObject(audio) || hasUnknownMember(audio, AUDIO_MEMBERS)) return false;
  return typeof audio["data"] === "string" && typeof audio["format"] === "string";
}

function askFile(file: JsonValue | undefined, path: string, asked: Asked): boolean {
  if (!isJsonObject(file) || hasUnknownMember(file, FILE_MEMBERS)) return false;
  const data = file["file_data"];
  const source = typeof data === "string" ? readDataUrl(data) : null;
  if (source === null) return false;
  if (!COMMON_FILES.has(source.mediaType)) asked.use("file_of_other_type", `${path}.file.file_data`);
  return true;
}
