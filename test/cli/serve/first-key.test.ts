import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { bootstrapKey } from "../../../src/cli/serve/serve.ts";
import { parseServeOptions } from "../../../src/cli/serve/options.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import type { Store } from "../../../src/store/port.ts";
import { temporaryFolder } from "../../store/temporary-folder.ts";

async function emptyStore(): Promise<{ readonly folder: string; readonly store: Store }> {
  const folder = temporaryFolder();
  const store = await openSqliteStore({ path: join(folder, "signalbox.db") });
  onTestFinished(() => store.close());
  return { folder, store };
}

describe("the file of the first key", () => {
  it("is readable by its owner only, contains only the key, and is written once", async () => {
    const { folder, store } = await emptyStore();
    const file = join(folder, "new", "first-key");
    const text = await bootstrapKey(store, "w", undefined, file);
    expect(readFileSync(file, "utf8")).toBe(`${text}\n`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await store.keys.list()).toHaveLength(1);
    expect(await bootstrapKey(store, "w", undefined, file)).toBeNull();
    expect(readFileSync(file, "utf8")).toBe(`${text}\n`);
  });

  it.each<[string, (file: string) => void]>([
    ["a file", (file) => writeFileSync(file, "mine")],
    ["a link to nowhere", (file) => symlinkSync(`${file}-elsewhere`, file)],
    ["a folder", (file) => mkdirSync(file)],
  ])(
    "is not written over %s: no key is created, and the message names the file and the fix",
    async (_, make) => {
      const { folder, store } = await emptyStore();
      const file = join(folder, "first-key");
      make(file);
      const made = bootstrapKey(store, "w", undefined, file);
      await expect(made).rejects.toThrow(file);
      await expect(made).rejects.toThrow(/exists already.*SIGNALBOX_BOOTSTRAP_KEY/);
      expect(await store.keys.list()).toEqual([]);
      expect(existsSync(`${file}-elsewhere`)).toBe(false);
    },
  );

  it("is not created at an unwritable path, and neither is the key", async () => {
    const { folder, store } = await emptyStore();
    writeFileSync(join(folder, "no-folder"), "");
    const made = bootstrapKey(store, "w", undefined, join(folder, "no-folder", "first-key"));
    await expect(made).rejects.toThrow(/cannot be written.*no first key was made/);
    expect(await store.keys.list()).toEqual([]);
  });

  it("is removed again where the store refuses the key", async () => {
    const { folder, store } = await emptyStore();
    const file = join(folder, "first-key");
    const keys = {
      ...store.keys,
      list: () => Promise.resolve([]),
      create: () => Promise.reject(new Error("full")),
    };
    await expect(bootstrapKey({ ...store, keys }, "w", undefined, file)).rejects.toThrow("full");
    expect(existsSync(file)).toBe(false);
  });

  it.each([
    [[], "/srv/.signalbox/first-key"],
    [["--database", "data/router.db"], "/srv/data/first-key"],
    [["--database", "postgres://host/name"], "/srv/.signalbox/first-key"],
    [["--first-key-file", "keys/one"], "/srv/keys/one"],
  ])("is written beside the database by default: %j", (argv, file) => {
    const io = { stdout: () => {}, stderr: () => {}, environment: {}, cwd: "/srv" };
    expect(parseServeOptions(argv, io).firstKeyFile).toBe(file);
  });
});
