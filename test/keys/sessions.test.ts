import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { StoreUnavailableError } from "../../src/canon/error.ts";
import { createSessions, createSignInCodes } from "../../src/keys/sessions.ts";
import type { SessionRecord, SessionStore } from "../../src/keys/key-store.ts";

const MINUTE = 60_000;
const TIMES = { idle: 30 * MINUTE, absolute: 12 * 60 * MINUTE };
const HOLDER = { key: "aaaaaaaaaaaa" };

function memory(): SessionStore & {
  readonly rows: Map<string, SessionRecord>;
  readonly calls: string[];
} {
  const rows = new Map<string, SessionRecord>();
  const calls: string[] = [];
  return {
    rows,
    calls,
    create: async (record) => void rows.set(record.digest, record),
    find: async (digest) => {
      calls.push("find");
      return rows.get(digest) ?? null;
    },
    touch: async (digest, at) => {
      calls.push("touch");
      const row = rows.get(digest);
      if (row !== undefined) rows.set(digest, { ...row, seenAt: at });
    },
    endSession: async (digest) => void rows.delete(digest),
    prune: async () => 0,
  };
}

describe("sessions", () => {
  it("end when they are not used for the idle time, and live on while they are", async () => {
    const store = memory();
    const sessions = createSessions(store, randomBytes);
    const { value } = await sessions.start(HOLDER, 0, TIMES);
    expect(await sessions.find(value, 29 * MINUTE, TIMES, "a")).toMatchObject({
      holder: HOLDER,
      seenAt: 29 * MINUTE,
    });
    expect(await sessions.find(value, 58 * MINUTE, TIMES, "a")).not.toBeNull();
    expect(await sessions.find(value, 88 * MINUTE, TIMES, "a")).toBeNull();
    expect(store.rows.size).toBe(0);
  });

  it("end after the absolute time despite use, and with their key", async () => {
    const sessions = createSessions(memory(), randomBytes);
    const [long, short] = [
      await sessions.start(HOLDER, 0, TIMES),
      await sessions.start(HOLDER, 0, TIMES, 10 * MINUTE),
    ];
    expect(await sessions.find(short.value, 10 * MINUTE - 1, TIMES, "a")).not.toBeNull();
    expect(await sessions.find(short.value, 10 * MINUTE, TIMES, "a")).toBeNull();
    for (let now = 20 * MINUTE; now < TIMES.absolute; now += 20 * MINUTE) {
      expect(await sessions.find(long.value, now, TIMES, "a")).not.toBeNull();
    }
    expect(await sessions.find(long.value, TIMES.absolute, TIMES, "a")).toBeNull();
  });

  it("are looked up once a second and written once a minute", async () => {
    const store = memory();
    const sessions = createSessions(store, randomBytes);
    const { value } = await sessions.start(HOLDER, 0, TIMES);
    for (let now = 0; now < 61_000; now += 100) await sessions.find(value, now, TIMES, "a");
    expect(store.calls.filter((call) => call === "find").length).toBe(61);
    expect(store.calls.filter((call) => call === "touch").length).toBe(1);
  });

  it("are accepted for less than a second after another process has ended them", async () => {
    const store = memory();
    const sessions = createSessions(store, randomBytes);
    const { value } = await sessions.start(HOLDER, 0, TIMES);
    await sessions.find(value, 1_000, TIMES, "a");
    store.rows.clear();
    expect(await sessions.find(value, 1_999, TIMES, "a")).not.toBeNull();
    expect(await sessions.find(value, 2_000, TIMES, "a")).toBeNull();
  });

  it("that do not exist are looked up at most fifty times a second, and valid ones are served meanwhile", async () => {
    const store = memory();
    const sessions = createSessions(store, randomBytes);
    const { value } = await sessions.start(HOLDER, 0, TIMES);
    const second = await sessions.start(HOLDER, 0, TIMES);
    await sessions.find(value, 0, TIMES, "a");
    const made = (): string => randomBytes(32).toString("base64url");
    for (let count = 0; count < 50; count += 1) {
      expect(await sessions.find(made(), 2_000, TIMES, `a${count % 5}`)).toBeNull();
    }
    await expect(sessions.find(made(), 2_000, TIMES, "b")).rejects.toThrow(StoreUnavailableError);
    for (const good of [value, second.value])
      expect(await sessions.find(good, 2_000, TIMES, "a")).not.toBeNull();
    expect(await sessions.find(made(), 3_000, TIMES, "a")).toBeNull();
  });
});

describe("forged session cookies from one address", () => {
  it("do not affect sessions that start here, nor callers at other addresses", async () => {
    const store = memory();
    const [sessions, other] = [
      createSessions(store, randomBytes),
      createSessions(store, randomBytes),
    ];
    const made = (): string => randomBytes(32).toString("base64url");
    const elsewhere = await other.start(HOLDER, 0, TIMES);
    for (let count = 0; count < 10; count += 1)
      expect(await sessions.find(made(), 0, TIMES, "evil")).toBeNull();
    for (let count = 0; count < 60; count += 1) {
      await expect(sessions.find(made(), 0, TIMES, "evil")).rejects.toThrow(StoreUnavailableError);
    }
    expect(await sessions.find(elsewhere.value, 0, TIMES, "good")).not.toBeNull();
    const { value } = await sessions.start(HOLDER, 0, TIMES);
    expect(await sessions.find(value, 0, TIMES, "evil")).not.toBeNull();
  });
});

describe("codes that sign in", () => {
  it("are accepted once, and for ten minutes", () => {
    const codes = createSignInCodes(randomBytes);
    const [first, second] = [codes.make("a", 0), codes.make("b", 0)];
    expect(codes.take(first, 10 * MINUTE - 1)).toBe("a");
    expect(codes.take(first, 10 * MINUTE - 1)).toBeNull();
    expect(codes.take(second, 10 * MINUTE)).toBeNull();
    expect(codes.take("unknown", 0)).toBeNull();
  });
});
