import { isJsonObject, type JsonValue } from "../canon/json.ts";

/** The member that an object itself has, never one of its prototype; `undefined` where it has none, or the value is no object. */
export function memberIn(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** A list of an answer; `null` where it is none. */
export function listIn(value: JsonValue | undefined, name: string): readonly JsonValue[] | null {
  const list = memberIn(value, name);
  return Array.isArray(list) ? list : null;
}

/** A count of an answer; `null` where there is none, or a number that counts nothing: Bedrock says -1 for what it does not know. */
export function readCount(value: JsonValue | undefined): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

export function countIn(value: JsonValue | undefined, name: string): number | null {
  return readCount(memberIn(value, name));
}

/** Empty where the value is no text. */
export function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

/** A text of an answer; `null` where it is none or empty. */
export function textIn(value: JsonValue | undefined, name: string): string | null {
  const text = memberIn(value, name);
  return typeof text === "string" && text !== "" ? text : null;
}
