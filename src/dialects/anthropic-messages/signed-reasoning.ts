import { readSignature, tagSignature } from "../../canon/generate/signature.ts";

/** Whose signatures travel without a tag: those of the protocol's own provider. */
export const NATIVE_FAMILY = "anthropic";

/** The member of each kind of reasoning block that holds its signature. */
export const SIGNATURE_MEMBERS: Readonly<Record<string, string>> = { thinking: "signature", redacted_thinking: "data" };

/** Stands before the data of reasoning whose text the provider hid. Neither base64 nor a tag has a colon, so no other signature begins with it. */
const REDACTED = "redacted:";

/**
 * The signature of a whole redacted block. In canon such reasoning has no text, and neither has reasoning that is signed and not shown; the
 * provider refuses the one written as the other.
 */
export function redactedSignature(data: string): string {
  return `${REDACTED}${data}`;
}

/** Stands before a tagged signature of text that sums reasoning up: the protocol's clients have one member for both. */
const SUMMARY = "summary:";

/** The signature of a thinking block that came from another protocol. */
export function tagThinking(family: string, signature: string, summary: boolean): string {
  return tagSignature(family, summary ? `${SUMMARY}${signature}` : signature);
}

/** The data of a redacted block, or `null` where the signature is that of a thinking block. */
export function redactedData(signature: string): string | null {
  return signature.startsWith(REDACTED) ? signature.slice(REDACTED.length) : null;
}

/**
 * Written as the signature of reasoning without a signature. Clients give it back, and a provider that checks signatures would refuse it; an
 * empty one could also be a provider's own, which must stay.
 */
export const UNSIGNED = tagSignature("unsigned", "");

/** The same for a summary of reasoning. */
export const UNSIGNED_SUMMARY = tagSignature("unsigned", SUMMARY);

/** Whether a signature is our mark that there is none. */
export function isUnsigned(signature: unknown): boolean {
  return signature === UNSIGNED || signature === UNSIGNED_SUMMARY;
}

interface Signed {
  readonly family: string;
  readonly signature: string;
}

/** Who signed, and the bare signature; `null` where unsigned. */
export function readSigned(text: unknown): Signed | null {
  if (typeof text !== "string" || text === "" || isUnsigned(text)) return null;
  const { family, signature } = readSignature(text, NATIVE_FAMILY);
  return { family, signature: isMarked(text) ? signature.slice(SUMMARY.length) : signature };
}

/** Whether a signature says that the text which it signs sums reasoning up. */
export function isSummary(text: unknown): boolean {
  return text === UNSIGNED_SUMMARY || (typeof text === "string" && isMarked(text));
}

/** A provider's own signature has no tag, and whatever it begins with is part of it. */
function isMarked(text: string): boolean {
  const { signature } = readSignature(text, NATIVE_FAMILY);
  return signature !== text && signature.startsWith(SUMMARY);
}
