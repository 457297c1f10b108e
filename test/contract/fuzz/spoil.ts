import fc from "fast-check";
import { isJsonObject, type JsonValue } from "../../../src/canon/json.ts";

/** Values that programs trip over. */
const ODD: readonly JsonValue[] = [
  null,
  true,
  0,
  -1,
  -0,
  1.5,
  1e308,
  9_007_199_254_740_992,
  "",
  "\u0000",
  "\ud800",
  "🦊".repeat(40),
  "__proto__",
  "constructor",
  [],
  {},
  [[]],
  [null],
  { constructor: { prototype: { polluted: true } } },
  { type: "__proto__" },
];

const NAMES = [
  "__proto__",
  "constructor",
  "toString",
  "",
  "a b",
  "x".repeat(300),
  "model",
  "messages",
  "\u2028",
];

/** What is done to a value, at a position that a number names. */
export type Spoiling =
  | { readonly what: "replace"; readonly at: number; readonly by: JsonValue }
  | { readonly what: "remove"; readonly at: number }
  | { readonly what: "add"; readonly at: number; readonly name: string; readonly by: JsonValue }
  | { readonly what: "wrap"; readonly at: number; readonly levels: number };

export const spoilings: fc.Arbitrary<readonly Spoiling[]> = fc.array(
  fc.oneof(
    fc.record({ what: fc.constant("replace" as const), at: fc.nat(), by: fc.constantFrom(...ODD) }),
    fc.record({ what: fc.constant("remove" as const), at: fc.nat() }),
    fc.record({
      what: fc.constant("add" as const),
      at: fc.nat(),
      name: fc.constantFrom(...NAMES),
      by: fc.constantFrom(...ODD),
    }),
    fc.record({
      what: fc.constant("wrap" as const),
      at: fc.nat(),
      levels: fc.constantFrom(1, 3, 120),
    }),
  ),
  { maxLength: 3 },
);

/** A copy with all of it done; the root of the value goes last. */
export function spoiled(value: JsonValue, done: readonly Spoiling[]): JsonValue {
  let copy = value;
  for (const spoiling of done) {
    const count = positionsIn(copy);
    copy = at(copy, { left: spoiling.at % count }, spoiling) ?? null;
  }
  return copy;
}

function positionsIn(value: JsonValue): number {
  return 1 + membersOf(value).reduce((sum, [, member]) => sum + positionsIn(member), 0);
}

function membersOf(value: JsonValue): readonly (readonly [string, JsonValue])[] {
  if (Array.isArray(value))
    return value.map((item: JsonValue, index): readonly [string, JsonValue] => [
      String(index),
      item,
    ]);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).map(([name, member]): readonly [string, JsonValue] => [
    name,
    member ?? null,
  ]);
}

/** `undefined`: it has gone. */
function at(
  value: JsonValue,
  position: { left: number },
  spoiling: Spoiling,
): JsonValue | undefined {
  if (position.left === 0) {
    position.left -= 1;
    return changed(value, spoiling);
  }
  position.left -= 1;
  const members = membersOf(value).map(
    ([name, member]): readonly [string, JsonValue | undefined] => [
      name,
      position.left < 0 ? member : at(member, position, spoiling),
    ],
  );
  const left = members.filter((row): row is readonly [string, JsonValue] => row[1] !== undefined);
  if (Array.isArray(value)) return left.map(([, member]) => member);
  return isJsonObject(value) ? fromEntries(left) : value;
}

function changed(value: JsonValue, spoiling: Spoiling): JsonValue | undefined {
  switch (spoiling.what) {
    case "replace":
      return spoiling.by;
    case "remove":
      return undefined;
    case "add":
      return isJsonObject(value)
        ? fromEntries([...membersOf(value), [spoiling.name, spoiling.by]])
        : spoiling.by;
    case "wrap": {
      let wrapped = value;
      for (let level = 0; level < spoiling.levels; level += 1) wrapped = [wrapped];
      return wrapped;
    }
  }
}

/** With a member `__proto__` as JSON has it: one of its own. */
function fromEntries(members: readonly (readonly [string, JsonValue])[]): JsonValue {
  const object: Record<string, JsonValue> = {};
  for (const [name, value] of members) {
    Object.defineProperty(object, name, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return object;
}

/** Texts that are no JSON object, made of one that is. */
export const TEXTS: readonly ((json: string) => string | Uint8Array<ArrayBuffer>)[] = [
  (json) => json.slice(0, -1),
  () => "",
  () => "null",
  () => "[]",
  (json) => `${json}${json}`,
  (json) => `{"model":"chat-small",${json.slice(1)}`,
  (json) => `\ufeff${json}`,
  (json) => new Uint8Array([...Buffer.from(json.slice(0, -1)), 0xff, 0xfe, 0x7d]),
  () => `${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`,
  (json) => json.replace(/:/g, ":1e999,"),
];
