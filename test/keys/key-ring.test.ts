import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";

import { createKey, type KeyOptions } from "../../src/keys/key-record.ts";
import { KeyRing, openKeyRing } from "../../src/keys/key-ring.ts";
import type { KeyRecord, KeyStore } from "../../src/keys/key-store.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";

const NOW = 1_795_000_000_000;
const MINUTE = 60_000;

const make = (options: Partial<KeyOptions> = {}) =>
  createKey(
    {
      workspace: "acme-prod",
      scopes: ["inference"],
      owner: "group:payments",
      expiresAt: NOW + 10_000_000,
      createdBy: "cli",
      ...options,
    },
    () => NOW,
    randomBytes,
  );

const INVALID = { ok: false, code: "invalid_api_key" };

describe("KeyRing.verify", () => {
  it("returns the identity of a key, the same object every time", () => {
    const ring = new KeyRing();
    const { text, record } = make({
      scopes: ["route:simulate", "inference"],
      workload: "checkout",
      labels: ["b", "a"],
    });
    ring.apply([record]);
    const verification = ring.verify(text, NOW);
    expect(verification).toEqual({
      ok: true,
      identity: {
        workspace: "acme-prod",
        keyId: record.id,
        scopes: new Set(["inference", "route:simulate"]),
        environment: "production",
        workload: "checkout",
        owner: "group:payments",
        labels: ["a", "b"],
        expiresAt: NOW + 10_000_000,
        lineage: null,
        limits: null,
      },
    });
    expect(ring.verify(text, NOW + 1)).toBe(verification);
    expect(Object.isFrozen(verification)).toBe(true);
    expect(JSON.stringify(verification)).not.toContain(text.slice(-20));
  });

  it("refuses an unknown key, a wrong secret with a right checksum, and text that is no key", () => {
    const ring = new KeyRing();
    const { record } = make();
    const other = make();
    ring.apply([record]);
    expect(ring.verify(other.text, NOW)).toEqual(INVALID);
    // The public id is known, the text is well formed, the secret is another key's.
    ring.apply([{ ...record, id: other.record.id }]);
    expect(ring.verify(other.text, NOW)).toEqual(INVALID);
    expect(ring.verify("constructor", NOW)).toEqual(INVALID);
    expect(ring.verify("", NOW)).toEqual(INVALID);
  });

  it("answers expired_api_key only for the right secret", () => {
    const ring = new KeyRing();
    const { text, record } = make();
    ring.apply([record]);
    expect(ring.verify(text, record.expiresAt - 1).ok).toBe(true);
    expect(ring.verify(text, record.expiresAt)).toEqual({ ok: false, code: "expired_api_key" });
    for (const digest of [
      "0".repeat(64),
      "",
      record.digest.slice(1),
      record.digest.toUpperCase(),
    ]) {
      ring.apply([{ ...record, digest }]);
      expect(ring.verify(text, record.expiresAt)).toEqual(INVALID);
    }
  });

  it("refuses a revoked key for good, even when an older record arrives late, even when expired", () => {
    const ring = new KeyRing();
    const { text, record } = make();
    ring.apply([record]);
    ring.apply([{ ...record, status: "revoked", revokedAt: NOW }]);
    expect(ring.verify(text, NOW)).toEqual(INVALID);
    ring.apply([record]);
    expect(ring.verify(text, NOW)).toEqual(INVALID);
    expect(ring.verify(text, record.expiresAt + 1)).toEqual(INVALID);
  });

  it("reports a key once when it is added and once when it is revoked, so that its requests can be ended", () => {
    const ring = new KeyRing();
    const { record } = make();
    const revoked = { ...record, status: "revoked", revokedAt: NOW } as const;
    const { id, workspace } = record;
    expect(ring.apply([record])).toEqual([{ id, workspace, change: "added" }]);
    expect(ring.apply([{ ...record, owner: "group:other" }])).toEqual([]);
    expect(ring.apply([revoked])).toEqual([{ id, workspace, change: "revoked" }]);
    expect(ring.apply([revoked])).toEqual([]);
    expect(new KeyRing().apply([revoked])).toEqual([{ id, workspace, change: "revoked" }]);
  });
});

it("KeyRing.allowsOrigin: a web origin is allowed while a key that lists it is neither revoked nor expired", () => {
  const exchange = {
    maximumLifetime: 60,
    operations: null,
    routes: null,
    origins: ["https://a.example"],
  };
  const ring = new KeyRing();
  const { record } = make({ exchange });
  ring.apply([record]);
  const allows = (origin: string, now = NOW): boolean => ring.allowsOrigin(origin, now);
  expect(allows("https://a.example", record.expiresAt - 1)).toBe(true);
  expect(allows("https://a.example", record.expiresAt)).toBe(false);
  expect(allows("https://b.example")).toBe(false);
  ring.apply([{ ...record, status: "revoked", revokedAt: NOW }]);
  expect(allows("https://a.example")).toBe(false);
});

describe("KeyRing, late records", () => {
  it("do not restore the old expiry of a rotated key", () => {
    const ring = new KeyRing();
    const { text, record } = make();
    ring.apply([record]);
    ring.apply([{ ...record, expiresAt: NOW }]);
    ring.apply([record]);
    expect(ring.verify(text, NOW)).toEqual({ ok: false, code: "expired_api_key" });
    expect(ring.holder(record.id, NOW)).toBeNull();
    expect(ring.holder(record.id, NOW - 1)?.identity.expiresAt).toBe(NOW);
  });
});

describe("KeyRing.takeUses", () => {
  it("reports each key at most once in five minutes, and only of accepted ones", () => {
    const ring = new KeyRing();
    const { text, record } = make();
    const unused = make();
    ring.apply([record, unused.record]);
    ring.verify(make().text, NOW);
    expect(ring.takeUses()).toEqual([]);
    ring.verify(text, NOW);
    expect(ring.takeUses()).toEqual([{ id: record.id, at: NOW }]);
    ring.verify(text, NOW + 4 * MINUTE);
    ring.apply([{ ...record, expiresAt: record.expiresAt - 1 }]);
    expect(ring.takeUses()).toEqual([]);
    ring.holder(record.id, NOW + 5 * MINUTE);
    expect(ring.takeUses()).toEqual([{ id: record.id, at: NOW + 5 * MINUTE }]);
    expect(ring.takeUses()).toEqual([]);
  });
});

/** A store that notifies no listener; `get` answers from `records`. */
function silentStore(records: Map<string, KeyRecord>, requested: string[] = []): KeyStore {
  return {
    create: () => Promise.resolve(),
    get: (id) => {
      requested.push(id);
      return Promise.resolve(records.get(id) ?? null);
    },
    list: () => Promise.resolve([]),
    page: () => Promise.resolve([]),
    countActive: () => Promise.resolve(0),
    revoke: () => Promise.resolve(null),
    change: () => Promise.resolve(null),
    rotate: () => Promise.resolve(null),
    touch: () => Promise.resolve(),
    watch: () => Promise.resolve(() => undefined),
  };
}

describe("openKeyRing, lookUp", () => {
  it("finds a key that another process has just created", async () => {
    const { text, record } = make();
    const ring = await openKeyRing(silentStore(new Map([[record.id, record]])));
    expect(ring.verify(text, NOW)).toEqual(INVALID);
    expect(await Promise.all([ring.lookUp(text), ring.lookUp(text)])).toEqual([true, true]);
    expect(ring.verify(text, NOW).ok).toBe(true);
    await ring.close();
  });

  it("reads the store once in a second for a refused key, known or not, and never for text that is no key", async () => {
    vi.useFakeTimers({ toFake: ["performance", "setInterval", "clearInterval"] });
    try {
      const requested: string[] = [];
      const records = new Map<string, KeyRecord>();
      const { text, record } = make();
      const known = make();
      const ring = await openKeyRing({
        ...silentStore(records, requested),
        watch: (listener) => {
          listener([known.record]);
          return Promise.resolve(() => undefined);
        },
      });
      for (const one of [known.text, "constructor", `${text}x`, text, text])
        expect(await ring.lookUp(one)).toBe(false);
      expect(requested).toEqual([known.record.id, record.id]);
      records.set(record.id, record);
      vi.advanceTimersByTime(999);
      expect(await ring.lookUp(text)).toBe(false);
      vi.advanceTimersByTime(1);
      expect(await ring.lookUp(text)).toBe(true);
      await ring.close();
    } finally {
      vi.useRealTimers();
    }
  });

  it("reads the store at most twenty times in any second, for any number of anonymous callers", async () => {
    vi.useFakeTimers({ toFake: ["performance", "setInterval", "clearInterval"] });
    try {
      const requested: string[] = [];
      const ring = await openKeyRing(silentStore(new Map(), requested));
      for (let count = 0; count < 200; count += 1) await ring.lookUp(make().text);
      expect(requested).toHaveLength(20);
      vi.advanceTimersByTime(1_000);
      for (let count = 0; count < 200; count += 1) await ring.lookUp(make().text);
      expect(requested).toHaveLength(40);
      await ring.close();
    } finally {
      vi.useRealTimers();
    }
  });

  it("does not bring back a key that was revoked while it was looked for", async () => {
    const { text, record } = make();
    let notify: (records: readonly KeyRecord[]) => void = () => undefined;
    const ring = await openKeyRing({
      ...silentStore(new Map()),
      get: () => {
        // The look-up's answer, from before the revocation, arrives after the news of it.
        notify([{ ...record, status: "revoked", revokedAt: NOW }]);
        return Promise.resolve(record);
      },
      watch: (listener) => {
        notify = listener;
        return Promise.resolve(() => undefined);
      },
    });
    await ring.lookUp(text);
    expect(ring.verify(text, NOW)).toEqual(INVALID);
    notify([record]);
    expect(ring.verify(text, NOW)).toEqual(INVALID);
    await ring.close();
  });

  it("finds no key when the store fails, and never replaces a newer record by an older one", async () => {
    const { text, record } = make();
    const failing = await openKeyRing({
      ...silentStore(new Map()),
      get: () => Promise.reject(new Error("on fire")),
    });
    expect(await failing.lookUp(text)).toBe(false);
    await failing.close();
    let notify: (records: readonly KeyRecord[]) => void = () => undefined;
    const ring = await openKeyRing({
      ...silentStore(new Map()),
      get: () => {
        notify([{ ...record, expiresAt: NOW }]);
        return Promise.resolve(record);
      },
      watch: (listener) => {
        notify = listener;
        return Promise.resolve(() => undefined);
      },
    });
    expect(await ring.lookUp(text)).toBe(true);
    expect(ring.verify(text, NOW)).toEqual({ ok: false, code: "expired_api_key" });
    await ring.close();
  });
});

describe("openKeyRing", () => {
  it("follows the store: a revocation holds before it resolves, and uses are written on close", async () => {
    const store = await openSqliteStore({ path: ":memory:" });
    const [first, second] = [make(), make()];
    await store.keys.create(first.record);
    const ring = await openKeyRing(store.keys);
    await store.keys.create(second.record);
    expect([ring.verify(first.text, NOW).ok, ring.verify(second.text, NOW).ok]).toEqual([
      true,
      true,
    ]);
    await store.keys.revoke(first.record.id, NOW);
    expect(ring.verify(first.text, NOW)).toEqual(INVALID);
    await ring.close();
    expect(await store.keys.get(second.record.id)).toMatchObject({ lastUsedAt: NOW });
    await store.close();
  });

  it("no verification under load is accepted that starts after revoke resolved", async () => {
    const store = await openSqliteStore({ path: ":memory:" });
    const { text, record } = make();
    await store.keys.create(record);
    const ring = await openKeyRing(store.keys);
    let revoked = false;
    let acceptedAfterwards = 0;
    const revocation = store.keys.revoke(record.id, NOW).then(() => (revoked = true));
    const end = performance.now() + 200;
    while (performance.now() < end) {
      for (let count = 0; count < 100; count += 1) {
        if (ring.verify(text, NOW).ok && revoked) acceptedAfterwards += 1;
      }
      await delay(0);
    }
    await revocation;
    expect(acceptedAfterwards).toBe(0);
    await ring.close();
    await store.close();
  });

  it("writes a busy key's use once in five minutes, for any number of requests", async () => {
    vi.useFakeTimers();
    try {
      const keys = [make(), make()];
      const written: unknown[] = [];
      const ring = await openKeyRing({
        ...silentStore(new Map()),
        touch: (uses) => {
          written.push(...uses);
          return Promise.resolve();
        },
        watch: (listener) => {
          listener(keys.map(({ record }) => record));
          return Promise.resolve(() => undefined);
        },
      });
      for (let second = 0; second < 15 * 60; second += 1) {
        for (let count = 0; count < 20; count += 1)
          for (const { text } of keys) ring.verify(text, NOW + second * 1_000);
        vi.advanceTimersByTime(1_000);
      }
      expect(written).toHaveLength(keys.length * 3);
      await ring.close();
    } finally {
      vi.useRealTimers();
    }
  });

  it("writes uses once a minute, and survives a store that cannot", async () => {
    vi.useFakeTimers();
    try {
      const { text, record } = make();
      const touched: unknown[] = [];
      const ring = await openKeyRing({
        create: () => Promise.resolve(),
        get: () => Promise.resolve(null),
        list: () => Promise.resolve([]),
        page: () => Promise.resolve([]),
        countActive: () => Promise.resolve(0),
        revoke: () => Promise.resolve(null),
        change: () => Promise.resolve(null),
        rotate: () => Promise.resolve(null),
        touch: (uses) => {
          touched.push(uses);
          return Promise.reject(new Error("disk on fire"));
        },
        watch: (listener) => {
          listener([record]);
          return Promise.resolve(() => undefined);
        },
      });
      ring.verify(text, NOW);
      await vi.advanceTimersByTimeAsync(61_000);
      expect(touched).toEqual([[{ id: record.id, at: NOW }]]);
      await ring.close();
    } finally {
      vi.useRealTimers();
    }
  });
});
