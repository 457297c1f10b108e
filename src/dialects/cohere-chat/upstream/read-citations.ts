import type { Citation } from "../../../canon/generate/event.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";

/** Where one piece of text comes from, and what of that no other protocol can say. */
export interface ReadCitation {
  /** Index of the part of the content; `null` where the provider does not say. */
  readonly content: number | null;
  /** One for each source that has an address. */
  readonly citations: readonly Citation[];
  /** Some source is the request's own: a tool's result or a document without an address. Or it is not the answer's text that is cited. */
  readonly incomplete: boolean;
}

/** Positions count code points of one part's text, as canon's do (checked against recorded answers). */
export function readCitation(value: JsonValue | undefined): ReadCitation {
  const cited = isJsonObject(value) ? value : {};
  const { start, end, sources, type, content_index: content } = cited;
  const isText = type === undefined || type === "TEXT_CONTENT";
  const listed: readonly JsonValue[] = isText && Array.isArray(sources) ? sources : [];
  const addressed = listed.flatMap((source) => addressOf(source) ?? []);
  return {
    content: positionOf(content),
    citations: addressed.map(({ url, title }) => ({ url, title, start: positionOf(start), end: positionOf(end) })),
    incomplete: addressed.length === 0 || addressed.length < listed.length,
  };
}

/** Address and title of what is cited: they stand in the document, or in what the tool gave back. */
function addressOf(source: JsonValue): { readonly url: string; readonly title: string | null } | null {
  if (!isJsonObject(source)) return null;
  const cited: JsonObject | null = [source["document"], source["tool_output"]].find(isJsonObject) ?? null;
  const url = cited?.["url"];
  const title = cited?.["title"];
  if (typeof url !== "string" || url === "") return null;
  return { url, title: typeof title === "string" && title !== "" ? title : null };
}

function positionOf(value: JsonValue | undefined): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}
