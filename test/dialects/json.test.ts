import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseJsonBytes } from "../../src/dialects/json.ts";

const encoder = new TextEncoder();
const parse = (text: string) => parseJsonBytes(encoder.encode(text));

describe("numbers of a body", () => {
  it.each([
    "12345678901234567890",
    "-9007199254740993",
    "1e999",
    "-1E+400",
    "1e-999",
    "12345678901234567890.5",
    "1234567890123456.7e10",
  ])("%s is kept as its text, because a double cannot hold it", (source) => {
    for (const text of [source, `{"a":${source}}`, `[1, ${source}]`, `{"a":{"b":[\n${source}]}}`]) {
      const value = parse(text);
      expect(JSON.stringify(value)).toBe(text.replaceAll(/[ \n]/g, ""));
    }
    expect(typeof parse(source)).toBe("object");
  });

  it.each([
    ["9007199254740991", 9_007_199_254_740_991],
    ["9007199254740992", 9_007_199_254_740_992],
    ["0.30000000000000004", 0.1 + 0.2],
    ["0.1000000000000000055511151231257827", 0.1],
    ["1e100", 1e100],
    ["1000000000000000000000", 1e21],
    ["0.0000000000000000", 0],
    ["0e999", 0],
    ["-1.7976931348623157e308", -Number.MAX_VALUE],
  ])("%s is a number", (source, number) => {
    expect(parse(source)).toBe(number);
  });

  it("text that looks like a number is unchanged", () => {
    const value = { text: ": 12345678901234567890 1e999", list: ["[1e999]"] };
    expect(parse(JSON.stringify(value))).toEqual(value);
  });

  it("every whole number is printed unchanged, and every value of JSON.stringify", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 69n), max: 2n ** 69n }), (whole) => {
        const printed = JSON.stringify(parse(`{"a":${whole}}`));
        const back = printed.slice(5, -1);
        expect(back).toBe(String(whole));
      }),
    );
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(JSON.stringify(parse(text))).toBe(JSON.stringify(JSON.parse(text)));
      }),
    );
  });

  it("parsing returns undefined for invalid JSON or UTF-8, and survives any depth", () => {
    expect(parse('{"a":1e999')).toBeUndefined();
    expect(parseJsonBytes(new Uint8Array([34, 0xff, 34]))).toBeUndefined();
    const depth = 100_000;
    expect(parse(`${"[".repeat(depth)}1e999${"]".repeat(depth)}`)).toBeInstanceOf(Array);
  });
});
