import type { JsonObject, JsonValue } from "../../../../src/canon/json.ts";
import type { ProtocolHeaders } from "../../../../src/canon/request.ts";

/**
 * One thing that a request may say, said in a body that is small otherwise. A row of
 * docs/translation-matrix.md.
 */
export interface Probe {
  /** What the row is called. */
  readonly says: string;
  /** Registered members whose row this is one of. */
  readonly of: readonly string[];
  /** Members instead of the smallest body's. */
  readonly body: JsonObject;
  readonly headers: ProtocolHeaders | null;
}

/**
 * A probe of one top-level member: `value` is what stands there, `beside` what must stand with it.
 */
export function member(
  name: string,
  says: string,
  value: JsonValue,
  beside: JsonObject = {},
): Probe {
  return {
    says: says === "" ? `\`${name}\`` : `\`${name}\`: ${says}`,
    of: [name],
    body: { ...beside, [name]: value },
    headers: null,
  };
}

/** A probe of something that stands deeper in a member. */
export function inside(name: string, says: string, body: JsonObject): Probe {
  return { says, of: [name], body, headers: null };
}

export const PIXELS = "iVBORw0KGgo=";
export const PDF = "JVBERi0xLjc=";
export const TEXT = "cGxhaW4=";
export const TAGGED_SIGNATURE = "sbx1.family.c2lnbmF0dXJl";

export const SCHEMA = {
  type: "object",
  properties: { degrees: { type: "number" } },
  required: ["degrees"],
  additionalProperties: false,
} as const;
export const PARAMETERS = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
} as const;
export const PREFERENCES = { allow_fallbacks: false } as const;
