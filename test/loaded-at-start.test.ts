import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT, shown, textOf } from "./support/imports.ts";

/**
 * What stands at the top of a file and is loaded with it; `import type` and `import("…")` are not.
 */
const LOADED = /^(?:import|export)\s+(?!type\b)(?:[^;"'`]*?\bfrom\s+)?"([^"]+)"/gm;

/** Files and packages that are loaded with a file. */
function loadedWith(path: string): {
  readonly files: ReadonlySet<string>;
  readonly packages: ReadonlySet<string>;
} {
  const [files, packages] = [new Set<string>(), new Set<string>()];
  const visit = (file: string): void => {
    if (files.has(file)) return;
    files.add(file);
    if (!file.endsWith(".ts")) return;
    for (const [, specifier = ""] of textOf(file).matchAll(LOADED)) {
      if (specifier.startsWith(".")) visit(resolve(dirname(file), specifier));
      else if (!specifier.startsWith("node:"))
        packages.add(
          specifier
            .split("/")
            .slice(0, specifier.startsWith("@") ? 2 : 1)
            .join("/"),
        );
    }
  };
  visit(join(ROOT, path));
  return { files: new Set([...files].filter(existsSync).map(shown)), packages };
}

describe("the modules loaded before a server has read its configuration", () => {
  it("exclude optional ones: PostgreSQL, exporters, cloud credentials, ajv", () => {
    const { files, packages } = loadedWith("src/cli/serve/serve.ts");
    expect(files.size).toBeGreaterThan(300);
    expect([...packages].toSorted()).toEqual(["h3", "jose", "undici", "yaml"]);
    expect([...files].filter((path) => path.startsWith("src/store/postgres/")).length).toBeLessThan(
      5,
    );
  });

  it.each(["src/store/sqlite/worker.ts", "src/policy/toolchain/worker.ts"])(
    "include no package for %s",
    (path) => {
      expect([...loadedWith(path).packages]).toEqual([]);
    },
  );

  it("are fewer than 20 files, and no package, until the command is known", () => {
    const { files, packages } = loadedWith("src/main.ts");
    expect([...packages]).toEqual([]);
    expect(files.size).toBeLessThan(20);
  });
});
