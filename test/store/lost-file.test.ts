import { copyFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { EvidenceUnavailableError } from "../../src/store/errors.ts";
import type { Store } from "../../src/store/port.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { decisionRecord } from "./records.ts";
import { temporaryFolder } from "./temporary-folder.ts";

async function opened(): Promise<{ readonly store: Store; readonly path: string }> {
  const path = join(temporaryFolder(), "signalbox.db");
  const store = await openSqliteStore({ path });
  await store.evidence.decide(decisionRecord("first"));
  return { store, path };
}

const stateOf = (store: Store) => store.evidence.health().state;

/** SQLite itself goes on as if nothing had happened. */
describe("the database file under an open store", () => {
  it("is missed when it is deleted: no decision is confirmed, and the store says so unasked", async () => {
    const { store, path } = await opened();
    rmSync(path);
    await expect(store.evidence.decide(decisionRecord("second"))).rejects.toThrow(EvidenceUnavailableError);
    expect(stateOf(store)).toBe("unavailable");
    await expect(store.keys.list()).rejects.toThrow("deleted or replaced");
    await store.close().catch(() => undefined);
  });

  it("is missed without a request, and found again when it is put back", async () => {
    const { store, path } = await opened();
    renameSync(path, `${path}.away`);
    await vi.waitFor(() => expect(stateOf(store)).toBe("unavailable"), 10_000);
    renameSync(`${path}.away`, path);
    await vi.waitFor(() => expect(stateOf(store)).toBe("ok"), 10_000);
    await store.evidence.decide(decisionRecord("second"));
    await store.close();
  });

  it("is missed when a copy stands in its place", async () => {
    const { store, path } = await opened();
    copyFileSync(path, `${path}.copy`);
    renameSync(`${path}.copy`, path);
    await vi.waitFor(() => expect(stateOf(store)).toBe("unavailable"), 10_000);
    await expect(store.evidence.decide(decisionRecord("second"))).rejects.toThrow(EvidenceUnavailableError);
    await store.close().catch(() => undefined);
  });
});
