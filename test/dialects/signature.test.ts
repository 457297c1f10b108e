import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readSignature, tagSignature } from "../../src/canon/generate/signature.ts";

describe("signatures of reasoning", () => {
  it("are returned with their family", () => {
    const families = fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,20}$/);
    fc.assert(
      fc.property(families, fc.string(), (family, signature) => {
        expect(readSignature(tagSignature(family, signature), "own")).toEqual({
          family,
          signature,
        });
      }),
    );
  });

  it.each([
    "",
    "EqQBCkYIBBgC",
    "sbx1.",
    "sbx1.no-end",
    "sbx1.Not A Family.rest",
    `sbx1.${"x".repeat(80)}.rest`,
  ])("without a tag of ours belong to the protocol: %s", (signature) => {
    expect(readSignature(signature, "own")).toEqual({ family: "own", signature });
  });
});
