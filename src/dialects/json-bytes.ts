import type { JsonValue } from "../canon/json.ts";

const strict = new TextDecoder("utf-8", { fatal: true });

/**
 * Parses bytes as JSON; `undefined` where they are not. The engine's error is thrown away on purpose: it quotes the text
 * (style.md §5.3).
 */
export function parseJsonBytes(bytes: Uint8Array): JsonValue | undefined {
  try {
    return parseJsonText(strict.decode(bytes));
  } catch {
    return undefined;
  }
}

/** The same for text. */
export function parseJsonText(text: string): JsonValue | undefined {
  try {
    const value: JsonValue = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}

/** Whether a value is nested more deeply than `limit`; serialising or walking such a value would overflow the stack. */
export function isDeeperThan(value: JsonValue | undefined, limit: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (limit === 0) return true;
  const members: readonly (JsonValue | undefined)[] = Array.isArray(value) ? value : Object.values(value);
  return members.some((member) => isDeeperThan(member, limit - 1));
}
