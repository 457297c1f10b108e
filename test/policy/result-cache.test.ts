import {
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { compilePolicies } from "../../src/policy/compile-policies.ts";
import { ARTEFACT_DIRECTORY } from "../../src/policy/toolchain/artefact.ts";
import { ResultCache, type CompileCache } from "../../src/policy/toolchain/compile-cache.ts";
import { createToolchain } from "../../src/policy/toolchain/toolchain.ts";
import { cacheIn } from "../support/cache.ts";
import { policySource } from "./samples.ts";

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "signalbox-cache-"));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const key = ResultCache.key(["a"]);

describe("result cache", () => {
  test("reads back a written result, in another instance too", async () => {
    await new ResultCache(cacheIn(join(folder, "made", "on", "demand"))).write(key, "result ü");
    expect(await new ResultCache(cacheIn(join(folder, "made", "on", "demand"))).read(key)).toBe(
      "result ü",
    );
  });

  test("distinguishes lists that join to the same text", () => {
    expect(ResultCache.key(["ab", "c"])).not.toBe(ResultCache.key(["a", "bc"]));
    expect(ResultCache.key(["a", ""])).not.toBe(ResultCache.key(["a"]));
  });

  test.for([
    ["empty", () => ""],
    ["cut short", (text: string) => text.slice(0, -1)],
    ["changed", (text: string) => text.replace("result", "Result")],
    ["of another format", () => "{}"],
  ] as const)("misses an entry that is %s", async ([, damage]) => {
    const cache = new ResultCache(cacheIn(folder));
    await cache.write(key, "result");
    const path = join(folder, "cache", `${key}.json`);
    await writeFile(path, damage(await readFile(path, "utf8")));
    expect(await cache.read(key)).toBeNull();
    await cache.write(key, "result");
    expect(await cache.read(key)).toBe("result");
  });

  test("leaves no unfinished file behind", async () => {
    const cache = new ResultCache(cacheIn(folder));
    await Promise.all(Array.from({ length: 8 }, async () => await cache.write(key, "result")));
    expect(await readdir(join(folder, "cache"))).toEqual([`${key}.json`]);
    expect(await readdir(join(folder, "own"))).toEqual(["secret"]);
  });

  test("does without a folder that it cannot write", async () => {
    const file = join(folder, "file");
    await writeFile(file, "");
    const own = join(folder, "own");
    const positions = [file, join(file, "below")].flatMap((path) => [
      { directory: path, secretDirectory: own },
      { directory: own, secretDirectory: path },
    ]);
    for (const position of [...positions, null]) {
      const cache = new ResultCache(position);
      await cache.write(key, "result");
      expect(await cache.read(key)).toBeNull();
    }
  });

  test("keeps used entries, and drops the oldest of the rest; other files stay", async () => {
    const cache = new ResultCache(cacheIn(folder));
    const keys = Array.from({ length: 262 }, (_, index) => ResultCache.key([String(index)]));
    const entries = join(folder, "cache");
    await mkdir(entries, { recursive: true, mode: 0o700 });
    await writeFile(join(entries, "notes.txt"), "mine");
    for (const [index, name] of keys.slice(0, 256).entries()) {
      await cache.write(name, "result");
      await utimes(join(entries, `${name}.json`), index, index);
    }
    expect(await cache.read(keys[0] ?? "")).toBe("result");
    for (const name of keys.slice(256)) await cache.write(name, "result");
    const left = await readdir(entries);
    expect(left).toHaveLength(257);
    expect(left).toContain("notes.txt");
    expect(left).toContain(`${keys[0]}.json`);
    expect(keys.slice(1, 7).filter((name) => left.includes(`${name}.json`))).toEqual([]);
  });
});

describe("compiled policies in the cache", () => {
  const sources = [
    policySource(
      "a",
      { gate: "{effect: gate, reasons: [NO]}" },
      "pass.gate if input.request.stream",
    ),
  ];

  /** Has a manifest but nothing that could run: whatever it answers came from the cache. */
  async function idleToolchain(cache: CompileCache) {
    const directory = join(folder, "artefact");
    await mkdir(directory);
    await copyFile(new URL("manifest.json", ARTEFACT_DIRECTORY), join(directory, "manifest.json"));
    return createToolchain({ cache, artefactDirectory: pathToFileURL(`${directory}/`) });
  }

  test("are compiled once", async () => {
    const cache = cacheIn(folder);
    const first = await compilePolicies(sources, { cache });
    expect(await readdir(cache.directory)).toHaveLength(2);
    const toolchain = await idleToolchain(cache);
    expect(await compilePolicies(sources, { cache, toolchain })).toEqual(first);
  });

  test("are compiled again when a source changes or an entry is damaged", async () => {
    const cache = cacheIn(folder);
    await compilePolicies(sources, { cache });
    const toolchain = await idleToolchain(cache);
    const changed = sources.map(({ path, text }) => ({ path, text: `${text}\n` }));
    const missed = await compilePolicies(changed, { cache, toolchain });
    expect(missed.diagnostics.map(({ code }) => code)).toEqual(["POLICY_TOOLCHAIN"]);
    for (const name of await readdir(cache.directory))
      await writeFile(join(cache.directory, name), "damaged");
    expect((await compilePolicies(sources, { cache, toolchain })).modules).toEqual([]);
    const again = await compilePolicies(sources, { cache });
    expect(again.modules).toHaveLength(1);
  });
});
