import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import type { CacheMark, FilePart, ImagePart, InputPart } from "../../../canon/generate/message.ts";
import type { JsonObject } from "../../../canon/json.ts";
import { base64ToText } from "../../../canon/json/text-base64.ts";
import { formatMark } from "./format-tools.ts";
import type { Draft } from "./draft.ts";

/** What cannot be printed, and why. A class, because a block is an object too and must be told from it. */
export class Refused {
  readonly error: ServiceError;

  constructor(error: ServiceError) {
    this.error = error;
  }
}

/** A text block; none where the text is blank, which the provider refuses. */
export function formatText(
  { text, cache }: { readonly text: string; readonly cache: CacheMark | null },
  { dropped }: Draft,
): readonly JsonObject[] {
  if (text.trim() !== "") return [{ type: "text", text, ...formatMark(cache) }];
  dropped.add("empty_text_dropped");
  return [];
}

/** The blocks of a user's turn or of a tool's result. */
export function formatInput(parts: readonly InputPart[], draft: Draft): readonly JsonObject[] | Refused {
  const blocks: JsonObject[] = [];
  for (const part of parts) {
    const formatted = formatPart(part, draft);
    if (formatted instanceof Refused) return formatted;
    for (const block of formatted) blocks.push(block);
  }
  return blocks;
}

function formatPart(part: InputPart, draft: Draft): readonly JsonObject[] | Refused {
  switch (part.kind) {
    case "text":
      return formatText(part, draft);
    case "image":
      return [formatImage(part, draft)];
    case "file":
      return formatFile(part);
    case "audio":
      throw new Error("formatMessages: audio, which the dialect does not express");
  }
}

function formatImage({ source, detail, cache }: ImagePart, { dropped }: Draft): JsonObject {
  if (detail !== null) dropped.add("image_detail_dropped");
  const from =
    source.kind === "url"
      ? { type: "url", url: source.url }
      : { type: "base64", media_type: source.mediaType, data: source.data };
  return { type: "image", source: from, ...formatMark(cache) };
}

function formatFile({ source, name, cache }: FilePart): readonly JsonObject[] | Refused {
  const more = { ...(name === null ? {} : { title: name }), ...formatMark(cache) };
  if (source.kind === "url") return [{ type: "document", source: { type: "url", url: source.url }, ...more }];
  const [essence = ""] = source.mediaType.toLowerCase().split(";", 1);
  if (essence.trim() !== "text/plain") {
    const from = { type: "base64", media_type: source.mediaType, data: source.data };
    return [{ type: "document", source: from, ...more }];
  }
  const text = base64ToText(source.data);
  if (text === null) {
    return new Refused(invalidRequest("invalid_file_data", "A text file's data must be base64 of UTF-8 text"));
  }
  return [{ type: "document", source: { type: "text", media_type: "text/plain", data: text }, ...more }];
}
