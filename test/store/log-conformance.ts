import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { chainHash, GENESIS } from "../../src/evidence/chain.ts";
import type { EvidenceLogStore } from "../../src/store/evidence-log.ts";
import { decisionRecord, outcomeRecord } from "./records.ts";
import { readVerifiedLog, requestIds } from "./verified-log.ts";

/** What every engine's evidence log must do. `open` gives a new, empty store each time. */
export function describeLog(name: string, open: () => Promise<EvidenceLogStore>): void {
  // oxlint-disable-next-line vitest/valid-title -- the engine's name is the title
  describe(`the evidence log, ${name}`, () => {
    let store: EvidenceLogStore;
    beforeEach(async () => {
      store = await open();
    });
    afterEach(() => store.close());

    const decide = (id: string, at: number): Promise<void> => store.evidence.decide(decisionRecord(id, { at }));
    const settle = async (id: string, at: number): Promise<void> => {
      store.evidence.settle({ ...outcomeRecord(id), at });
      await store.evidence.flush();
    };

    it("is empty at first: position 0, the genesis hash, no anchor", async () => {
      expect(await store.evidence.head()).toEqual({ position: 0, hash: GENESIS });
      expect(store.evidence.health().head).toBeNull();
      expect(await store.evidence.log({ after: 0, limit: 10 })).toEqual([]);
      expect(await store.evidence.anchors()).toEqual([]);
      expect(await store.evidence.anchor(5)).toBeNull();
      expect(await store.evidence.prune(Number.MAX_SAFE_INTEGER, 5)).toEqual({ anchor: null, rows: 0 });
    });

    it("holds the exact texts, each chained to the one before", async () => {
      await decide("r1", 1);
      await settle("r1", 2);
      const decision = JSON.stringify(decisionRecord("r1", { at: 1 }));
      const outcome = JSON.stringify({ ...outcomeRecord("r1"), at: 2 });
      const first = chainHash(GENESIS, 1, "decision", decision);
      const second = chainHash(first, 2, "outcome", outcome);
      expect(await store.evidence.log({ after: 0, limit: 10 })).toEqual([
        { position: 1, kind: "decision", record: decision, hash: first },
        { position: 2, kind: "outcome", record: outcome, hash: second },
      ]);
      expect(await store.evidence.head()).toEqual({ position: 2, hash: second });
      expect(store.evidence.health().head).toEqual({ position: 2, hash: second });
      expect(await store.evidence.log({ after: 1, limit: 1 })).toMatchObject([{ position: 2 }]);
    });

    it("leaves out what repeats or belongs to nothing, without a gap", async () => {
      await decide("r1", 1);
      await expect(decide("r1", 1)).rejects.toThrow("recorded already");
      await settle("nobody", 2);
      await settle("r1", 2);
      await settle("r1", 3);
      await decide("r2", 3);
      const rows = await readVerifiedLog(store.evidence);
      expect(rows.map(({ position, kind }) => [position, kind])).toEqual([
        [1, "decision"],
        [2, "outcome"],
        [3, "decision"],
      ]);
    });

    it.each([
      { after: 0, limit: 0 },
      { after: 0, limit: 10_001 },
      { after: -1, limit: 1 },
      { after: 0.5, limit: 1 },
    ])("refuses to give %o", async (query) => {
      await expect(store.evidence.log(query)).rejects.toThrow(RangeError);
    });

    it("remembers an anchor once at a position, the oldest first", async () => {
      await decide("r1", 1);
      const first = await store.evidence.anchor(10);
      expect(first).toEqual({ ...(await store.evidence.head()), at: 10 });
      expect(await store.evidence.anchor(20)).toEqual(first);
      await decide("r2", 2);
      const second = await store.evidence.anchor(30);
      expect(await store.evidence.anchors()).toEqual([first, second]);
    });

    it("prunes what is older and has ended, up to an anchor from which the rest verifies", async () => {
      await decide("r1", 100);
      await settle("r1", 110);
      await decide("r2", 120);
      await settle("r2", 130);
      await decide("r3", 200);
      await settle("r3", 210);
      const [, , , fourth] = await store.evidence.log({ after: 0, limit: 10 });
      const pruned = await store.evidence.prune(150, 1_000);
      expect(pruned).toEqual({ anchor: { position: 4, hash: fourth?.hash, at: 1_000 }, rows: 4 });
      expect((await store.evidence.anchors()).at(-1)).toEqual(pruned.anchor);
      const rest = await readVerifiedLog(store.evidence, pruned.anchor ?? undefined);
      expect(requestIds(rest, "decision")).toEqual(["r3"]);
      expect((await store.evidence.read({ after: 0, limit: 10 })).map(({ sequence }) => sequence)).toEqual([5]);
      expect(await store.evidence.prune(150, 2_000)).toEqual({ anchor: null, rows: 0 });
      // All of it: the chain goes on from the head that was.
      expect(await store.evidence.prune(300, 3_000)).toMatchObject({ anchor: { position: 6 }, rows: 2 });
      expect(await store.evidence.head()).toMatchObject({ position: 6 });
      await decide("r4", 400);
      expect(await store.evidence.log({ after: 0, limit: 10 })).toMatchObject([{ position: 7 }]);
      await readVerifiedLog(store.evidence, (await store.evidence.anchors()).at(-1));
    });

    it("prunes neither a running request nor anything after it", async () => {
      await decide("ended", 1);
      await settle("ended", 2);
      await decide("running", 3);
      await decide("later", 4);
      await settle("later", 5);
      expect(await store.evidence.prune(1_000, 9)).toMatchObject({ anchor: { position: 2 }, rows: 2 });
      await settle("running", 6);
      expect(await store.evidence.prune(1_000, 9)).toMatchObject({ anchor: { position: 6 }, rows: 4 });
    });

    it("parts no decision from its outcome", async () => {
      await decide("short", 1);
      await decide("long", 2);
      await settle("short", 3);
      await settle("long", 50);
      await decide("new", 60);
      expect(await store.evidence.prune(50, 9)).toEqual({ anchor: null, rows: 0 });
      expect(await store.evidence.prune(51, 9)).toMatchObject({ anchor: { position: 4 }, rows: 4 });
    });

    it("prunes more than one step", { timeout: 60_000 }, async () => {
      const ids = Array.from({ length: 6_100 }, (_, index) => `r${index}`);
      await Promise.all(ids.map((id) => decide(id, 1)));
      for (const id of ids) store.evidence.settle({ ...outcomeRecord(id), at: 2 });
      await store.evidence.flush();
      await decide("kept", 10);
      const pruned = await store.evidence.prune(5, 20);
      expect(pruned).toMatchObject({ anchor: { position: 12_200, at: 20 }, rows: 12_200 });
      expect(await readVerifiedLog(store.evidence, pruned.anchor ?? undefined)).toHaveLength(1);
    });
  });
}
