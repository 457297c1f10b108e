import { beforeAll, describe, expect, test } from "vitest";
import { POLICY_INPUT_SCHEMA } from "../../src/policy/input-schema.ts";
import type { ComparedPart, ModuleFacts } from "../../src/policy/toolchain/protocol.ts";
import { toolchain } from "./samples.ts";

/**
 * Rules, and what of the input they compare with which string: `path=string`, with `*` for what is
 * known at run time only.
 */
const COMPARISONS: readonly (readonly [rules: string, compared: readonly string[]])[] = [
  ['p if input.request.context == "a"', ["request.context=a"]],
  ['p if "a" != input.request["context"]', ["request.context=a"]],
  ['p if "a" in input.request.needs', ["request.needs.*=a"]],
  ['p if not input.time.hour in ["a", "b"]', ["time.hour=a", "time.hour=b"]],
  ['p if input.time.hour in {"a"}', ["time.hour=a"]],
  ['p if { some c in input.candidates; c.retention == "a" }', ["candidates.*.retention=a"]],
  ['p if { c := input.candidates[_]; "a" in c.capabilities }', ["candidates.*.capabilities.*=a"]],
  ['p if every c in input.candidates { c.rank == "a" }', ["candidates.*.rank=a"]],
  ['p if { t := input.time; d := t.day; d == "a" }', ["time.day=a"]],
  ['p := {c.id | some c in input.candidates; c.rank == "a"}', ["candidates.*.rank=a"]],
  ['p if input.request.stream\nelse := true if input.operation == "a"', ["operation=a"]],
  ['p if { x := "a"; input.time.day == x }', ["time.day=a"]],
  ['f(x) if x == "a"\np if f(input.time.day)', ["time.day=a"]],
  ['f(x) if x in input.workspace.labels\np if not f("a")', ["workspace.labels.*=a"]],
  ['f("a")\np if f(input.workspace.id)', ["workspace.id=a"]],
  ['f(x) if x == "a"\np if f(input.time.day)\nq if f(input.operation)', ["time.day/operation=a"]],
  ['s := {"a", "b"}\np if input.workspace.tier in s', ["workspace.tier=a", "workspace.tier=b"]],
  ['s contains "a"\np if s[input.workspace.tier]', ["workspace.tier=a"]],
  [
    's := [{"t": "a", "r": "b"}]\np if some x in s\np if { some x in s; x.t == input.workspace.tier }',
    ["workspace.tier=a"],
  ],
  ['o := {"a": 1}\np if o[input.workspace.id] > 0', ["workspace.id=a"]],
  ['p if object.get({"a": true}, input.workspace.id, false)', ["workspace.id=a"]],
  ['l contains x if some x in input.key.labels\np if count({"a"} - l) == 0', ["key.labels.*=a"]],
  ['l contains x if some x in input.key.labels\np if count(l & {"a"}) > 0', ["key.labels.*=a"]],
  ['p if every x in ["a"] { x in input.key.labels }', ["key.labels.*=a"]],
  ['p if { "w": input.workspace.id } == {"w": "a"}', ["workspace.id=a"]],
  ["p if data.regions.a", ["keys of data.regions=a"]],
  ['p if "a" in data.regions[input.workspace.id]', ["data.regions.*.*=a"]],
  ["p if data.approved.regions.a", ["keys of data.approved.regions=a"]],
  ['default r := "a"\nr := input.workspace.tier\np if r == "a"', []],
  // What a built-in makes of it, is not known.
  ['p if lower(input.workspace.id) == "a"', []],
  ['p if startswith(input.workspace.id, "a")', []],
  ['p if { some x in {"a"}; x == "a" }', []],
  ["p if input.workspace.id == input.workspace.tier", []],
  ["p if input.request.dimensions == 3", []],
];

function shown({ root, path, key }: ComparedPart): string {
  const steps = path.map((one) => one ?? "*");
  return `${key ? "keys of " : ""}${(root === "input" ? steps : [root, ...steps]).join(".")}`;
}

describe("comparisons of the input with strings", () => {
  let modules: readonly ModuleFacts[];

  beforeAll(async () => {
    const sources = COMPARISONS.map(([rules], index) => ({
      path: `m${index}.rego`,
      text: `package m${index}\n\n${rules}\n`,
    }));
    const response = await toolchain.check({
      modules: sources,
      units: [],
      input_schema: POLICY_INPUT_SCHEMA,
    });
    modules = response.modules;
  }, 60_000);

  test.for(COMPARISONS.map(([rules, compared], index) => [rules, compared, index] as const))(
    "%s has the comparisons %j",
    ([, compared, index]) => {
      const facts = modules.find(({ path }) => path === `m${index}.rego`);
      expect(
        facts?.comparisons.map(({ against, value }) => `${against.map(shown).join("/")}=${value}`),
      ).toEqual(compared);
    },
  );
});
