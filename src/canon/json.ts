/** Any JSON value (RFC 8259). */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;

/** A JSON object. Look names from outside up with `Object.hasOwn`: `constructor` is a name too. */
export interface JsonObject {
  readonly [name: string]: JsonValue | undefined;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * The canonical text of a JSON value: members sorted by UTF-16 code units, no white space, numbers and strings as
 * ECMAScript prints them (RFC 8785). Members whose value is `undefined` are left out, as JSON.stringify does.
 *
 * @throws {TypeError} for a number that JSON cannot say (NaN, infinities); that is a bug of the caller.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === "boolean" || typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new TypeError("canonicalJson: a number that is not finite has no JSON form");
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(",")}]`;
  if (typeof value !== "object") throw new TypeError(`canonicalJson: ${typeof value} has no JSON form`);
  const members: string[] = [];
  for (const [name, member] of Object.entries(value).toSorted(byCodeUnit)) {
    if (member !== undefined) members.push(`${JSON.stringify(name)}:${canonicalJson(member)}`);
  }
  return `{${members.join(",")}}`;
}

function byCodeUnit([left]: readonly [string, unknown], [right]: readonly [string, unknown]): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Freezes a tree of plain JSON in place and gives it back; later writes throw instead of changing a shared table. */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFreeze(member);
  }
  return value;
}
