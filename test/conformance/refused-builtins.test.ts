import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { checkReferences } from "../../src/policy/contract/rules.ts";
import type { ModuleFacts } from "../../src/policy/toolchain/protocol.ts";
import { createToolchain } from "../../src/policy/toolchain/toolchain.ts";
import { ARTEFACT_DIRECTORY, readManifest } from "../../src/policy/toolchain/artefact.ts";
import { KNOWN_DIFFERENCES } from "./known-differences.ts";
import { REFUSED_GROUPS } from "./refused-builtins.ts";

const root = new URL("../../", import.meta.url);
const textOf = (path: string): string => readFileSync(new URL(path, root), "utf8");
const refused = REFUSED_GROUPS.flatMap(({ names }) => names);
const builtins = textOf("docs/builtins.md");
const conformance = textOf("docs/how-we-know.md");

/** The names in backticks of the section under a heading. */
function namesUnder(heading: string): readonly string[] {
  const section = builtins.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  return [...section.matchAll(/`([\w.]+)`/g)].map(([, name = ""]) => name);
}

function allowed(): readonly string[] {
  const list =
    /allowedBuiltins = setOf\(([^]*?)\n\)/.exec(textOf("tools/rego/builtins.go"))?.[1] ?? "";
  return [...list.replaceAll(/\/\/.*/g, "").matchAll(/"([^"]+)"/g)].map(([, name = ""]) => name);
}

async function refusedCalls(): Promise<ModuleFacts> {
  const calls = refused.map((name, index) => `r${index} if ${name}(1)`).join("\n\n");
  const source = { path: "a.rego", text: `package a\n\n${calls}\n` };
  const [facts] = (
    await createToolchain({ cache: null }).check({
      modules: [source],
      units: [],
      input_schema: null,
    })
  ).modules;
  if (facts === undefined) throw new Error("no facts of the module");
  return facts;
}

test("OPA has every refused built-in, and policies have none of them", async () => {
  expect(new Set(refused).size).toBe(refused.length);
  // OPA's own test suite registers test.sleep; OPA itself does not have it.
  const known = refused.filter((name) => name !== "test.sleep");
  const { builtins: called } = await refusedCalls();
  expect(called.map(({ name }) => name).toSorted()).toEqual(known.toSorted());
});

test("every refused built-in has its own hint, which calls no refused built-in", async () => {
  const file = {
    kind: "policy",
    name: "a",
    package: ["a"],
    source: { path: "a.rego", text: "" },
  } as const;
  const facts = await refusedCalls();
  const all = refused.map((name) => ({ name, nondeterministic: false, row: 1, col: 1 }));
  const hints = checkReferences(file, { ...facts, builtins: all }, new Map()).map(
    ({ hint }) => hint,
  );
  expect(
    refused.filter((_, index) => hints[index]?.includes("docs/builtins.md") !== false),
  ).toEqual([]);
  const called = hints.flatMap((hint) => hint.match(/[a-z_\d]+(?:\.[a-z_\d]+)*(?=\()/g) ?? []);
  expect(called.filter((name) => !allowed().includes(name))).toEqual([]);
});

test("docs/builtins.md lists allowed and refused built-ins", () => {
  expect(allowed().length).toBeGreaterThan(50);
  expect(namesUnder("Built-ins that policies have").toSorted()).toEqual(allowed().toSorted());
  expect(namesUnder("Built-ins that policies do not have").toSorted()).toEqual(
    [...refused].toSorted(),
  );
  for (const { why } of REFUSED_GROUPS) expect(builtins).toContain(why);
});

test("docs/how-we-know.md names the tested version and every known difference with its reason", async () => {
  const { opa } = await readManifest(ARTEFACT_DIRECTORY);
  expect(conformance).toContain(opa);
  for (const [note, reason] of Object.entries(KNOWN_DIFFERENCES)) {
    expect(conformance).toContain(note);
    expect(conformance).toContain(reason);
  }
});
