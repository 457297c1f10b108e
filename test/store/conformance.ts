import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type DecisionRecord, asIdentifier } from "../../src/evidence/record.ts";
import { DuplicateDecisionError } from "../../src/evidence/evidence-store.ts";
import {
  DuplicateKeyError,
  KeyNotActiveError,
  KeyRotatedError,
  type KeyRecord,
} from "../../src/keys/key-store.ts";
import type { Store } from "../../src/store/port.ts";
import { evidenceLogLaws } from "./conformance-log.ts";
import { evidenceSearchLaws } from "./evidence-search-laws.ts";
import { issuerLaws } from "./issuer-laws.ts";
import { limitLaws } from "./limit-laws.ts";
import { policyLogLaws } from "./policy-log-laws.ts";
import { decisionRecord, keyRecord, outcomeRecord, recordDecision } from "./records.ts";
import { sessionLaws } from "./session-laws.ts";
import { summaryLaws } from "./summary-laws.ts";

/** What every engine behind the store's port must do. `open` gives a new, empty store each time. */
export function describeStore(name: string, open: () => Promise<Store>): void {
  // oxlint-disable-next-line vitest/valid-title -- the engine's name is the title
  describe(name, () => {
    let store: Store;
    beforeEach(async () => {
      store = await open();
    });
    afterEach(() => store.close());

    describe("keys", () => {
      keyLaws(() => store);
    });
    describe("watch", () => {
      watchLaws(() => store);
    });
    describe("evidence", () => {
      evidenceLaws(() => store);
    });
    describe("evidence log", () => {
      evidenceLogLaws(() => store);
    });
    describe("summary", () => {
      summaryLaws(() => store, open);
    });
    describe("the policy log", () => {
      policyLogLaws(() => store);
    });

    describe("issuers", () => {
      issuerLaws(() => store);
    });

    describe("limits", () => {
      limitLaws(() => store);
    });

    describe("sessions", () => {
      sessionLaws(() => store);
    });

    it("the store closes twice without an error, and refuses work afterwards", async () => {
      await store.close();
      await store.close();
      await expect(store.keys.get("a")).rejects.toThrow("the store is closed");
      await expect(recordDecision(store.evidence, decisionRecord("r1"))).rejects.toThrow("closed");
    });
  });
}

function keyLaws(store: () => Store): void {
  it("a key is returned as it was created, and null for an unknown one", async () => {
    const record = keyRecord("a", { labels: [], workload: "", rotatedFrom: null });
    await store().keys.create(record);
    expect(await store().keys.get("a")).toEqual(record);
    expect(await store().keys.get("constructor")).toBeNull();
  });

  it("a stored key has its exchange grant and its limits", async () => {
    const exchange = {
      maximumLifetime: 600,
      operations: ["embeddings" as const],
      routes: ["r"],
      origins: null,
    };
    const limits = {
      requestsPerMinute: 5,
      tokensPerMinute: null,
      concurrency: 2,
      budget: { usd: 1.5, per: "day" },
    } as const;
    const record = keyRecord("a", { exchange, limits });
    await store().keys.create(record);
    await store().keys.create(
      keyRecord("open", { exchange: { ...exchange, operations: null, routes: null } }),
    );
    expect(await store().keys.get("a")).toEqual(record);
    expect((await store().keys.get("open"))?.exchange).toEqual({
      ...exchange,
      operations: null,
      routes: null,
    });
    const replaced = await store().keys.rotate(
      "a",
      keyRecord("b", { exchange, limits, rotatedFrom: "a" }),
      1_500_000,
    );
    expect(replaced).toMatchObject({ exchange, limits });
    expect(await store().keys.get("b")).toMatchObject({ exchange, limits });
  });

  it("a second key with the same id is refused and the first is kept", async () => {
    await store().keys.create(keyRecord("a"));
    const copy = keyRecord("a", { digest: "f".repeat(64), owner: "group:other" });
    await expect(store().keys.create(copy)).rejects.toThrow(DuplicateKeyError);
    expect((await store().keys.get("a"))?.owner).toBe("group:payments");
  });

  it("keys are listed newest first, by workspace on request", async () => {
    await store().keys.create(keyRecord("old", { createdAt: 1 }));
    await store().keys.create(keyRecord("new", { createdAt: 3 }));
    await store().keys.create(keyRecord("other", { createdAt: 2, workspace: "beta" }));
    expect((await store().keys.list()).map(({ id }) => id)).toEqual(["new", "other", "old"]);
    expect((await store().keys.list({ workspace: "beta" })).map(({ id }) => id)).toEqual(["other"]);
    expect(await store().keys.list({ workspace: "none" })).toEqual([]);
  });

  it("keys of a workspace are listed page by page in order, each once, also those of one moment", async () => {
    for (const [index, createdAt] of [5, 3, 3, 9, 3, 1, 3].entries()) {
      await store().keys.create(keyRecord(`k${index}`, { createdAt }));
      await store().keys.create(keyRecord(`o${index}`, { createdAt, workspace: "beta" }));
    }
    const own = { workspace: "acme-prod", expiring: null };
    const listed = await store().keys.list({ workspace: "acme-prod" });
    for (const limit of [1, 2, 3, 7, 20]) {
      const paged = [];
      for (let page = await store().keys.page({ ...own, after: null, limit }); page.length > 0;) {
        expect(page.length).toBeLessThanOrEqual(limit);
        paged.push(...page);
        page = await store().keys.page({ ...own, after: page.at(-1) ?? null, limit });
      }
      expect(paged).toEqual(listed);
    }
    expect(await store().keys.page({ ...own, workspace: "none", after: null, limit: 5 })).toEqual(
      [],
    );
  });

  it("active keys that expire before a time are listed soonest first, without replaced ones, page by page", async () => {
    for (const [index, expiresAt] of [500, 300, 900, 300, 100, 700, 301].entries()) {
      await store().keys.create(keyRecord(`k${index}`, { createdAt: index, expiresAt }));
    }
    await store().keys.create(keyRecord("other", { workspace: "beta", expiresAt: 300 }));
    await store().keys.create(keyRecord("revoked", { expiresAt: 300 }));
    await store().keys.revoke("revoked", 5);
    await store().keys.rotate("k6", keyRecord("new", { createdAt: 9, expiresAt: 2_000 }), 301);
    const query = { workspace: "acme-prod", expiring: { after: 100, before: 900 } };
    for (const limit of [1, 2, 3, 9]) {
      const found: string[] = [];
      for (let page = await store().keys.page({ ...query, after: null, limit }); page.length > 0;) {
        expect(page.length).toBeLessThanOrEqual(limit);
        found.push(...page.map(({ id }) => id));
        page = await store().keys.page({ ...query, after: page.at(-1) ?? null, limit });
      }
      expect(found).toEqual(["k1", "k3", "k0", "k5"]);
    }
  });

  it("valid keys of a workspace are counted up to the requested number", async () => {
    for (const id of ["a", "b", "c"]) await store().keys.create(keyRecord(id));
    await store().keys.create(keyRecord("expired", { expiresAt: 1_200_000 }));
    await store().keys.create(keyRecord("other", { workspace: "beta" }));
    await store().keys.revoke("c", 5);
    expect(await store().keys.countActive("acme-prod", 1_199_999, 100)).toBe(3);
    expect(await store().keys.countActive("acme-prod", 1_200_000, 100)).toBe(2);
    expect(await store().keys.countActive("acme-prod", 1_200_000, 1)).toBe(1);
    expect(await store().keys.countActive("none", 0, 9)).toBe(0);
  });

  it("rotated keys keep their lineage", async () => {
    await store().keys.create(keyRecord("a"));
    await store().keys.rotate("a", keyRecord("b", { rotatedFrom: "a", lineage: "a" }), 1_500_000);
    expect(await store().keys.get("b")).toMatchObject({ rotatedFrom: "a", lineage: "a" });
    expect(await store().keys.get("a")).toMatchObject({ lineage: null });
  });

  it("a key is revoked once: the first time stays, and an unknown key is null", async () => {
    await store().keys.create(keyRecord("a"));
    expect(await store().keys.revoke("a", 50)).toMatchObject({ status: "revoked", revokedAt: 50 });
    expect(await store().keys.revoke("a", 60)).toMatchObject({ status: "revoked", revokedAt: 50 });
    expect(await store().keys.revoke("b", 60)).toBeNull();
  });

  it("a change of grants changes no other member of the key", async () => {
    const record = keyRecord("a", { limits: null });
    await store().keys.create(record);
    const grants = {
      scopes: ["catalogue:read", "inference"],
      owner: "group:other",
      workload: "nightly",
      labels: ["eu"],
      limits: {
        requestsPerMinute: 3,
        tokensPerMinute: null,
        concurrency: null,
        budget: { usd: 2, per: "day" },
      },
    } as const;
    expect(await store().keys.change("a", { ...record, ...grants })).toEqual({
      ...record,
      ...grants,
    });
    expect(await store().keys.get("a")).toEqual({ ...record, ...grants });
    expect(await store().keys.change("a", record)).toEqual(record);
    expect(await store().keys.get("a")).toEqual(record);
  });

  it("the grants of an unknown or a revoked key are not changed", async () => {
    const record = keyRecord("a");
    await store().keys.create(record);
    const revoked = await store().keys.revoke("a", 5);
    expect(await store().keys.change("unknown", record)).toBeNull();
    await expect(store().keys.change("a", { ...record, labels: ["eu"] })).rejects.toThrow(
      KeyNotActiveError,
    );
    expect(await store().keys.get("a")).toEqual(revoked);
  });

  it("a rotation after a change has the changed grants", async () => {
    const record = keyRecord("a", { scopes: ["inference", "operations:manage"] });
    await store().keys.create(record);
    await store().keys.change("a", { ...record, scopes: ["inference"], limits: null, labels: [] });
    const made = keyRecord("b", { scopes: record.scopes, rotatedFrom: "a", createdAt: 1_500_000 });
    await store().keys.rotate("a", made, 1_600_000);
    expect(await store().keys.get("b")).toEqual({
      ...made,
      scopes: ["inference"],
      limits: null,
      labels: [],
    });
  });

  it("a rotation adds the replacement, and the old key expires at the end of the overlap", async () => {
    await store().keys.create(keyRecord("a"));
    const replacement = keyRecord("b", {
      rotatedFrom: "a",
      createdAt: 1_500_000,
      expiresAt: 3_000_000,
    });
    expect(await store().keys.rotate("a", replacement, 1_600_000)).toMatchObject({
      id: "a",
      expiresAt: 1_600_000,
    });
    expect(await store().keys.get("a")).toMatchObject({ status: "active", expiresAt: 1_600_000 });
    expect(await store().keys.get("b")).toEqual(replacement);
  });

  it("a key is rotated once: a second rotation in the overlap is refused and adds nothing", async () => {
    await store().keys.create(keyRecord("a"));
    const first = keyRecord("b", { rotatedFrom: "a", createdAt: 1_100_000, expiresAt: 3_000_000 });
    const second = keyRecord("c", { rotatedFrom: "a", createdAt: 1_100_001, expiresAt: 1_200_001 });
    expect(await store().keys.rotate("a", first, 1_200_000)).toMatchObject({ replacedBy: "b" });
    await expect(store().keys.rotate("a", second, 1_150_000)).rejects.toThrow(KeyRotatedError);
    expect(await store().keys.get("a")).toMatchObject({
      expiresAt: 1_200_000,
      replacedBy: "b",
      status: "active",
    });
    expect(await store().keys.get("c")).toBeNull();
    const third = keyRecord("d", { rotatedFrom: "b", createdAt: 1_150_000, expiresAt: 3_050_000 });
    expect(await store().keys.rotate("b", third, 1_250_000)).toMatchObject({
      id: "b",
      replacedBy: "d",
    });
    await store().keys.revoke("a", 1_160_000);
    await expect(store().keys.rotate("a", second, 1_170_000)).rejects.toThrow(KeyNotActiveError);
  });

  it("a key is rotated once under concurrent rotations", async () => {
    await store().keys.create(keyRecord("a"));
    const rotations = await Promise.allSettled(
      ["b", "c", "d", "e"].map((id) =>
        store().keys.rotate("a", keyRecord(id, { createdAt: 1_100_000 }), 1_200_000),
      ),
    );
    expect(rotations.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const refused = rotations.filter((rotation) => rotation.status === "rejected");
    expect(refused.every(({ reason }) => reason instanceof KeyRotatedError)).toBe(true);
    expect(await store().keys.list()).toHaveLength(2);
  });

  it("rotation never lengthens the life of the old key", async () => {
    await store().keys.create(keyRecord("a"));
    const replacement = keyRecord("b", { createdAt: 1_500_000 });
    expect(await store().keys.rotate("a", replacement, 9_000_000)).toMatchObject({
      expiresAt: 2_000_000,
    });
    expect(await store().keys.get("a")).toMatchObject({ expiresAt: 2_000_000 });
  });

  it("an unknown, revoked or expired key is not rotated, and nothing is added", async () => {
    await store().keys.create(keyRecord("revoked"));
    await store().keys.revoke("revoked", 5);
    await store().keys.create(keyRecord("expired", { expiresAt: 1_400_000 }));
    const replacement = keyRecord("b", { createdAt: 1_400_000 });
    expect(await store().keys.rotate("unknown", replacement, 1_600_000)).toBeNull();
    await expect(store().keys.rotate("revoked", replacement, 1_600_000)).rejects.toThrow(
      KeyNotActiveError,
    );
    await expect(store().keys.rotate("expired", replacement, 1_600_000)).rejects.toThrow(
      KeyNotActiveError,
    );
    expect(await store().keys.get("b")).toBeNull();
  });

  it("the old key stays unchanged when the replacement cannot be added", async () => {
    await store().keys.create(keyRecord("a"));
    await store().keys.create(keyRecord("b"));
    const rotation = store().keys.rotate(
      "a",
      keyRecord("b", { createdAt: 1_400_000, digest: "e".repeat(64) }),
      1_500_000,
    );
    await expect(rotation).rejects.toThrow(DuplicateKeyError);
    expect(await store().keys.get("a")).toMatchObject({ expiresAt: 2_000_000 });
  });

  it("the latest use of a key is kept, and unknown keys are ignored", async () => {
    await store().keys.create(keyRecord("a"));
    await store().keys.touch([
      { id: "a", at: 20 },
      { id: "unknown", at: 1 },
    ]);
    await store().keys.touch([{ id: "a", at: 10 }]);
    await store().keys.touch([]);
    expect(await store().keys.get("a")).toMatchObject({ lastUsedAt: 20 });
  });
}

function watchLaws(store: () => Store): void {
  it("a watcher gets everything before watch resolves, then each change before the change resolves", async () => {
    await store().keys.create(keyRecord("a"));
    const calls: (readonly KeyRecord[])[] = [];
    await store().keys.watch((records) => calls.push(records));
    expect(calls.map((records) => records.map(({ id }) => id))).toEqual([["a"]]);

    await store().keys.create(keyRecord("b"));
    expect(calls.at(-1)).toEqual([keyRecord("b")]);
    await store().keys.revoke("a", 7);
    expect(calls.at(-1)).toMatchObject([{ id: "a", status: "revoked" }]);
    await store().keys.rotate("b", keyRecord("c", { createdAt: 1_500_000 }), 1_600_000);
    expect(
      calls
        .at(-1)
        ?.map(({ id }) => id)
        .toSorted(),
    ).toEqual(["b", "c"]);
    expect(calls).toHaveLength(4);
  });

  it("a watcher gets a key as a change left it, or later, before the change resolves", async () => {
    const record = keyRecord("a");
    await store().keys.create(record);
    const seen: KeyRecord[] = [];
    await store().keys.watch((records) => seen.push(...records));
    let shown = seen.length;
    await Promise.all(
      ["x", "y", "z"].map(async (label) => {
        await store().keys.change("a", { ...record, labels: [label] });
        expect(seen.length).toBeGreaterThan(1);
        shown = seen.length;
      }),
    );
    expect(shown).toBe(seen.length);
    expect(seen.at(-1)).toEqual(await store().keys.get("a"));
  });

  it("a watcher gets no older state after a revocation, under concurrent changes", async () => {
    const record = keyRecord("a");
    await store().keys.create(record);
    const seen: string[] = [];
    await store().keys.watch((records) => seen.push(...records.map(({ status }) => status)));
    const changes = ["x", "y", "z"].map((label) =>
      store().keys.change("a", { ...record, labels: [label] }),
    );
    await Promise.allSettled([...changes, store().keys.revoke("a", 9)]);
    expect(seen.at(-1)).toBe("revoked");
    expect(seen.indexOf("revoked")).toBe(seen.length - 1);
  });

  it("a watcher gets no use of a key", async () => {
    await store().keys.create(keyRecord("a"));
    let calls = 0;
    await store().keys.watch(() => (calls += 1));
    await store().keys.touch([{ id: "a", at: 20 }]);
    await store().keys.get("a");
    expect(calls).toBe(1);
  });

  it("a second watcher gets every key, and an ended one no more", async () => {
    await store().keys.create(keyRecord("a"));
    const first: string[] = [];
    const second: string[] = [];
    const end = await store().keys.watch((records) => first.push(...records.map(({ id }) => id)));
    await store().keys.create(keyRecord("b"));
    await store().keys.watch((records) => second.push(...records.map(({ id }) => id)));
    end();
    await store().keys.create(keyRecord("c"));
    expect(first).toEqual(["a", "b"]);
    expect(second).toEqual(["a", "b", "c"]);
  });

  it("a watcher of an empty store is called back at once", async () => {
    const calls: (readonly KeyRecord[])[] = [];
    await store().keys.watch((records) => calls.push(records));
    expect(calls).toEqual([[]]);
    await store().keys.create(keyRecord("a"));
    expect(calls).toHaveLength(2);
  });
}

function evidenceLaws(store: () => Store): void {
  it("decisions are returned in order, each with its outcome", async () => {
    const denied: DecisionRecord = decisionRecord("r2", {
      outcome: "deny",
      route: null,
      plan: [],
      reason: asIdentifier("REGION_NOT_APPROVED"),
    });
    await Promise.all([
      recordDecision(store().evidence, decisionRecord("r1")),
      recordDecision(store().evidence, denied),
    ]);
    store().evidence.settle(outcomeRecord("r1"));
    await store().evidence.flush();
    const entries = await store().evidence.read({ after: 0, limit: 10 });
    expect(entries.map(({ decision, outcome }) => ({ decision, outcome }))).toEqual([
      { decision: decisionRecord("r1"), outcome: outcomeRecord("r1") },
      { decision: denied, outcome: null },
    ]);
    expect(entries[1]?.sequence).toBeGreaterThan(entries[0]?.sequence ?? Number.NaN);
  });

  it("a decision is readable as soon as decide resolves", async () => {
    await recordDecision(store().evidence, decisionRecord("r1"));
    expect(await store().evidence.read({ after: 0, limit: 1 })).toHaveLength(1);
  });

  it("outcomes are written soon after, without a flush", async () => {
    await recordDecision(store().evidence, decisionRecord("r1"));
    store().evidence.settle(outcomeRecord("r1"));
    await expect
      .poll(async () => (await store().evidence.read({ after: 0, limit: 1 }))[0]?.outcome?.terminal)
      .toBe("completed");
  });

  it("decisions are read by sequence, limit, workspace and request", async () => {
    for (let number = 1; number <= 5; number += 1) {
      await recordDecision(
        store().evidence,
        decisionRecord(`r${number}`, {
          workspace: number % 2 === 0 ? asIdentifier("beta") : asIdentifier("acme"),
        }),
      );
    }
    const ids = async (query: object): Promise<string[]> =>
      (await store().evidence.read({ after: 0, limit: 10, ...query })).map(
        ({ decision }) => decision.requestId,
      );
    const all = await store().evidence.read({ after: 0, limit: 10 });
    expect(await ids({ limit: 2 })).toEqual(["r4", "r5"]);
    expect(await ids({ after: all[2]?.sequence ?? 0 })).toEqual(["r4", "r5"]);
    expect(await ids({ workspace: "beta" })).toEqual(["r2", "r4"]);
    expect(await ids({ workspace: "beta", limit: 1 })).toEqual(["r4"]);
    expect(await ids({ requestId: "r3" })).toEqual(["r3"]);
    expect(await ids({ requestId: "r3", workspace: "beta" })).toEqual([]);
    expect(await ids({ workspace: "nobody" })).toEqual([]);
  });

  it("several pages are read without a gap or a repetition", async () => {
    const requestIds = Array.from({ length: 1_203 }, (_, index) => `r${index}`);
    await Promise.all(requestIds.map((id) => recordDecision(store().evidence, decisionRecord(id))));
    const read = async (limit: number): Promise<string[]> =>
      (await store().evidence.read({ after: 0, limit })).map(({ decision }) => decision.requestId);
    expect(await read(10_000)).toEqual(requestIds);
    expect(await read(1_001)).toEqual(requestIds.slice(-1_001));
  });

  evidenceSearchLaws(store);

  it.each([
    { after: 0, limit: 0 },
    { after: 0, limit: 10_001 },
    { after: 0, limit: 1.5 },
    { after: -1, limit: 1 },
    { after: Number.NaN, limit: 1 },
  ])("a query out of range is refused: %o", async (query) => {
    await expect(store().evidence.read(query)).rejects.toThrow(RangeError);
  });

  it("a repeated request id is refused, and the rest of its batch is written", async () => {
    const results = await Promise.allSettled(
      ["r1", "r2", "r1", "r3"].map((id) => recordDecision(store().evidence, decisionRecord(id))),
    );
    expect(results.map(({ status }) => status)).toEqual([
      "fulfilled",
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
    expect(results[2]).toMatchObject({ reason: expect.any(DuplicateDecisionError) as unknown });
    await expect(recordDecision(store().evidence, decisionRecord("r3"))).rejects.toThrow(
      DuplicateDecisionError,
    );
    expect(await store().evidence.read({ after: 0, limit: 10 })).toHaveLength(3);
  });

  it("the first outcome is kept, and outcomes without a decision are counted", async () => {
    await recordDecision(store().evidence, decisionRecord("r1"));
    store().evidence.settle(outcomeRecord("r1", "failed"));
    store().evidence.settle(outcomeRecord("r1", "completed"));
    store().evidence.settle(outcomeRecord("nobody"));
    await store().evidence.flush();
    expect((await store().evidence.read({ after: 0, limit: 1 }))[0]?.outcome?.terminal).toBe(
      "failed",
    );
    expect(store().evidence.health()).toMatchObject({
      state: "ok",
      waiting: 0,
      refused: 0,
      lost: 2,
    });
  });

  it("fractions of a millisecond are accepted", async () => {
    await recordDecision(store().evidence, decisionRecord("r1", { at: 1_795_000_000_000.25 }));
    expect((await store().evidence.read({ after: 0, limit: 1 }))[0]?.decision.at).toBe(
      1_795_000_000_000.25,
    );
  });
}
