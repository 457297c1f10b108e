import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isJsonObject, type JsonValue, parseJson } from "../../../../src/canon/json.ts";
import { parseAnswerBytes } from "../../../../src/dialects/json.ts";
import { cutVectors, type CutAnswer } from "../../../../src/dialects/unary/cut-vectors.ts";
import { cpuTimeOf } from "../../../support/cpu-time.ts";
import { inPieces, wire } from "./target.ts";

/** What the answer was before its vectors were cut out. */
function putBack({ body, vectorAt }: CutAnswer): JsonValue {
  const walk = (value: JsonValue): JsonValue => {
    const vector = vectorAt(value);
    if (typeof vector !== "string") return JSON.parse(vector.text);
    if (Array.isArray(value)) return value.map(walk);
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, walk(member ?? null)]),
    );
  };
  return walk(body);
}

function cut(text: string): CutAnswer {
  const answer = cutVectors(inPieces(wire(text)));
  if (answer === null) throw new Error(`not read: ${text}`);
  return answer;
}

const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.float({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.constantFrom(0, -0, 5e-324, 1.7976931348623157e308, 1e100, -1e-100),
);
const vector = fc.array(number, { minLength: 1, maxLength: 40 });
const text = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.constantFrom("\\", '"', '\\"', "[1,2]", '"[1', "\\\\", "ü—\u{1f600}"),
);
const documents = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: "medium", withCrossShrink: true },
    vector,
    text,
    number,
    fc.constantFrom(null, true, false),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(text, tie("value"), { maxKeys: 4 }),
  ),
})).value;
const spaces = fc.constantFrom<number | string>(0, 1, 2, "\t", " \n");

describe("vectors cut out of an answer", () => {
  it("restore the answer when they are inserted again, in every notation", () => {
    fc.assert(
      fc.property(documents, spaces, (document, space) => {
        const printed = JSON.stringify(document, null, space);
        expect(putBack(cut(printed))).toEqual(parseJson(printed));
      }),
      { numRuns: 1_000 },
    );
  });

  it("are refused exactly where the engine's parser refuses the answer, for damage at every byte", () => {
    const damage = fc.array(
      fc.tuple(fc.nat(), fc.constantFrom(...wire('"[]{},:-+.eE019\\ n\u0000'), 0xc3, 0xff)),
      {
        minLength: 1,
        maxLength: 3,
      },
    );
    let kept = 0;
    fc.assert(
      fc.property(documents, damage, fc.option(fc.nat()), (document, positions, length) => {
        const bytes = wire(document);
        for (const [position, byte] of positions) {
          bytes[position % bytes.length] = byte;
        }
        const damaged = length === null ? bytes : bytes.slice(0, length % (bytes.length + 1));
        const answer = cutVectors(inPieces(damaged));
        const parsed = parseAnswerBytes(damaged);
        expect(answer === null).toBe(parsed === undefined);
        if (answer === null) return;
        kept += 1;
        expect(putBack(answer)).toEqual(parsed);
      }),
      { numRuns: 3_000 },
    );
    expect(kept).toBeGreaterThan(100);
  });

  it("keep their text while other answers are read", () => {
    const first = cut('{"a":[1,2,3]}');
    const second = cut('{"b":[4,5,6]}');
    const at = ({ body, vectorAt }: CutAnswer, name: string): unknown =>
      vectorAt(isJsonObject(body) ? body[name] : null);
    expect([at(first, "a"), at(second, "b")]).toMatchObject([
      { text: "[1,2,3]" },
      { text: "[4,5,6]" },
    ]);
  });

  it("keep the text that their provider wrote", () => {
    const { body, vectorAt } = cut('{"a" : [ -1.50E+2,\n0.10 , 3e-05,0]}');
    expect(vectorAt(isJsonObject(body) ? body.a : null)).toEqual({
      dimension: 4,
      encoding: "float",
      text: "[ -1.50E+2,\n0.10 , 3e-05,0]",
    });
  });

  it.each([
    ["a number longer than its value", `[${"9".repeat(300)}]`, 1],
    ["an exponent of three digits", "[1e300, -1e-300]", 2],
    ["an exponent with zeros before it", "[1e+0000001]", 1],
    ["what is too small to be held", "[1e-999]", 1],
    ["one number", "[0]", 1],
  ])("keep the text of an array with %s", (_what, array, dimension) => {
    const { body, vectorAt } = cut(array);
    expect(vectorAt(body)).toEqual({ dimension, encoding: "float", text: array });
  });

  it.each([
    ["nothing", "[]", "vector_malformed"],
    ["null", "[1,null]", "vector_malformed"],
    ["null first", "[null,1]", "vector_malformed"],
    ["a text", '[1,"2"]', "vector_malformed"],
    ["texts only", '["1"]', "vector_malformed"],
    ["another list", "[1,[2]]", "vector_malformed"],
    ["lists only", "[[1],[2]]", "vector_malformed"],
    ["an object", "[1,{}]", "vector_malformed"],
    ["no list", "1", "vector_malformed"],
    ["too large an exponent", "[1,1e999]", "vector_not_finite"],
    ["too large an exponent alone", "[-1e999]", "vector_not_finite"],
    ["too many digits", `[${"9".repeat(310)}]`, "vector_not_finite"],
    ["many digits and a small exponent", `[${"9".repeat(250)}e99]`, "vector_not_finite"],
  ])("are a fault where one has %s", (_what, array, fault) => {
    const { body, vectorAt } = cut(array);
    expect(vectorAt(body)).toBe(fault);
  });

  it.each([
    "[NaN]",
    "[1,NaN]",
    "[Infinity]",
    "[01]",
    "[1.]",
    "[.5]",
    "[+1]",
    "[1,]",
    "[1 2]",
    "[1e]",
    "[-]",
    "[0x1]",
    "[1",
    "{",
  ])("do not turn %s into valid JSON", (array) => {
    expect(cutVectors(inPieces(wire(array)))).toBeNull();
  });

  it("are not confused by a provider that writes their placeholder", () => {
    const answer = cut('{"secret":[7,8],"forged":[0],"text":"[0]","list":[[0]]}');
    const body = isJsonObject(answer.body) ? answer.body : {};
    expect(answer.vectorAt(body.forged)).toMatchObject({ text: "[0]" });
    expect(answer.vectorAt(body.text)).toBe("vector_malformed");
    expect(answer.vectorAt([99])).toBe("vector_not_finite");
    expect(putBack(answer)).toEqual({ secret: [7, 8], forged: [0], text: "[0]", list: [[0]] });
  });

  it("do not turn invalid UTF-8 into valid JSON, in and beside vectors", () => {
    const bytes = wire('{"a":"x","b":[1,2]}');
    for (const position of bytes.keys()) {
      const damaged = Uint8Array.from(bytes);
      damaged[position] = 0xff;
      expect(cutVectors(inPieces(damaged))).toBeNull();
    }
    expect(cutVectors(inPieces(wire('{"b":[1,2]\uFEFF,"a":1}')))).toBeNull();
  });

  it("are looked for as deep as any answer is nested, and no deeper", () => {
    const nested = (depth: number): string => `${"[".repeat(depth)}1${"]".repeat(depth)}`;
    expect(cutVectors(inPieces(wire(nested(500))))).not.toBeNull();
    expect(cutVectors(inPieces(wire(nested(501))))).toBeNull();
    expect(cutVectors(inPieces(wire(nested(200_000))))).toBeNull();
  });

  it("are found in time linear in the answer, hostile ones too", () => {
    const size = 400_000;
    const hostile = ["[1,", '"\\', '\\"', "[[", '"', "[1e9,", "[-"].map((piece) =>
      piece.repeat(size / piece.length),
    );
    const time = cpuTimeOf(() => {
      for (const piece of hostile) expect(cutVectors(inPieces(wire(`"${piece}`)))).toBeNull();
      for (const piece of hostile) expect(cutVectors(inPieces(wire(piece)))).toBeNull();
    });
    // A look at every byte for every byte would take minutes.
    expect(time).toBeLessThan(5_000);
  });
});
