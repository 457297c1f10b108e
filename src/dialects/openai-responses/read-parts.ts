import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import type {
  AssistantPart,
  AudioPart,
  CacheMark,
  FilePart,
  ImagePart,
  InputPart,
  RefusalPart,
  TextPart,
  ToolResult,
  Turn,
} from "../../canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { partType, storedFile } from "../openai-chat/family.ts";
import type { RequestReading } from "../fields.ts";
import { isWebUrl, readDataUrl } from "../data-url.ts";
import { textOrNull } from "../json.ts";

/** A content part that canon can hold, in whatever turn. */
type ContentPart = InputPart | RefusalPart;

export const isTextPart = (part: ContentPart): part is TextPart => part.kind === "text";
export const isInput = (part: ContentPart): part is InputPart => part.kind !== "refusal";
export const isResult = (part: ContentPart): part is TextPart | ImagePart | FilePart =>
  part.kind !== "refusal" && part.kind !== "audio";
export const isSaid = (part: ContentPart): part is TextPart | RefusalPart =>
  part.kind === "text" || part.kind === "refusal";

/**
 * Content parts that the router knows, and the members of each that canon can say. An unknown part
 * cannot be approved, so it is refused.
 */
const PARTS = {
  input_text: new Set(["type", "text", "prompt_cache_breakpoint"]),
  output_text: new Set(["type", "text", "annotations", "logprobs", "prompt_cache_breakpoint"]),
  text: new Set(["type", "text", "prompt_cache_breakpoint"]),
  refusal: new Set(["type", "refusal"]),
  input_image: new Set(["type", "image_url", "detail", "prompt_cache_breakpoint"]),
  input_file: new Set([
    "type",
    "file_data",
    "file_url",
    "filename",
    "detail",
    "prompt_cache_breakpoint",
  ]),
  input_audio: new Set(["type", "input_audio"]),
  input_video: new Set(["type"]),
} as const satisfies Readonly<Record<string, ReadonlySet<string>>>;

const AUDIO_MEMBERS: ReadonlySet<string> = new Set(["data", "format"]);

/** Where a content part stands: whose it is decides what it may be. */
type PartContext = "user" | "assistant" | "system" | "tool_result";

/** Media types that every protocol with files takes. */
const COMMON_FILE_TYPES: ReadonlySet<string> = new Set(["application/pdf", "text/plain"]);

/**
 * A text, or a list of parts. Nothing at all is the empty text.
 *
 * @param isTaken whether canon can hold the part in this turn; whatever else stands there is noted
 * as the protocol's own.
 */
export function readContent<Part extends ContentPart>(
  content: JsonValue | undefined,
  context: PartContext,
  isTaken: (part: ContentPart) => part is Part,
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
    if (part !== null && isTaken(part)) parts.push(part);
  }
  return parts.length === 0 ? [textPart("")] : parts;
}

export function textPart(text: string): TextPart {
  return { kind: "text", text, cache: null };
}

/** `null` where canon cannot hold the part. */
function readPart(
  part: JsonValue | undefined,
  context: PartContext,
  path: string,
  reading: RequestReading,
): ContentPart | null {
  const type = partType(part, PARTS, path, reading);
  if (type === null || !isJsonObject(part)) {
    reading.use("native_responses", path);
    return null;
  }
  const stored = storedFile(part, path);
  if (stored !== null) reading.refuse(stored);
  reading.useUnknown(part, PARTS[type], path, "native_responses", context);
  if (!isPlainMark(part["prompt_cache_breakpoint"])) {
    reading.use("native_responses", `${path}.prompt_cache_breakpoint`);
  }
  switch (type) {
    case "input_image":
      return readImage(part, context, path, reading);
    case "input_file":
      return readFile(part, context, path, reading);
    case "input_audio":
      return readAudio(part, context, path, reading);
    case "input_video":
      reading.need("video_input", path);
      reading.use("native_responses", path);
      return null;
    case "refusal":
      if (context !== "assistant") reading.use("native_responses", path);
      return { kind: "refusal", text: requireText(part["refusal"], `${path}.refusal`, reading) };
    case "input_text":
    case "output_text":
    case "text":
      return readText(part, path, reading);
  }
}

/** A breakpoint says nothing but that it is one. */
function isPlainMark(mark: JsonValue | undefined): boolean {
  if (mark === undefined || mark === null) return true;
  return isJsonObject(mark) && mark["mode"] === "explicit" && Object.keys(mark).length === 1;
}

function cacheMark({ prompt_cache_breakpoint: mark }: JsonObject): CacheMark | null {
  return mark === undefined || mark === null ? null : { ttl: null };
}

function readText(part: JsonObject, path: string, reading: RequestReading): TextPart {
  const { annotations, logprobs, text } = part;
  if (Array.isArray(annotations) && annotations.length > 0)
    reading.dropped.add("citations_dropped");
  if (Array.isArray(logprobs) && logprobs.length > 0) reading.dropped.add("logprobs_dropped");
  return { kind: "text", text: requireText(text, `${path}.text`, reading), cache: cacheMark(part) };
}

function noteFileContext(context: PartContext, path: string, reading: RequestReading): void {
  if (context === "tool_result") reading.use("tool_result_files", path);
  else if (context !== "user") reading.use("native_responses", path);
}

function readImage(
  part: JsonObject,
  context: PartContext,
  path: string,
  reading: RequestReading,
): ImagePart {
  const { image_url, detail = null } = part;
  reading.need("image_input", path);
  noteFileContext(context, path, reading);
  const known = detail === "auto" || detail === "low" || detail === "high" ? detail : null;
  if (known === "low" || known === "high") reading.use("image_detail", `${path}.detail`);
  else if (known !== detail) reading.use("native_responses", `${path}.detail`);
  const url = requireText(image_url, `${path}.image_url`, reading);
  const data = readDataUrl(url);
  if (data === null)
    reading.use(isWebUrl(url) ? "image_url" : "native_responses", `${path}.image_url`);
  const source =
    data === null ? ({ kind: "url", url } as const) : ({ kind: "base64", ...data } as const);
  return { kind: "image", source, detail: known, cache: cacheMark(part) };
}

/** `null` where no file is there that canon could hold. */
function readFile(
  part: JsonObject,
  context: PartContext,
  path: string,
  reading: RequestReading,
): FilePart | null {
  const { file_data: data, file_url: url, filename, detail = null } = part;
  reading.need("file_input", path);
  noteFileContext(context, path, reading);
  if (detail !== null && detail !== "auto") reading.use("native_responses", `${path}.detail`);
  const rest = { name: textOrNull(filename), cache: cacheMark(part) };
  // A file in two members: which of them counts is for the provider to decide.
  if (typeof url === "string" && typeof data === "string") reading.use("native_responses", path);
  const member = typeof url === "string" ? "file_url" : "file_data";
  const text = typeof url === "string" ? url : requireText(data, `${path}.file_data`, reading);
  const held = readDataUrl(text);
  if (held !== null) {
    if (!COMMON_FILE_TYPES.has(held.mediaType))
      reading.use("file_of_other_type", `${path}.${member}`);
    return { kind: "file", source: { kind: "base64", ...held }, ...rest };
  }
  if (typeof url !== "string") {
    reading.use("native_responses", `${path}.file_data`);
    return null;
  }
  reading.use("file_url", `${path}.file_url`);
  if (!isWebUrl(url)) reading.use("native_responses", path);
  return { kind: "file", source: { kind: "url", url }, ...rest };
}

function readAudio(
  part: JsonObject,
  context: PartContext,
  path: string,
  reading: RequestReading,
): AudioPart | null {
  const { input_audio: audio } = part;
  reading.need("audio_input", path);
  if (context !== "user") reading.use("native_responses", path);
  if (!isJsonObject(audio)) {
    requireText(null, `${path}.input_audio`, reading);
    return null;
  }
  reading.useUnknown(audio, AUDIO_MEMBERS, `${path}.input_audio`, "native_responses");
  const data = requireText(audio["data"], `${path}.input_audio.data`, reading);
  return {
    kind: "audio",
    format: requireText(audio["format"], `${path}.input_audio.format`, reading),
    data,
  };
}

/** The text of a member that must be one; refused, and empty, where it is none. */
export function requireText(
  value: JsonValue | undefined,
  path: string,
  reading: RequestReading,
): string {
  if (typeof value === "string") return value;
  reading.refuse(textFault(value, path));
  return "";
}

function textFault(value: JsonValue | undefined, path: string): ServiceError {
  return value === undefined || value === null
    ? invalidRequest("missing_field", `${path} is required`, path)
    : invalidRequest("invalid_type", `${path} must be a string`, path);
}

/** Joins what belongs to one turn. */
export class TurnBuilder {
  readonly #turns: Turn[];
  #said: AssistantPart[] = [];
  #results: ToolResult[] = [];

  constructor(turns: Turn[]) {
    this.#turns = turns;
  }

  turn(turn: Turn): void {
    this.end();
    this.#turns.push(turn);
  }

  message(parts: readonly AssistantPart[]): void {
    const last = this.#said.at(-1)?.kind;
    if (last === "text" || last === "refusal") this.end();
    this.said(parts);
  }

  said(parts: readonly AssistantPart[]): void {
    if (this.#results.length > 0) this.end();
    for (const part of parts) this.#said.push(part);
  }

  result(result: ToolResult): void {
    if (this.#said.length > 0) this.end();
    this.#results.push(result);
  }

  end(): void {
    if (this.#said.length > 0)
      this.#turns.push({ role: "assistant", name: null, content: this.#said });
    if (this.#results.length > 0) this.#turns.push({ role: "tool", results: this.#results });
    this.#said = [];
    this.#results = [];
  }
}
