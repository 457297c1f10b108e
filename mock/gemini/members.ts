import { isJsonObject, type JsonObject } from "../json.ts";
import { objectsAt } from "../members.ts";

/**
 * An object of the protocol with its members by their names in JSON; the protocol takes
 * `snake_case` as well. Empty for anything else.
 */
export function message(value: unknown): JsonObject {
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [camelCase(name), member]),
  );
}

/** The objects of the protocol in the list that a member holds. */
export function messagesAt(object: JsonObject, name: string): readonly JsonObject[] {
  return objectsAt(object, name).map(message);
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
