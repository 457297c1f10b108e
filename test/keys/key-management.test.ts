import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { MAXIMUM_ACTIVE_KEYS, manageKeys } from "../../src/keys/key-management.ts";
import { createKey, prepareRotation } from "../../src/keys/key-record.ts";
import type { KeyRecord, KeyStore } from "../../src/keys/key-store.ts";
import { publicIdFor } from "../../src/keys/key-text.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";

const options = {
  workspace: "w",
  scopes: ["inference"],
  owner: "o",
  expiresAt: Date.now() + 600_000,
  createdBy: "k",
};

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

it("a workspace gets no more active keys than all processes can hold in memory", async () => {
  const { record } = createKey(options, Date.now, randomBytes);
  const full = manageKeys(storeOf(record, MAXIMUM_ACTIVE_KEYS), Date.now, randomBytes);
  await expect(full.create(options)).rejects.toMatchObject({ fault: { fault: "too_many" } });
  await expect(full.rotate(record.id, { createdBy: "k" })).rejects.toThrow("too_many");
  // The number stays as it is.
  expect(await full.rotate(record.id, { createdBy: "k", overlap: 0 })).toHaveProperty("text");
  const roomy = manageKeys(storeOf(record, MAXIMUM_ACTIVE_KEYS - 1), Date.now, randomBytes);
  expect(await roomy.create(options)).toHaveProperty("text");
});

it("the expiry of a replaced key is reported from the store", async () => {
  const { record } = createKey(options, Date.now, randomBytes);
  const prepared = await manageKeys(storeOf(record, 1), Date.now, randomBytes).rotate(record.id, {
    createdBy: "k",
  });
  expect(prepared.key.lineage).toBe(record.id);
  expect(await prepared.store()).toMatchObject({ id: record.id, expiresAt: 1_234 });
});

it("an unknown id has no key", async () => {
  const { record } = createKey(options, Date.now, randomBytes);
  const keys: KeyStore = { ...storeOf(record, 1), get: () => Promise.resolve(null) };
  const management = manageKeys(keys, Date.now, randomBytes);
  expect(await management.get(record.id)).toBeNull();
  await expect(management.rotate(record.id, { createdBy: "k" })).rejects.toThrow("absent");
});

describe("a named key", () => {
  let store: Awaited<ReturnType<typeof openSqliteStore>>;
  beforeEach(async () => {
    store = await openSqliteStore({ path: ":memory:" });
  });
  afterEach(() => store.close());

  const put = (keys: KeyStore, more: object = {}) =>
    manageKeys(keys, Date.now, randomBytes).put("n", { ...options, ...more });
  const makeNamed = async () => {
    const made = await put(store.keys);
    if (!("text" in made)) throw new Error("the name has a key");
    await made.store();
    return made.key.id;
  };

  // The ids of stored keys depend on it: with other numbers each name would get a second key.
  it("has an id derived from workspace, name and the number of former keys of the name", async () => {
    expect(await makeNamed()).toBe(publicIdFor(["named key", "w", "n", 0]));
    await store.keys.revoke(publicIdFor(["named key", "w", "n", 0]), Date.now());
    expect(await makeNamed()).toBe(publicIdFor(["named key", "w", "n", 1]));
  });

  it("is refused another environment after a rotation, and no other expiry", async () => {
    const old = (await store.keys.get(await makeNamed()))!;
    const { record, previous } = prepareRotation(old, { createdBy: "k" }, Date.now, randomBytes);
    await store.keys.rotate(old.id, record, previous.expiresAt);
    expect(await put(store.keys, { expiresAt: Date.now() + 700_000 })).toHaveProperty("existing");
    await expect(put(store.keys, { environment: "staging" })).rejects.toThrow("differs");
  });

  it("gets other grants in every key of its line, even where it is rotated meanwhile", async () => {
    const id = await makeNamed();
    let rotated = "";
    const keys: KeyStore = {
      ...store.keys,
      get: (key) => store.keys.get(key),
      change: async (key, grants) => {
        if (rotated === "") {
          const old = (await store.keys.get(id))!;
          const { record, previous } = prepareRotation(
            old,
            { createdBy: "k" },
            Date.now,
            randomBytes,
          );
          rotated = record.id;
          await store.keys.rotate(id, record, previous.expiresAt);
        }
        return store.keys.change(key, grants);
      },
    };
    const changed = await put(keys, { owner: "other" });
    if (!("existing" in changed)) throw new Error("the name has no key");
    await changed.change?.store();
    expect(await store.keys.get(id)).toMatchObject({ owner: "other", replacedBy: rotated });
    expect(await store.keys.get(rotated)).toMatchObject({ owner: "other" });
  });
});
