import { expect, it } from "vitest";

import {
  chainHash,
  chainVerifier,
  GENESIS,
  type ChainFault,
  type ChainLink,
} from "../../src/evidence/chain.ts";
import { asIdentifier } from "../../src/evidence/record.ts";
import type { Store } from "../../src/store/port.ts";
import { decisionRecord, outcomeRecord, recordDecision } from "./records.ts";

/** What every engine does with the log behind the evidence: one chain, anchors, pruning. */
export function evidenceLogLaws(store: () => Store): void {
  it("an empty log has a head", async () => {
    expect(await store().evidence.head()).toEqual(GENESIS);
    expect(await store().evidence.log({ after: 0, limit: 10 })).toEqual([]);
    expect(await store().evidence.anchors()).toEqual([]);
    expect(await store().evidence.anchor(5)).toBeNull();
    expect(await store().evidence.prune(Number.MAX_SAFE_INTEGER, 5)).toEqual({
      anchor: null,
      rows: 0,
    });
  });

  it("each row is chained to the one before, with the record's text", async () => {
    await recordDecision(
      store().evidence,
      decisionRecord("r1", { workspace: asIdentifier("grüße") }),
    );
    await recordDecision(store().evidence, decisionRecord("r2"));
    await end(store(), "r2");
    await end(store(), "r1");
    const rows = await store().evidence.log({ after: 0, limit: 10 });
    expect(rows.map(({ position, kind, record }) => [position, kind, record])).toEqual([
      [1, "decision", JSON.stringify(decisionRecord("r1", { workspace: asIdentifier("grüße") }))],
      [2, "decision", JSON.stringify(decisionRecord("r2"))],
      [3, "outcome", JSON.stringify(outcomeRecord("r2"))],
      [4, "outcome", JSON.stringify(outcomeRecord("r1"))],
    ]);
    let { hash } = GENESIS;
    for (const row of rows) {
      hash = chainHash(hash, row.position, row.kind, row.record);
      expect(row.hash).toBe(hash);
    }
    expect(await store().evidence.head()).toEqual({ position: 4, hash });
    expect(store().evidence.health().head).toEqual({ position: 4, hash });
  });

  it("the process that writes is listed from its first decision on", async () => {
    expect(await store().evidence.processes()).toEqual([]);
    const before = Date.now() - 60_000;
    await recordDecision(store().evidence, decisionRecord("r1"));
    const [own, ...others] = await store().evidence.processes();
    expect(own?.state).toBe("running");
    expect(own?.startedAt).toBeGreaterThan(before);
    expect(own?.seenAt).toBeGreaterThanOrEqual(own?.startedAt ?? Infinity);
    expect(others).toEqual([]);
  });

  it("the sequence number of an entry is its decision's position", async () => {
    await request(store(), "r1");
    await request(store(), "r2");
    const entries = await store().evidence.read({ after: 0, limit: 10 });
    expect(entries.map(({ sequence }) => sequence)).toEqual([1, 3]);
  });

  it("dropped records get no position", async () => {
    await request(store(), "r1");
    await Promise.allSettled(
      ["r1", "r2"].map((id) => recordDecision(store().evidence, decisionRecord(id))),
    );
    store().evidence.settle(outcomeRecord("r1", "failed"));
    store().evidence.settle(outcomeRecord("nobody"));
    await store().evidence.flush();
    expect((await store().evidence.head()).position).toBe(3);
    expect(await fault(store())).toBeNull();
  });

  it("concurrent records are one chain", async () => {
    await Promise.all(Array.from({ length: 400 }, (_, index) => request(store(), `r${index}`)));
    expect((await store().evidence.head()).position).toBe(800);
    expect(await fault(store())).toBeNull();
  });

  it("rows are read by position, in order, up to the limit, over more than one page", async () => {
    await Promise.all(
      Array.from({ length: 1_203 }, (_, index) =>
        recordDecision(store().evidence, decisionRecord(`r${index}`)),
      ),
    );
    const positions = async (after: number, limit: number): Promise<number[]> =>
      (await store().evidence.log({ after, limit })).map(({ position }) => position);
    expect(await positions(0, 10_000)).toEqual(
      Array.from({ length: 1_203 }, (_, index) => index + 1),
    );
    expect(await positions(1_200, 2)).toEqual([1_201, 1_202]);
    expect(await positions(1_203, 2)).toEqual([]);
  });

  it.each([
    { after: 0, limit: 0 },
    { after: 0, limit: 10_001 },
    { after: 0.5, limit: 1 },
    { after: -1, limit: 1 },
  ])("a read of the log out of range is refused: %o", async (query) => {
    await expect(store().evidence.log(query)).rejects.toThrow(RangeError);
  });

  it("the head is kept as an anchor, once for each position", async () => {
    await request(store(), "r1");
    const { position, hash } = await store().evidence.head();
    expect(await store().evidence.anchor(5)).toEqual({ position, hash, at: 5 });
    expect(await store().evidence.anchor(6)).toEqual({ position, hash, at: 5 });
    await request(store(), "r2");
    expect(await store().evidence.anchor(7)).toMatchObject({ position: 4, at: 7 });
    expect((await store().evidence.anchors()).map((anchor) => anchor.position)).toEqual([2, 4]);
  });

  it("a prune removes older rows, and the rest verifies from the anchor", async () => {
    for (let number = 1; number <= 5; number += 1)
      await request(store(), `r${number}`, number * 1_000);
    const whole = await store().evidence.log({ after: 0, limit: 10 });
    const pruned = await store().evidence.prune(3_000, 99);
    expect(pruned).toEqual({ anchor: { position: 4, hash: whole[3]?.hash, at: 99 }, rows: 4 });
    expect(await store().evidence.log({ after: 0, limit: 10 })).toEqual(whole.slice(4));
    expect(await store().evidence.anchors()).toEqual([pruned.anchor]);
    expect(await ids(store())).toEqual(["r3", "r4", "r5"]);
    expect(await fault(store())).toBeNull();
    await request(store(), "r6", 6_000);
    expect((await store().evidence.head()).position).toBe(12);
    expect(await store().evidence.prune(3_000, 100)).toEqual({ anchor: null, rows: 0 });
    expect(await store().evidence.prune(4_000, 101)).toMatchObject({
      anchor: { position: 6, at: 101 },
      rows: 2,
    });
    expect((await store().evidence.anchors()).map(({ position }) => position)).toEqual([4, 6]);
    expect(await fault(store())).toBeNull();
  });

  it("a prune of everything keeps the head and the numbers", async () => {
    await request(store(), "r1", 1_000);
    const head = await store().evidence.head();
    expect(await store().evidence.prune(2_000, 5)).toMatchObject({ rows: 2 });
    expect(await store().evidence.head()).toEqual(head);
    expect(await store().evidence.anchor(6)).toEqual({ ...head, at: 5 });
    await request(store(), "r2", 3_000);
    expect(
      (await store().evidence.log({ after: 0, limit: 10 })).map(({ position }) => position),
    ).toEqual([3, 4]);
    expect(await fault(store())).toBeNull();
  });

  it("a prune never separates a decision from its outcome, and keeps running requests with all later rows", async () => {
    await request(store(), "r1", 1_000);
    await recordDecision(store().evidence, decisionRecord("r2", { at: 1_100 }));
    await request(store(), "r3", 1_200);
    await end(store(), "r2", 9_000);
    await recordDecision(store().evidence, decisionRecord("r4", { at: 1_300 }));
    await request(store(), "r5", 1_400);
    expect(await store().evidence.prune(2_000, 5)).toMatchObject({
      anchor: { position: 2 },
      rows: 2,
    });
    expect(await ids(store())).toEqual(["r2", "r3", "r4", "r5"]);
    expect(await store().evidence.prune(10_000, 6)).toMatchObject({
      anchor: { position: 6 },
      rows: 4,
    });
    expect(await ids(store())).toEqual(["r4", "r5"]);
  });

  it("thousands of rows are pruned while others are written", async () => {
    await Promise.all(
      Array.from({ length: 1_500 }, (_, index) => request(store(), `r${index}`, 1_000)),
    );
    const pruning = store().evidence.prune(2_000, 5);
    await request(store(), "meanwhile", 3_000);
    expect(await pruning).toMatchObject({ anchor: { position: 3_000 }, rows: 3_000 });
    expect(await ids(store())).toEqual(["meanwhile"]);
    expect(await fault(store())).toBeNull();
  });
}

async function end(store: Store, id: string, at?: number): Promise<void> {
  store.evidence.settle({ ...outcomeRecord(id), ...(at === undefined ? {} : { at }) });
  await store.evidence.flush();
  // What is read is a part of the log: the next records are in another batch, which a prune can
  // leave.
  await store.evidence.head();
}

/** A decision and its outcome. @param at of both, milliseconds since the epoch */
async function request(store: Store, id: string, at?: number): Promise<void> {
  await recordDecision(store.evidence, decisionRecord(id, at === undefined ? {} : { at }));
  await end(store, id, at);
}

async function ids(store: Store): Promise<string[]> {
  return (await store.evidence.read({ after: 0, limit: 100 })).map(
    ({ decision }) => decision.requestId,
  );
}

/** What is wrong with the store's log; `null` when it verifies up to its head. */
export async function fault(store: Store): Promise<ChainFault | null> {
  const rows = await store.evidence.log({ after: 0, limit: 10_000 });
  const anchors: readonly ChainLink[] = await store.evidence.anchors();
  const first = rows[0]?.position ?? 1;
  const from = anchors.find(({ position }) => position === first - 1) ?? GENESIS;
  const verifier = chainVerifier({
    from,
    remembered: [...anchors, await store.evidence.head()],
  });
  for (const row of rows) {
    const found = verifier.add(row);
    if (found !== null) return found;
  }
  return verifier.end();
}
