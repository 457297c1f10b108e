import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { keepCompiledCode } from "../../src/cli/terminal/process.ts";
import { ROOT } from "../support/imports.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-code-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** An environment with caches in a folder of its own. */
function environmentOf(name: string): {
  environment: Record<string, string>;
  own: string;
  code: string;
} {
  const caches = join(folder, name);
  mkdirSync(caches);
  const own = join(caches, "signalbox");
  return { environment: { HOME: caches, XDG_CACHE_HOME: caches }, own, code: join(own, "code") };
}

/** What threads and worker processes receive. */
function reportedOf(environment: Record<string, string | undefined>): string | undefined {
  keepCompiledCode(environment);
  return environment.NODE_COMPILE_CACHE;
}

describe("Node's compile cache of the program", () => {
  it("is kept in the user's cache folder, which only the user can write", () => {
    const { environment, code } = environmentOf("kept");
    const run = (): number | null =>
      spawnSync(process.execPath, [join(ROOT, "src/main.ts"), "help"], { env: environment }).status;
    expect(run()).toBe(0);
    expect(statSync(code).mode & 0o777).toBe(0o700);
    const [version = ""] = readdirSync(code);
    const kept = readdirSync(join(code, version));
    expect(kept.length).toBeGreaterThan(1);
    const written = kept.map((name) => statSync(join(code, version, name)).mtimeMs);
    // Another start takes it as it is.
    expect(run()).toBe(0);
    expect(kept.map((name) => statSync(join(code, version, name)).mtimeMs)).toEqual(written);
  });

  it("is read by threads and workers from the same folder", () => {
    const { environment, code } = environmentOf("reported");
    expect(reportedOf(environment)).toBe(code);
  });

  it("is not kept where others can write", () => {
    const { environment, own, code } = environmentOf("open");
    mkdirSync(code, { recursive: true });
    chmodSync(own, 0o700);
    chmodSync(code, 0o770);
    expect(reportedOf(environment)).toBeUndefined();
    chmodSync(code, 0o700);
    chmodSync(own, 0o777);
    expect(reportedOf(environment)).toBeUndefined();
    chmodSync(own, 0o700);
    expect(reportedOf(environment)).toBe(code);
  });

  it("is not kept in a working tree, where it could have come with a checkout", () => {
    const { environment, own } = environmentOf("tree");
    mkdirSync(join(folder, "tree/.git"));
    expect(reportedOf(environment)).toBeUndefined();
    expect(existsSync(own)).toBe(false);
  });

  it("is not kept where no folder can be made, and the command prints nothing about it", () => {
    const { environment, own } = environmentOf("none");
    writeFileSync(own, "a file");
    expect(reportedOf({ ...environment })).toBeUndefined();
    const { status, stderr } = spawnSync(process.execPath, [join(ROOT, "src/main.ts"), "help"], {
      env: environment,
    });
    expect([status, stderr.toString()]).toEqual([0, ""]);
  });

  it.each(["NODE_COMPILE_CACHE", "NODE_DISABLE_COMPILE_CACHE"])(
    "is left to Node where %s is set",
    (name) => {
      const { environment, own } = environmentOf(name);
      const given = { ...environment, [name]: "1" };
      keepCompiledCode(given);
      expect(given).toEqual({ ...environment, [name]: "1" });
      expect(existsSync(own)).toBe(false);
    },
  );
});
