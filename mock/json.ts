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

/**
 * The object that a JSON text holds; `null` where the text is cut, is not JSON, or holds something
 * else.
 */
export function parseObject(text: string): JsonObject | null {
  try {
    const value = parseJson(text);
    return isJsonObject(value) ? value : null;
  } catch {
    // The error would quote the text.
    return null;
  }
}
