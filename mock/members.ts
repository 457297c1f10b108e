import { isJsonObject, type JsonObject } from "./json.ts";

/** The number that a value is, within bounds; `otherwise` where it is no number. */
export function numberWithin<Default>(
  value: unknown,
  least: number,
  most: number,
  otherwise: Default,
): number | Default {
  return typeof value === "number" ? Math.min(Math.max(value, least), most) : otherwise;
}

/** The limit that a request sets on an amount; `null` where it sets none. */
export function limitAt(object: JsonObject, name: string): number | null {
  return numberWithin(object[name], 0, Infinity, null);
}

/** The texts of a member that holds one or a list of them; empty ones count for nothing. */
export function textsOf(value: unknown): readonly string[] {
  const texts: readonly unknown[] = Array.isArray(value) ? value : [value];
  return texts.filter((text): text is string => typeof text === "string" && text !== "");
}

/** The list that a member holds; empty where it holds none. */
export function listAt(object: JsonObject, name: string): readonly unknown[] {
  const value: unknown = object[name];
  return Array.isArray(value) ? value : [];
}

/** The objects of the list that a member holds. */
export function objectsAt(object: JsonObject, name: string): readonly JsonObject[] {
  return listAt(object, name).filter(isJsonObject);
}

/** The object that a member holds; empty where it holds none. */
export function objectAt(object: JsonObject, name: string): JsonObject {
  const value = object[name];
  return isJsonObject(value) ? value : {};
}

/** The texts of the list that a member holds, empty ones too; what is no text is omitted. */
export function textsAt(object: JsonObject, name: string): readonly string[] {
  return listAt(object, name).filter((item): item is string => typeof item === "string");
}

/** The text that a member holds; empty where it holds none. */
export function textAt(object: JsonObject, name: string): string {
  const value = object[name];
  return typeof value === "string" ? value : "";
}
