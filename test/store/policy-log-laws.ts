import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";

import { GENESIS } from "../../src/evidence/chain.ts";
import type { PolicyLogRow, PolicyLogStore } from "../../src/lifecycle/records.ts";
import type { StoredContent } from "../../src/canon/policy.ts";
import type { Store } from "../../src/store/port.ts";
import { appendOne, readVerifiedPolicyLog, recordText, rowsAfter } from "./policy-log-rows.ts";

const contentOf = (digest: string, members: Partial<StoredContent> = {}): StoredContent => ({
  policy: "residency",
  digest,
  description: '{"contract":1,"title":"Zurück – \\u0000 🦊"}',
  module: Uint8Array.of(0, 0x61, 0x73, 0x6d, 255),
  ...members,
});

/** What one store alone must do. */
export function policyLogLaws(store: () => Store): void {
  const log = (): PolicyLogStore => store().policyLog;

  it("a new log is empty, at the beginning of every chain", async () => {
    expect(await log().head()).toEqual(GENESIS);
    expect(await log().read({ after: 0, limit: 10 })).toEqual([]);
    expect(await log().content("a".repeat(64))).toBeNull();
  });

  it("rows are returned unchanged, in order, with the head", async () => {
    const first = rowsAfter(GENESIS, ['{"a":"ü ‮ \\u0000 🦊 \\\\ \\""}', '{"b":1}']);
    expect(await log().append(GENESIS, first)).toBe(true);
    const second = rowsAfter(await log().head(), ["{}"]);
    expect(await log().append(await log().head(), second)).toBe(true);
    expect(await log().read({ after: 0, limit: 10 })).toEqual([...first, ...second]);
    expect(await log().read({ after: 1, limit: 1 })).toEqual(first.slice(1));
    expect(await log().read({ after: 3, limit: 1 })).toEqual([]);
    expect(await readVerifiedPolicyLog(log())).toHaveLength(3);
  });

  it("nothing is added where another process was quicker, or where the expected row differs", async () => {
    const rows = rowsAfter(GENESIS, [recordText("p")]);
    expect(await log().append(GENESIS, rows)).toBe(true);
    expect(await log().append(GENESIS, rows)).toBe(false);
    expect(
      await log().append(GENESIS, rowsAfter(GENESIS, [recordText("q"), recordText("r")])),
    ).toBe(false);
    const elsewhere = { position: 1, hash: "e".repeat(64) };
    expect(await log().append(elsewhere, rowsAfter(elsewhere, [recordText("q")]))).toBe(false);
    const later = { position: 7, hash: "e".repeat(64) };
    expect(await log().append(later, rowsAfter(later, [recordText("q")]))).toBe(false);
    expect(await readVerifiedPolicyLog(log())).toEqual(rows);
  });

  it("a batch with rows out of sequence is refused as a whole", async () => {
    const [one, two] = rowsAfter(GENESIS, [recordText("p"), recordText("q")]);
    if (one === undefined || two === undefined) throw new Error("two rows");
    const wrong: readonly (readonly PolicyLogRow[])[] = [
      [],
      [{ ...one, position: 2 }],
      [{ ...one, previous: "1".repeat(64) }],
      [{ ...one, hash: "1".repeat(64) }],
      [{ ...one, record: recordText("other") }],
      [two],
      [two, one],
      [one, one],
      [one, { ...two, hash: two.hash.toUpperCase() }],
      [one, { ...two, previous: GENESIS.hash }],
    ];
    for (const rows of wrong) await expect(log().append(GENESIS, rows)).rejects.toThrow(RangeError);
    expect(await log().head()).toEqual(GENESIS);
  });

  it("a record that is no JSON is refused, because no reader could pass it", async () => {
    const rows = rowsAfter(GENESIS, ["{}", '{"kind":']);
    await expect(log().append(GENESIS, rows)).rejects.toMatchObject({
      applied: "no",
      permanent: true,
    });
    expect(await log().head()).toEqual(GENESIS);
  });

  it("more rows than one page of either engine are added and read", async () => {
    const records = Array.from({ length: 4_321 }, (_, index) => recordText(`p${index}`));
    expect(await log().append(GENESIS, rowsAfter(GENESIS, records))).toBe(true);
    expect((await readVerifiedPolicyLog(log())).map(({ record }) => record)).toEqual(records);
    const some = await log().read({ after: 100, limit: 2_345 });
    expect(some.map(({ position }) => position)).toEqual(
      Array.from({ length: 2_345 }, (_, index) => 101 + index),
    );
  });

  it("a read out of range is refused", async () => {
    for (const [after, limit] of [
      [0, 0],
      [0, 10_001],
      [0, 1.5],
      [0, Number.NaN],
      [-1, 1],
      [0.5, 1],
    ] as const) {
      await expect(log().read({ after, limit }), `${after} ${limit}`).rejects.toThrow(RangeError);
    }
  });

  it("10,000 rows at once are accepted, and no more", { timeout: 60_000 }, async () => {
    const rows = rowsAfter(
      GENESIS,
      Array.from({ length: 10_001 }, () => "{}"),
    );
    await expect(log().append(GENESIS, rows)).rejects.toThrow(RangeError);
    expect(await log().append(GENESIS, rows.slice(0, 10_000))).toBe(true);
    expect(await log().read({ after: 0, limit: 10_000 })).toHaveLength(10_000);
  });

  it("contents are kept byte for byte, large and empty ones too", async () => {
    const large = Uint8Array.from(
      { length: 1_048_576 + 1 },
      (_, index) => (index * 131 + (index >> 8)) & 0xff,
    );
    const contents = [
      contentOf("a".repeat(64)),
      contentOf("b".repeat(64), { module: large }),
      contentOf("c".repeat(64), { module: new Uint8Array(0), policy: "constructor" }),
      // A view into a larger buffer: only what it shows is the module.
      contentOf("d".repeat(64), { module: large.subarray(77, 99) }),
    ];
    for (const content of contents) await log().keep(content);
    for (const content of contents) {
      const kept = await log().content(content.digest);
      expect({ ...kept, module: null }).toEqual({ ...content, module: null });
      // Compared as one text: the matcher would go through a million members.
      expect(Buffer.from(kept?.module ?? []).toString("hex")).toBe(
        Buffer.from(content.module).toString("hex"),
      );
    }
    expect(await log().content("constructor")).toBeNull();
    expect(await log().content("a".repeat(63))).toBeNull();
  });

  it("the first content under a digest is kept", async () => {
    const first = contentOf("a".repeat(64));
    await log().keep(first);
    await log().keep({ ...first, policy: "other", description: "{}", module: Uint8Array.of(9) });
    expect(await log().content(first.digest)).toEqual(first);
  });

  it("a changed copy of a content does not change the content", async () => {
    const content = contentOf("a".repeat(64));
    await log().keep(content);
    (await log().content(content.digest))?.module.fill(7);
    expect(await log().content(content.digest)).toEqual(content);
  });

  it("listeners get an append before it resolves, once; ended ones and conflicts get none", async () => {
    await appendOne(log(), recordText("before"));
    const heard: string[] = [];
    const listener = (): void => void heard.push("twice");
    const ends = [
      await log().watch(() => heard.push("a")),
      await log().watch(listener),
      await log().watch(listener),
    ];
    expect(heard).toEqual([]);
    await appendOne(log(), recordText("p"));
    expect(heard.toSorted()).toEqual(["a", "twice", "twice"]);
    ends[1]?.();
    ends[1]?.();
    await appendOne(log(), recordText("q"));
    expect(heard.slice(3).toSorted()).toEqual(["a", "twice"]);
    expect(await log().append(GENESIS, rowsAfter(GENESIS, ["{}"]))).toBe(false);
    // Longer than two looks: what an append announced is not announced again.
    await delay(1_000);
    expect(heard).toHaveLength(5);
    for (const end of ends) end();
    await appendOne(log(), recordText("r"));
    await delay(600);
    expect(heard).toHaveLength(5);
    const again = await log().watch(() => heard.push("again"));
    await appendOne(log(), recordText("s"));
    expect(heard.slice(5)).toEqual(["again"]);
    again();
  });

  it("an append succeeds when a listener throws", async () => {
    let heard = 0;
    const ends = [
      await log().watch(() => {
        throw new Error("a listener's");
      }),
      await log().watch(() => (heard += 1)),
    ];
    expect(await log().append(GENESIS, rowsAfter(GENESIS, ["{}"]))).toBe(true);
    expect(heard).toBe(1);
    for (const end of ends) end();
  });

  it("watching is refused when the store cannot be read, and a store that closes later on only falls silent", async () => {
    let heard = 0;
    const end = await log().watch(() => (heard += 1));
    await store().close();
    await expect(log().watch(() => undefined)).rejects.toThrow("closed");
    await delay(900);
    expect(heard).toBe(0);
    end();
  });
}

/**
 * What several stores over the same data must do: replicas, or processes over one file. `open`
 * gives `count` of them over new data.
 */
export function sharedPolicyLogLaws(open: (count: number) => Promise<readonly Store[]>): void {
  const logs = async (count: number): Promise<readonly PolicyLogStore[]> =>
    (await open(count)).map(({ policyLog }) => policyLog);

  describe("the policy log, shared", () => {
    it("exactly one of many appends at the same head wins, every time", async () => {
      const all = await logs(4);
      for (let round = 1; round <= 15; round += 1) {
        const head = (await all[round % 4]?.head()) ?? GENESIS;
        const won = await Promise.all(
          all.flatMap((log, index) =>
            [0, 1].map((lane) =>
              log.append(
                head,
                rowsAfter(head, [recordText(`p${index}-${lane}`, round), recordText("q", round)]),
              ),
            ),
          ),
        );
        expect(won.filter(Boolean)).toHaveLength(1);
        expect((await all[0]?.head())?.position).toBe(2 * round);
      }
      for (const log of all) expect(await readVerifiedPolicyLog(log)).toHaveLength(30);
    });

    it("has every row once when all processes retry until they succeed", async () => {
      const all = await logs(3);
      const records = all.map((_, index) =>
        Array.from({ length: 20 }, (__, row) => recordText(`p${index}-${row}`)),
      );
      await Promise.all(
        all.map(async (log, index) => {
          for (const record of records[index] ?? []) await appendOne(log, record);
        }),
      );
      const [one] = all;
      if (one === undefined) throw new Error("no log");
      const rows = await readVerifiedPolicyLog(one);
      expect(rows.map(({ record }) => record).toSorted()).toEqual(records.flat().toSorted());
    });

    it("one content is kept when several are written under one digest", async () => {
      const all = await logs(3);
      const digest = "a".repeat(64);
      await Promise.all(
        all.map((log, index) => log.keep(contentOf(digest, { policy: `p${index}` }))),
      );
      const kept = await Promise.all(all.map((log) => log.content(digest)));
      expect(new Set(kept.map((content) => content?.policy)).size).toBe(1);
    });

    it("reports the others' appends within a second", async () => {
      const [watching, writing] = await logs(2);
      if (watching === undefined || writing === undefined) throw new Error("two logs");
      await appendOne(writing, recordText("before"));
      let heard = 0;
      const end = await watching.watch(() => (heard += 1));
      for (let change = 1; change <= 3; change += 1) {
        await appendOne(writing, recordText(`p${change}`));
        await expect.poll(() => heard, { timeout: 5_000, interval: 20 }).toBe(change);
      }
      // Two that come together are announced at least once, and no more often than there are.
      await appendOne(writing, recordText("p4"));
      await appendOne(writing, recordText("p5"));
      await delay(1_000);
      expect(heard).toBeGreaterThanOrEqual(4);
      expect(heard).toBeLessThanOrEqual(5);
      end();
    });
  });
}
