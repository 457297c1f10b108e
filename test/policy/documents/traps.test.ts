import { beforeAll, describe, expect, test } from "vitest";
import type { Source } from "../../../src/canon/diagnostic.ts";
import type { PolicyInput, PolicySet } from "../../../src/canon/policy.ts";
import { compilePolicies, type CompiledPolicies } from "../../../src/policy/compile-policies.ts";
import { createPolicySet } from "../../../src/policy/policy-set.ts";
import { readSections } from "./document.ts";
import { ordinaryInput, policySource, sampleData, toolchain } from "../samples.ts";

const [section] = readSections("docs/writing-a-policy.md").filter(
  ({ heading }) => heading === "Traps",
);
const { text = "", blocks = [] } = section ?? {};

const ordinary = ordinaryInput();

/** The requests that the document speaks of. */
const requests: Readonly<Record<string, PolicyInput>> = {
  "an ordinary request": ordinary,
  "a streamed request": ordinaryInput({ request: { ...ordinary.request, stream: true } }),
  "a workspace of a new tier": ordinaryInput({ workspace: { ...ordinary.workspace, tier: "new" } }),
  "a workspace labelled approved": ordinaryInput({
    workspace: { ...ordinary.workspace, labels: ["approved"] },
  }),
  "a request that needs web search": ordinaryInput({
    request: { ...ordinary.request, needs: ["web_search"] },
  }),
  "a request of 200,000 tokens": ordinaryInput({
    request: { ...ordinary.request, context: "to_200k" },
  }),
};

/**
 * A policy that the page shows, and what becomes of it: findings, or a verdict for each request.
 */
interface Example {
  readonly rego: string;
  readonly expected: readonly string[];
}

/** What a block of Rego says, and the block of text below it. */
const shown = blocks.flatMap(({ language, text: rego }, index): readonly Example[] => {
  const next = blocks[index + 1];
  return language === "rego"
    ? [{ rego, expected: next?.language === "text" ? next.text.split("\n") : [] }]
    : [];
});

/** Rows `| rules | outcome | why |` below a heading. */
function rowsBelow(heading: string): readonly Example[] {
  const part = text.split(/^### /m).find((one) => one.startsWith(`${heading}\n`)) ?? "";
  return [...part.matchAll(/^\| (`.*?) \| (.*?) \|/gm)].map(([, rules = "", outcome = ""]) => ({
    rego: [...rules.matchAll(/`([^`]+)`/g)].map(([, rule]) => rule).join("\n\n"),
    expected: outcome.replaceAll("`", "").split(", "),
  }));
}

const found = rowsBelow("What the compiler finds");
const atRunTime = rowsBelow("What denies at run time");
const judged = [
  ...atRunTime.map(({ rego, expected }) => ({
    rego,
    expected: expected.map((verdict) => `an ordinary request: ${verdict}`),
  })),
  ...shown,
].map((example, index) => ({
  ...example,
  id: `trap-${index}`,
  source: sourceOf(`trap-${index}`, example.rego),
}));

function sourceOf(id: string, rego: string): Source {
  const constraints: Record<string, string> = rego.includes(".listed")
    ? { listed: "{effect: require_all, reasons: [NOT_LISTED]}" }
    : { allowed: "{effect: gate, reasons: [NOT_ALLOWED, STREAMED]}" };
  return policySource(id, constraints, rego);
}

test("every example of the document has an expected outcome", () => {
  expect([found.length, atRunTime.length, shown.length].every((count) => count > 3)).toBe(true);
  expect(judged.filter(({ expected }) => expected.length === 0)).toEqual([]);
});

test.for(found)("the compiler finds: $rego", async ({ rego, expected }) => {
  const { diagnostics } = await compilePolicies([sourceOf("trap", rego)], {
    cache: null,
    toolchain,
  });
  expect([...new Set(diagnostics.map(({ code }) => code))].toSorted()).toEqual(expected);
});

describe("verdicts are those of the document", () => {
  let compiled: CompiledPolicies;
  let set: PolicySet;

  beforeAll(async () => {
    const sources = judged.map(({ source }) => source);
    compiled = await compilePolicies(sources, { cache: null, toolchain });
    set = await createPolicySet(compiled, [], sampleData);
  }, 60_000);

  test("an example with a verdict has no finding", () => {
    expect(compiled.diagnostics).toEqual([]);
  });

  test.for(judged)("$rego", ({ id, expected }) => {
    const verdicts = expected.map((line) => {
      const [name = ""] = line.split(":");
      const input = Object.hasOwn(requests, name) ? requests[name] : undefined;
      if (input === undefined)
        throw new Error(`the document speaks of a request that the test does not know: ${name}`);
      const [verdict] = set.evaluate(input).verdicts.filter(({ policy }) => policy.id === id);
      const all = [verdict?.verdict, verdict?.reason ?? [], ...(verdict?.failing ?? [])]
        .flat()
        .join(" ");
      // A row of a table has the verdict only.
      return `${name}: ${line.includes(" NOT_") || line.endsWith(": pass") ? all : verdict?.verdict}`;
    });
    expect(verdicts).toEqual(expected);
  });
});
