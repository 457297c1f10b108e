import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";

import type { KeyRecord } from "../../src/keys/key-store.ts";
import {
  openWorkerLink,
  startThread,
  type WorkerLinkOptions,
} from "../../src/store/sqlite/worker-link.ts";
import { keyRecord } from "./records.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const WORKER = new URL("../../src/store/sqlite/worker.ts", import.meta.url);

async function openLink(path: string, options: Partial<WorkerLinkOptions> = {}) {
  const threads: Worker[] = [];
  const link = await openWorkerLink({
    start: { path, busyTimeout: 500 },
    restart: true,
    onKeysChanged: () => undefined,
    onRestarted: () => undefined,
    startWorker: (start) => {
      const thread = new Worker(WORKER, { workerData: start });
      threads.push(thread);
      return thread;
    },
    ...options,
  });
  return { link, threads };
}

describe("the death of the store's thread", () => {
  it("fails pending requests, starts a new thread, and accepts new ones", async () => {
    const changed: KeyRecord[] = [];
    const restarted = Promise.withResolvers<void>();
    const { link, threads } = await openLink(join(temporaryFolder(), "a.db"), {
      onKeysChanged: (records) => changed.push(...records),
      onRestarted: () => restarted.resolve(),
    });
    await link.remote("keys", "create").create(keyRecord("a"));
    await threads[0]?.terminate();
    await expect(link.runCommon("keys.get", ["a"])).rejects.toThrow("being restarted");
    await restarted.promise;
    expect(await link.runCommon("keys.get", ["a"])).toMatchObject([{ id: "a" }]);
    await link.remote("store", "watchKeys").watchKeys();
    expect(changed).toMatchObject([{ id: "a" }]);
    expect(threads).toHaveLength(2);
    await link.close();
  });

  it("fails pending calls instead of leaving them to wait forever", async () => {
    const path = join(temporaryFolder(), "a.db");
    const { link, threads } = await openLink(path);
    // While another connection holds the write lock, the thread cannot have answered when it dies.
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    const requested = link.remote("keys", "create").create(keyRecord("a"));
    const complaint = requested.then(
      () => "none",
      (error: unknown) => error,
    );
    await threads[0]?.terminate();
    expect(await complaint).toMatchObject({
      message: "the store's thread ended unexpectedly",
      applied: "unknown",
    });
    other.close();
    await link.close();
  });

  it("is final for a database in memory: an empty one must not pass for it", async () => {
    const { link, threads } = await openLink(":memory:", { restart: false });
    await threads[0]?.terminate();
    await new Promise((resolve) => setTimeout(resolve, 1_300));
    expect(threads).toHaveLength(1);
    await expect(link.runCommon("keys.get", ["a"])).rejects.toThrow(
      "has ended, and its database with it",
    );
    await link.close();
  });
});

describe("the store's thread", () => {
  it("keeps a small young generation, and as much room for long answers as any thread", async () => {
    const thread = startThread({ path: join(temporaryFolder(), "a.db"), busyTimeout: 500 });
    const plain = new Worker("setInterval(() => {}, 1_000)", { eval: true });
    await Promise.all([once(thread, "online"), once(plain, "online")]);
    const limits = thread.resourceLimits;
    expect(limits?.maxYoungGenerationSizeMb).toBeLessThan(
      plain.resourceLimits?.maxYoungGenerationSizeMb ?? 0,
    );
    expect(limits?.maxOldGenerationSizeMb).toBe(plain.resourceLimits?.maxOldGenerationSizeMb);
    await Promise.all([thread.terminate(), plain.terminate()]);
  });
});
