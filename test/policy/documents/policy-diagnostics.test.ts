import { describe, expect, test } from "vitest";
import type { Source } from "../../../src/canon/diagnostic.ts";
import { POLICY_CODES } from "../../../src/policy/codes.ts";
import { compilePolicies } from "../../../src/policy/compile-policies.ts";
import { readSections, readText } from "./document.ts";
import { policySource, toolchain } from "../samples.ts";

const path = "docs/policy-diagnostics.md";
const sections = readSections(path);
const codes = Object.keys(POLICY_CODES);

/** Codes that no example of a page can bring about: a broken installation, and a file that is too large to print. */
const WITHOUT_EXAMPLE = ["POLICY_REGION_UNKNOWN", "POLICY_SLOW", "POLICY_TOOLCHAIN", "POLICY_TOO_LARGE"];

/** What the page's examples without a file name stand for. */
function exampleSource(rules: string): Source {
  const constraints: Record<string, string> = rules.includes(".listed")
    ? { listed: "{effect: require_all, reasons: [NOT_LISTED]}" }
    : { allowed: "{effect: gate, reasons: [NOT_ALLOWED]}" };
  return policySource("example", constraints, rules);
}

/** Files of one section make one example; rules without a file name are an example each. */
const examples = sections.flatMap(({ heading, blocks }) => {
  const rego = blocks.filter(({ language }) => language === "rego");
  const files = rego.filter(({ file }) => file !== "").map(({ file, text }): Source => ({ path: file, text }));
  const alone = rego.filter(({ file }) => file === "").map(({ text }) => [exampleSource(text)]);
  return [...(files.length === 0 ? [] : [files]), ...alone].map((sources, index) => ({
    name: `${heading}, example ${index + 1}`,
    code: heading,
    sources,
  }));
});

describe("docs/policy-diagnostics.md", () => {
  test("has a section for every code, which is its anchor, and none for another", () => {
    expect(sections.map(({ heading }) => heading).toSorted()).toEqual(codes.toSorted());
  });

  test("links to every section", () => {
    const document = readText(path);
    expect(codes.filter((code) => !document.includes(`(#${code.toLowerCase()})`))).toEqual([]);
  });

  test("has an example for every code that an example can bring about", () => {
    const shown = new Set(examples.map(({ code }) => code));
    expect(codes.filter((code) => !shown.has(code)).toSorted()).toEqual(WITHOUT_EXAMPLE);
  });

  test.for(examples)("$name", async ({ code, sources }) => {
    const { diagnostics } = await compilePolicies(sources, { cache: null, toolchain });
    expect(diagnostics.map((diagnostic) => diagnostic.code)).toContain(code);
  });
});
