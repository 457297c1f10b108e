import { readFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const SOURCE = resolve(import.meta.dirname, "../../src");

/**
 * Modules that are loaded with a file, before anything of it runs: imports that are neither dynamic
 * nor of types alone.
 */
function loadedWith(
  file: string,
  seen = new Map<string, readonly string[]>(),
): ReadonlyMap<string, readonly string[]> {
  if (seen.has(file)) return seen;
  const specifiers = [
    ...readFileSync(file, "utf8").matchAll(/^(?:import|export) (?!type )[^;]*?from "([^"]+)"/gm),
  ].map(([, specifier]) => specifier ?? "");
  seen.set(file, specifiers);
  for (const specifier of specifiers) {
    if (specifier.startsWith(".")) loadedWith(resolve(dirname(file), specifier), seen);
  }
  return seen;
}

describe("a server that exports nothing", () => {
  it("loads neither OpenTelemetry's SDK nor the log's library", () => {
    const loaded = loadedWith(resolve(SOURCE, "cli/serve/serve.ts"));
    expect(loaded.size).toBeGreaterThan(200);
    const heavy = [...loaded].filter(([, specifiers]) =>
      specifiers.some(
        (specifier) => specifier === "pino" || specifier.startsWith("@opentelemetry/"),
      ),
    );
    expect(heavy.map(([file]) => relative(SOURCE, file))).toEqual([]);
    const exporting = loadedWith(resolve(SOURCE, "telemetry/open-otlp.ts"));
    expect([...exporting.values()].flat()).toContain("@opentelemetry/sdk-trace");
  });
});
