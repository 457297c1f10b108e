import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { compileCacheAt, usableCache } from "../../src/cli/terminal/configuration.ts";
import { userCacheFolder } from "../../src/cli/terminal/process.ts";
import { ResultCache, openCompileCache } from "../../src/policy/toolchain/compile-cache.ts";
import { check } from "../../src/cli/check.ts";
import { gatePolicy } from "../cli/policy-folder.ts";
import { temporaryFolder, writeTo } from "../cli/simulate/repository.ts";
import { CLEAN } from "../compile/base.ts";
import { runCommand } from "../keys/command.ts";
import { cacheIn } from "../support/cache.ts";

const KEY = ResultCache.key(["a"]);

describe("the folder of the cache", () => {
  test.for<[NodeJS.Platform, Readonly<Record<string, string>>, string | null]>([
    ["linux", { HOME: "/home/u" }, "/home/u/.cache/signalbox"],
    ["linux", { HOME: "/home/u", XDG_CACHE_HOME: "/caches" }, "/caches/signalbox"],
    ["linux", { HOME: "/home/u", XDG_CACHE_HOME: "relative" }, "/home/u/.cache/signalbox"],
    [
      "darwin",
      { HOME: "/Users/u", XDG_CACHE_HOME: "/caches" },
      "/Users/u/Library/Caches/signalbox",
    ],
    ["win32", { HOME: "/u", LOCALAPPDATA: "/u/AppData/Local" }, "/u/AppData/Local/signalbox"],
  ])("on %s with %j is %s", ([platform, environment, expected]) => {
    expect(userCacheFolder(environment, platform)).toBe(expected);
  });

  test("the secret stays in the user's folder, for every --cache", () => {
    const environment = { XDG_CACHE_HOME: "/caches" };
    if (process.platform !== "linux") return;
    expect(compileCacheAt("cache", "/checkout", environment)).toEqual({
      directory: "/checkout/cache",
      secretDirectory: "/caches/signalbox",
    });
    expect(compileCacheAt(undefined, "/checkout", environment)?.directory).toBe(
      "/caches/signalbox/compiled",
    );
    expect(() => compileCacheAt("", "/checkout", environment)).toThrow("--cache: needs a path");
  });

  test("is absent without a home folder, and one line names the fix", async () => {
    let said = "";
    expect(await usableCache(null, { stderr: (text) => (said += text) })).toBeNull();
    expect(said).toMatch(/^no compile cache is used, .*set XDG_CACHE_HOME .*\n$/);
  });
});

test("where the user's folder cannot be made, commands work without a cache and print a line about it", async () => {
  const cwd = temporaryFolder();
  writeTo(cwd, { "routes.yaml": CLEAN, "policies/gate.rego": gatePolicy("gate") });
  for (const flags of [[], ["--cache", "kept"]]) {
    const environment = {
      XDG_CACHE_HOME: "/dev/null",
      HOME: "/dev/null",
      LOCALAPPDATA: "/dev/null",
    };
    const { code, stderr } = await runCommand(check, flags, { cwd, environment });
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/^no compile cache is used, .*cannot be made .*\n$/),
    ]);
  }
  // Nothing that was not authenticated is kept either.
  expect(readdirSync(cwd).toSorted()).toEqual(["policies", "routes.yaml"]);
});

describe("the folders and the secret", () => {
  test("are created for the user alone", async () => {
    const cache = cacheIn(join(temporaryFolder(), "made"));
    const opened = await openCompileCache(cache);
    const modes = [
      cache.directory,
      cache.secretDirectory,
      join(cache.secretDirectory, "secret"),
    ].map((path) => statSync(path).mode & 0o777);
    expect(modes).toEqual([0o700, 0o700, 0o600]);
    expect(await openCompileCache(cache)).toEqual(opened);
  });

  test("processes that begin together share one secret", async () => {
    const cache = cacheIn(temporaryFolder());
    const opened = await Promise.all(Array.from({ length: 16 }, () => openCompileCache(cache)));
    expect(
      new Set(opened.map((one) => (one.ok ? Buffer.from(one.secret).toString("hex") : one.reason)))
        .size,
    ).toBe(1);
    expect(readdirSync(cache.secretDirectory)).toEqual(["secret"]);
  });

  test("a secret in a git working tree is refused: it could be a committed one", async () => {
    const folder = temporaryFolder();
    const cache = cacheIn(join(folder, "home"));
    mkdirSync(join(folder, ".git"));
    const reason = expect.stringContaining("is in a git working tree");
    expect(await openCompileCache(cache)).toEqual({ ok: false, reason });
    expect(existsSync(cache.secretDirectory)).toBe(false);
    const outside = { ...cache, secretDirectory: join(temporaryFolder(), "own") };
    expect(await openCompileCache(outside)).toMatchObject({ ok: true });
  });

  test.for(["directory", "secretDirectory"] as const)(
    "a %s that others can write to is refused",
    async (folder) => {
      const cache = cacheIn(temporaryFolder());
      await new ResultCache(cache).write(KEY, "result");
      chmodSync(cache[folder], 0o770);
      expect(await openCompileCache(cache)).toMatchObject({
        ok: false,
        reason: expect.stringContaining("chmod go-w"),
      });
      expect(await new ResultCache(cache).read(KEY)).toBeNull();
      chmodSync(cache[folder], 0o700);
      expect(await new ResultCache(cache).read(KEY)).toBe("result");
    },
  );

  test.for(["directory", "secretDirectory"] as const)(
    "a %s of another user is refused",
    async (folder, context) => {
      if (process.getuid?.() !== 0) return context.skip("only root can give a folder away");
      const cache = cacheIn(temporaryFolder());
      mkdirSync(cache[folder], { mode: 0o700 });
      chownSync(cache[folder], 12_345, 12_345);
      expect(await openCompileCache(cache)).toMatchObject({
        ok: false,
        reason: expect.stringContaining("another user"),
      });
    },
  );

  test.for<[string, (path: string) => void, string]>([
    [
      "that others can read",
      (path) => chmodSync(path, 0o644),
      "can be read by other users; delete it",
    ],
    ["that is cut short", (path) => writeFileSync(path, "00"), "is damaged; delete it"],
    [
      "of no hexadecimal digits",
      (path) => writeFileSync(path, "z".repeat(64)),
      "is damaged; delete it",
    ],
    ["that is too long", (path) => writeFileSync(path, "0".repeat(65)), "is not the secret"],
  ])("a secret %s is refused", async ([, damage, reason]) => {
    const cache = cacheIn(temporaryFolder());
    await openCompileCache(cache);
    damage(join(cache.secretDirectory, "secret"));
    expect(await openCompileCache(cache)).toMatchObject({
      ok: false,
      reason: expect.stringContaining(reason),
    });
  });
});

describe("an entry", () => {
  test("under another name is ignored", async () => {
    const cache = cacheIn(temporaryFolder());
    await new ResultCache(cache).write(KEY, "result");
    const other = ResultCache.key(["b"]);
    writeFileSync(
      join(cache.directory, `${other}.json`),
      readFileSync(join(cache.directory, `${KEY}.json`)),
    );
    expect(await new ResultCache(cache).read(other)).toBeNull();
  });

  test("of another installation is ignored", async () => {
    const [one, other] = [cacheIn(temporaryFolder()), cacheIn(temporaryFolder())];
    await new ResultCache(one).write(KEY, "result");
    expect(
      await new ResultCache({ ...one, secretDirectory: other.secretDirectory }).read(KEY),
    ).toBeNull();
    expect(existsSync(join(other.secretDirectory, "secret"))).toBe(true);
  });

  test("that is a FIFO is not waited for", async (context) => {
    const cache = cacheIn(temporaryFolder());
    await openCompileCache(cache);
    if (spawnSync("mkfifo", [join(cache.directory, `${KEY}.json`)]).status !== 0)
      return context.skip("no mkfifo");
    expect(await new ResultCache(cache).read(KEY)).toBeNull();
  });
});
