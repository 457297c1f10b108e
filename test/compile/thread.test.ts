import { hash } from "node:crypto";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { compileCacheAt } from "../../src/cli/terminal/configuration.ts";
import { compileConfiguration, type CompiledConfiguration } from "../../src/compile/compile.ts";
import { loadConfiguration } from "../../src/compile/load.ts";
import { compileOnThread } from "../../src/compile/compile-on-thread.ts";

const ROOT = join(import.meta.dirname, "../..");

/** Paths of all objects, with whether each is frozen and has a prototype. */
function shapes(value: unknown, path = ""): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  const own = `${path} ${Object.isFrozen(value)} ${Object.getPrototypeOf(value) === null}`;
  return [
    own,
    ...Object.entries(value).flatMap(([name, member]) => shapes(member, `${path}.${name}`)),
  ];
}

/** With digests instead of modules: comparing a million numbers one by one takes minutes. */
function comparable({ policies, ...rest }: CompiledConfiguration): object {
  const modules = policies?.modules.map(({ bytes, ...module }) => ({
    ...module,
    bytes: hash("sha256", bytes),
  }));
  return { ...rest, policies: { ...policies, modules } };
}

describe("compiling on a separate thread", () => {
  test("returns the same table, policies and findings as on the main thread", async () => {
    const files = await loadConfiguration(join(ROOT, "routes.yaml"), "routes.yaml", null);
    const cache = compileCacheAt(join(ROOT, ".signalbox/test-cache"), ROOT, process.env);
    const here = await compileConfiguration(files, { cache });
    const there = await compileOnThread(files, { cache });
    expect(comparable(there)).toEqual(comparable(here));
    expect(here.table).not.toBeNull();
    expect(shapes(there.table)).toEqual(shapes(here.table));
  });

  test("returns the findings of files with errors", async () => {
    const files = {
      routes: { path: "routes.yaml", text: "version: 1\nroutes: 7\n" },
      policies: [],
    };
    const there = await compileOnThread(files, { cache: null });
    expect(there).toEqual(await compileConfiguration(files, { cache: null }));
    expect(there.table).toBeNull();
    expect(there.diagnostics.length).toBeGreaterThan(0);
  });

  test("leaves the main thread free while a file compiles", async () => {
    const routes = Array.from(
      { length: 2_000 },
      (_, index) => `  r-${index}: { model: m, provider: p }`,
    ).join("\n");
    const files = {
      routes: { path: "routes.yaml", text: `version: 1\nroutes:\n${routes}\n` },
      policies: [],
    };
    let turns = 0;
    const counting = setInterval(() => (turns += 1), 1);
    await compileOnThread(files, { cache: null });
    clearInterval(counting);
    expect(turns).toBeGreaterThan(20);
  });
});
