import type { DataSource } from "../canon/generate/generate-request.ts";

/**
 * Longest head of a data URL that is searched for a media type (RFC 6838 allows 127 characters a
 * side).
 */
const MAXIMUM_HEAD = 300;

const MARK = ";base64,";

/**
 * The media type and the base64 text of a `data:` URL (RFC 2397); `null` for other URLs, and for
 * data URLs with parameters other than an image's.
 */
export function readDataUrl(
  url: string,
): { readonly mediaType: string; readonly data: string } | null {
  if (!url.startsWith("data:")) return null;
  const mark = url.slice(0, MAXIMUM_HEAD).indexOf(MARK);
  if (mark === -1) return null;
  const mediaType = url.slice("data:".length, mark).replace(/^(image\/[^;]+);.*$/i, "$1");
  return /^[\w.+-]+\/[\w.+-]+$/.test(mediaType)
    ? { mediaType, data: url.slice(mark + MARK.length) }
    : null;
}

/** A media type without its parameters, in lower case. */
export function essenceOf(mediaType: string): string {
  const [essence = ""] = mediaType.split(";", 1);
  return essence.trim().toLowerCase();
}

export function printDataUrl(mediaType: string, data: string): string {
  return `data:${mediaType}${MARK}${data}`;
}

/** The URL of content by reference; a data URL of content that the request holds. */
export function urlOf(source: DataSource): string {
  return source.kind === "url" ? source.url : printDataUrl(source.mediaType, source.data);
}

/** A URL that another party could fetch; the router never does. */
export function isWebUrl(url: string): boolean {
  return /^https?:\/\//i.test(url);
}
