import {
  closeSync,
  copyFileSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { type EvidenceFault, EvidenceUnavailableError } from "../../src/evidence/evidence-store.ts";
import type { Store } from "../../src/store/port.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { judge } from "../../src/store/sqlite/log-end.ts";
import { fewOrMany } from "../support/long.ts";
import { decisionRecord, outcomeRecord, recordDecision } from "./records.ts";
import { storedRows } from "./stored-rows.ts";
import { temporaryFolder } from "./temporary-folder.ts";

async function opened(): Promise<{ readonly store: Store; readonly path: string }> {
  const path = join(temporaryFolder(), "signalbox.db");
  const store = await openSqliteStore({ path });
  await recordDecision(store.evidence, decisionRecord("first"));
  return { store, path };
}

const stateOf = (store: Store) => store.evidence.health().state;
const faultOf = (store: Store) => store.evidence.health().fault;

/** Moves everything into the main file, so that it has more than one page. */
function checkpoint(path: string): void {
  const other = new DatabaseSync(path);
  other.exec("PRAGMA wal_checkpoint(PASSIVE)");
  other.close();
}

function bytesOfCopy(path: string): Buffer {
  const copy = join(temporaryFolder(), "copy.db");
  const other = new DatabaseSync(path);
  other.exec(`VACUUM INTO '${copy}'`);
  other.close();
  return readFileSync(copy);
}

/** Another file with the same bytes takes the name. */
function replace(path: string): void {
  copyFileSync(path, `${path}.copy`);
  renameSync(`${path}.copy`, path);
}

/** Decides without pause until a decision is refused; gives how many were confirmed. */
async function decideUntilRefused(store: Store): Promise<number> {
  for (let number = 0; ; number += 1) {
    try {
      await recordDecision(store.evidence, decisionRecord(`loop-${number}`));
      store.evidence.settle(outcomeRecord(`loop-${number}`));
    } catch (error) {
      if (error instanceof EvidenceUnavailableError) return number;
      throw error;
    }
  }
}

/** SQLite itself goes on as if nothing had happened. */
describe("the database file under an open store", () => {
  it("is missed when it is deleted: no decision is confirmed, and the store reports it without a request", async () => {
    const { store, path } = await opened();
    rmSync(path);
    await expect(recordDecision(store.evidence, decisionRecord("second"))).rejects.toThrow(
      EvidenceUnavailableError,
    );
    expect(stateOf(store)).toBe("unavailable");
    expect(faultOf(store)).toEqual({ cause: "file_removed", file: "signalbox.db" });
    await expect(store.keys.list()).rejects.toThrow("signalbox.db was deleted or replaced");
    await store.close().catch(() => undefined);
  });

  it("is reported as missing without a request, and is used again when it is restored", async () => {
    const { store, path } = await opened();
    renameSync(path, `${path}.away`);
    await vi.waitFor(() => expect(stateOf(store)).toBe("unavailable"), 10_000);
    renameSync(`${path}.away`, path);
    await vi.waitFor(() => expect(stateOf(store)).toBe("ok"), 10_000);
    expect(faultOf(store)).toBeUndefined();
    await recordDecision(store.evidence, decisionRecord("second"));
    await store.close();
  });

  const faults: readonly (readonly [string, (path: string) => void, EvidenceFault])[] = [
    ["a copy of the main file", replace, { cause: "file_replaced", file: "signalbox.db" }],
    [
      "no log",
      (path) => rmSync(`${path}-wal`),
      { cause: "file_removed", file: "signalbox.db-wal" },
    ],
    [
      "a copy of the log",
      (path) => replace(`${path}-wal`),
      { cause: "file_replaced", file: "signalbox.db-wal" },
    ],
    [
      "an empty log",
      (path) => truncateSync(`${path}-wal`),
      { cause: "file_truncated", file: "signalbox.db-wal" },
    ],
    [
      "a log that lacks its last byte",
      (path) => truncateSync(`${path}-wal`, statSync(`${path}-wal`).size - 1),
      { cause: "file_truncated", file: "signalbox.db-wal" },
    ],
    [
      "no index of the log",
      (path) => rmSync(`${path}-shm`),
      { cause: "file_removed", file: "signalbox.db-shm" },
    ],
    [
      "an empty main file",
      (path) => truncateSync(path),
      { cause: "file_truncated", file: "signalbox.db" },
    ],
    [
      "a main file that lacks its last page",
      (path) => truncateSync(path, statSync(path).size - 4096),
      { cause: "file_truncated", file: "signalbox.db" },
    ],
  ];

  it.each(faults)(
    "is reported as missing without a request where there is %s, permanently",
    async (_, damage, fault) => {
      const { store, path } = await opened();
      // A log that was copied is written again from its beginning: what lies behind its frames may
      // go.
      if (fault.file === "signalbox.db") checkpoint(path);
      await recordDecision(store.evidence, decisionRecord("second"));
      damage(path);
      await vi.waitFor(() => expect(faultOf(store)).toEqual(fault), 10_000);
      expect(stateOf(store)).toBe("unavailable");
      await expect(recordDecision(store.evidence, decisionRecord("third"))).rejects.toThrow(
        EvidenceUnavailableError,
      );
      expect(faultOf(store)).toEqual(fault);
      await store.close().catch(() => undefined);
    },
  );

  // Each way once, and each file; `npm run test:long` tries all of them.
  const underLoad = fewOrMany(
    faults.filter(([what]) =>
      ["a copy of the main file", "no log", "an empty log", "no index of the log"].includes(what),
    ),
    faults,
  );

  it.each(underLoad)("is missed under load where there is %s", async (_, damage, fault) => {
    const { store, path } = await opened();
    if (fault.file === "signalbox.db") checkpoint(path);
    const refused = decideUntilRefused(store);
    await vi.waitFor(
      async () => expect((await store.evidence.head()).position).toBeGreaterThan(20),
      10_000,
    );
    damage(path);
    // A file that is cut in the midst of a write is whole again after it: nothing is lost, and
    // there is nothing to find.
    while (fault.cause === "file_truncated" && stateOf(store) === "ok") {
      await delay(5);
      if (statSync(fault.file === "signalbox.db" ? path : `${path}-wal`).size > 0) damage(path);
    }
    expect(await refused).toBeGreaterThan(0);
    await vi.waitFor(() => expect(faultOf(store)).toBeDefined(), 10_000);
    // A write may fill the cut file up again before its size is read: then its content is at fault.
    const isFilled = fault.cause === "file_truncated" && faultOf(store)?.cause === "log_unreadable";
    if (!isFilled) expect(faultOf(store)).toEqual(fault);
    await store.close().catch(() => undefined);
  });

  it.each([
    ["emptied", 0],
    ["cut after its header", 32],
  ])(
    "is missed within seconds where the log was %s and filled up to its length",
    async (_, kept) => {
      const { store, path } = await opened();
      await recordDecision(store.evidence, decisionRecord("second"));
      const { size } = statSync(`${path}-wal`);
      truncateSync(`${path}-wal`, kept);
      truncateSync(`${path}-wal`, size);
      await vi.waitFor(() => expect(stateOf(store)).toBe("unavailable"), 10_000);
      await expect(recordDecision(store.evidence, decisionRecord("third"))).rejects.toThrow(
        EvidenceUnavailableError,
      );
      await store.close().catch(() => undefined);
    },
  );

  it("gets the rows of a removed log before the process can die", async () => {
    const { store, path } = await opened();
    for (let number = 0; number < 50; number += 1)
      await recordDecision(store.evidence, decisionRecord(`r-${number}`));
    rmSync(`${path}-wal`);
    await vi.waitFor(() => expect(stateOf(store)).toBe("unavailable"), 10_000);
    // What another process finds after a kill: the main file alone.
    const found = join(temporaryFolder(), "found.db");
    copyFileSync(path, found);
    const copy = new DatabaseSync(found);
    expect([...storedRows(copy)]).toHaveLength(51);
    copy.close();
    await store.close().catch(() => undefined);
  });
});

/** The bytes of the main file are exchanged while its name, its inode and its size stay. */
describe("a log on disk that differs from the process's own writes", () => {
  async function overwritten(bytesOf: (path: string) => Buffer): Promise<Store> {
    const { store, path } = await opened();
    const bytes = bytesOf(path);
    for (let number = 0; number < 60; number += 1)
      await recordDecision(store.evidence, decisionRecord(`w-${number}`));
    const other = new DatabaseSync(path);
    other.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    other.close();
    const descriptor = openSync(path, "r+");
    writeSync(
      descriptor,
      Buffer.concat([bytes, Buffer.alloc(Math.max(0, statSync(path).size - bytes.length))]),
    );
    closeSync(descriptor);
    return store;
  }

  it.each([
    ["an older copy", (path: string) => bytesOfCopy(path)],
    ["zeros", () => Buffer.alloc(0)],
  ])("is refused where there are the bytes of %s", async (_, bytesOf) => {
    const store = await overwritten(bytesOf);
    // What is written meanwhile may make an older copy unreadable.
    const log = expect.stringMatching(/^log_(behind|unreadable)$/) as string;
    await vi.waitFor(
      () => expect(faultOf(store)).toEqual({ cause: log, file: "signalbox.db" }),
      10_000,
    );
    await expect(recordDecision(store.evidence, decisionRecord("after"))).rejects.toThrow(
      EvidenceUnavailableError,
    );
    await store.close().catch(() => undefined);
  });

  it("is distinguished by position and hash", () => {
    const known = { position: 5, hash: "a" };
    expect(judge(known, null, { position: 4, hash: "b" })).toBe("log_behind");
    expect(judge(known, { position: 5, hash: "b" }, { position: 9, hash: "c" })).toBe(
      "log_differs",
    );
    expect(judge(known, null, { position: 5, hash: "b" })).toBe("log_differs");
    expect(judge(known, known, { position: 9, hash: "c" })).toEqual({ position: 9, hash: "c" });
    // Pruned.
    expect(judge(known, null, known)).toEqual(known);
    expect(judge(known, null, { position: 9, hash: "c" })).toEqual({ position: 9, hash: "c" });
  });

  it("is known from rows of another process, and from a log that was pruned to its end", async () => {
    const { store, path } = await opened();
    store.evidence.settle(outcomeRecord("first"));
    await store.evidence.flush();
    await expect
      .poll(async () => await store.evidence.prune(Date.now() + 1, Date.now()))
      .toMatchObject({ rows: 2 });
    const other = await openSqliteStore({ path });
    await recordDecision(other.evidence, decisionRecord("theirs"));
    // Two comparisons.
    await delay(2_500);
    expect(stateOf(store)).toBe("ok");
    await recordDecision(store.evidence, decisionRecord("ours"));
    await other.close();
    await store.close();
  });
});

/** SQLite shortens its files itself, and so do other programs that use it rightly. */
describe("checkpoints and VACUUM of another connection", () => {
  it.each([
    ["wal_checkpoint(TRUNCATE)", "PRAGMA wal_checkpoint(TRUNCATE)"],
    ["wal_checkpoint(RESTART)", "PRAGMA wal_checkpoint(RESTART)"],
    ["a limit of the log's size", "PRAGMA journal_size_limit = 0; PRAGMA wal_checkpoint(TRUNCATE)"],
    ["VACUUM", "VACUUM"],
    ["VACUUM and a checkpoint", "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)"],
  ])("%s raises no alarm while decisions are written", async (_, statement) => {
    const { store, path } = await opened();
    const other = new DatabaseSync(path, { timeout: 5_000 });
    // Pages that VACUUM can give back.
    other.exec("CREATE TABLE ballast (text TEXT); INSERT INTO ballast VALUES (zeroblob(3000000))");
    other.exec("PRAGMA wal_checkpoint(PASSIVE)");
    other.exec("DELETE FROM ballast");
    let decided = 0;
    const running = { go: true };
    const load = (async () => {
      while (running.go) {
        await recordDecision(store.evidence, decisionRecord(`load-${(decided += 1)}`));
        store.evidence.settle(outcomeRecord(`load-${decided}`));
      }
    })();
    for (let round = 0; round < fewOrMany(3, 10); round += 1) {
      const before = decided;
      other.exec(statement);
      await vi.waitFor(() => expect(decided).toBeGreaterThan(before + 5), 10_000);
      expect(faultOf(store)).toBeUndefined();
    }
    running.go = false;
    await load;
    other.close();
    expect(store.evidence.health()).toMatchObject({ state: "ok", refused: 0, lost: 0 });
    await store.close();
  });
});
