import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Source } from "../src/canon/diagnostic.ts";
import { compilePolicies } from "../src/policy/compile-policies.ts";

/**
 * How long ten policies take to compile: nothing cached, then from the cache. In milliseconds,
 * medians of three; the first compilation of the process also reads and compiles the toolchain. The
 * aims are 2 s and 100 ms.
 */
const ROOT = new URL("../", import.meta.url);
const FOLDERS = ["policies/", "policies/lib/", "policy-library/"];

function sources(): readonly Source[] {
  return FOLDERS.flatMap((folder) => {
    const names = readdirSync(new URL(folder, ROOT)).filter((name) => name.endsWith(".rego"));
    const target = folder === "policies/lib/" ? "policies/lib/" : "policies/";
    return names.map((name) => ({
      path: `${target}${name}`,
      text: readFileSync(new URL(`${folder}${name}`, ROOT), "utf8"),
    }));
  });
}

async function timed(folder: string, files: readonly Source[]): Promise<number> {
  const began = performance.now();
  const { policies, diagnostics } = await compilePolicies(files, {
    cache: { directory: join(folder, "cache"), secretDirectory: join(folder, "own") },
  });
  if (policies.length < 10 || diagnostics.some(({ severity }) => severity === "error")) {
    throw new Error(`bench: ${policies.length} policies compiled, ten are needed`);
  }
  return performance.now() - began;
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}

const files = sources();
const cold: number[] = [];
const cached: number[] = [];
for (let round = 0; round < 3; round += 1) {
  const cache = mkdtempSync(join(tmpdir(), "signalbox-bench-"));
  try {
    cold.push(await timed(cache, files));
    cached.push(await timed(cache, files));
  } finally {
    rmSync(cache, { recursive: true, force: true });
  }
}
console.log(`ten policies, first in the process: ${cold[0]?.toFixed(0)} ms`);
console.log(`ten policies, nothing cached:       ${median(cold).toFixed(0)} ms`);
console.log(`ten policies, from the cache:       ${median(cached).toFixed(0)} ms`);
