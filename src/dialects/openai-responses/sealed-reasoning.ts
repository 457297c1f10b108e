import { readSignature, tagSignature } from "../../canon/generate/signature.ts";
import { base64ToText, textToBase64 } from "../../canon/json/text-base64.ts";
import { NATIVE_FAMILY } from "./fields.ts";

/** Stands before the text that a tagged signature signs. Base64 has no colon, so no provider's signature begins with it. */
const SEALED = "text:";

/** What `encrypted_content` holds. */
export interface SealedReasoning {
  readonly family: string;
  readonly signature: string;
  /** The text that was sealed with the signature; empty where none was. */
  readonly text: string;
}

/**
 * `encrypted_content` of reasoning by a model of another protocol. The text that the signature signs goes along: clients keep this member and the summary, and some
 * (AI SDK, opencode) drop `content`, where the text stands too. Without it the next turn would hold a signature of nothing, which providers refuse.
 *
 * @param text full text of the reasoning; empty for a summary, which clients keep.
 */
export function sealReasoning(family: string, signature: string, text: string): string {
  if (text === "") return tagSignature(family, signature);
  return tagSignature(family, `${SEALED}${textToBase64(text)}.${signature}`);
}

/** Reads what {@link sealReasoning} wrote, and every other signature of this protocol. */
export function readSealedReasoning(encrypted: string): SealedReasoning {
  const { family, signature } = readSignature(encrypted, NATIVE_FAMILY);
  // Without our tag it is the provider's own, whatever it begins with.
  if (signature === encrypted || !signature.startsWith(SEALED)) return { family, signature, text: "" };
  const end = signature.indexOf(".");
  if (end === -1) return { family, signature, text: "" };
  const text = base64ToText(signature.slice(SEALED.length, end)) ?? "";
  return { family, signature: signature.slice(end + 1), text };
}
