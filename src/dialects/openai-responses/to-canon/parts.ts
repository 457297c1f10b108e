import type {
  AssistantPart,
  CacheMark,
  FilePart,
  ImagePart,
  InputPart,
  TextPart,
} from "../../../canon/generate/message.ts";
import type { Members } from "../../members.ts";
import { readDataUrl } from "../../translation/data-url.ts";

/** The content of a message: a text, or a list of parts. Nothing at all is the empty text. */
export function readContent<Part>(
  item: Members,
  name: string,
  read: (part: Members) => Part | null,
): readonly (Part | TextPart)[] {
  const content = item.take(name);
  if (typeof content === "string") return [textPart(content)];
  const parts = item.objects(name).flatMap((part) => {
    const value = read(part);
    part.close();
    return value === null ? [] : [value];
  });
  return parts.length === 0 ? [textPart("")] : parts;
}

export function readUserPart(part: Members): InputPart | null {
  const type = part.take("type");
  if (type === "input_image") return readImage(part);
  if (type === "input_file") return readFile(part);
  if (type !== "input_audio") return readText(part);
  const audio = part.object("input_audio");
  if (audio === null) return null;
  const read = { kind: "audio", format: audio.text("format") ?? "", data: audio.text("data") ?? "" } as const;
  audio.close();
  return read;
}

export function readResultPart(part: Members): TextPart | ImagePart | FilePart | null {
  const type = part.take("type");
  if (type === "input_image") return readImage(part);
  return type === "input_file" ? readFile(part) : readText(part);
}

export function readSystemPart(part: Members): TextPart {
  part.take("type");
  return readText(part);
}

export function readAssistantPart(part: Members): AssistantPart {
  return part.take("type") === "refusal" ? { kind: "refusal", text: part.text("refusal") ?? "" } : readText(part);
}

export function textPart(text: string): TextPart {
  return { kind: "text", text, cache: null };
}

function readText(part: Members): TextPart {
  if (part.list("annotations").length > 0) part.ledger.lose("citations_dropped");
  if (part.list("logprobs").length > 0) part.ledger.lose("logprobs_dropped");
  return { kind: "text", text: part.text("text") ?? "", cache: readMark(part) };
}

function readImage(part: Members): ImagePart | null {
  const url = part.text("image_url");
  const detail = part.word("detail", ["auto", "low", "high"]);
  const cache = readMark(part);
  if (url === null) {
    part.refuse("image_url", "missing_field", "is required");
    return null;
  }
  const data = readDataUrl(url);
  return { kind: "image", source: data === null ? { kind: "url", url } : { kind: "base64", ...data }, detail, cache };
}

function readFile(part: Members): FilePart | null {
  const url = part.text("file_url");
  const text = part.text("file_data");
  const name = part.text("filename");
  // Only `auto` gets here, which is what no detail means.
  part.word("detail", ["auto"]);
  const cache = readMark(part);
  const held = url === null ? null : readDataUrl(url);
  if (url !== null && held === null) return { kind: "file", source: { kind: "url", url }, name, cache };
  const data = held ?? (text === null ? null : readDataUrl(text));
  if (data === null) {
    part.refuse("file_data", "invalid_value", "must be a data URL with base64");
    return null;
  }
  return { kind: "file", source: { kind: "base64", ...data }, name, cache };
}

function readMark(part: Members): CacheMark | null {
  return part.take("prompt_cache_breakpoint") === undefined ? null : { ttl: null };
}
