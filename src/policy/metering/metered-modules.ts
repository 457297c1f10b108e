import { createHash } from "node:crypto";
import { meterModule } from "./meter-module.ts";

/** A server holds a module of its files and one for each content that only the store has. */
const MAXIMUM_MODULES = 32;

/** By SHA-256 of the bytes before metering; those used longest ago first. */
const modules = new Map<string, Promise<WebAssembly.Module>>();

/**
 * Meters and compiles a module. One with the same bytes is done once: a reload mostly brings the policies that were there.
 *
 * @throws {MeteringError} or {WebAssembly.CompileError} where the bytes are no policy module.
 */
export async function meteredModule(bytes: Uint8Array): Promise<WebAssembly.Module> {
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
