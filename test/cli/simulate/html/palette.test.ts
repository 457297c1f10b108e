import { describe, expect, test } from "vitest";
import { DARK, LIGHT } from "../../../../src/cli/simulate/formats/html/style.ts";

/** Relative luminance and contrast as WCAG 2.2 defines them. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((start) => {
    const part = Number.parseInt(colour.slice(start, start + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(left: string, right: string): number {
  const [light = 0, dark = 0] = [luminance(left), luminance(right)].toSorted(
    (one, other) => other - one,
  );
  return (light + 0.05) / (dark + 0.05);
}

describe.each([
  ["light", LIGHT],
  ["dark", DARK],
])("the %s palette", (_name, { paper, card, ink, muted, link, tones }) => {
  const texts = Object.entries({
    ink,
    muted,
    link,
    ...Object.fromEntries(Object.entries(tones).map(([tone, [text]]) => [tone, text])),
  });

  test.each(texts)("%s can be read on the page and on cards", (_text, colour) => {
    expect(contrast(colour, paper)).toBeGreaterThanOrEqual(4.5);
    expect(contrast(colour, card)).toBeGreaterThanOrEqual(4.5);
  });

  test.each(Object.entries(tones))("a label of the tone %s can be read", (_tone, [text, wash]) => {
    expect(contrast(text, wash)).toBeGreaterThanOrEqual(4.5);
  });

  test("a command can be read", () => {
    expect(contrast(ink, tones.quiet[1])).toBeGreaterThanOrEqual(4.5);
  });
});
