import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Source } from "../../src/canon/diagnostic.ts";
import { canonicalJson } from "../../src/canon/json.ts";
import { OPERATIONS } from "../../src/canon/operation.ts";
import {
  buildModules,
  compilePolicies,
  type CompiledPolicies,
} from "../../src/policy/compile-policies.ts";
import { createPolicySet } from "../../src/policy/policy-set.ts";
import { ordinaryInput, policySource, sampleData, toolchain } from "./samples.ts";

const gate = { gate: "{effect: gate, reasons: [NO]}" };

const a = policySource("a", gate, "import data.signalbox.lib.first\n\npass.gate if first.streams");
const b = policySource("b", gate, "pass.gate if input.request.zdr");
const first: Source = {
  path: "policies/lib/first.rego",
  text: "package signalbox.lib.first\n\nstreams if data.signalbox.lib.second.streams\n",
};
const second: Source = {
  path: "policies/lib/second.rego",
  text: "package signalbox.lib.second\n\nstreams if input.request.stream\n",
};
const other: Source = {
  path: "policies/lib/other.rego",
  text: "package signalbox.lib.other\n\nzdr if input.request.zdr\n",
};
const test_a: Source = {
  path: "policies/a_test.rego",
  text: 'package signalbox.policy.a_test\n\ntest_streams if data.signalbox.policy.a.pass.gate with input as {"request": {"stream": true}}\n',
};

const everything = [a, b, first, second, other, test_a];

async function compile(sources: readonly Source[]): Promise<CompiledPolicies> {
  const compiled = await compilePolicies(sources, { cache: null, toolchain });
  expect(compiled.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  return compiled;
}

function digests({ policies }: CompiledPolicies): Record<string, string> {
  return Object.fromEntries(policies.map(({ contract, digest }) => [contract.id, digest]));
}

function editing(path: string, edit: (text: string) => string): readonly Source[] {
  return everything.map((source) =>
    source.path === path ? { path, text: edit(source.text) } : source,
  );
}

describe("compilePolicies", () => {
  test("returns contracts, digests and one module, sorted by id", async () => {
    const { policies, modules } = await compile([b, second, first, a]);
    expect(policies.map(({ contract }) => contract)).toEqual(
      ["a", "b"].map((id) => ({
        contract: 1,
        id,
        title: `Policy ${id}`,
        owners: ["group:tests"],
        operations: OPERATIONS.toSorted(),
        constraints: [{ name: "gate", effect: "gate", reasons: ["NO"] }],
        obligations: [],
      })),
    );
    expect(policies.map(({ reads }) => reads)).toEqual([
      ["input.request.stream"],
      ["input.request.zdr"],
    ]);
    expect(modules.map(({ units }) => units.map(({ policy }) => policy.contract.id))).toEqual([
      ["a", "b"],
    ]);
  });

  test.for<readonly [body: string, reads: readonly string[]]>([
    ['"x" in input.key.labels', ["input.key.labels.x"]],
    [
      'not "x" in input.key.labels\n  "y" in input.key.labels',
      ["input.key.labels.x", "input.key.labels.y"],
    ],
    ['count([1 | "tools" in input.request.needs]) == 1', ["input.request.needs.tools"]],
    ['"x" in input.key.labels\n  count(input.key.labels) > 1', ["input.key.labels"]],
    [
      '"x" in input.key.labels\n  some label in input.key.labels\n  label != "y"',
      ["input.key.labels"],
    ],
    [
      'some label in {"x", "y"}\n  label in input.key.labels',
      ["input.key.labels.x", "input.key.labels.y"],
    ],
    [
      "some label in input.workspace.labels\n  label in input.key.labels",
      ["input.key.labels", "input.workspace.labels"],
    ],
    ['labels := input.key.labels\n  "x" in labels', ["input.key.labels.x"]],
    ['key := input.key\n  "x" in key.labels', ["input.key.labels.x"]],
    ['key := input.key\n  labels := key.labels\n  not "x" in labels', ["input.key.labels.x"]],
    ['count([1 | key := input.key; "x" in key.labels]) == 1', ["input.key.labels.x"]],
    [
      'key := input.key\n  "x" in key.labels\n  key.environment == "y"',
      ["input.key.environment", "input.key.labels.x"],
    ],
    ["some request in [input.request]\n  request.zdr", ["input.request.zdr"]],
    ["request := [input.request][0]\n  request.zdr", ["input.request.zdr"]],
    ["request := input.request\n  some member\n  request[member] == true", ["input.request"]],
    ['request := input.request\n  object.get(request, "zdr", false)', ["input.request.zdr"]],
    ['object.get(input, ["request", "zdr"], false)', ["input.request.zdr"]],
    [
      'some name in ["environment", "owner"]\n  input.key[name] == "x"',
      ["input.key.environment", "input.key.owner"],
    ],
    ['walk(input.key, [_, value])\n  value == "x"', ["input.key"]],
    ['contains(json.marshal(input.time), "x")', ["input.time"]],
    ['input.time == {"day": "x", "hour": "y"}', ["input.time"]],
    [
      'facts := object.union(input.key, {"zdr": input.request.zdr})\n  facts.zdr',
      ["input.request.zdr"],
    ],
    [
      'all := {"request": input.request, "key": input.key}\n  all.request.zdr',
      ["input.request.zdr"],
    ],
    [
      '[a, b] := [input.key, input.request]\n  a.owner == "x"\n  b.zdr',
      ["input.key", "input.request"],
    ],
    ["[1, input.request.stream] == [1, true]", ["input.request.stream"]],

    ['c := input.candidates\n  c[_].region == "x"', ["input.candidates"]],
    // Of an object `in` looks at every value.
    ['"x" in input.key', ["input.key"]],
    ['"x" in input.candidates[0].capabilities', ["input.candidates"]],
  ])("of a list in which names are sought alone, reads the names: %s", async ([body, reads]) => {
    const source = policySource("a", gate, `# signalbox: later x, y\npass.gate if {\n  ${body}\n}`);
    const { policies } = await compile([source]);
    expect(policies.map((policy) => policy.reads)).toEqual([reads]);
  });

  test.for<readonly [rules: string, reads: readonly string[]]>([
    ["request := input.request\npass.gate if request.zdr", ["input.request.zdr"]],
    ['needs := input.request.needs\npass.gate if "tools" in needs', ["input.request.needs.tools"]],
    ['key := input.key\nlabels := key.labels\npass.gate if "x" in labels', ["input.key.labels.x"]],
    [
      'request := input.request if input.key.environment == "x"\npass.gate if request.zdr',
      ["input.key.environment", "input.request.zdr"],
    ],
    [
      "default request := {}\nrequest := input.request\npass.gate if request.zdr",
      ["input.request.zdr"],
    ],
    ["f(request) if request.zdr\npass.gate if f(input.request)", ["input.request.zdr"]],
    [
      'f(r) := object.get(r, "zdr", false)\ng(r) if f(r.request)\npass.gate if g(input)',
      ["input.request.zdr"],
    ],
    // Two values of one name are compared.
    [
      "r := input.request.zdr if input.request.stream\nr := input.request.allow_fallbacks\npass.gate if not r",
      ["input.request.allow_fallbacks", "input.request.stream", "input.request.zdr"],
    ],
    [
      'by[name] := value if some name, value in {"x": input.key.owner}\npass.gate if by.x == "x"',
      ["input.key.owner"],
    ],
    [
      "members := {input.key.owner, input.key.workload}\npass.gate if count(members) == 1",
      ["input.key.owner", "input.key.workload"],
    ],
    [
      'all := [k | some k in [input.key, input.request]]\npass.gate if all[0].owner == "x"',
      ["input.key.owner"],
    ],

    [
      'pass.gate if { r := input.request; r.zdr } else if { r := input.key; r.environment == "x" }',
      ["input.key.environment", "input.request.zdr"],
    ],
    [
      "pass.gate if { r := input.request; r.zdr } else if { r := input.request; r.stream }",
      ["input.request.stream", "input.request.zdr"],
    ],
    // An unused name reads nothing.
    [
      'request := input.request\npass.gate if input.key.environment == "x"',
      ["input.key.environment"],
    ],
  ])("follows names for parts of the input: %s", async ([rules, reads]) => {
    const { policies, diagnostics } = await compile([
      policySource("a", gate, `# signalbox: later x\n${rules}`),
    ]);
    expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    expect(policies.map((policy) => policy.reads)).toEqual([reads]);
  });

  test("returns an empty result for no policies, without a toolchain", async () => {
    const broken = new Proxy(toolchain, { get: () => () => Promise.reject(new Error("used")) });
    const compiled = await compilePolicies([], { cache: null, toolchain: broken });
    expect(compiled).toEqual({ policies: [], modules: [], compared: [], diagnostics: [] });
  });

  test("the digest is the SHA-256 of contract, modules and libraries in canonical form", async () => {
    const { policies } = await compile(everything);
    const modules = [
      { package: "signalbox.lib.first", source: first.text },
      { package: "signalbox.lib.second", source: second.text },
      { package: "signalbox.policy.a", source: a.text },
    ];
    const contract = { ...policies[0]?.contract, obligations: undefined };
    const form = canonicalJson({ contract, data: {}, modules });
    expect(policies[0]?.digest).toBe(createHash("sha256").update(form).digest("hex"));
  });

  test("returns the same bytes on another path, with other line endings, in another order", async () => {
    const reference = await compile(everything);
    const elsewhere = everything
      .map(({ path, text }) => ({
        path: `/srv/checkout/${path}`,
        text: text.replaceAll("\n", "\r\n"),
      }))
      .toReversed();
    const moved = await compile(elsewhere);
    expect(digests(moved)).toEqual(digests(reference));
    expect(
      Buffer.from(moved.modules[0]?.bytes ?? []).equals(
        reference.modules[0]?.bytes ?? Buffer.alloc(1),
      ),
    ).toBe(true);
  });

  test.for([
    ["its own source", "policies/a.rego", (text: string) => `${text}# more\n`],
    ["its contract", "policies/a.rego", (text: string) => text.replace("[NO]", "[NEVER]")],
    ["a library that it imports", first.path, (text: string) => `${text}# more\n`],
    ["a library that its library needs", second.path, (text: string) => `${text}# more\n`],
  ] as const)("the digest of one policy alone changes with %s", async ([, path, edit]) => {
    const before = digests(await compile(everything));
    const after = digests(await compile(editing(path, edit)));
    expect(after.a).not.toBe(before.a);
    expect(after.b).toBe(before.b);
  });

  test.for([
    ["its test", test_a.path],
    ["a library that it does not need", other.path],
    ["another policy", b.path],
  ] as const)("the digest stays when %s changes", async ([, path]) => {
    const before = digests(await compile(everything));
    expect(digests(await compile(editing(path, (text) => `${text}# more\n`))).a).toBe(before.a);
  });

  test("writes every operation out where the policy names none, and only those named otherwise", async () => {
    const { policies } = await compile([
      policySource("some", gate, "pass.gate if input.request.stream", "[rerank, embeddings]"),
      policySource("every", gate, "pass.gate if input.request.stream"),
    ]);
    expect(policies.map(({ contract }) => contract.operations)).toEqual([
      OPERATIONS.toSorted(),
      ["embeddings", "rerank"],
    ]);
  });

  test("compiles two contents of one policy, each with its own library, into one module", async () => {
    const old = await compile([a, first, second]);
    const changed = {
      ...second,
      text: second.text.replace("input.request.stream", "input.request.zdr"),
    };
    const young = await compile([a, first, changed]);
    const policies = [...old.policies, ...young.policies];
    const states = policies.map(({ digest }, index) => ({
      id: "a",
      digest,
      revision: index + 1,
      mode: index === 0 ? ("enforce" as const) : ("shadow" as const),
    }));
    const set = await createPolicySet(
      { modules: await buildModules(policies, toolchain) },
      states,
      sampleData,
    );
    const { request } = ordinaryInput();
    const { verdicts } = set.evaluate(
      ordinaryInput({ request: { ...request, stream: true, zdr: false } }),
    );
    expect(verdicts.map(({ policy, verdict }) => [policy.slot, policy.revision, verdict])).toEqual([
      ["enforced", 1, "pass"],
      ["candidate", 2, "fail"],
    ]);
  });
});
