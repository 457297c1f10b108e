import { readSignature, tagSignature } from "../../canon/generate/signature.ts";

/** Whose signatures arrive without a tag: those that a native relay passed on. */
export const NATIVE_FAMILY = "anthropic";

/** Stands before the data of reasoning whose text the provider hid. Neither base64 nor a tag has a colon, so no other signature begins with it. */
const REDACTED = "redacted:";

/**
 * The signature of a whole redacted block. In canon such reasoning has no text, and neither has reasoning that is signed and not shown; the
 * provider refuses the one written as the other.
 */
export function redactedSignature(data: string): string {
  return `${REDACTED}${data}`;
}

/** The data of a redacted block, or `null` where the signature is that of a thinking block. */
export function redactedData(signature: string): string | null {
  return signature.startsWith(REDACTED) ? signature.slice(REDACTED.length) : null;
}

/**
 * Written as the signature of reasoning that nobody signed. Clients give it back, and a provider that checks signatures would refuse it; an
 * empty one could also be a provider's own, which must stay.
 */
export const UNSIGNED = tagSignature("unsigned", "");

/** Who signed, and the bare signature; `null` where nobody did. */
export function readSigned(signature: unknown): { readonly family: string; readonly signature: string } | null {
  if (typeof signature !== "string" || signature === "" || signature === UNSIGNED) return null;
  return readSignature(signature, NATIVE_FAMILY);
}
