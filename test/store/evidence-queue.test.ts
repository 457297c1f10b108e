import { describe, expect, it, vi } from "vitest";

import { GENESIS } from "../../src/evidence/chain.ts";
import {
  evidenceQueue,
  type EvidenceQueue,
  type Appended,
  type EvidenceLimits,
} from "../../src/store/evidence-queue.ts";
import { decisionRecord, outcomeRecord, recordDecision } from "./records.ts";

interface Write {
  readonly decisions: number;
  readonly outcomes: number;
  readonly ids: readonly unknown[];
  readonly outcomeIds: readonly unknown[];
  readonly terminals: readonly unknown[];
  readonly succeed: (appended?: Partial<Appended>) => void;
  readonly fail: () => void;
}

/** A queue whose writes the test completes by hand. */
function makeQueue(limits: Partial<EvidenceLimits> = {}): {
  queue: EvidenceQueue;
  writes: Write[];
} {
  const writes: Write[] = [];
  const queue = evidenceQueue(
    (records) => {
      const decisions = records.filter(({ kind }) => kind === "decision");
      const outcomes = records.filter(({ kind }) => kind === "outcome");
      const { promise, resolve, reject } = Promise.withResolvers<Appended>();
      writes.push({
        decisions: decisions.length,
        outcomes: outcomes.length,
        ids: decisions.map(({ requestId }) => requestId),
        outcomeIds: outcomes.map(({ requestId }) => requestId),
        terminals: outcomes.map(
          ({ record }) => (JSON.parse(record) as { terminal: unknown }).terminal,
        ),
        succeed: (appended = {}) =>
          resolve({ duplicates: [], lost: 0, head: GENESIS, ...appended }),
        fail: () => reject(new Error("disk on fire")),
      });
      return promise;
    },
    { gathering: 0, delay: 0, outcomeDelay: 1, maxWait: 10_000, maxWaiting: 100, ...limits },
  );
  return { queue, writes };
}

const nextWrite = async (writes: readonly Write[], number: number): Promise<Write> => {
  await expect.poll(() => writes.length, { interval: 1 }).toBe(number);
  const write = writes[number - 1];
  if (write === undefined) throw new Error("there is no such write");
  return write;
};

describe("group commit", () => {
  it("writes the records of one turn in one batch, and those that arrive meanwhile in the next", async () => {
    const { queue, writes } = makeQueue();
    const first = [
      recordDecision(queue, decisionRecord("a")),
      recordDecision(queue, decisionRecord("b")),
    ];
    const write = await nextWrite(writes, 1);
    const second = ["c", "d", "e"].map((id) => recordDecision(queue, decisionRecord(id)));
    queue.settle(outcomeRecord("a"));
    expect(queue.health().waiting).toBe(5);
    write.succeed();
    await Promise.all(first);
    const next = await nextWrite(writes, 2);
    expect([write.decisions, write.outcomes, next.decisions, next.outcomes]).toEqual([2, 0, 3, 1]);
    next.succeed();
    await Promise.all(second);
    expect(queue.health()).toEqual({
      state: "ok",
      waiting: 0,
      refused: 0,
      lost: 0,
      head: GENESIS,
      owing: 0,
    });
  });

  it("resolves nothing before its batch is written", async () => {
    const { queue, writes } = makeQueue();
    let resolved = 0;
    void recordDecision(queue, decisionRecord("a")).then(() => (resolved += 1));
    const write = await nextWrite(writes, 1);
    expect(resolved).toBe(0);
    write.succeed();
    await expect.poll(() => resolved).toBe(1);
  });

  it("writes a lone decision in the turn of the event loop that brought it", async () => {
    const { queue, writes } = makeQueue({ outcomeDelay: 60_000 });
    const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    for (const [index, id] of ["a", "b", "c"].entries()) {
      const decided = recordDecision(queue, decisionRecord(id));
      await turn();
      expect(writes).toHaveLength(index + 1);
      writes[index]?.succeed();
      await decided;
    }
  });

  it("does not delay a decision for a waiting outcome", async () => {
    const { queue, writes } = makeQueue({ outcomeDelay: 60_000 });
    queue.settle(outcomeRecord("a"));
    const decided = recordDecision(queue, decisionRecord("b"));
    const write = await nextWrite(writes, 1);
    expect(write.outcomes).toBe(1);
    write.succeed();
    await decided;
  });
});

describe("the time in which decisions gather", () => {
  /** The rest of a turn of the event loop, in which others are at work for a millisecond. */
  const longTurn = (): Promise<void> => {
    for (const end = performance.now() + 1; performance.now() < end;);
    return new Promise((resolve) => setImmediate(resolve));
  };

  it("ends with the first idle turn of the event loop", async () => {
    const { queue, writes } = makeQueue({ gathering: 60_000 });
    const decided: Promise<void>[] = [];
    for (let number = 0; number < 20; number += 1) {
      decided.push(recordDecision(queue, decisionRecord(`r${number}`)));
      await longTurn();
    }
    expect(writes).toHaveLength(0);
    const write = await nextWrite(writes, 1);
    expect(write.decisions).toBe(20);
    write.succeed();
    await Promise.all(decided);
  });

  it("is bounded while turns are long", async () => {
    const { queue, writes } = makeQueue({ gathering: 10 });
    const decided = recordDecision(queue, decisionRecord("a"));
    const began = performance.now();
    while (writes.length === 0) await longTurn();
    expect(performance.now() - began).toBeGreaterThanOrEqual(10);
    writes[0]?.succeed();
    await decided;
  });

  it("does not delay a flush", async () => {
    const { queue, writes } = makeQueue({ gathering: 60_000 });
    const decided = recordDecision(queue, decisionRecord("a"));
    const flushed = queue.flush();
    await longTurn();
    expect(writes).toHaveLength(1);
    writes[0]?.succeed();
    await Promise.all([decided, flushed]);
  });
});

describe("a decision that no answer needs yet", () => {
  const begin = (
    queue: EvidenceQueue,
    id: string,
  ): { needed: () => void; ends: (string | null)[] } => {
    const ends: (string | null)[] = [];
    const pending = queue.begin(decisionRecord(id), (error) =>
      ends.push(error === null ? null : error.message),
    );
    return { needed: () => pending.needed(), ends };
  };
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  it("gathers for its delay, and shares one commit with those that arrive meanwhile", async () => {
    const { queue, writes } = makeQueue({ delay: 30 });
    const began = performance.now();
    for (const id of ["a", "b", "c"]) {
      begin(queue, id);
      await turn();
    }
    expect(writes).toHaveLength(0);
    const write = await nextWrite(writes, 1);
    expect(write.ids).toEqual(["a", "b", "c"]);
    expect(performance.now() - began).toBeGreaterThanOrEqual(29);
    write.succeed();
  });

  it("is written in the turn in which an answer needs it, with all that has gathered", async () => {
    const { queue, writes } = makeQueue({ delay: 60_000 });
    const { needed, ends } = begin(queue, "a");
    begin(queue, "b");
    queue.settle(outcomeRecord("a"));
    await turn();
    expect(writes).toHaveLength(0);
    needed();
    await turn();
    expect(writes).toMatchObject([{ ids: ["a", "b"], outcomes: 1 }]);
    writes[0]?.succeed();
    await expect.poll(() => ends).toEqual([null]);
    needed();
    await turn();
    expect(writes).toHaveLength(1);
  });

  it("sends no second write where its batch is being written when it is needed", async () => {
    const { queue, writes } = makeQueue({ delay: 60_000 });
    const first = begin(queue, "a");
    const urgent = begin(queue, "b");
    urgent.needed();
    const write = await nextWrite(writes, 1);
    begin(queue, "c");
    first.needed();
    write.succeed();
    await expect.poll(() => first.ends).toEqual([null]);
    await turn();
    await turn();
    expect(writes).toHaveLength(1);
  });

  it("is written with 256 others although nothing needs them", async () => {
    const { queue, writes } = makeQueue({ delay: 60_000, maxWaiting: 1_000 });
    for (let number = 0; number < 255; number += 1) begin(queue, `r${number}`);
    await turn();
    expect(writes).toHaveLength(0);
    begin(queue, "last");
    const write = await nextWrite(writes, 1);
    expect(write.decisions).toBe(256);
    write.succeed();
  });

  it("is not refused by a store that is late, until its answer has waited as long", async () => {
    const { queue, writes } = makeQueue({ delay: 1, maxWait: 40 });
    const thinking = begin(queue, "a");
    const write = await nextWrite(writes, 1);
    const behind = begin(queue, "b");
    await expect.poll(() => queue.refusing).toBe(true);
    expect(queue.health()).toMatchObject({ state: "unavailable", refused: 0 });
    expect(queue.health().owing).toBeGreaterThanOrEqual(39);
    const refused = begin(queue, "c");
    expect(refused.ends).toEqual([
      expect.stringMatching(/^the evidence store has not confirmed a write for 0\.\d s$/),
    ]);
    behind.needed();
    const needed = performance.now();
    await expect.poll(() => behind.ends).toHaveLength(1);
    expect(performance.now() - needed).toBeGreaterThanOrEqual(38);
    expect(thinking.ends).toEqual([]);
    write.succeed();
    await expect.poll(() => thinking.ends).toEqual([null]);
    (await nextWrite(writes, 2)).succeed();
    await expect.poll(() => queue.health().waiting).toBe(0);
    expect(queue.health()).toMatchObject({ state: "ok", refused: 2, owing: 0 });
  });

  it("survives a commit that fails: it is tried again before its answer needs it", async () => {
    const { queue, writes } = makeQueue({ delay: 1 });
    const thinking = begin(queue, "a");
    (await nextWrite(writes, 1)).fail();
    await expect.poll(() => queue.health().state).toBe("unavailable");
    const again = await nextWrite(writes, 2);
    expect([again.ids, thinking.ends]).toEqual([["a"], []]);
    again.succeed();
    await expect.poll(() => thinking.ends).toEqual([null]);
  });

  it("is not refused as a duplicate where only the confirmation of its first attempt was lost", async () => {
    const { queue, writes } = makeQueue({ delay: 1 });
    const thinking = begin(queue, "a");
    (await nextWrite(writes, 1)).fail();
    await expect.poll(() => queue.health().state).toBe("unavailable");
    const other = begin(queue, "b");
    (await nextWrite(writes, 2)).succeed({ duplicates: [0, 1] });
    await expect
      .poll(() => [thinking.ends, other.ends])
      .toEqual([[null], [expect.stringContaining("already")]]);
  });

  it("is not refused after a pause of the process in which the confirmation arrived", async () => {
    const { queue, writes } = makeQueue({ delay: 1, maxWait: 30 });
    const answer = begin(queue, "a");
    answer.needed();
    const write = await nextWrite(writes, 1);
    // The confirmation is behind the timer in the same turn of the event loop.
    setTimeout(() => write.succeed(), 31);
    for (const end = performance.now() + 60; performance.now() < end;);
    await expect.poll(() => answer.ends).toHaveLength(1);
    expect(answer.ends).toEqual([null]);
  });
});

describe("a store that does not keep up", () => {
  it("refuses decisions beyond its maximum, and accepts them again afterwards", async () => {
    const { queue, writes } = makeQueue({ maxWaiting: 3 });
    const accepted = ["a", "b"].map((id) => recordDecision(queue, decisionRecord(id)));
    const write = await nextWrite(writes, 1);
    accepted.push(recordDecision(queue, decisionRecord("c")));
    await expect(recordDecision(queue, decisionRecord("d"))).rejects.toMatchObject({
      reason: "full",
    });
    write.succeed();
    (await nextWrite(writes, 2)).succeed();
    await Promise.all(accepted);
    const later = recordDecision(queue, decisionRecord("e"));
    (await nextWrite(writes, 3)).succeed();
    await later;
    expect(queue.health()).toMatchObject({ state: "ok", refused: 1 });
  });

  it("is unavailable before a decision that it has no room for, so that no provider is called", async () => {
    const { queue, writes } = makeQueue({ maxWaiting: 1 });
    const decided = recordDecision(queue, decisionRecord("a"));
    expect([queue.health().state, queue.refusing]).toEqual(["unavailable", true]);
    (await nextWrite(writes, 1)).succeed();
    await decided;
    expect([queue.health().state, queue.refusing]).toEqual(["ok", false]);
    queue.close();
    expect(queue.health().state).toBe("unavailable");
  });

  it("refuses waiting decisions once a commit is late, and new ones at once, until it completes", async () => {
    const { queue, writes } = makeQueue({ maxWait: 200 });
    const flying = recordDecision(queue, decisionRecord("a"));
    const write = await nextWrite(writes, 1);
    const gathering = recordDecision(queue, decisionRecord("b"));
    const results = await Promise.allSettled([flying, gathering]);
    expect(results).toMatchObject([{ reason: { reason: "late" } }, { reason: { reason: "late" } }]);
    await expect(recordDecision(queue, decisionRecord("c"))).rejects.toMatchObject({
      reason: "late",
    });
    expect(queue.health()).toMatchObject({ state: "unavailable", waiting: 2, refused: 3 });
    write.succeed();
    await expect.poll(() => queue.health().state).toBe("ok");
    const later = recordDecision(queue, decisionRecord("d"));
    const next = await nextWrite(writes, 2);
    expect(next.ids).toEqual(["b", "d"]);
    next.succeed();
    await later;
    expect(queue.health()).toMatchObject({ waiting: 0, refused: 3 });
  });

  it("refuses the callers of a failed batch, and tries its decisions and outcomes again, in their order", async () => {
    const { queue, writes } = makeQueue();
    const decided = recordDecision(queue, decisionRecord("a"));
    queue.settle(outcomeRecord("z"));
    const write = await nextWrite(writes, 1);
    const second = recordDecision(queue, decisionRecord("b"));
    queue.settle(outcomeRecord("a"));
    write.fail();
    await expect(decided).rejects.toMatchObject({ reason: "failed" });
    const next = await nextWrite(writes, 2);
    expect([next.ids, next.outcomeIds]).toEqual([
      ["a", "b"],
      ["z", "a"],
    ]);
    next.succeed();
    await second;
    expect(queue.health()).toEqual({
      state: "ok",
      waiting: 0,
      refused: 1,
      lost: 0,
      head: GENESIS,
      owing: 0,
    });
  });

  it("retries late decisions, and accepts one that was already written", async () => {
    const { queue, writes } = makeQueue();
    const decided = recordDecision(queue, decisionRecord("a"));
    (await nextWrite(writes, 1)).fail();
    await expect(decided).rejects.toMatchObject({ reason: "failed" });
    (await nextWrite(writes, 2)).fail();
    (await nextWrite(writes, 3)).succeed({ duplicates: [0] });
    await expect
      .poll(() => queue.health())
      .toMatchObject({ state: "ok", waiting: 0, refused: 1, lost: 0 });
  });

  it("does not count an outcome as lost where its decision was refused", async () => {
    const { queue, writes } = makeQueue({ maxWaiting: 1 });
    const decided = recordDecision(queue, decisionRecord("a"));
    await expect(recordDecision(queue, decisionRecord("b"))).rejects.toMatchObject({
      reason: "full",
    });
    queue.settle(outcomeRecord("b"));
    queue.settle(outcomeRecord("a"));
    const write = await nextWrite(writes, 1);
    expect(write.outcomeIds).toEqual(["a"]);
    write.succeed();
    await decided;
    expect(queue.health()).toMatchObject({ refused: 1, lost: 0 });
  });

  it("writes the outcome of a decision that was refused first and taken the second time", async () => {
    const { queue, writes } = makeQueue({ maxWaiting: 1 });
    const first = recordDecision(queue, decisionRecord("a"));
    await expect(recordDecision(queue, decisionRecord("b"))).rejects.toMatchObject({
      reason: "full",
    });
    (await nextWrite(writes, 1)).succeed();
    await first;
    const second = recordDecision(queue, decisionRecord("b"));
    queue.settle(outcomeRecord("b"));
    const write = await nextWrite(writes, 2);
    expect([write.ids, write.outcomeIds]).toEqual([["b"], ["b"]]);
    write.succeed();
    await second;
  });

  it("keeps room for outcomes of written decisions, and later ends those that found no room", async () => {
    const { queue, writes } = makeQueue({ maxWaiting: 1 });
    for (const id of ["a", "b", "c"]) queue.settle(outcomeRecord(id));
    const write = await nextWrite(writes, 1);
    queue.settle(outcomeRecord("d"));
    write.fail();
    const next = await nextWrite(writes, 2);
    expect([write.outcomeIds, next.outcomeIds, queue.health().lost]).toEqual([
      ["a", "b"],
      ["a", "d"],
      2,
    ]);
    next.succeed();
    const last = await nextWrite(writes, 3);
    expect([last.outcomeIds, last.terminals]).toEqual([
      ["c", "b"],
      ["unknown", "unknown"],
    ]);
    last.succeed();
    await queue.flush();
  });

  it("refuses an answer that waits behind a failed batch of a queue that was closed meanwhile", async () => {
    const { queue, writes } = makeQueue();
    const first = recordDecision(queue, decisionRecord("a"));
    const write = await nextWrite(writes, 1);
    const second = recordDecision(queue, decisionRecord("b"));
    queue.close();
    write.fail();
    await expect(first).rejects.toMatchObject({ reason: "failed" });
    (await nextWrite(writes, 2)).fail();
    await expect(second).rejects.toMatchObject({ reason: "failed" });
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(writes).toHaveLength(2);
  });

  it("keeps no process alive with its watch for a late store", async () => {
    const set = vi.spyOn(globalThis, "setTimeout");
    const { queue, writes } = makeQueue({ maxWait: 60_000 });
    const decided = recordDecision(queue, decisionRecord("a"));
    (await nextWrite(writes, 1)).succeed();
    await decided;
    const watch = set.mock.results[set.mock.calls.findIndex(([, delay]) => delay === 60_000)];
    set.mockRestore();
    expect((watch?.value as NodeJS.Timeout | undefined)?.hasRef()).toBe(false);
  });

  it("does not try for ever once it is closed", async () => {
    const { queue, writes } = makeQueue();
    queue.settle(outcomeRecord("a"));
    queue.close();
    const flushed = queue.flush();
    (await nextWrite(writes, 1)).fail();
    await expect(flushed).rejects.toMatchObject({ reason: "failed" });
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(writes).toHaveLength(1);
  });
});

describe("flush", () => {
  it("waits for the batch in flight and for the one that gathers", async () => {
    const { queue, writes } = makeQueue({ outcomeDelay: 60_000 });
    const decided = recordDecision(queue, decisionRecord("a"));
    const write = await nextWrite(writes, 1);
    queue.settle(outcomeRecord("a"));
    let flushed = false;
    const flush = queue.flush().then(() => (flushed = true));
    write.succeed();
    const next = await nextWrite(writes, 2);
    expect([flushed, next.outcomes]).toEqual([false, 1]);
    next.succeed();
    await Promise.all([decided, flush]);
  });

  it("does not wait for a batch that was written a moment ago", async () => {
    const { queue, writes } = makeQueue();
    const flushed = recordDecision(queue, decisionRecord("a")).then(() => queue.flush());
    (await nextWrite(writes, 1)).succeed();
    await flushed;
    expect(writes).toHaveLength(1);
  });

  it("waits for the batch in flight when none gathers", async () => {
    const { queue, writes } = makeQueue();
    const decided = recordDecision(queue, decisionRecord("a"));
    const write = await nextWrite(writes, 1);
    let flushed = false;
    const flush = queue.flush().then(() => (flushed = true));
    await Promise.resolve();
    expect(flushed).toBe(false);
    write.succeed();
    await Promise.all([decided, flush]);
    expect(writes).toHaveLength(1);
  });

  it("is refused while the store is late", async () => {
    const { queue, writes } = makeQueue({ maxWait: 10 });
    const decided = recordDecision(queue, decisionRecord("a"));
    const write = await nextWrite(writes, 1);
    await expect(decided).rejects.toMatchObject({ reason: "late" });
    await expect(queue.flush()).rejects.toMatchObject({ reason: "late" });
    write.succeed();
  });

  it("resolves at once for an idle queue, and still works on a closed one", async () => {
    const { queue, writes } = makeQueue();
    await queue.flush();
    expect(writes).toHaveLength(0);
    const decided = recordDecision(queue, decisionRecord("a"));
    queue.close();
    const flush = queue.flush();
    (await nextWrite(writes, 1)).succeed();
    await Promise.all([decided, flush]);
    await expect(recordDecision(queue, decisionRecord("b"))).rejects.toMatchObject({
      reason: "closed",
    });
  });
});
