import { readdirSync, readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import type { Source } from "../../src/canon/diagnostic.ts";
import { compilePolicies, type CompiledPolicies } from "../../src/policy/compile-policies.ts";
import { POLICY_INPUT_SCHEMA } from "../../src/policy/input-schema.ts";
import type { ModuleFacts } from "../../src/policy/toolchain/protocol.ts";
import { policySource, toolchain } from "./samples.ts";

/**
 * Rules, and what they inspect; each line of the argument in tools/rego/words.go has examples both
 * ways.
 */
const INSPECTS: readonly (readonly [about: string, rules: string, inspects: readonly string[]])[] =
  [
    ["equality of strings", "p if input.workspace.id == input.request.route", []],
    ["inequality of strings", 'p if input.workspace.id != "a"', []],
    ["a string in a list", 'p if "a" in input.workspace.labels', []],
    ["a loop over a list", 'p if input.workspace.labels[_] == "a"', []],
    [
      "a loop over two lists",
      "p if { some x in input.workspace.labels; not x in input.key.labels }",
      [],
    ],
    ["every string of a list", 'p if every x in input.request.needs { x in {"a"} }', []],
    ["a look-up by a string", 'p if "a" in data.approved.regions[input.workspace.id]', []],
    ["a look-up in a constant", 'level := {"a": 1}\np if level[input.workspace.tier] > 0', []],
    ["a rule for a list", 'needs := input.request.needs\np if "a" in needs', []],
    [
      "a list of approvals as a rule",
      'ok := data.approved.regions[input.workspace.id]\np if "a" in ok',
      [],
    ],
    ["else", 'p if "a" in input.key.labels\nelse := true if "b" in input.key.labels', []],
    [
      "a function of a string",
      "f(x) if x in input.workspace.labels\np if f(input.key.workload)",
      [],
    ],
    ["the number of strings", "p if count(input.workspace.labels) > 1", []],
    ["the number of characters", "p if count(input.workspace.id) > 1", ["count"]],
    ["the number of who knows what", "f(x) if count(x) > 1\np if f(input.workspace.id)", ["count"]],
    ["order of numbers", "p if input.request.dimensions < 100", []],
    ["order of a string and a number", "p if input.workspace.id < 3", []],
    ["order of strings, lt", 'p if input.workspace.id < "m"', ["lt"]],
    ["order of strings, lte", "p if input.workspace.id <= input.workspace.tier", ["lte"]],
    ["order of strings, gt", 'p if "m" > input.workspace.labels[_]', ["gt"]],
    ["order of strings, gte", 'p if input.candidates[_].region >= "m"', ["gte"]],
    ["order of sets", 'p if {x | some x in input.workspace.labels} < {"a"}', ["lt"]],
    ["order of what a function got", "f(x, y) if x < y\np if f(input.workspace.id, 1)", ["lt"]],
    ["arithmetic", "p if (input.request.dimensions * 2) + 1 == 9", []],
    ["a sum", "p if sum([n | some n in data.approved.dimensions[input.workspace.id]]) > 7", []],
    ["the greatest", "p if max(input.workspace.labels) == input.workspace.id", ["max"]],
    ["the least", "p if min(input.workspace.labels) == input.workspace.id", ["min"]],
    [
      "the greatest number",
      'rank := {"a": 1, "b": 2}\np if max({rank[x] | some x in input.workspace.labels}) > 1',
      [],
    ],
    ["the least number", 'p if min([c.weight | some c in [{"weight": 2}]]) < 3', []],
    ["sorted numbers", "p if 2 in sort({1, 2, count(input.workspace.labels)})", []],
    ["the greatest of strings and numbers", "p if max({input.workspace.id, 1}) == 1", ["max"]],
    ["the greatest of who knows what", "f(x) if max(x) > 1\np if f({1, 2})", ["max"]],
    [
      "the greatest set",
      'p if max({{x | some x in input.workspace.labels}, {"a"}}) == {"a"}',
      ["max"],
    ],
    [
      "the position of a number",
      "p if sort([count(input.workspace.labels), 2])[0] == 2",
      ["index"],
    ],
    ["sorting", "p if input.workspace.id in sort(input.workspace.labels)", ["sort"]],
    ["the start of a string that is written", 'p if startswith(input.workspace.id, "a")', []],
    [
      "the start of a string that comes with the request",
      "p if startswith(input.workspace.id, input.key.workload)",
      ["startswith"],
    ],
    ["a text with punctuation", 'p if contains(input.workspace.id, "a:")', ["contains"]],
    ["an empty text", 'p if contains(input.workspace.id, "")', ["contains"]],
    ["JSON text that is searched", 'p if not contains(json.marshal(input.key), "a")', []],
    [
      "JSON text with a name that is searched twice",
      'p if { t := json.marshal(input.key); contains(t, "a"); not endswith(t, "b") }',
      [],
    ],
    [
      "JSON text that is searched and compared",
      'p if { t := json.marshal(input.key); contains(t, "a"); t != "b" }',
      ["json.marshal"],
    ],
    [
      "JSON text that is searched in one rule and given to another",
      'f(t) if contains(t, "a")\np if f(json.marshal(input.key))',
      ["json.marshal"],
    ],
    [
      "two JSON texts that are searched and equal",
      'p if { t := json.marshal(input.key); t == json.marshal(input.workspace); contains(t, "a") }',
      ["json.marshal"],
    ],
    [
      "JSON text of JSON text",
      'p if contains(json.marshal(json.marshal(input.key)), "a")',
      ["json.marshal"],
    ],
    [
      "JSON text in a list",
      'p if { some t in [json.marshal(input.key)]; contains(t, "a") }',
      ["json.marshal"],
    ],
    ["case", 'p if lower(input.workspace.id) == "a"', ["lower"]],
    ["patterns", 'p if regex.match("a", input.workspace.id)', ["regex.match"]],
    ["numbers from strings", "p if to_number(input.workspace.id) > 1", ["to_number"]],
    [
      "strings from numbers",
      'p if format_int(input.request.dimensions, 10) == "1"',
      ["format_int"],
    ],
    ["JSON", "p if json.marshal(input.workspace) == input.key.workload", ["json.marshal"]],
    ["paths in text", 'p if json.filter(input, ["workspace/id"]) == {}', ["json.filter"]],
    ["walking along paths", 'p if { walk(input.workspace, [path, "a"]); path[0] == "id" }', []],
    [
      "walking to a text below a name",
      'p if { walk(input.request, [path, value]); count(path) == 1; "needs" in path; path != ["a", "b"]; value == "a" }',
      [],
    ],
    [
      "walking to a position",
      'p if { walk(input.workspace, [path, "a"]); path[1] == 0 }',
      ["index", "walk"],
    ],
    [
      "walking along a path of the request",
      'p if { walk(input.workspace, [path, "a"]); path[0] == input.key.owner }',
      ["index", "walk"],
    ],
    ["walking to values", 'p if walk(input.workspace, [_, "a"])', []],
    ["joined lists", 'p if "a" in array.concat(input.workspace.labels, input.key.labels)', []],
    ["a list turned round", 'p if "a" in array.reverse(input.workspace.labels)', []],
    [
      "a position in joined lists",
      'p if array.concat(input.workspace.labels, [])[0] == "a"',
      ["index"],
    ],
    ["compared joined lists", 'p if array.concat(input.workspace.labels, []) == ["a"]', ["array"]],
    ["a number as index", 'p if input.workspace.labels[0] == "a"', ["index"]],
    ["a number as index of candidates", 'p if input.candidates[0].region == "a"', ["index"]],
    ["a number as index of a tuple", 'x := ["a", input.workspace.id]\np if x[1] == "b"', []],
    ["a position that is used", "p if { some i, _ in input.workspace.labels; i > 1 }", ["index"]],
    [
      "a position in two lists",
      "p if { some i; input.workspace.labels[i] == input.key.labels[i] }",
      ["index"],
    ],
    [
      "a position with every",
      'p if every i, x in input.request.needs { x == "a"; i < 2 }',
      ["index"],
    ],
    [
      "a requested position",
      "p if 1, input.workspace.id in input.workspace.labels",
      ["internal.member_3"],
    ],
    [
      "a candidate by its position",
      'p if { some i; input.candidates[i].region == "a"; input.candidates[i].provider == "b" }',
      [],
    ],
    [
      "the position of a candidate",
      'p if { some i; input.candidates[i].region == "a"; i > 0 }',
      ["index"],
    ],
    [
      "the position of a candidate in an else",
      'p if { some i; input.candidates[i].region == "a" } else := true if { some i; input.candidates[i].region == "b"; i > 0 }',
      ["index"],
    ],
    ["a list taken apart", 'p if { [a, _] = input.workspace.labels; a == "x" }', ["index"]],
    [
      "a function of a pair",
      "f([a, _]) := a\np if f(input.workspace.labels) == input.key.workload",
      ["index"],
    ],
    [
      "a pair of one's own taken apart",
      'q contains [c.id, c.region] if some c in input.candidates\np contains x if some [x, "a"] in q',
      [],
    ],
    ["lists that are compared", "p if input.workspace.labels == input.key.labels", ["array"]],
    [
      "lists that are made and compared",
      'p if [x | some x in input.workspace.labels] == ["a"]',
      ["array"],
    ],
    ["lists that are not equal", "p if input.workspace.labels != input.key.labels", ["array"]],
    ["sets that are compared", 'p if {x | some x in input.workspace.labels} == {"a"}', []],
    ["a set of lists", "p contains input.workspace.labels", ["array"]],
    [
      "a comprehension of lists",
      "p if count({c.capabilities | some c in input.candidates}) > 1",
      ["array"],
    ],
    ["a list in lists", "p if input.workspace.labels in [input.key.labels]", ["array"]],
    [
      "two values that may differ",
      "l := input.workspace.labels if input.request.stream\nl := input.key.labels if input.request.zdr\np if l[_]",
      ["array"],
    ],
    [
      "a value for every candidate",
      "l := c.capabilities if some c in input.candidates\np if l[_]",
      ["array"],
    ],
    ["a function that gives back", 'f(x) := x\np if f(input.workspace.id) == "a"', []],
    [
      "a function that gives back a list",
      'f(x) := x\np if f(input.workspace.labels) == ["a"]',
      ["array"],
    ],
    ["an answer that is a list", "pass.c := input.workspace.labels", ["array"]],
    ["a reason under a number", 'reason.c[input.request.dimensions] := "A"', ["key"]],
    [
      "a default by a string",
      'p if "a" in object.get(data.approved.regions, input.workspace.id, [])',
      [],
    ],
    ["a default by a path", 'p if object.get(input, ["workspace", "id"], "b") == "a"', []],
    [
      "a default by a path with a position",
      'p if object.get(input, ["candidates", 0], {}) != {}',
      ["object.get"],
    ],
    [
      "a default by a list",
      "p if object.get(data.regions, input.workspace.labels, 1) == 1",
      ["object.get"],
    ],
    ["keys", "p if input.workspace.id in object.keys(data.regions)", []],
    ["nodes", 'p if "b" in graph.reachable({"a": {"b"}}, {input.workspace.id})', []],
    ["sets", 'p if count(({x | some x in input.workspace.labels} & {"a"}) | {"b"}) == 2', []],
    ["types", "p if is_string(input.workspace.id)", []],
    ["print", "p if { print(input.workspace.id); input.request.stream }", []],
    ["with", "q if input.request.stream\np if q with input as {}", ["with"]],
  ];

async function factsOf(modules: readonly Source[]): Promise<readonly ModuleFacts[]> {
  const units = [modules.map(({ path }) => path)];
  const response = await toolchain.check({ modules, units, input_schema: POLICY_INPUT_SCHEMA });
  expect(response.errors).toEqual([]);
  return response.modules;
}

describe("string operations of a module", () => {
  let inspects: readonly (readonly string[] | undefined)[];

  beforeAll(async () => {
    const modules = INSPECTS.map(([, rules], index) => ({
      path: `m${index}.rego`,
      text: `package signalbox.policy.m${index}\n\n${rules}\n`,
    }));
    const byPath = new Map((await factsOf(modules)).map((facts) => [facts.path, facts.inspects]));
    inspects = modules.map(({ path }) => byPath.get(path));
  }, 60_000);

  test.for(INSPECTS.map(([about], index) => [about, index] as const))("%s", ([, index]) => {
    expect(inspects[index]).toEqual(INSPECTS[index]?.[2]);
  });

  test.for<readonly [about: string, rules: string, strings: readonly string[]]>([
    ["bodies and references", 'p if input.workspace.id == "a"', ["a", "id", "workspace"]],
    ["sets, lists, objects and keys", 'p := [{"a"}, ["b"], {"c": "d"}]', ["a", "b", "c", "d"]],
    ["heads", 'p.x["y z"] contains "a"', ["a", "x", "y z"]],
    [
      "else, defaults and comprehensions",
      'default p := "a"\np := "b" if false\nelse := {"c" | true}',
      ["a", "b", "c"],
    ],
    ["arguments", 'f("a") := 1\np := f("b")', ["a", "b", "f", "policy", "s", "signalbox"]],
    [
      "names of members that are read as strings",
      "p if { some k; input.workspace[k] == k }",
      ["id", "labels", "tier", "workspace"],
    ],
    ["not where no name is read", 'p if input.workspace[_] == "a"', ["a", "workspace"]],
    [
      "names of types",
      "p if type_name(input.operation) in input.key.labels",
      [
        "array",
        "boolean",
        "key",
        "labels",
        "null",
        "number",
        "object",
        "operation",
        "set",
        "string",
      ],
    ],
  ])("the strings of %s are found", async ([, rules, strings]) => {
    const [facts] = await factsOf([
      { path: "s.rego", text: `package signalbox.policy.s\n\n${rules}\n` },
    ]);
    expect(facts?.strings).toEqual(strings);
  });

  test("a module that does not compile is reported as uncompiled", async () => {
    const modules = [{ path: "a.rego", text: "package a\n\np if q\n" }];
    const response = await toolchain.check({
      modules,
      units: [],
      input_schema: POLICY_INPUT_SCHEMA,
    });
    expect(response.modules[0]?.inspects).toEqual(["uncompiled"]);
  });
});

const root = new URL("../../", import.meta.url);

function sourcesIn(folder: string): readonly Source[] {
  return readdirSync(new URL(folder, root))
    .filter((name) => name.endsWith(".rego"))
    .map((name) => ({
      path: `${folder}/${name}`,
      text: readFileSync(new URL(`${folder}/${name}`, root), "utf8"),
    }));
}

describe("compiled policies", () => {
  let compiled: CompiledPolicies;

  beforeAll(async () => {
    const sources = ["policies", "policies/lib", "policy-library"].flatMap(sourcesIn);
    compiled = await compilePolicies(sources, { cache: null, toolchain });
  }, 60_000);

  test("shipped with Signalbox distinguish strings only by equality", () => {
    expect(
      compiled.policies.map(({ contract, stringUse }) => [contract.id, stringUse.inspects]),
    ).toEqual(
      [
        "data-retention",
        "embedding-dimensions",
        "environment-separation",
        "eu-residency",
        "modality-approval",
        "provider-deny-list",
        "reasoning-effort",
        "structured-output-parity",
        "time-windows",
        "tool-approval",
      ].map((id) => [id, []]),
    );
  });

  test("name the strings of their libraries and their reasons", () => {
    const strings = compiled.policies.find(({ contract }) => contract.id === "eu-residency")
      ?.stringUse.strings;
    expect(strings).toEqual(expect.arrayContaining(["eu", "labels", "REGION_NOT_IN_EU"]));
  });

  test("include the inspections of their libraries, direct and indirect", async () => {
    const sources = [
      policySource(
        "a",
        { c: "{effect: gate, reasons: [NO]}" },
        "pass.c if data.signalbox.lib.near.ok\n\npass.c if true",
      ),
      policySource(
        "b",
        { c: "{effect: gate, reasons: [NO]}" },
        'pass.c if input.workspace.id == "b-only"',
      ),
      {
        path: "policies/lib/near.rego",
        text: "package signalbox.lib.near\n\nok if data.signalbox.lib.far.ok\n",
      },
      {
        path: "policies/lib/far.rego",
        text: 'package signalbox.lib.far\n\nok if { endswith(input.workspace.id, "-far"); lower(input.workspace.id) == "a" }\n',
      },
    ];
    const { policies, diagnostics } = await compilePolicies(sources, { cache: null, toolchain });
    expect(diagnostics).toEqual([]);
    const [a, b] = policies;
    expect(a?.stringUse.inspects).toEqual(["lower"]);
    expect(a?.stringUse.searches).toEqual(["-far"]);
    expect(a?.stringUse.strings).toEqual(expect.arrayContaining(["-far", "NO"]));
    expect(b?.stringUse.inspects).toEqual([]);
    expect(b?.stringUse.strings).toEqual(["NO", "b-only", "c", "id", "workspace"]);
    expect(a?.path).toBe("policies/a.rego");
    expect(a?.locations).toEqual({ c: { line: 13, column: 1 } });
  });

  test("keep their digest in any folder", async () => {
    const source = policySource(
      "a",
      { c: "{effect: gate, reasons: [NO]}" },
      "pass.c if input.request.stream",
    );
    const digests = await Promise.all(
      ["policies/a.rego", "elsewhere/a.rego"].map(async (path) => {
        const { policies } = await compilePolicies([{ ...source, path }], {
          cache: null,
          toolchain,
        });
        return policies.map((policy) => [policy.path, policy.digest]);
      }),
    );
    const [[first], [second]] = [digests[0] ?? [], digests[1] ?? []];
    expect(first?.[0]).not.toBe(second?.[0]);
    expect(first?.[1]).toBe(second?.[1]);
  });
});
