import fc from "fast-check";
import { expect, test } from "vitest";
import { awkwardCuts, evenCuts } from "../../mock/split.ts";
import { codePoint } from "../support/code-point.ts";

test("no byte is lost or reordered by any cut", () => {
  fc.assert(
    fc.property(fc.string({ unit: codePoint }), fc.integer({ min: 1, max: 9 }), (text, size) => {
      const bytes = Buffer.from(text);
      for (const pieces of [awkwardCuts(bytes), evenCuts(bytes, size)]) {
        expect(Buffer.concat(pieces)).toEqual(bytes);
        expect(pieces.every((piece) => piece.length > 0)).toBe(true);
      }
    }),
  );
});

test("awkward cuts are within characters, within CRLF and blank lines, within field names", () => {
  const pieces = awkwardCuts(Buffer.from('event: a\r\ndata: {"x":"é🚦:"}\r\n\r\n'));
  expect(pieces.map((piece) => piece.toString("latin1")).join("|")).toBe(
    'e|vent|:| a|\r|\n|d|ata|:| {"x":"Ã|©ð|\u009f|\u009a|¦:"}|\r|\n|\r|\n',
  );
});

test("even cuts have the size requested", () => {
  expect(evenCuts(Buffer.from("abcde"), 2).map(String)).toEqual(["ab", "cd", "e"]);
});
