import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type * as OpaWasm from "@open-policy-agent/opa-wasm";
import type { PolicyInput } from "../src/canon/policy.ts";
import { compilePolicies } from "../src/policy/compile-policies.ts";
import {
  EVALUATION_FUEL,
  EvaluationTimeoutError,
  Evaluator,
  serialise,
} from "../src/policy/evaluator.ts";
import { meterModule } from "../src/policy/meter-module.ts";
import { createToolchain } from "../src/policy/toolchain/toolchain.ts";
import { candidate, ordinaryInput, sampleData } from "../test/policy/samples.ts";

/**
 * What metering costs, and how long the bound of an evaluation can last: the shipped policies as
 * they were compiled and metered (CPU microseconds of all of them, each evaluated alone), then
 * expressions of every kind until they are stopped (CPU milliseconds).
 */
const sdk: typeof OpaWasm = createRequire(import.meta.url)("@open-policy-agent/opa-wasm");
const ROOT = new URL("../", import.meta.url);
const ROUNDS = 2_000;

function cpu(work: () => void): number {
  const began = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(began);
  return user + system;
}

async function shipped(): Promise<void> {
  const sources = ["policies/", "policies/lib/", "policy-library/"].flatMap((folder) =>
    readdirSync(new URL(folder, ROOT))
      .filter((name) => name.endsWith(".rego"))
      .map((name) => ({
        path: `policies/${folder.endsWith("lib/") ? "lib/" : ""}${name}`,
        text: readFileSync(new URL(`${folder}${name}`, ROOT), "utf8"),
      })),
  );
  const { modules } = await compilePolicies(sources, { cache: null });
  const [module] = modules;
  if (module === undefined) throw new Error("bench: nothing was compiled");
  const entrypoints = module.units.map(({ entrypoint }) => entrypoint);
  const plain = sdk.loadPolicySync(Uint8Array.from(module.bytes).buffer, {
    initial: 5,
    maximum: 1024,
  });
  plain.setData(serialise(sampleData));
  const metered = await Evaluator.load(module.bytes, sampleData, entrypoints);
  const metering = Array.from({ length: 10 }, () => cpu(() => meterModule(module.bytes)) / 1_000);
  console.log(
    `metering a module of ${(module.bytes.length / 1_000).toFixed(0)} kB: ${metering[0]?.toFixed(1)} ms, then ${Math.min(...metering).toFixed(1)} ms`,
  );
  for (const count of [2, 10]) {
    const input = inputWith(count);
    let most = 0;
    const runs = { plain: [] as number[], metered: [] as number[] };
    for (let run = 0; run < 5; run += 1) {
      runs.plain.push(cpu(() => repeat((name) => plain.evaluate(input, name))));
      runs.metered.push(cpu(() => repeat((name) => metered.evaluate(input, name))));
    }
    for (const name of entrypoints) {
      metered.evaluate(input, name);
      most = Math.max(most, metered.used);
    }
    const [before, after] = [runs.plain, runs.metered].map((list) =>
      (Math.min(...list) / ROUNDS).toFixed(1),
    );
    const share = ((100 * most) / EVALUATION_FUEL).toFixed(1);
    console.log(
      `${count} candidates, ${entrypoints.length} policies: ${before} µs plain, ${after} µs metered; the dearest takes ${share} % of the bound`,
    );
  }

  function repeat(evaluate: (name: string) => unknown): void {
    for (let round = 0; round < ROUNDS; round += 1) for (const name of entrypoints) evaluate(name);
  }
}

function inputWith(candidates: number): ArrayBuffer {
  const input: PolicyInput = ordinaryInput({
    candidates: Array.from({ length: candidates }, (_, index) => candidate(`candidate-${index}`)),
  });
  return serialise(input);
}

const FIVE =
  "some a in input.w; some b in input.w; some c in input.w; some d in input.w; some e in input.w";

/** Without an end as far as the bound is concerned. */
const ENDLESS: Readonly<Record<string, string>> = {
  nested: `count([1 | ${FIVE}; a == e])`,
  concat: `count([1 | ${FIVE}; concat("", [a, b, c, d, e]) == a])`,
  "regex.match": `count([1 | ${FIVE}; regex.match("^(a|b|[a-z]+)*[0-9]$", concat("", [a, b, c, d, e]))])`,
  "glob.match": `count([1 | ${FIVE}; glob.match("w*d*", [], concat("", [a, b, c, d, e]))])`,
  sets: `count({[a, b, c, d, e] | ${FIVE}})`,
  sort: `count([1 | ${FIVE}; sort(input.w)[0] == a])`,
  json: `count([1 | ${FIVE}; json.unmarshal(json.marshal(input.w))[0] == a])`,
  "large numbers": `count([1 | ${FIVE}; count(a) * 123456789012345678901 * 987654321098765432109 == 3])`,
  "bits.lsh": `count([1 | ${FIVE}; bits.lsh(1, count(a) * 100000) == 5])`,
  upper: `count([1 | ${FIVE}; upper(a) == b])`,
  replace: `count([1 | ${FIVE}; replace(concat("", input.w), "w", "o") == a])`,
  walk: `count([1 | ${FIVE}; walk(input, [_, v]); v == 7])`,
  "net.cidr_contains": `count([1 | ${FIVE}; net.cidr_contains("10.0.0.0/8", "10.1.2.3"); a == e])`,
  base64: `count([1 | ${FIVE}; base64.decode(base64.encode(concat("", input.w))) == a])`,
  "object.union": `count([1 | ${FIVE}; object.union({a: 1}, {b: 2}) == {}])`,
};

async function endless(): Promise<void> {
  const toolchain = createToolchain({ cache: null });
  const entrypoint = "signalbox/decide/all";
  const input = serialise({ w: Array.from({ length: 30 }, (_, index) => `item${index}`) });
  for (const [name, expression] of Object.entries(ENDLESS)) {
    const text = `package signalbox.decide\n\nall := [v | v := ${expression}]\n`;
    const { wasm, errors } = await toolchain.build({
      units: [],
      modules: [{ path: "decide", text }],
      entrypoints: [entrypoint],
    });
    if (wasm === null) throw new Error(`bench: ${name} does not compile: ${errors[0]?.message}`);
    const evaluator = await Evaluator.load(Buffer.from(wasm, "base64"), {}, [entrypoint]);
    const times = Array.from(
      { length: 8 },
      () => cpu(() => stop(name, evaluator, input, entrypoint)) / 1_000,
    );
    console.log(
      `${name.padEnd(18)} first ${times[0]?.toFixed(1).padStart(6)} ms, then ${Math.min(...times).toFixed(1)} ms`,
    );
  }
}

function stop(name: string, evaluator: Evaluator, input: ArrayBuffer, entrypoint: string): void {
  try {
    evaluator.evaluate(input, entrypoint);
  } catch (error) {
    if (error instanceof EvaluationTimeoutError) return;
  }
  console.log(`${name} ended by itself`);
}

await shipped();
await endless();
