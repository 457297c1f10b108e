import { expect, test } from "vitest";
import type { Source } from "../../../src/canon/diagnostic.ts";
import { compilePolicies } from "../../../src/policy/compile-policies.ts";
import { readSections } from "./document.ts";
import { toolchain } from "../samples.ts";

const blocks = readSections("docs/writing-a-policy.md").flatMap((section) => section.blocks);
// Rules without a file are the traps at the end of the page.
const rego = blocks.filter(({ language, file }) => language === "rego" && file !== "");
const files = rego
  .filter(({ file }) => !file.startsWith(">> "))
  .map(({ file, text }): Source => ({ path: file, text: `${text}\n` }));
const addition = rego
  .filter(({ file }) => file.startsWith(">> "))
  .map(({ text }) => `\n${text}\n`)
  .join("");

/** The files of the tutorial after its third step. */
const finished = files.map(({ path, text }): Source =>
  path.endsWith("_test.rego") ? { path, text } : { path, text: text + addition },
);

async function failing(modules: readonly Source[]): Promise<readonly string[]> {
  const { errors, results } = await toolchain.test({ modules });
  expect(errors).toEqual([]);
  expect(results.length).toBe(4);
  return results.filter(({ outcome }) => outcome !== "pass").map(({ name }) => name);
}

test("the files of the tutorial compile at both steps, and are formatted", async () => {
  for (const sources of [files, finished]) {
    expect((await compilePolicies(sources, { cache: null, toolchain })).diagnostics).toEqual([]);
    expect((await toolchain.format({ modules: sources })).modules).toEqual(sources);
  }
});

test("the test of the tutorial fails at first, and passes with the finished policy", async () => {
  expect(await failing(files)).toEqual(["test_short_answers_pass_everywhere"]);
  expect(await failing(finished)).toEqual([]);
});
