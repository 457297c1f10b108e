import type { JsonObject } from "../../canon/json.ts";

/** What all items of a list are, where its first item is of a type. */
export interface ItemsOfType {
  readonly type: "string" | "number" | "array" | "object";
  readonly items: JsonObject;
}

/**
 * Members of a JSON Schema (2020-12) for a list whose items are all of one kind, of several that it may be. The first item tells which, so that
 * what is refused is the item that is wrong; with `anyOf` a validator could only name a list that nobody meant. Says nothing of what is no list.
 */
export function itemsByFirst([kind, ...others]: readonly ItemsOfType[], tried: readonly string[] = []): JsonObject {
  if (kind === undefined) return { prefixItems: [{ type: tried }] };
  return {
    if: { type: "array", minItems: 1, prefixItems: [{ type: kind.type }] },
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    then: { items: kind.items },
    else: itemsByFirst(others, [...tried, kind.type]),
  };
}
