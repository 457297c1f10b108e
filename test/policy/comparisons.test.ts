import { beforeAll, describe, expect, test } from "vitest";
import { POLICY_INPUT_SCHEMA } from "../../src/policy/input-schema.ts";
import type { ModuleFacts } from "../../src/policy/toolchain/protocol.ts";
import { toolchain } from "./samples.ts";

/** Rules, and what of the input they compare with which word: `path=word`, with `*` for what is known at run time only. */
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
  // Whose part it is, is not known.
  ['f(x) if x == "a"\np if f(input.time.day)', []],
  ['p if { some x in {"a"}; x == "a" }', []],
  ["p if input.workspace.id == input.workspace.tier", []],
  ["p if input.request.dimensions == 3", []],
];

describe("comparisons of the input with words", () => {
  let modules: readonly ModuleFacts[];

  beforeAll(async () => {
    const sources = COMPARISONS.map(([rules], index) => ({
      path: `m${index}.rego`,
      text: `package m${index}\n\n${rules}\n`,
    }));
    const response = await toolchain.check({ modules: sources, units: [], input_schema: POLICY_INPUT_SCHEMA });
    modules = response.modules;
  }, 60_000);

  test.for(COMPARISONS.map(([rules, compared], index) => [rules, compared, index] as const))(
    "%s",
    ([, compared, index]) => {
      const facts = modules.find(({ path }) => path === `m${index}.rego`);
      expect(facts?.inspects).toEqual([]);
      expect(
        facts?.comparisons.map(({ path, value }) => `${path.map((one) => one ?? "*").join(".")}=${value}`),
      ).toEqual(compared);
    },
  );
});
