import { readSignature, relayedSignature, tagSignature } from "../../canon/generate/signature.ts";
import { isJsonObject, type JsonObject } from "../../canon/json.ts";
import { base64ToText, textToBase64 } from "../../canon/json/text-base64.ts";
import { mapObjects, withMember, withObject } from "../json.ts";
import { NATIVE_FAMILY } from "./request-facts.ts";

/**
 * Stands before the text that a tagged signature signs. Base64 has no colon, so no provider's
 * signature begins with it.
 */
const SEALED = "text:";

/** Content of `encrypted_content`. */
interface SealedReasoning {
  readonly family: string;
  readonly signature: string;
  /** The text that was sealed with the signature; empty where none was. */
  readonly text: string;
}

/**
 * `encrypted_content` of reasoning by a model of another protocol. The text that the signature
 * signs goes along: clients keep this member and the summary, and some (AI SDK, opencode) drop
 * `content`, where the text stands too. Without it the next turn would hold a signature of nothing,
 * which providers refuse.
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
  if (signature === encrypted || !signature.startsWith(SEALED))
    return { family, signature, text: "" };
  const end = signature.indexOf(".");
  if (end === -1) return { family, signature, text: "" };
  const text = base64ToText(signature.slice(SEALED.length, end)) ?? "";
  return { family, signature: signature.slice(end + 1), text };
}

/** A response resource with its encrypted reasoning tagged for the client. */
export function tagResource(response: JsonObject, family: string | null): JsonObject {
  return withMember(response, "output", (output) =>
    mapObjects(output, (item) => tagItem(item, family)),
  );
}

/** The same for an event of a stream, which holds an item or a resource. */
export function tagEvent(event: JsonObject, family: string | null): JsonObject {
  return isJsonObject(event.item)
    ? withObject(event, "item", (item) => tagItem(item, family))
    : withObject(event, "response", (response) => tagResource(response, family));
}

/** Reasoning and compacted conversations are sealed in the same member. */
function tagItem(item: JsonObject, family: string | null): JsonObject {
  return withMember(item, "encrypted_content", (sealed) =>
    typeof sealed === "string" ? relayedSignature(sealed, family, NATIVE_FAMILY) : sealed,
  );
}
