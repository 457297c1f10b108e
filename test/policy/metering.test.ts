import type * as OpaWasm from "@open-policy-agent/opa-wasm";
import fc from "fast-check";
import { createRequire } from "node:module";
import { readdirSync, readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { CAPABILITY_NAMES } from "../../src/canon/capability.ts";
import type { Source } from "../../src/canon/diagnostic.ts";
import { OPERATIONS } from "../../src/canon/operation.ts";
import type { PolicyInput } from "../../src/canon/policy.ts";
import { REASONING_EFFORTS, TOKEN_BUCKETS } from "../../src/canon/request.ts";
import { RETENTIONS } from "../../src/canon/table.ts";
import { compilePolicies } from "../../src/policy/compile-policies.ts";
import type { PolicyModule } from "../../src/policy/compiled.ts";
import {
  EVALUATION_FUEL,
  EvaluationTimeoutError,
  Evaluator,
  serialise,
} from "../../src/policy/evaluator.ts";
import { MeteringError, meterModule } from "../../src/policy/meter-module.ts";
import { RULES } from "../cli/policies-served/fixture.ts";
import { candidate, ordinaryInput, policySource, sampleData, toolchain } from "./samples.ts";

const sdk: typeof OpaWasm = createRequire(import.meta.url)("@open-policy-agent/opa-wasm");

const FOLDERS = ["policies/", "policies/lib/", "policy-library/"];
const shipped: readonly Source[] = FOLDERS.flatMap((folder) => {
  const url = new URL(`../../${folder}`, import.meta.url);
  const target = folder === "policies/lib/" ? "policies/lib/" : "policies/";
  return readdirSync(url)
    .filter((name) => name.endsWith(".rego"))
    .map((name) => ({ path: `${target}${name}`, text: readFileSync(new URL(name, url), "utf8") }));
});

const labels = fc.subarray(["eu", "regulated", "us"]);
const inputs: fc.Arbitrary<PolicyInput> = fc.record({
  operation: fc.constantFrom(...OPERATIONS),
  workspace: fc.record({
    id: fc.constantFrom("demo", "other"),
    tier: fc.constantFrom("standard", "regulated"),
    labels,
  }),
  budget: fc.constant({ remaining: "unlimited" as const }),
  key: fc.record({
    environment: fc.constantFrom("production", "staging"),
    workload: fc.constant("other"),
    owner: fc.constant("other"),
    labels,
  }),
  request: fc.record({
    route: fc.constantFrom("chat-small", "other"),
    needs: fc.subarray([...CAPABILITY_NAMES]),
    stream: fc.boolean(),
    context: fc.constantFrom(...TOKEN_BUCKETS),
    max_output: fc.constantFrom(...TOKEN_BUCKETS),
    reasoning_effort: fc.constantFrom(...REASONING_EFFORTS),
    dimensions: fc.constantFrom(0, 256, 1536),
    allow_fallbacks: fc.boolean(),
    data_collection: fc.constantFrom("allow", "deny"),
    zdr: fc.boolean(),
  }),
  time: fc.record({
    day: fc.constantFrom("weekday", "weekend"),
    hour: fc.constantFrom("night", "morning", "evening"),
  }),
  local_time: fc.constant({}),
  candidates: fc
    .array(
      fc.record({
        region: fc.constantFrom("eu-west", "us-east"),
        retention: fc.constantFrom(...RETENTIONS),
        trains_on_data: fc.boolean(),
        capabilities: fc.subarray([...CAPABILITY_NAMES]),
      }),
      { maxLength: 10 },
    )
    .map((list) => list.map((changes, index) => candidate(`candidate-${index}`, changes))),
});

describe("metered modules", { timeout: 120_000 }, () => {
  let module: PolicyModule;
  let metered: Evaluator;

  const entrypoints = (): readonly string[] => module.units.map(({ entrypoint }) => entrypoint);

  beforeAll(async () => {
    const { modules } = await compilePolicies(shipped, { cache: null, toolchain });
    const [only] = modules;
    if (only === undefined) throw new Error("nothing was compiled");
    module = only;
    metered = await Evaluator.load(module.bytes, sampleData, entrypoints());
  });

  test("give the same answers as their original modules", () => {
    const plain = sdk.loadPolicySync(Uint8Array.from(module.bytes).buffer, {
      initial: 5,
      maximum: 1024,
    });
    plain.setData(serialise(sampleData));
    fc.assert(
      fc.property(inputs, (input) => {
        for (const entrypoint of entrypoints()) {
          const [row] = plain.evaluate(serialise(input), entrypoint) as readonly {
            readonly result: unknown;
          }[];
          expect(metered.evaluate(serialise(input), entrypoint)).toEqual(row?.result);
        }
      }),
      { numRuns: 200 },
    );
  });

  test("the policies shipped with Signalbox use less than a twentieth of the bound", () => {
    let most = 0;
    fc.assert(
      fc.property(inputs, (input) => {
        for (const entrypoint of entrypoints()) {
          metered.evaluate(serialise(input), entrypoint);
          most = Math.max(most, metered.used);
        }
      }),
      { numRuns: 200 },
    );
    expect(most).toBeGreaterThan(1_000);
    expect(most / EVALUATION_FUEL).toBeLessThan(0.05);
  });

  test("an evaluation costs the same after every other evaluation", async () => {
    const other = await Evaluator.load(module.bytes, sampleData, entrypoints());
    const [entrypoint = ""] = entrypoints();
    const cost = (evaluator: Evaluator, input: PolicyInput): number => {
      evaluator.evaluate(serialise(input), entrypoint);
      return evaluator.used;
    };
    const before = cost(other, ordinaryInput());
    fc.assert(
      fc.property(inputs, (input) => {
        expect(cost(metered, input)).toBe(cost(other, input));
        expect(cost(metered, ordinaryInput())).toBe(before);
      }),
      { numRuns: 100 },
    );
  });

  test("an evaluation without an end is stopped at its bound, and the next one is not disturbed", async () => {
    const source = policySource(
      "endless",
      { open: "{effect: gate, reasons: [CLOSED]}" },
      RULES.endless,
    );
    const { modules } = await compilePolicies([source], { cache: null, toolchain });
    const [endless] = modules;
    const names = endless?.units.map(({ entrypoint }) => entrypoint) ?? [];
    const evaluator = await Evaluator.load(endless?.bytes ?? new Uint8Array(), sampleData, names);
    const used: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      expect(() => evaluator.evaluate(serialise(ordinaryInput()), names[0] ?? "")).toThrow(
        EvaluationTimeoutError,
      );
      used.push(evaluator.used);
    }
    // One charge may go beyond it, by what is left of one function.
    expect(used[0]).toBeGreaterThan(EVALUATION_FUEL);
    expect(used[0]).toBeLessThan(EVALUATION_FUEL * 1.01);
    expect(new Set(used).size).toBe(1);
  });
});

/** A module with one function of no parameters and no results, and one mutable i64. */
function moduleOf(...body: readonly number[]): Uint8Array {
  const section = (id: number, ...content: readonly number[]): readonly number[] => [
    id,
    content.length,
    ...content,
  ];
  const code = [0, ...body, 0x0b];
  return Uint8Array.from([
    0,
    0x61,
    0x73,
    0x6d,
    1,
    0,
    0,
    0,
    ...section(1, 1, 0x60, 0, 0),
    ...section(3, 1, 0),
    ...section(5, 1, 0, 1),
    ...section(6, 1, 0x7e, 1, 0x42, 0, 0x0b),
    ...section(7, 1, 1, 0x66, 0, 0),
    ...section(10, 1, code.length, ...code),
  ]);
}

describe("modules that no policy compiles to", () => {
  test("a harmless module is metered", async () => {
    const metered = meterModule(moduleOf(0x03, 0x40, 0x41, 0, 0x0d, 0, 0x0b));
    const exported = WebAssembly.Module.exports(await WebAssembly.compile(metered)).map(
      ({ name }) => name,
    );
    expect(exported).toEqual(["f", "signalbox_fuel"]);
  });

  test.for([
    ["sets the meter itself", moduleOf(0x42, 0, 0x24, 1)],
    ["reads the meter", moduleOf(0x23, 1, 0x1a)],
    ["fills memory in one instruction", moduleOf(0x41, 0, 0x41, 0, 0x41, 0, 0xfc, 11, 0)],
    ["has an instruction of a later WebAssembly", moduleOf(0xfd, 0)],
    ["is cut off", moduleOf().subarray(0, -2)],
    ["has no code", moduleOf().subarray(0, -6)],
    ["is no module", Uint8Array.from([1, 2, 3])],
  ] as const)("a module that %s is refused", ([, bytes]) => {
    expect(() => meterModule(bytes)).toThrow(MeteringError);
  });
});
