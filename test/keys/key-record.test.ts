import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Rotation } from "../../src/canon/credentials/service-key.ts";
import {
  DAY,
  KeyOptionError,
  createKey,
  digestKeyText,
  importKey,
  rotateKey,
  type KeyOptions,
} from "../../src/keys/key-record.ts";
import { parseKeyText } from "../../src/keys/key-text.ts";
import { KeyNotActiveError, KeyRotatedError } from "../../src/keys/key-store.ts";
import type { Store } from "../../src/store/port.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";

const NOW = 1_795_000_000_000;
const CANARY = "sbx_canary-of-a-secret !";
const OPTIONS: KeyOptions = {
  name: "checkout-eu",
  workspace: "acme-prod",
  scopes: ["route:simulate", "inference", "inference"],
  owner: "group:payments",
  expiresAt: NOW + 90 * DAY,
  environment: "staging",
  workload: "checkout",
  labels: ["eu", "batch", "eu"],
  createdBy: "cli",
};

describe("createKey", () => {
  it("creates a record with everything but the secret", () => {
    const { text, record } = createKey(OPTIONS, () => NOW, randomBytes);
    expect(parseKeyText(text)).toEqual({ publicId: record.id, environment: "staging" });
    expect(record).toEqual({
      id: record.id,
      name: "checkout-eu",
      digest: digestKeyText(text),
      exchange: null,
      limits: null,
      workspace: "acme-prod",
      scopes: ["inference", "route:simulate"],
      owner: "group:payments",
      environment: "staging",
      workload: "checkout",
      labels: ["batch", "eu"],
      expiresAt: NOW + 90 * DAY,
      createdAt: NOW,
      createdBy: "cli",
      lastUsedAt: null,
      rotatedFrom: null,
      replacedBy: null,
      lineage: null,
      status: "active",
      revokedAt: null,
    });
    expect(JSON.stringify(record)).not.toContain(text.slice(-39));
  });

  it("defaults to production, no name, no workload and no labels", () => {
    const { workspace, scopes, owner, expiresAt, createdBy } = OPTIONS;
    const { record } = createKey(
      { workspace, scopes, owner, expiresAt, createdBy },
      () => NOW,
      randomBytes,
    );
    expect(record).toMatchObject({
      environment: "production",
      name: null,
      workload: "",
      labels: [],
    });
  });

  it.each<[string, Partial<KeyOptions>]>([
    ["name", { name: "" }],
    ["name", { name: CANARY }],
    ["name", { name: "x".repeat(65) }],
    ["name", { name: "sbx_prod_canary-of-a-secret" }],
    ["workspace", { workspace: "" }],
    ["workspace", { workspace: CANARY }],
    ["scopes", { scopes: [] }],
    ["scopes", { scopes: ["inference", CANARY] }],
    ["scopes", { scopes: ["constructor"] }],
    ["owner", { owner: "" }],
    ["owner", { owner: CANARY }],
    ["environment", { environment: CANARY }],
    ["environment", { environment: "" }],
    ["workload", { workload: CANARY }],
    ["workload", { workload: "sbx_prod_canary-of-a-secret" }],
    ["labels", { labels: ["ok", CANARY] }],
    ["labels", { labels: Array.from({ length: 33 }, (_, index) => `l${index}`) }],
    ["expires_at", { expiresAt: NOW }],
    ["expires_at", { expiresAt: Number.NaN }],
    ["expires_at", { expiresAt: NOW + 400 * DAY + 1 }],
  ])("names the field %s and not the value of %o", (field, change) => {
    let error: unknown;
    try {
      createKey({ ...OPTIONS, ...change }, () => NOW, randomBytes);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(KeyOptionError);
    expect(error).toMatchObject({ field });
    expect(String(error)).toContain(`${field}: `);
    expect(String(error)).not.toContain("canary");
  });

  it("accepts the maximum number of labels", () => {
    const labels = Array.from({ length: 32 }, (_, index) => `l${10 + index}`);
    expect(createKey({ ...OPTIONS, labels }, () => NOW, randomBytes).record.labels).toEqual(labels);
  });

  it("accepts an expiry at exactly the ceiling", () => {
    const options = { ...OPTIONS, expiresAt: NOW + 400 * DAY };
    expect(createKey(options, () => NOW, randomBytes).record.expiresAt).toBe(NOW + 400 * DAY);
  });
});

describe("importKey", () => {
  it("returns the record that createKey returned for the same text", () => {
    const { text, record } = createKey(OPTIONS, () => NOW, randomBytes);
    expect(importKey(text, OPTIONS, () => NOW)).toEqual(record);
  });

  it("reads the environment from the text, and keeps the other rules", () => {
    const { text } = createKey(OPTIONS, () => NOW, randomBytes);
    expect(importKey(text, { ...OPTIONS, workload: "" }, () => NOW).environment).toBe("staging");
    expect(() => importKey(text, { ...OPTIONS, scopes: [] }, () => NOW)).toThrow("scopes: ");
  });

  it("refuses text that is no key, without quoting it", () => {
    expect(() => importKey(CANARY, OPTIONS, () => NOW)).toThrow(/^key: give a whole service key/);
  });
});

describe("rotateKey", () => {
  let store: Store;
  beforeEach(async () => {
    store = await openSqliteStore({ path: ":memory:" });
  });
  afterEach(() => store.close());

  const rotate = (id: string, options: Partial<Rotation>, now = NOW + DAY) =>
    rotateKey(store.keys, id, { createdBy: "k1", ...options }, () => now, randomBytes);

  it("keeps the grants and the lifetime, with a day of overlap", async () => {
    const { text, record } = createKey(OPTIONS, () => NOW, randomBytes);
    await store.keys.create(record);
    const rotated = await rotate(record.id, {});
    expect(rotated?.text).not.toBe(text);
    expect(rotated?.record).toEqual({
      ...record,
      id: parseKeyText(rotated?.text ?? "")?.publicId,
      digest: digestKeyText(rotated?.text ?? ""),
      createdAt: NOW + DAY,
      createdBy: "k1",
      expiresAt: NOW + 91 * DAY,
      rotatedFrom: record.id,
      lineage: record.id,
    });
    expect(rotated?.previous).toEqual({
      ...record,
      replacedBy: rotated?.record.id,
      expiresAt: NOW + 2 * DAY,
    });
    expect(await store.keys.get(record.id)).toEqual(rotated?.previous);
    expect(await store.keys.get(rotated?.record.id ?? "")).toEqual(rotated?.record);
  });

  it("ends the old key at once with an overlap of 0, and never prolongs it", async () => {
    const first = createKey(OPTIONS, () => NOW, randomBytes).record;
    await store.keys.create(first);
    expect((await rotate(first.id, { overlap: 0 }))?.previous.expiresAt).toBe(NOW + DAY);
    const second = createKey(
      { ...OPTIONS, expiresAt: NOW + DAY + 5 },
      () => NOW,
      randomBytes,
    ).record;
    await store.keys.create(second);
    expect((await rotate(second.id, { expiresAt: NOW + 9 * DAY }))?.previous.expiresAt).toBe(
      NOW + DAY + 5,
    );
  });

  it("refuses a second rotation in the overlap, and the new key lives as long as the first was to live", async () => {
    const first = createKey(
      { ...OPTIONS, expiresAt: NOW + 30 * DAY },
      () => NOW,
      randomBytes,
    ).record;
    await store.keys.create(first);
    const second = await rotate(first.id, {});
    await expect(rotate(first.id, {}, NOW + DAY + 1)).rejects.toThrow(KeyRotatedError);
    const third = await rotate(second?.record.id ?? "", {}, NOW + DAY + 1);
    expect([second?.record.expiresAt, third?.record.expiresAt]).toEqual([
      NOW + 31 * DAY,
      NOW + 31 * DAY + 1,
    ]);
  });

  it("revives no key: unknown is null, revoked and expired are refused", async () => {
    const { record } = createKey(OPTIONS, () => NOW, randomBytes);
    await store.keys.create(record);
    expect(await rotate("unknown", {})).toBeNull();
    await expect(rotate(record.id, {}, record.expiresAt)).rejects.toThrow(KeyNotActiveError);
    await store.keys.revoke(record.id, NOW);
    await expect(rotate(record.id, {})).rejects.toThrow(KeyNotActiveError);
    expect(await store.keys.list()).toHaveLength(1);
  });

  it.each<[string, Partial<Rotation>]>([
    ["overlap", { overlap: -1 }],
    ["overlap", { overlap: Number.NaN }],
    ["overlap", { overlap: 401 * DAY }],
    ["expires_at", { expiresAt: NOW }],
    ["expires_at", { expiresAt: NOW + 500 * DAY }],
  ])("names the field %s for %o", async (field, options) => {
    const { record } = createKey(OPTIONS, () => NOW, randomBytes);
    await store.keys.create(record);
    await expect(rotate(record.id, options)).rejects.toMatchObject({
      name: "KeyOptionError",
      field,
    });
  });
});
