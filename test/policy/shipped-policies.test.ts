import { readdirSync, readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import type { Source } from "../../src/canon/diagnostic.ts";
import { OPERATIONS } from "../../src/canon/operation.ts";
import type { PolicyInput, PolicySet } from "../../src/canon/policy.ts";
import { compilePolicies, type CompiledPolicies } from "../../src/policy/compile-policies.ts";
import { POLICY_INPUT_SCHEMA } from "../../src/policy/input-schema.ts";
import { createPolicySet } from "../../src/policy/policy-set.ts";
import { candidate, ordinaryInput, sampleData, toolchain } from "./samples.ts";

const root = new URL("../../", import.meta.url);

function read(path: string): string {
  return readFileSync(new URL(path, root), "utf8");
}

const sources: readonly Source[] = ["policies", "policies/lib"].flatMap((folder) =>
  readdirSync(new URL(folder, root))
    .filter((name) => name.endsWith(".rego"))
    .map((name) => ({ path: `${folder}/${name}`, text: read(`${folder}/${name}`) })),
);

describe("the policies shipped with Signalbox", () => {
  let compiled: CompiledPolicies;
  let set: PolicySet;

  beforeAll(async () => {
    compiled = await compilePolicies(sources, { cache: null, toolchain });
    set = await createPolicySet(compiled, [], sampleData);
  }, 60_000);

  test("compile without a finding", () => {
    expect(compiled.diagnostics).toEqual([]);
    expect(compiled.policies.length).toBeGreaterThan(4);
  });

  test("pass their own tests, which reach every line", async () => {
    const { errors, results, coverage } = await toolchain.test({ modules: sources });
    expect(errors).toEqual([]);
    expect(results.filter(({ outcome }) => outcome !== "pass")).toEqual([]);
    expect(coverage.filter(({ missed }) => missed.length > 0)).toEqual([]);
    const tested = new Set(results.map(({ package: name }) => name));
    for (const { identity } of set.policies) {
      expect(tested).toContain(`signalbox.policy.${identity.id.replaceAll("-", "_")}_test`);
    }
  });

  test("are formatted", async () => {
    const { modules } = await toolchain.format({ modules: sources });
    expect(modules).toEqual(sources);
  });

  test.for([...OPERATIONS])("let an ordinary request pass: %s", (operation) => {
    const { verdicts } = set.evaluate(ordinaryInput({ operation }));
    expect(verdicts.length).toBeGreaterThan(3);
    expect(verdicts.filter(({ verdict }) => verdict !== "pass")).toEqual([]);
  });

  const { workspace, key, request } = ordinaryInput();
  test.for<readonly [string, Partial<PolicyInput>, readonly string[]]>([
    [
      "a workspace labelled eu with a fallback outside",
      { workspace: { ...workspace, labels: ["eu"] } },
      ["eu-residency processed_in_eu REGION_NOT_IN_EU in-us"],
    ],
    [
      "a regulated workspace at a provider that keeps data",
      { workspace: { ...workspace, tier: "regulated" } },
      ["data-retention nothing_kept DATA_RETAINED in-us"],
    ],
    [
      "a tier that the policies do not name",
      {
        workspace: { ...workspace, tier: "new" },
        candidates: [candidate("x", { trains_on_data: true, retention: "unlimited" })],
      },
      [
        "data-retention not_trained_on TRAINS_ON_DATA x",
        "data-retention nothing_kept DATA_RETAINED_WITHOUT_LIMIT x",
      ],
    ],
    [
      "a staging key in a production workspace",
      {
        workspace: { ...workspace, labels: ["production"] },
        key: { ...key, environment: "staging" },
      },
      ["environment-separation environment_matches ENVIRONMENT_MISMATCH "],
    ],
    [
      "a web search without the label",
      { request: { ...request, needs: ["web_search"] } },
      ["tool-approval hosted_tools_labelled HOSTED_TOOLS_NOT_APPROVED "],
    ],
    [
      "structured output with a fallback that has none",
      {
        request: { ...request, needs: ["json_schema"] },
        candidates: [candidate("a"), candidate("b", { capabilities: ["tools"] })],
      },
      ["structured-output-parity format_supported SCHEMA_NOT_SUPPORTED b"],
    ],
  ])("refuse %s", ([, changes, expected]) => {
    const failing = set
      .evaluate(ordinaryInput(changes))
      .verdicts.filter(({ verdict }) => verdict !== "pass");
    expect(
      failing.map(
        (one) => `${one.policy.id} ${one.constraint} ${one.reason} ${one.failing.join("+")}`,
      ),
    ).toEqual(expected);
  });
});

describe("docs/policies.md", () => {
  const document = read("docs/policies.md");

  test("lists every member of the input", () => {
    const members = (schema: unknown, path: string): readonly string[] => {
      const { properties, items, additionalProperties: zone } = Object(schema);
      if (zone) return members(zone, `${path}["ZONE"]`);
      if (items !== undefined)
        return members(items, path === "input.candidates" ? `${path}[_]` : path);
      if (properties === undefined) return [path];
      return Object.entries(Object(properties)).flatMap(([name, member]) =>
        members(member, `${path}.${name}`),
      );
    };
    const missing = members(POLICY_INPUT_SCHEMA, "input").filter(
      (path) => !document.includes(`\`${path}\``),
    );
    expect(missing).toEqual([]);
  });
});

test("schemas/input.schema.json, which editors read, is the schema that policies are checked with", () => {
  expect(JSON.parse(read("schemas/input.schema.json"))).toEqual(POLICY_INPUT_SCHEMA);
});
