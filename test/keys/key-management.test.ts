import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";

import { MAXIMUM_ACTIVE_KEYS, manageKeys } from "../../src/keys/key-management.ts";
import { createKey } from "../../src/keys/key-record.ts";
import type { KeyRecord, KeyStore } from "../../src/keys/key-store.ts";

const options = { workspace: "w", scopes: ["inference"], owner: "o", expiresAt: Date.now() + 600_000, createdBy: "k" };

/** A store with one key, in which as many as given are good. */
function storeOf(record: KeyRecord, active: number): KeyStore {
  return {
    create: () => Promise.resolve(),
    get: () => Promise.resolve(record),
    list: () => Promise.resolve([record]),
    page: () => Promise.resolve([record]),
    countActive: (_, __, most) => Promise.resolve(Math.min(active, most)),
    revoke: () => Promise.resolve(record),
    change: () => Promise.resolve(record),
    rotate: () => Promise.resolve({ ...record, expiresAt: 1_234 }),
    touch: () => Promise.resolve(),
    watch: () => Promise.resolve(() => {}),
  };
}

it("makes no more good keys of a workspace than all processes can have in memory", async () => {
  const { record } = createKey(options, Date.now, randomBytes);
  const full = manageKeys(storeOf(record, MAXIMUM_ACTIVE_KEYS), Date.now, randomBytes);
  expect(await full.create(options)).toEqual({ fault: "too_many" });
  expect(await full.rotate(record.id, { createdBy: "k" })).toEqual({ fault: "too_many" });
  // The number stays as it is.
  expect(await full.rotate(record.id, { createdBy: "k", overlap: 0 })).toHaveProperty("text");
  const roomy = manageKeys(storeOf(record, MAXIMUM_ACTIVE_KEYS - 1), Date.now, randomBytes);
  expect(await roomy.create(options)).toHaveProperty("text");
});

it("reports of a replaced key what the store says of it", async () => {
  const { record } = createKey(options, Date.now, randomBytes);
  const prepared = await manageKeys(storeOf(record, 1), Date.now, randomBytes).rotate(record.id, { createdBy: "k" });
  if ("fault" in prepared) throw new Error(prepared.fault);
  expect(prepared.key.lineage).toBe(record.id);
  expect(await prepared.store()).toMatchObject({ previous: { id: record.id, expiresAt: 1_234 } });
});
