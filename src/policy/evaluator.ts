import { createRequire } from "node:module";
import type * as OpaWasm from "@open-policy-agent/opa-wasm";
import { parseJson } from "../canon/json/parse-json.ts";

type Sdk = typeof OpaWasm;

// Only the package's CommonJS entry has loadPolicySync, and an evaluation that threw must be replaced at once.
const sdk: Sdk = createRequire(import.meta.url)("@open-policy-agent/opa-wasm");

/** Pages of 64 KiB: 320 KiB to begin with, 64 MiB at most. Memory never shrinks, so without a limit one input keeps it all. */
const MEMORY = { initial: 5, maximum: 1024 };

/** Why a module cannot be used. The message holds nothing of the policies: the engine's own texts name files and lines. */
export class PolicyModuleError extends Error {
  override readonly name = "PolicyModuleError";
}

/** One compiled module with its data. Not for two threads. */
export class Evaluator {
  readonly #module: WebAssembly.Module;
  readonly #data: ArrayBuffer;
  #instance: ReturnType<Sdk["loadPolicySync"]> | null;

  private constructor(module: WebAssembly.Module, data: ArrayBuffer) {
    this.#module = module;
    this.#data = data;
    this.#instance = this.#instantiate();
  }

  /** @throws {PolicyModuleError} when the bytes are not such a module, or the data does not fit into its memory. */
  static async load(bytes: Uint8Array, data: unknown, entrypoints: readonly string[]): Promise<Evaluator> {
    const module = await WebAssembly.compile(Uint8Array.from(bytes)).catch(() => null);
    // The engine would print a complaint about anything else.
    if (module === null || !WebAssembly.Module.exports(module).some(({ name }) => name === "opa_wasm_abi_version")) {
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
    if (missing.length > 0) throw new PolicyModuleError(`a policy module lacks the entrypoint ${missing[0]}`);
    if (evaluator.#needsHost())
      throw new PolicyModuleError("a policy module calls built-ins of the host; there are none");
    return evaluator;
  }

  /**
   * The value of an entrypoint.
   *
   * @param input from {@link serialise}; the engine reads anything else wrongly, without an error.
   * @throws whatever the engine throws, strings included; the caller must not pass it on.
   */
  evaluate(input: ArrayBuffer, entrypoint: string): unknown {
    this.#instance ??= this.#instantiate();
    try {
      const results: unknown = this.#instance.evaluate(input, entrypoint);
      return Array.isArray(results) && results.length === 1 ? resultOf(results[0]) : undefined;
    } catch (error) {
      // An abort leaves the engine's stack where it was: after some hundreds the instance fails whatever it is asked.
      this.#instance = null;
      throw error;
    }
  }

  #instantiate(): ReturnType<Sdk["loadPolicySync"]> {
    const instance = sdk.loadPolicySync(this.#module, { ...MEMORY });
    instance.setData(this.#data);
    return instance;
  }

  #entrypoints(): object {
    const names: unknown = this.#instance?.entrypoints;
    return typeof names === "object" && names !== null ? names : {};
  }

  /** A host function would run in this process with whatever a policy hands it; the compiler lets none through. */
  #needsHost(): boolean {
    return Object.keys(hostBuiltins(this.#instance)).length > 0;
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
  const exports = wasmInstance instanceof WebAssembly.Instance ? wasmInstance.exports : wasmInstance.instance.exports;
  const { builtins, opa_json_dump } = exports;
  if (typeof builtins !== "function" || typeof opa_json_dump !== "function") return { unreadable: 0 };
  const at: unknown = opa_json_dump(builtins());
  if (typeof at !== "number") return { unreadable: 0 };
  const bytes = new Uint8Array(mem.buffer);
  const listed: unknown = parseJson(new TextDecoder().decode(bytes.subarray(at, bytes.indexOf(0, at))));
  return typeof listed === "object" && listed !== null ? listed : { unreadable: 0 };
}
