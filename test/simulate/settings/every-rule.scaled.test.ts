import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Source } from "../../../src/canon/diagnostic.ts";
import { fewOrMany } from "../../support/long.ts";
import { table } from "../../support/table.ts";
import { compiledSources, sideOf, simulate } from "../small-sides.ts";

const FOLDER = new URL("../../../policies/", import.meta.url);
const LIBRARY = read("lib/workspace.rego");
const POLICIES = readdirSync(FOLDER).filter(
  (name) => name.endsWith(".rego") && !name.endsWith("_test.rego"),
);

function read(name: string): Source {
  return { path: `policies/${name}`, text: readFileSync(new URL(name, FOLDER), "utf8") };
}

/** The rules of a policy: blocks between blank lines, without those that declare. */
function rulesOf({ text }: Source): readonly string[] {
  return text
    .split(/\n\n+/)
    .filter((block) => !/^(?:#|package|import)/.test(block.trim()) && block.trim() !== "");
}

/** Texts of a file in which one rule is another; the first that compiles is taken. */
function changesOf({ path, text }: Source, rule: string): readonly Source[] {
  const others = [
    "",
    rule.replace(/\{\n/, '{\n\tinput.request.model != "none"\n'),
    rule.replace(/ := .*/, " := null"),
    rule.replace(/"(\w+)"/, '"another"'),
    rule.replace(/$/, " # as before"),
  ];
  return others
    .map((other) => ({ path, text: text.replace(rule, () => other) }))
    .filter((changed) => changed.text !== text);
}

const EVERY_RULE = [...POLICIES.map(read), LIBRARY].flatMap((source) =>
  rulesOf(source).map(
    (rule, index) => [`rule ${index + 1} of ${source.path}`, source, rule] as const,
  ),
);
const RULES = EVERY_RULE.filter((_, index) => index % fewOrMany(4, 1) === 0);

describe("a changed policy", { timeout: 60_000 }, () => {
  it.each(RULES)("%s is reported, with both digests", async (_, source, rule) => {
    const base = source === LIBRARY ? [read("eu-residency.rego"), LIBRARY] : [source, LIBRARY];
    const report = await firstOf(base, changesOf(source, rule));
    const item = report.changed_settings.find(({ path }) => path === source.path);
    expect(item).toMatchObject({
      before: expect.stringMatching(/^[0-9a-f]{12}$/),
      after: expect.stringMatching(/^[0-9a-f]{12}$/),
      location: { file: source.path, side: "head" },
      effect: "policy",
    });
    expect(item?.before).not.toBe(item?.after);
    const digests = [report.base, report.head].map(({ policies }) =>
      policies.map(({ digest }) => digest).join(),
    );
    expect(digests[0]).not.toBe(digests[1]);
  });

  it("in a test file is reported as not loaded by servers", async () => {
    const tests = {
      path: "policies/eu-residency_test.rego",
      text: "package signalbox.policy.eu_residency_test\n",
    };
    const [base, head] = [await sideOf(table()), await sideOf(table())];
    const files = { ...head.files, policies: [tests] };
    const { changed_settings } = await simulate(base, { ...head, files });
    expect(changed_settings).toMatchObject([
      { path: tests.path, before: null, effect: "policy_test", gate: null },
    ]);
  });
});

/** The report of the first change that compiles. */
async function firstOf(base: readonly Source[], changes: readonly Source[]) {
  for (const change of changes) {
    const sources = base.map((source) => (source.path === change.path ? change : source));
    try {
      await compiledSources(sources);
    } catch {
      continue;
    }
    return simulate(await sideOf(table(), base), await sideOf(table(), sources));
  }
  throw new Error("no change of the rule compiles");
}
