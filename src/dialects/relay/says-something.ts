import { isJsonObject, type JsonValue } from "../../canon/json.ts";

/** Names beneath a member that say what it is and which one it is, and nothing of what it tells. */
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
 * Whether one of an object's members tells something: a text of at least one character, itself or beneath it. Providers open streams, blocks and
 * items with every member that there could be, empty; that is no output yet.
 */
export function saysSomething(value: JsonValue | undefined, members: readonly string[]): boolean {
  return isJsonObject(value) && members.some((name) => holdsText(value[name]));
}

function holdsText(value: JsonValue | undefined): boolean {
  if (typeof value === "string") return value !== "";
  if (Array.isArray(value)) return value.some((item) => holdsText(item));
  if (!isJsonObject(value)) return false;
  return Object.keys(value).some((name) => !LABELS.has(name) && holdsText(value[name]));
}
