import type { JsonObject, JsonValue } from "../src/canon/json.ts";

export type { JsonObject, JsonValue };

/** Whether a value is an object with named members. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @throws {SyntaxError} for text that is not JSON; its message quotes the text. */
export function parseJson(text: string): JsonValue {
  const value: JsonValue = JSON.parse(text);
  return value;
}
