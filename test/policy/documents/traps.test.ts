import { beforeAll, describe, expect, test } from "vitest";
import type { Source } from "../../../src/canon/diagnostic.ts";
import type { PolicyInput, PolicySet } from "../../../src/canon/policy.ts";
import { compilePolicies, type CompiledPolicies } from "../../../src/policy/compile-policies.ts";
import { createPolicySet } from "../../../src/policy/policy-set.ts";
import type { TestResponse } from "../../../src/policy/toolchain/protocol.ts";
import { readSections } from "./document.ts";
import { ordinaryInput, policySource, sampleData, toolchain } from "../samples.ts";

const sections = readSections("docs/rego-traps.md");

const ordinary = ordinaryInput();

/** The requests that the document speaks of. */
const requests: Readonly<Record<string, PolicyInput>> = {
  "an ordinary request": ordinary,
  "a streamed request": ordinaryInput({ request: { ...ordinary.request, stream: true } }),
  "a workspace of a new tier": ordinaryInput({ workspace: { ...ordinary.workspace, tier: "new" } }),
  "a workspace labelled approved": ordinaryInput({ workspace: { ...ordinary.workspace, labels: ["approved"] } }),
  "a request that needs web search": ordinaryInput({ request: { ...ordinary.request, needs: ["web_search"] } }),
  "a request of 200,000 tokens": ordinaryInput({ request: { ...ordinary.request, context: "to_200k" } }),
};

/** A block of Rego, and the lines of the block that tells what becomes of it. */
interface Example {
  readonly heading: string;
  /** Its section and its place in it. */
  readonly name: string;
  readonly rego: string;
  /** Empty where no such block follows. */
  readonly expected: readonly string[];
}

function readExamples(): readonly Example[] {
  return sections.flatMap(({ heading, blocks }) =>
    blocks.flatMap(({ language, text }, index): readonly Example[] => {
      if (language !== "rego") return [];
      const next = blocks[index + 1];
      const expected = next?.language === "text" ? next.text.split("\n") : [];
      return [{ heading, name: `${heading}, example ${index + 1}`, rego: text, expected }];
    }),
  );
}

const examples = readExamples();
const plain = examples.filter(({ rego }) => rego.startsWith("package "));
const policies = examples
  .filter(({ rego }) => !rego.startsWith("package "))
  .map((example, index) => ({ ...example, id: `trap-${index}`, source: sourceOf(`trap-${index}`, example.rego) }));
const refused = policies.filter(({ expected }) => expected.every((line) => /^POLICY_[A-Z_]+$/.test(line)));
const judged = policies.filter((one) => !refused.includes(one));

function sourceOf(id: string, rego: string): Source {
  const constraints: Record<string, string> = rego.includes(".listed")
    ? { listed: "{effect: require_all, reasons: [NOT_LISTED]}" }
    : { allowed: "{effect: gate, reasons: [NOT_ALLOWED, STREAMED]}" };
  return policySource(id, constraints, rego);
}

test("every section about a trap has plain Rego and a policy, and every policy says what becomes of it", () => {
  const headingsOf = (list: readonly Example[]): readonly string[] => [...new Set(list.map(({ heading }) => heading))];
  const traps = sections.map(({ heading }) => heading).filter((heading) => heading !== "For reviewers");
  expect(headingsOf(plain)).toEqual(traps);
  expect(headingsOf(policies)).toEqual(traps);
  expect(policies.filter(({ expected }) => expected.length === 0)).toEqual([]);
});

describe("plain Rego goes wrong as the document says", () => {
  const quiet = plain.filter(({ expected }) => expected.length === 0);
  let response: TestResponse;

  beforeAll(async () => {
    response = await toolchain.test({ modules: quiet.map(({ name, rego }) => ({ path: name, text: rego })) });
  }, 60_000);

  test.for(quiet)("$name", ({ name }) => {
    expect(response.errors).toEqual([]);
    const results = response.results.filter(({ file }) => file === name);
    expect(results.length).toBeGreaterThan(0);
    expect(results.filter(({ outcome }) => outcome !== "pass")).toEqual([]);
  });

  test.for(plain.filter(({ expected }) => expected.length > 0))("$name", async ({ rego, expected }) => {
    const { errors, results } = await toolchain.test({ modules: [{ path: "plain.rego", text: rego }] });
    const codes = errors.map(({ code }) => code);
    const failed = results.flatMap(({ error }) => (error === null ? [] : [error.message]));
    expect([...codes, ...failed].join("\n")).toContain(expected.join("\n"));
  });
});

describe("findings are those of the document", () => {
  test.for(refused)("$name", async ({ source, expected }) => {
    const { diagnostics } = await compilePolicies([source], { cache: null, toolchain });
    expect([...new Set(diagnostics.map(({ code }) => code))].toSorted()).toEqual(expected);
  });
});

describe("verdicts are those of the document", () => {
  let compiled: CompiledPolicies;
  let set: PolicySet;

  beforeAll(async () => {
    const sources = judged.map(({ source }) => source);
    compiled = await compilePolicies(sources, { cache: null, toolchain });
    set = await createPolicySet(compiled, [], sampleData);
  }, 60_000);

  test("what has a verdict has no finding", () => {
    expect(compiled.diagnostics).toEqual([]);
  });

  test.for(judged)("$name", ({ id, expected }) => {
    const found = expected.map((line) => {
      const [name = ""] = line.split(":");
      const input = Object.hasOwn(requests, name) ? requests[name] : undefined;
      if (input === undefined) throw new Error(`the document speaks of a request that the test does not know: ${name}`);
      const [verdict] = set.evaluate(input).verdicts.filter(({ policy }) => policy.id === id);
      return `${name}: ${[verdict?.verdict, verdict?.reason ?? [], ...(verdict?.failing ?? [])].flat().join(" ")}`;
    });
    expect(found).toEqual(expected);
  });
});
