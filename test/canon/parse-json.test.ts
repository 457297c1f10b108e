import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isJsonObject, type JsonValue, parseJson } from "../../src/canon/json.ts";

const name = fc.oneof(
  fc.constantFrom(
    "\\",
    '"',
    "\n",
    "a\\",
    "a\n",
    "\\u006",
    "model",
    "__proto__",
    "constructor",
    "1",
    "\uE000",
    "\uE0000",
  ),
  fc.string({ unit: "grapheme", maxLength: 4 }),
);
const documents = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: "medium", withCrossShrink: true },
    fc.constantFrom(null, true, 0, "", '{"\\":1}', "\\"),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(name, tie("value"), { maxKeys: 4 }),
  ),
})).value;

/** What a text says, printed without JSON.parse having read it. */
function printed(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(printed).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([member, of]) => `${JSON.stringify(member)}:${printed(of ?? null)}`)
    .join(",")}}`;
}

/** The same text with each character of its names written as an escape. */
function escaped(value: JsonValue): string {
  if (Array.isArray(value)) return `[ ${value.map(escaped).join(" ,\n")} ]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const spell = (member: string): string =>
    Array.from(
      { length: member.length },
      (_, at) => `\\u${member.charCodeAt(at).toString(16).padStart(4, "0")}`,
    ).join("");
  return `{ ${Object.entries(value)
    .map(([member, of]) => `"${spell(member)}"\t: ${escaped(of ?? null)}`)
    .join(",")} }`;
}

/**
 * What another request may have left in the engine: names with a backslash, after any other member.
 */
function poison(first: string): void {
  for (const left of ["\\", "a\\", "\\u006", "\\n"]) {
    JSON.parse(`{${JSON.stringify(first)}:[],${JSON.stringify(left)}:0}`);
    JSON.parse(`{${JSON.stringify(left)}:0}`);
  }
}

describe("reading JSON", () => {
  it.each([
    ['{"h":1,"\\"":2}', ["h", '"']],
    ['{"h":1,"\\n":2}', ["h", "\n"]],
    ['{"h":1,"\\u006d":2}', ["h", "m"]],
    ['{"h":1,"\\u006dodel":2}', ["h", "model"]],
    ['{"h":1,"a\\n":2}', ["h", "a\n"]],
    ['{"\\n":1,"\\u000a":2,"b":3}', ["\n", "b"]],
    ['{"model":1,"\\u006dodel":2,"\\\\":3}', ["model", "\\"]],
    ['{"__proto__":1,"\\u005f_proto__":2,"\\\\":0}', ["__proto__", "\\"]],
  ])("keeps the names of %s after documents with other names", (text, names) => {
    poison("h");
    expect(Object.keys(Object(parseJson(text)))).toEqual(names);
  });

  it("keeps the last of a name that an object has twice, however both are written", () => {
    expect(parseJson('{"\\\\":0,"\\u006d":1,"m":2,"\\u006d":3}')).toEqual({ "\\": 0, m: 3 });
    expect(parseJson('{"\\\\":0,"\\n":1,"\\u000a":2}')).toEqual({ "\\": 0, "\n": 2 });
  });

  it("keeps every document, escaped names included, after documents with other names", () => {
    fc.assert(
      fc.property(documents, (document) => {
        for (const text of [printed(document), escaped(document)]) {
          if (isJsonObject(document)) poison(Object.keys(document)[0] ?? "h");
          expect(printed(parseJson(text))).toBe(printed(document));
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it("passes names to a reviver, and keeps its results", () => {
    const seen: string[] = [];
    poison("h");
    const value = parseJson('{"h":1.0,"\\n":2.50,"\\\\":"x"}', (member, of, { source }) => {
      seen.push(`${JSON.stringify(member)} ${source ?? "-"}`);
      return typeof of === "number" && source !== undefined ? JSON.rawJSON(source) : of;
    });
    expect(JSON.stringify(value)).toBe('{"h":1.0,"\\n":2.50,"\\\\":"x"}');
    expect(seen.slice(-4)).toEqual(['"h" 1.0', '"\\n" 2.50', '"\\\\" "x"', '"" -']);
  });

  it("reads deep nesting, and refuses invalid JSON", () => {
    const deep = `${'{"\\\\":'.repeat(50_000)}0${"}".repeat(50_000)}`;
    expect(isJsonObject(parseJson(deep))).toBe(true);
    for (const text of ["", "{", '{"\\":1}', '{"a":1,}'])
      expect(() => parseJson(text)).toThrow(SyntaxError);
  });
});
