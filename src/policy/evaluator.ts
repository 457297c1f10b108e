import type * as OpaWasm from "@open-policy-agent/opa-wasm";
import type { LoadedPolicy } from "@open-policy-agent/opa-wasm";
import { hash } from "node:crypto";
import { createRequire } from "node:module";
import { parseJson } from "../canon/json.ts";
import { FUEL_EXPORT, TRACE_EXPORTS, meterModule } from "./meter-module.ts";

/**
 * One evaluation of a module that marks the memory it loads. It finds the members of the input that
 * the answer depends on: an evaluation with other values of the members that were not loaded runs
 * through the same instructions.
 */
function inputTrace(policy: LoadedPolicy) {
  /** Where the pointers to the members of the input are, by path; a list is one member. */
  const members = new Map<string, number>();
  let size = 0;
  const exports: Readonly<Record<string, unknown>> = exportsOf(policy);

  function addMembers(path: string, object: number, memory: DataView) {
    const pointer = (at: number) => memory.getUint32(at, true);
    const [buckets, count] = [pointer(object + POINTER), pointer(object + 2 * POINTER)];
    for (let bucket = 0; bucket < count; bucket += 1) {
      let element = pointer(buckets + POINTER * bucket);
      while (element !== 0) {
        const memberPath = `${path}.${stringAt(pointer(element), memory)}`;
        const at = pointer(element + POINTER);
        if (memory.getUint8(at) === OBJECT) addMembers(memberPath, at, memory);
        else members.set(memberPath, element + POINTER);
        element = pointer(element + 2 * POINTER);
      }
    }
  }

  function watch(...values: readonly [start: number, size: number]) {
    for (const [index, name] of TRACE_EXPORTS.entries()) {
      const global = exports[name];
      if (!(global instanceof WebAssembly.Global))
        throw new Error("evaluator: a module without a trace");
      global.value = values[index];
    }
  }

  function call(name: string, ...values: readonly number[]): number {
    const exported = exports[name];
    if (typeof exported !== "function") throw new Error(`evaluator: a module without ${name}`);
    const result: unknown = exported(...values);
    return Number(result);
  }

  return {
    /** @returns address of the JSON text of the results. @throws any error of the engine. */
    evaluate(input: ArrayBuffer, entrypoint: number): number {
      const { mem, dataHeapPtr, dataAddr } = policy;
      call("opa_heap_ptr_set", Number(dataHeapPtr));
      const text = call("opa_malloc", input.byteLength);
      new Uint8Array(mem.buffer).set(new Uint8Array(input), text);
      const root = call("opa_value_parse", text, input.byteLength);
      addMembers("input", root, new DataView(mem.buffer));
      // Larger than any block that was freed meanwhile: the marks lie behind everything else.
      const used = call("opa_heap_ptr_get") - text;
      const marks = call("opa_malloc", 2 * used + 64);
      size = marks - text;
      new Uint8Array(mem.buffer, marks, size).fill(0);
      const context = call("opa_eval_ctx_new");
      call("opa_eval_ctx_set_input", context, root);
      call("opa_eval_ctx_set_data", context, dataAddr);
      call("opa_eval_ctx_set_entrypoint", context, entrypoint);
      watch(text, size);
      call("eval", context);
      // The results may contain values of the input.
      const results = call("opa_json_dump", call("opa_eval_ctx_get_result", context));
      watch(0, 0);
      return results;
    },
    /** Paths of the members of the input that the last evaluation loaded. */
    loaded(): readonly string[] {
      const { buffer } = policy.mem;
      return [...members.keys()].filter((path) => {
        const at = (members.get(path) ?? 0) + size;
        return new Uint8Array(buffer, at, POINTER).includes(1);
      });
    },
  };
}

/** First byte of an object in memory (`opa_value` of OPA's `wasm/src/value.h`). */
const OBJECT = 6;

const POINTER = 4;

function stringAt(at: number, memory: DataView): string {
  const [length, text] = [memory.getUint32(at + 4, true), memory.getUint32(at + 8, true)];
  return String.fromCharCode(...new Uint8Array(memory.buffer, text, length));
}

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
 * Bound of one evaluation: calls and rounds of loops, long ones counted several times. Not a
 * time, so that every machine stops at the same point. Measured over all kinds of built-ins it is 1
 * to 10 ms, and up to 41 ms the first time (docs/how-we-know.md).
 */
export const EVALUATION_FUEL = 1_000_000;

/** For work that is not a policy's: the start of a module, and reading the data of routes.yaml. */
const UNBOUNDED = 2n ** 62n;

/** An evaluation that ran out of fuel. */
export class EvaluationTimeoutError extends Error {
  override readonly name = "EvaluationTimeoutError";
}

/**
 * A module that cannot be used. The message quotes nothing of the policies; the engine's own errors
 * name files and lines.
 */
export class PolicyModuleError extends Error {
  override readonly name = "PolicyModuleError";
}

/** An instance with the counter of its fuel. */
interface MeteredInstance {
  readonly policy: LoadedPolicy;
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
   * @param isTraced whether evaluations can be traced; they take longer then.
   * @throws {PolicyModuleError} when the bytes are not such a module, or the data does not fit into
   * its memory.
   */
  static async load(
    bytes: Uint8Array,
    data: unknown,
    entrypoints: readonly string[],
    isTraced = false,
  ): Promise<Evaluator> {
    const module = await meteredModule(bytes, isTraced).catch(() => null);
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
   * @param loaded receives the paths of the input on which the value, or the error, depends.
   * @throws {EvaluationTimeoutError} where it would take more than {@link EVALUATION_FUEL}.
   * @throws any error of the engine, strings included; the caller must not pass it on.
   */
  evaluate(input: ArrayBuffer, entrypoint: string, loaded: Set<string> | null = null): unknown {
    const { policy, fuel } = (this.#instance ??= this.#instantiate());
    fuel.value = BigInt(EVALUATION_FUEL);
    const trace = loaded === null ? null : inputTrace(policy);
    try {
      const results: unknown =
        trace === null
          ? policy.evaluate(input, entrypoint)
          : jsonAt(trace.evaluate(input, policy.entrypoints[entrypoint]), policy.mem);
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
      for (const path of trace?.loaded() ?? []) loaded?.add(path);
    }
  }

  /** Fuel that the last evaluation took, whether it ended well or not. */
  get used(): number {
    return this.#used;
  }

  #instantiate(): MeteredInstance {
    const policy = sdk.loadPolicySync(this.#module, { ...MEMORY });
    const fuel = exportsOf(policy)[FUEL_EXPORT];
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
  #needsHost() {
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

function resultOf(row: unknown) {
  return typeof row === "object" && row !== null && "result" in row ? row.result : undefined;
}

/** The module's own list of the host functions that it calls: name → number, JSON in its memory. */
function hostBuiltins(instance: LoadedPolicy | null): object {
  if (instance === null) return {};
  const { builtins, opa_json_dump } = exportsOf(instance);
  if (typeof builtins !== "function" || typeof opa_json_dump !== "function")
    return { unreadable: 0 };
  const at: unknown = opa_json_dump(builtins());
  if (typeof at !== "number") return { unreadable: 0 };
  const table = jsonAt(at, instance.mem);
  return typeof table === "object" && table !== null ? table : { unreadable: 0 };
}

function exportsOf({ wasmInstance }: LoadedPolicy): Readonly<Record<string, unknown>> {
  return wasmInstance instanceof WebAssembly.Instance
    ? wasmInstance.exports
    : wasmInstance.instance.exports;
}

/** The value whose JSON text begins at an address. */
function jsonAt(at: number, { buffer }: WebAssembly.Memory): unknown {
  const bytes = new Uint8Array(buffer);
  return parseJson(new TextDecoder().decode(bytes.subarray(at, bytes.indexOf(0, at))));
}

/** A server holds a module of its files and one for each content that only the store has. */
const MAXIMUM_MODULES = 32;

/** By SHA-256 of the bytes before metering, and tracing; those used longest ago first. */
const modules = new Map<string, Promise<WebAssembly.Module>>();

/**
 * Meters and compiles a module. One with the same bytes is done once: a reload mostly brings the
 * policies that were there.
 *
 * @throws {MeteringError} or {WebAssembly.CompileError} where the bytes are no policy module.
 */
async function meteredModule(bytes: Uint8Array, isTraced: boolean): Promise<WebAssembly.Module> {
  const digest = `${hash("sha256", bytes, "hex")} ${isTraced}`;
  const cached = modules.get(digest);
  modules.delete(digest);
  const module = cached ?? compileMetered(bytes, isTraced);
  modules.set(digest, module);
  for (const [oldest] of modules) {
    if (modules.size <= MAXIMUM_MODULES) break;
    modules.delete(oldest);
  }
  return await module;
}

async function compileMetered(bytes: Uint8Array, isTraced: boolean): Promise<WebAssembly.Module> {
  return await WebAssembly.compile(meterModule(bytes, isTraced));
}
