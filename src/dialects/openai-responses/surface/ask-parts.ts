import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import type { RequestReading } from "../../request-reading.ts";
import { isWebUrl, readDataUrl } from "../../translation/data-url.ts";
import { hasUnknownMember } from "../../fields.ts";
import { storedFile } from "../stateful.ts";

/** Content parts that we know, and the members of each that canon can say. An unknown part cannot be approved, so it is refused. */
const PARTS: Readonly<Record<string, ReadonlySet<string>>> = {
  input_text: new Set(["type", "text", "prompt_cache_breakpoint"]),
  output_text: new Set(["type", "text", "annotations", "logprobs", "prompt_cache_breakpoint"]),
  text: new Set(["type", "text", "prompt_cache_breakpoint"]),
  refusal: new Set(["type", "refusal"]),
  input_image: new Set(["type", "image_url", "detail", "prompt_cache_breakpoint"]),
  input_file: new Set(["type", "file_data", "file_url", "filename", "detail", "prompt_cache_breakpoint"]),
  input_audio: new Set(["type", "input_audio"]),
  input_video: new Set(["type"]),
};

const AUDIO_MEMBERS: ReadonlySet<string> = new Set(["data", "format"]);

/** Where a content part stands: whose it is decides what it may be. */
export type PartContext = "user" | "assistant" | "system" | "tool_result";

/** Media types that every protocol with files takes. */
const COMMON_FILE_TYPES: ReadonlySet<string> = new Set(["application/pdf", "text/plain"]);

/** What one content part asks. */
export function askPart(
  part: JsonValue,
  context: PartContext,
  path: string,
  asked: RequestReading,
): ServiceError | null {
  const type = isJsonObject(part) ? part["type"] : undefined;
  if (!isJsonObject(part) || typeof type !== "string" || !Object.hasOwn(PARTS, type)) {
    const known = Object.keys(PARTS).join(", ");
    return invalidRequest("unknown_content_part", `${path}.type must be one of ${known}`, `${path}.type`);
  }
  const stored = storedFile(part, path);
  if (stored !== null) return stored;
  const members = PARTS[type];
  if (members !== undefined) asked.useUnknown(part, members, path, "native_responses");
  if (!isPlainMark(part["prompt_cache_breakpoint"])) asked.use("native_responses", `${path}.prompt_cache_breakpoint`);
  switch (type) {
    case "input_image":
      return askImage(part, context, path, asked);
    case "input_file":
      return askFile(part, context, path, asked);
    case "input_audio":
      return askAudio(part, context, path, asked);
    case "input_video":
      asked.need("video_input", path);
      asked.use("native_responses", path);
      return null;
    case "refusal":
      if (context !== "assistant") asked.use("native_responses", path);
      return isText(part["refusal"], `${path}.refusal`);
    default:
      return isText(part["text"], `${path}.text`);
  }
}

/** A breakpoint says nothing but that it is one. */
function isPlainMark(mark: JsonValue | undefined): boolean {
  if (mark === undefined || mark === null) return true;
  return isJsonObject(mark) && mark["mode"] === "explicit" && Object.keys(mark).length === 1;
}

function askImage(part: JsonObject, context: PartContext, path: string, asked: RequestReading): ServiceError | null {
  const { image_url: url, detail } = part;
  asked.need("image_input", path);
  if (context === "tool_result") asked.use("tool_result_files", path);
  else if (context !== "user") asked.use("native_responses", path);
  if (detail === "low" || detail === "high") asked.use("image_detail", `${path}.detail`);
  else if (detail !== undefined && detail !== null && detail !== "auto")
    asked.use("native_responses", `${path}.detail`);
  const problem = isText(url, `${path}.image_url`);
  if (problem !== null || typeof url !== "string") return problem;
  if (isWebUrl(url)) asked.use("image_url", `${path}.image_url`);
  else if (readDataUrl(url) === null) asked.use("native_responses", `${path}.image_url`);
  return null;
}

function askFile(part: JsonObject, context: PartContext, path: string, asked: RequestReading): ServiceError | null {
  const { file_data: data, file_url: url, detail } = part;
  asked.need("file_input", path);
  if (context === "tool_result") asked.use("tool_result_files", path);
  else if (context !== "user") asked.use("native_responses", path);
  if (detail !== undefined && detail !== null && detail !== "auto") asked.use("native_responses", `${path}.detail`);
  if (typeof url === "string") {
    // A file in two places: which of them counts is the provider's business.
    if (typeof data === "string") asked.use("native_responses", path);
    const held = readDataUrl(url);
    // Nothing has to be fetched: the URL is the file.
    if (held !== null) return askFileType(held.mediaType, `${path}.file_url`, asked);
    asked.use("file_url", `${path}.file_url`);
    if (!isWebUrl(url)) asked.use("native_responses", path);
    return null;
  }
  const problem = isText(data, `${path}.file_data`);
  if (problem !== null || typeof data !== "string") return problem;
  const source = readDataUrl(data);
  if (source === null) asked.use("native_responses", `${path}.file_data`);
  else askFileType(source.mediaType, `${path}.file_data`, asked);
  return null;
}

function askFileType(mediaType: string, path: string, asked: RequestReading): null {
  if (!COMMON_FILE_TYPES.has(mediaType)) asked.use("file_of_other_type", path);
  return null;
}

function askAudio(part: JsonObject, context: PartContext, path: string, asked: RequestReading): ServiceError | null {
  const audio = part["input_audio"];
  asked.need("audio_input", path);
  if (context !== "user") asked.use("native_responses", path);
  if (!isJsonObject(audio)) return isText(null, `${path}.input_audio`);
  if (hasUnknownMember(audio, AUDIO_MEMBERS)) asked.use("native_responses", path);
  return isText(audio["data"], `${path}.input_audio.data`) ?? isText(audio["format"], `${path}.input_audio.format`);
}

/** The 400 for a member that must be a text and is not. */
export function isText(value: JsonValue | undefined, path: string): ServiceError | null {
  if (typeof value === "string") return null;
  return value === undefined || value === null
    ? invalidRequest("missing_field", `${path} is required`, path)
    : invalidRequest("invalid_type", `${path} must be a string`, path);
}
