import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";

import { asIdentifier } from "../../src/evidence/record.ts";
import {
  MOST_DECOMPRESSED,
  compressedRecords,
  decompressedRecords,
} from "../../src/store/batch/batch-lines.ts";
import type { Store } from "../../src/store/port.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { fault } from "./conformance-log.ts";
import { decisionRecord, outcomeRecord, recordDecision } from "./records.ts";
import { storedRows } from "./stored-rows.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const ZSTANDARD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
const isCompressed = (records: unknown): boolean =>
  Buffer.from(records as Uint8Array).indexOf(ZSTANDARD) === 0;

async function withStore<Result>(
  path: string,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const store = await openSqliteStore({ path });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Decides requests at once, so that they share a batch. */
async function decide(store: Store, from: number, count: number): Promise<void> {
  const ids = Array.from(
    { length: count },
    (_, index) => `r${String(from + index).padStart(4, "0")}`,
  );
  await Promise.all(
    ids.map((id) =>
      recordDecision(store.evidence, decisionRecord(id, { workspace: asIdentifier("grüße") })),
    ),
  );
  for (const id of ids) store.evidence.settle(outcomeRecord(id));
  await store.evidence.flush();
}

/**
 * Changes the stored bytes of the batch that a position is in, as somebody does who owns the file.
 */
function damage(path: string, position: number, change: (records: Buffer) => Uint8Array): void {
  const database = new DatabaseSync(path);
  database.exec("DROP TRIGGER evidence_never_changes");
  const row = database
    .prepare("SELECT last, records FROM evidence_batches WHERE last >= ? ORDER BY last LIMIT 1")
    .get(position);
  const records = Buffer.from(row?.records as Uint8Array);
  expect(isCompressed(records)).toBe(true);
  database
    .prepare("UPDATE evidence_batches SET records = ? WHERE last = ?")
    .run(change(records), row?.last ?? 0);
  database.close();
}

describe("the records of a batch", () => {
  const texts = Array.from({ length: 60 }, (_, index) =>
    JSON.stringify(decisionRecord(`r${index}`)),
  );
  const bytes = new TextEncoder().encode(texts.join("\n"));

  it("are compressed where that is smaller, and the same afterwards", () => {
    const stored = compressedRecords(bytes);
    expect(isCompressed(stored)).toBe(true);
    expect(stored.length).toBeLessThan(bytes.length / 5);
    const read = decompressedRecords(new Uint8Array(stored));
    expect(Buffer.compare(read, bytes)).toBe(0);
    // A message to another thread takes the whole buffer along.
    expect(read.buffer.byteLength).toBe(bytes.length);
  });

  it("stay uncompressed where there is little to save", () => {
    const small = bytes.subarray(0, 1_500);
    expect(compressedRecords(small)).toBe(small);
    const random = crypto.getRandomValues(new Uint8Array(20_000));
    expect(compressedRecords(random)).toBe(random);
    expect(decompressedRecords(random)).toBe(random);
  });

  it("stay uncompressed where they exceed the limit of decompression", () => {
    const largest = new Uint8Array(MOST_DECOMPRESSED);
    expect(decompressedRecords(new Uint8Array(compressedRecords(largest))).length).toBe(
      MOST_DECOMPRESSED,
    );
    const large = new Uint8Array(MOST_DECOMPRESSED + 1);
    expect(compressedRecords(large)).toBe(large);
  });

  it("are refused where the bytes were cut or decompress beyond the limit", () => {
    const stored = compressedRecords(bytes);
    for (let length = ZSTANDARD.length; length < stored.length; length += 7) {
      expect(decompressedRecords(new Uint8Array(stored.subarray(0, length)))).toHaveLength(0);
    }
    const huge = Buffer.alloc(64 * 1024 * 1024);
    for (const windowLog of [20, 26]) {
      const bomb = zstdCompressSync(huge, { params: { [constants.ZSTD_c_windowLog]: windowLog } });
      expect(bomb.length).toBeLessThan(10_000);
      const before = process.memoryUsage().arrayBuffers;
      expect(decompressedRecords(new Uint8Array(bomb))).toHaveLength(0);
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(3 * MOST_DECOMPRESSED);
    }
  });
});

describe("a database with compressed batches", () => {
  it("is verified, read, and pruned like any other, and small in the file", async () => {
    const path = join(temporaryFolder(), "signalbox.db");
    await withStore(path, async (store) => {
      for (let from = 0; from < 300; from += 100) await decide(store, from, 100);
      expect(await fault(store)).toBeNull();
      const rows = await store.evidence.log({ after: 0, limit: 1_000 });
      expect(rows).toHaveLength(600);
      const found = await store.evidence.read({ after: 0, limit: 1, requestId: "r0042" });
      expect(found.map(({ decision, outcome }) => [decision.requestId, outcome?.terminal])).toEqual(
        [["r0042", "completed"]],
      );
      const database = new DatabaseSync(path, { readOnly: true });
      expect([...storedRows(database)].map(({ record }) => record)).toEqual(
        rows.map(({ record }) => record),
      );
      const size = database
        .prepare("SELECT sum(length(records)) AS size FROM evidence_batches")
        .get()?.size;
      database.close();
      const texts = rows.reduce((sum, { record }) => sum + record.length, 0);
      expect(Number(size)).toBeLessThan(texts / 4);
      expect(await store.evidence.prune(Number.MAX_SAFE_INTEGER, Date.now())).toMatchObject({
        rows: 600,
      });
    });
  });

  it.each<readonly [string, (records: Buffer) => Uint8Array]>([
    ["were cut", (records) => records.subarray(0, -20)],
    [
      "were changed",
      (records) => Buffer.concat([records.subarray(0, 40), Buffer.alloc(40), records.subarray(80)]),
    ],
    ["stand for 64 MB", () => zstdCompressSync(Buffer.alloc(64 * 1024 * 1024))],
    ["hold another record", (records) => zstdCompressSync(changed(zstdDecompressSync(records)))],
  ])("does not verify where bytes of a batch %s: the batch is named", async (_, change) => {
    const path = join(temporaryFolder(), "signalbox.db");
    const last = await withStore(path, async (store) => {
      await decide(store, 0, 50);
      await decide(store, 50, 50);
      const { position } = await store.evidence.head();
      await decide(store, 100, 50);
      expect(await fault(store)).toBeNull();
      return position;
    });
    damage(path, last, change);
    const database = new DatabaseSync(path, { readOnly: true });
    const row = database.prepare("SELECT first FROM evidence_batches WHERE last = ?").get(last);
    database.close();
    await withStore(path, async (store) => {
      expect(await fault(store)).toEqual({ position: row?.first, cause: "hash" });
      // A damaged batch does not keep others from being written and read.
      await decide(store, 200, 50);
      expect(await store.evidence.read({ after: 0, limit: 1, requestId: "r0220" })).toHaveLength(1);
    });
  });
});

/** The first record's text, by one digit of its time. */
function changed(lines: Buffer): Buffer {
  const digit = lines.indexOf('"at":') + 5;
  lines[digit] = (lines[digit] ?? 0) ^ 1;
  return lines;
}
