import { isJsonObject, type JsonValue } from "../../canon/json.ts";

/** Names beneath a member that say what it is and which one it is, and hold none of its content. */
const LABELS: ReadonlySet<string> = new Set([
  "type",
  "id",
  "call_id",
  "item_id",
  "tool_use_id",
  "object",
  "role",
  "status",
  "format",
]);

/**
 * The number of UTF-16 code units of text in the given members of an object, and beneath them. Providers open streams, blocks and items with every
 * member that there could be, empty; 0 means that there is no output yet.
 */
export function outputCharacters(value: JsonValue | undefined, members: readonly string[]): number {
  if (!isJsonObject(value)) return 0;
  let sum = 0;
  for (const name of members) sum += charactersIn(value[name]);
  return sum;
}

/** The same for one value, with everything beneath it. */
export function charactersIn(value: JsonValue | undefined): number {
  if (typeof value === "string") return value.length;
  let sum = 0;
  if (Array.isArray(value)) {
    for (const item of value) sum += charactersIn(item);
  } else if (isJsonObject(value)) {
    for (const name in value) if (!LABELS.has(name)) sum += charactersIn(value[name]);
  }
  return sum;
}
