import { relayedSignature } from "../../../canon/generate/signature.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import { NATIVE_FAMILY } from "../fields.ts";

/** A response resource with its encrypted reasoning tagged for the client; the resource itself where nothing changes. */
export function tagResource(response: JsonObject, family: string | null): JsonObject {
  const { output } = response;
  if (!Array.isArray(output)) return response;
  const tagged = output.map((item: JsonValue) => (isJsonObject(item) ? tagItem(item, family) : item));
  return tagged.every((item, index) => item === output[index]) ? response : { ...response, output: tagged };
}

/** The same for an event of a stream, which holds an item or a resource. */
export function tagEvent(event: JsonObject, family: string | null): JsonObject {
  const { item, response } = event;
  if (isJsonObject(item)) {
    const tagged = tagItem(item, family);
    return tagged === item ? event : { ...event, item: tagged };
  }
  if (!isJsonObject(response)) return event;
  const tagged = tagResource(response, family);
  return tagged === response ? event : { ...event, response: tagged };
}

/** Reasoning and compacted conversations are sealed in the same member. */
function tagItem(item: JsonObject, family: string | null): JsonObject {
  const { encrypted_content: sealed } = item;
  if (typeof sealed !== "string") return item;
  const tagged = relayedSignature(sealed, family, NATIVE_FAMILY);
  return tagged === sealed ? item : { ...item, encrypted_content: tagged };
}
