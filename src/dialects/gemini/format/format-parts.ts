import type { DataSource, InputPart, TextPart } from "../../../canon/generate/message.ts";
import type { JsonObject } from "../../../canon/json.ts";
import { dropMark, type Draft } from "./draft.ts";

/** A text part; none where the text is empty, which the provider refuses. */
export function formatText({ text, cache }: Pick<TextPart, "text" | "cache">, draft: Draft): readonly JsonObject[] {
  dropMark(cache, draft);
  if (text !== "") return [{ text }];
  draft.dropped.add("empty_text_dropped");
  return [];
}

/** The parts of a user's turn. */
export function formatInput(parts: readonly InputPart[], draft: Draft): readonly JsonObject[] {
  return parts.flatMap((part): readonly JsonObject[] => {
    if (part.kind === "text") return formatText(part, draft);
    return [formatData(part, draft)];
  });
}

/** Bytes by value, whatever they are: the protocol tells them apart by their media type. */
export function formatData(part: Exclude<InputPart, TextPart>, draft: Draft): JsonObject {
  if (part.kind === "audio") return { inlineData: { mimeType: `audio/${part.format}`, data: part.data } };
  dropMark(part.cache, draft);
  if (part.kind === "image") draft.details.add(part.detail);
  else if (part.name !== null) draft.dropped.add("file_name_dropped");
  return { inlineData: inline(part.source) };
}

function inline(source: DataSource): JsonObject {
  if (source.kind === "url") throw new Error("formatData: a URL, which the dialect has no feature for");
  return { mimeType: source.mediaType, data: source.data };
}
