import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { makeKeyText, parseKeyText } from "../../src/keys/key-text.ts";
import { codePoint } from "../support/code-point.ts";

const SHAPE = /^sbx_[a-z0-9]{1,16}_[0-9A-Za-z]{12}_[0-9A-Za-z]{39}$/;
const environments = fc.stringMatching(/^[a-z0-9]{1,16}$/);
/**
 * Bytes for the whole key; the generator begins again when it runs out, as real randomness would go
 * on.
 */
const bytes = fc
  .uint8Array({ minLength: 64, maxLength: 64 })
  .filter((list) => list.some((byte) => byte < 248));

function from(list: Uint8Array): (size: number) => Uint8Array {
  let position = 0;
  return (size) => Uint8Array.from({ length: size }, () => list[position++ % list.length] ?? 0);
}

describe("makeKeyText and parseKeyText", () => {
  it("agree on every environment and all random bytes", () => {
    fc.assert(
      fc.property(environments, bytes, (environment, list) => {
        const { text, publicId } = makeKeyText(from(list), environment);
        expect(text).toMatch(SHAPE);
        expect(parseKeyText(text)).toEqual({ publicId, environment });
      }),
    );
  });

  it("refuse every key with one character changed, omitted, doubled, or two neighbours swapped", () => {
    const { text } = makeKeyText(randomBytes, "production");
    for (let index = 0; index < text.length; index += 1) {
      const before = text.slice(0, index);
      const rest = text.slice(index + 1);
      const character = text.charAt(index);
      const swapped = before + rest.charAt(0) + character + rest.slice(1);
      const variants = [before + rest, before + character + character + rest];
      for (const other of "0aZz_é") if (other !== character) variants.push(before + other + rest);
      if (swapped !== text) variants.push(swapped);
      for (const variant of variants) expect(parseKeyText(variant), variant).toBeNull();
    }
  });

  it.each([
    "",
    "sbx_",
    "sk-proj-abc",
    `sbx_${"a".repeat(70)}`,
    `sbx_prod_${"a".repeat(12)}_${"a".repeat(39)}`,
  ])("refuse %j", (text) => {
    expect(parseKeyText(text)).toBeNull();
  });

  it("refuse arbitrary text without throwing", () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint, maxLength: 100 }), (text) => {
        expect(parseKeyText(text)).toBeNull();
      }),
    );
  });

  it.each(["", "Production", "a_b", "a".repeat(17), "é"])(
    "refuse the environment %j",
    (environment) => {
      expect(() => makeKeyText(randomBytes, environment)).toThrow("environment: give 1 to 16");
    },
  );

  it("skip the bytes that would make some characters likelier than others", () => {
    const { text } = makeKeyText(from(Uint8Array.of(248, 255, 61, 250, 0)), "e");
    expect(text.slice(6, 18)).toBe("z0z0z0z0z0z0");
    expect(text.slice(19, 52)).toMatch(/^[z0]{33}$/);
  });

  it("hold at least 192 bits of secret", () => {
    const secret = makeKeyText(randomBytes, "e").text.slice(19, 52);
    expect(secret.length * Math.log2(62)).toBeGreaterThanOrEqual(192);
  });
});
