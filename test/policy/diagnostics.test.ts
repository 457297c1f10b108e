import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { POLICY_CODES } from "../../src/policy/codes.ts";
import { compilePolicies } from "../../src/policy/compile-policies.ts";
import { parseCase, printDiagnostics } from "./case-file.ts";
import { toolchain } from "./samples.ts";

const folder = new URL("./cases/", import.meta.url);
const cases = readdirSync(folder)
  .toSorted()
  .map((name) => ({
    name,
    ...parseCase(readFileSync(new URL(name, folder), "utf8")),
  }));

/** Codes that no file can bring about: a broken installation. */
const NOT_FROM_FILES = [
  "POLICY_REGION_UNKNOWN",
  "POLICY_SLOW",
  "POLICY_TOOLCHAIN",
  "POLICY_TOO_LARGE",
  "POLICY_WORD_UNKNOWN",
];

describe("diagnostics of policies", () => {
  test.for(cases)("$name: $about", async ({ sources, expected }) => {
    const { diagnostics, policies, modules } = await compilePolicies(sources, {
      cache: null,
      toolchain,
    });
    expect(printDiagnostics(diagnostics)).toBe(expected);
    const failed = diagnostics.some(({ severity }) => severity === "error");
    expect(modules.length).toBe(failed ? 0 : 1);
    expect(policies.length > 0).toBe(!failed);
  });

  test("there is a case for every code", () => {
    const expected = cases.map((one) => one.expected).join("");
    const missing = Object.keys(POLICY_CODES).filter((code) => !expected.includes(` ${code}: `));
    expect(missing.toSorted()).toEqual(NOT_FROM_FILES.toSorted());
  });
});
