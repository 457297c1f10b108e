import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { compilePolicies } from "../../src/policy/compile-policies.ts";
import { ARTEFACT_DIRECTORY } from "../../src/policy/toolchain/artefact.ts";
import { ResultCache } from "../../src/policy/toolchain/result-cache.ts";
import { createToolchain } from "../../src/policy/toolchain/toolchain.ts";
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
  test("gives back what was written, to another instance too", async () => {
    await new ResultCache(join(folder, "made", "on", "demand")).write(key, "result ü");
    expect(await new ResultCache(join(folder, "made", "on", "demand")).read(key)).toBe("result ü");
  });

  test("tells lists apart that join to the same text", () => {
    expect(ResultCache.key(["ab", "c"])).not.toBe(ResultCache.key(["a", "bc"]));
    expect(ResultCache.key(["a", ""])).not.toBe(ResultCache.key(["a"]));
  });

  test.for([
    ["empty", () => ""],
    ["cut short", (text: string) => text.slice(0, -1)],
    ["changed", (text: string) => text.replace("result", "Result")],
    ["of another format", () => "{}"],
  ] as const)("misses an entry that is %s", async ([, damage]) => {
    const cache = new ResultCache(folder);
    await cache.write(key, "result");
    const path = join(folder, `${key}.json`);
    await writeFile(path, damage(await readFile(path, "utf8")));
    expect(await cache.read(key)).toBeNull();
    await cache.write(key, "result");
    expect(await cache.read(key)).toBe("result");
  });

  test("leaves no unfinished file behind", async () => {
    const cache = new ResultCache(folder);
    await Promise.all(Array.from({ length: 8 }, async () => await cache.write(key, "result")));
    expect(await readdir(folder)).toEqual([`${key}.json`]);
  });

  test("does without a folder that it cannot write", async () => {
    const file = join(folder, "file");
    await writeFile(file, "");
    for (const directory of [file, join(file, "below"), null]) {
      const cache = new ResultCache(directory);
      await cache.write(key, "result");
      expect(await cache.read(key)).toBeNull();
    }
  });

  test("keeps what is used, and drops the oldest of the rest; files of others stay", async () => {
    const cache = new ResultCache(folder);
    const keys = Array.from({ length: 70 }, (_, index) => ResultCache.key([String(index)]));
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "notes.txt"), "mine");
    for (const [index, name] of keys.slice(0, 64).entries()) {
      await cache.write(name, "result");
      await utimes(join(folder, `${name}.json`), index, index);
    }
    expect(await cache.read(keys[0] ?? "")).toBe("result");
    for (const name of keys.slice(64)) await cache.write(name, "result");
    const left = await readdir(folder);
    expect(left).toHaveLength(65);
    expect(left).toContain("notes.txt");
    expect(left).toContain(`${keys[0]}.json`);
    expect(keys.slice(1, 7).filter((name) => left.includes(`${name}.json`))).toEqual([]);
  });
});

describe("compiled policies in the cache", () => {
  const sources = [policySource("a", { gate: "{effect: gate, reasons: [NO]}" }, "pass.gate if input.request.stream")];

  /** Has a manifest but nothing that could run: whatever it answers came from the cache. */
  async function idleToolchain(cacheDirectory: string) {
    const directory = join(folder, "artefact");
    await mkdir(directory);
    await copyFile(new URL("manifest.json", ARTEFACT_DIRECTORY), join(directory, "manifest.json"));
    return createToolchain({ cacheDirectory, artefactDirectory: pathToFileURL(`${directory}/`) });
  }

  test("are compiled once", async () => {
    const cacheDirectory = join(folder, "cache");
    const first = await compilePolicies(sources, { cacheDirectory });
    expect(await readdir(cacheDirectory)).toHaveLength(2);
    const toolchain = await idleToolchain(cacheDirectory);
    expect(await compilePolicies(sources, { cacheDirectory, toolchain })).toEqual(first);
  });

  test("are compiled again when a source changes or an entry is damaged", async () => {
    const cacheDirectory = join(folder, "cache");
    await compilePolicies(sources, { cacheDirectory });
    const toolchain = await idleToolchain(cacheDirectory);
    const changed = sources.map(({ path, text }) => ({ path, text: `${text}\n` }));
    const missed = await compilePolicies(changed, { cacheDirectory, toolchain });
    expect(missed.diagnostics.map(({ code }) => code)).toEqual(["POLICY_TOOLCHAIN"]);
    for (const name of await readdir(cacheDirectory)) await writeFile(join(cacheDirectory, name), "damaged");
    expect((await compilePolicies(sources, { cacheDirectory, toolchain })).modules).toEqual([]);
    const again = await compilePolicies(sources, { cacheDirectory });
    expect(again.modules).toHaveLength(1);
  });
});
