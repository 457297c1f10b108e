import type { Capability } from "../../canon/capability.ts";
import type { AudioPart, FilePart, ImagePart, InputPart, RefusalPart, TextPart } from "../../canon/generate/message.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { AUDIO_MEMBERS, FILE_MEMBERS, IMAGE_MEMBERS, PART_MEMBERS } from "./fields.ts";
import { partType, storedFile } from "./family.ts";
import type { RequestReading } from "../fields.ts";
import { isWebUrl, readDataUrl } from "../data-url.ts";

/** A content part that canon can hold, in whatever turn. */
export type ContentPart = InputPart | RefusalPart;

/** Content parts that the router knows, and the modality each one needs. An unknown part cannot be approved, so it is refused. */
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

/** Members of a content part that may name a file instead of holding it. */
const CARRIERS = ["file", "image_url", "input_audio", "document_url", "video_url"] as const;

/** One content part; `null` where canon cannot hold it. */
export function readPart(part: JsonValue, path: string, reading: RequestReading): ContentPart | null {
  const type = partType(part, PART_NEEDS, path, reading);
  if (type === null || !isJsonObject(part)) return null;
  noteStoredFile(part, path, reading);
  const capability = PART_NEEDS[type];
  if (capability !== null && capability !== undefined) reading.need(capability, path);
  switch (type) {
    case "text": {
      const { text } = part;
      return typeof text === "string" && isKnown(part, PART_MEMBERS.text, reading) ? textPart(text) : null;
    }
    case "refusal": {
      const { refusal } = part;
      if (typeof refusal !== "string" || !isKnown(part, PART_MEMBERS.refusal, reading)) return null;
      return { kind: "refusal", text: refusal };
    }
    case "image_url":
      return isKnown(part, PART_MEMBERS.image_url, reading) ? readImage(part["image_url"], path, reading) : null;
    case "input_audio":
      return isKnown(part, PART_MEMBERS.input_audio, reading) ? readAudio(part["input_audio"], reading) : null;
    case "file":
      return isKnown(part, PART_MEMBERS.file, reading) ? readFile(part["file"], path, reading) : null;
    default:
      return null;
  }
}

function noteStoredFile(part: JsonObject, path: string, reading: RequestReading): void {
  let stored = storedFile(part, path);
  for (const name of CARRIERS) {
    const carrier = part[name];
    if (isJsonObject(carrier)) stored ??= storedFile(carrier, `${path}.${name}`);
  }
  if (stored !== null) reading.refuse(stored);
}

export function textPart(text: string): TextPart {
  return { kind: "text", text, cache: null };
}

function isKnown(object: JsonObject, known: ReadonlySet<string>, reading: RequestReading): boolean {
  return reading.unknownIn(object, known) === null;
}

function readImage(image: JsonValue | undefined, path: string, reading: RequestReading): ImagePart | null {
  if (!isJsonObject(image) || !isKnown(image, IMAGE_MEMBERS, reading)) return null;
  const { url, detail = null } = image;
  if (typeof url !== "string") return null;
  if (detail !== null && detail !== "auto" && detail !== "low" && detail !== "high") return null;
  if (detail === "low" || detail === "high") reading.use("image_detail", `${path}.image_url.detail`);
  const data = readDataUrl(url);
  if (data !== null) return { kind: "image", source: { kind: "base64", ...data }, detail, cache: null };
  if (!isWebUrl(url)) return null;
  reading.use("image_url", `${path}.image_url.url`);
  return { kind: "image", source: { kind: "url", url }, detail, cache: null };
}

function readAudio(audio: JsonValue | undefined, reading: RequestReading): AudioPart | null {
  if (!isJsonObject(audio) || !isKnown(audio, AUDIO_MEMBERS, reading)) return null;
  const { data, format } = audio;
  return typeof data === "string" && typeof format === "string" ? { kind: "audio", format, data } : null;
}

function readFile(file: JsonValue | undefined, path: string, reading: RequestReading): FilePart | null {
  if (!isJsonObject(file) || !isKnown(file, FILE_MEMBERS, reading)) return null;
  const { file_data: data, filename } = file;
  const source = typeof data === "string" ? readDataUrl(data) : null;
  if (source === null) return null;
  if (!COMMON_FILES.has(source.mediaType)) reading.use("file_of_other_type", `${path}.file.file_data`);
  const name = typeof filename === "string" ? filename : null;
  return { kind: "file", source: { kind: "base64", ...source }, name, cache: null };
}
