import type { JsonObject } from "../../../canon/json.ts";

/** What an event of one type has, every member of it. */
export function demanded(type: string, members: Readonly<Record<string, JsonObject>>): JsonObject {
  return {
    if: { required: ["type"], properties: { type: { const: type } } },
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    then: { required: Object.keys(members), properties: members },
  };
}
