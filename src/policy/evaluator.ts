import { createRequire } from "node:module";
import type * as OpaWasm from "@open-policy-agent/opa-wasm";
import { parseJson } from "../canon/json.ts";
import { FUEL_EXPORT, meterModule } from "./meter-module.ts";
import { createHash } from "node:crypto";

type Sdk = typeof OpaWasm;

// Only the package's CommonJS entry has loadPolicySync, and an evaluation that threw must be
// replaced at once.
const sdk: Sdk = createRequire(import.meta.url)("@open-policy-agent/opa-wasm");

/**
 * Pages of 64 KiB: 320 KiB to begin with, 64 MiB at most. Memory never shrinks, so without a limit
 * one input keeps it all.
 */
const MEMORY = { initial: 5, maximum: 1024 };

/**
 * What one evaluation may use: calls and rounds of loops, long ones counted several times. Not a
 * time, so that every machine stops at the same point. Measured over all kinds of built-ins it is 1
 * to 10 ms, and up to 41 ms the first time (docs/how-we-know.md).
 */
export const EVALUATION_FUEL = 1_000_000;

/** Enough for what no policy does: a module's start, and reading the data of routes.yaml. */
const UNBOUNDED = 2n ** 62n;

/** An evaluation that has used all that it may. */
export class EvaluationTimeoutError extends Error {
  override readonly name = "EvaluationTimeoutError";
}

/**
 * Why a module cannot be used. The message holds nothing of the policies: the engine's own texts
 * name files and lines.
 */
export class PolicyModuleError extends Error {
  override readonly name = "PolicyModuleError";
}

/** An instance with the counter of its fuel. */
interface MeteredInstance {
  readonly policy: ReturnType<Sdk["loadPolicySync"]>;
  readonly fuel: Counter;
}

interface Counter {
  value: bigint;
}

function isCounter(value: unknown): value is Counter {
  return value instanceof WebAssembly.Global && typeof value.value === "bigint";
}

/** One compiled module with its data. Not for two threads. */
export class Evaluator {
  readonly #module: WebAssembly.Module;
  readonly #data: ArrayBuffer;
  #instance: MeteredInstance | null;
  #used = 0;

  private constructor(module: WebAssembly.Module, data: ArrayBuffer) {
    this.#module = module;
    this.#data = data;
    this.#instance = this.#instantiate();
  }

  /**
   * @throws {PolicyModuleError} when the bytes are not such a module, or the data does not fit into
   * its memory.
   */
  static async load(
    bytes: Uint8Array,
    data: unknown,
    entrypoints: readonly string[],
  ): Promise<Evaluator> {
    const module = await meteredModule(bytes).catch(() => null);
    // The engine would print a complaint about anything else.
    if (
      module === null ||
      !WebAssembly.Module.exports(module).some(({ name }) => name === "opa_wasm_abi_version")
    ) {
      throw new PolicyModuleError("a policy module is damaged: compile the policies again");
    }
    let evaluator: Evaluator;
    try {
      evaluator = new Evaluator(module, serialise(data));
    } catch {
      throw new PolicyModuleError(
        "a policy module cannot be loaded: the data from routes.yaml may need more than 64 MiB",
      );
    }
    const missing = entrypoints.filter((name) => !Object.hasOwn(evaluator.#entrypoints(), name));
    if (missing.length > 0)
      throw new PolicyModuleError(`a policy module lacks the entrypoint ${missing[0]}`);
    if (evaluator.#needsHost())
      throw new PolicyModuleError("a policy module calls built-ins of the host; there are none");
    return evaluator;
  }

  /**
   * The value of an entrypoint. Its cost is the same on every machine, and is in {@link used}
   * afterwards.
   *
   * @param input from {@link serialise}; the engine reads anything else wrongly, without an error.
   * @throws {EvaluationTimeoutError} where it would take more than {@link EVALUATION_FUEL}.
   * @throws any error of the engine, strings included; the caller must not pass it on.
   */
  evaluate(input: ArrayBuffer, entrypoint: string): unknown {
    const { policy, fuel } = (this.#instance ??= this.#instantiate());
    fuel.value = BigInt(EVALUATION_FUEL);
    try {
      const results: unknown = policy.evaluate(input, entrypoint);
      return Array.isArray(results) && results.length === 1 ? resultOf(results[0]) : undefined;
    } catch (error) {
      // An abort leaves the engine's stack where it was: after some hundreds the instance fails
      // every evaluation.
      this.#instance = null;
      if (fuel.value < 0n)
        throw new EvaluationTimeoutError(
          "a policy used all units of work that an evaluation may use",
        );
      throw error;
    } finally {
      this.#used = EVALUATION_FUEL - Number(fuel.value);
    }
  }

  /** Fuel that the last evaluation took, whether it ended well or not. */
  get used(): number {
    return this.#used;
  }

  #instantiate(): MeteredInstance {
    const policy = sdk.loadPolicySync(this.#module, { ...MEMORY });
    const { wasmInstance } = policy;
    const { exports } =
      wasmInstance instanceof WebAssembly.Instance ? wasmInstance : wasmInstance.instance;
    const fuel: unknown = exports[FUEL_EXPORT];
    if (!isCounter(fuel)) throw new Error("evaluator: a module without a meter");
    fuel.value = UNBOUNDED;
    policy.setData(this.#data);
    return { policy, fuel };
  }

  #entrypoints(): object {
    const names: unknown = this.#instance?.policy.entrypoints;
    return typeof names === "object" && names !== null ? names : {};
  }

  /**
   * A host function would run in this process with arguments of a policy; the compiler rejects them
   * all.
   */
  #needsHost(): boolean {
    return Object.keys(hostBuiltins(this.#instance?.policy ?? null)).length > 0;
  }
}

/** JSON in a buffer of its own, the one form of input that the engine takes as it is. */
export function serialise(value: unknown): ArrayBuffer {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  const buffer = new ArrayBuffer(bytes.byteLength);
  new Uint8Array(buffer).set(bytes);
  return buffer;
}

function resultOf(row: unknown): unknown {
  return typeof row === "object" && row !== null && "result" in row ? row.result : undefined;
}

/** The module's own list of the host functions that it calls: name → number, JSON in its memory. */
function hostBuiltins(instance: ReturnType<Sdk["loadPolicySync"]> | null): object {
  if (instance === null) return {};
  const { wasmInstance, mem } = instance;
  const exports =
    wasmInstance instanceof WebAssembly.Instance
      ? wasmInstance.exports
      : wasmInstance.instance.exports;
  const { builtins, opa_json_dump } = exports;
  if (typeof builtins !== "function" || typeof opa_json_dump !== "function")
    return { unreadable: 0 };
  const at: unknown = opa_json_dump(builtins());
  if (typeof at !== "number") return { unreadable: 0 };
  const bytes = new Uint8Array(mem.buffer);
  const listed: unknown = parseJson(
    new TextDecoder().decode(bytes.subarray(at, bytes.indexOf(0, at))),
  );
  return typeof listed === "object" && listed !== null ? listed : { unreadable: 0 };
}

/** A server holds a module of its files and one for each content that only the store has. */
const MAXIMUM_MODULES = 32;

/** By SHA-256 of the bytes before metering; those used longest ago first. */
const modules = new Map<string, Promise<WebAssembly.Module>>();

/**
 * Meters and compiles a module. One with the same bytes is done once: a reload mostly brings the
 * policies that were there.
 *
 * @throws {MeteringError} or {WebAssembly.CompileError} where the bytes are no policy module.
 */
async function meteredModule(bytes: Uint8Array): Promise<WebAssembly.Module> {
  const digest = createHash("sha256").update(bytes).digest("hex");
  const known = modules.get(digest);
  modules.delete(digest);
  const module = known ?? compileMetered(bytes);
  modules.set(digest, module);
  for (const [oldest] of modules) {
    if (modules.size <= MAXIMUM_MODULES) break;
    modules.delete(oldest);
  }
  return await module;
}

async function compileMetered(bytes: Uint8Array): Promise<WebAssembly.Module> {
  return await WebAssembly.compile(meterModule(bytes));
}
