import { describe, expect, it } from "vitest";
import type {
  EvidenceEntry,
  EvidenceFound,
  EvidenceSearch,
} from "../../src/evidence/evidence-store.ts";
import { asIdentifier } from "../../src/evidence/record.ts";
import type { Store } from "../../src/store/port.ts";
import { decisionRecord, outcomeRecord, recordDecision } from "./records.ts";

/**
 * What a search of the evidence gives, of any engine. @param store the open one of the running test
 */
export function evidenceSearchLaws(store: () => Store): void {
  describe("a search", () => {
    const START = 1_795_000_000_000;
    /** Ids rise with time, as the server makes them. */
    const idAt = (index: number): string =>
      `req_${(START + index * 1_000).toString(16).padStart(12, "0")}${"0".repeat(20)}`;
    const everything = {
      from: null,
      to: null,
      cursor: null,
      limit: 100,
      contains: [],
      accepts: () => true,
    };
    const fill = async (amount: number): Promise<void> => {
      for (let index = 0; index < amount; index += 1) {
        await recordDecision(
          store().evidence,
          decisionRecord(idAt(index), {
            at: START + index * 1_000,
            workspace: asIdentifier(index % 2 === 0 ? "acme" : "beta"),
            route: asIdentifier(index % 3 === 0 ? "chat" : "code"),
          }),
        );
        if (index % 5 !== 0)
          store().evidence.settle(
            outcomeRecord(idAt(index), index % 7 === 0 ? "failed" : "completed"),
          );
      }
      await store().evidence.flush();
    };
    /** Every page, one after the other. */
    const all = async (query: Partial<EvidenceSearch>): Promise<readonly EvidenceEntry[]> => {
      const found: EvidenceEntry[] = [];
      for (let cursor: string | null = null, pages = 0; pages < 100; pages += 1) {
        const page: EvidenceFound = await store().evidence.search({
          ...everything,
          workspaces: ["acme"],
          ...query,
          cursor,
        });
        found.push(...page.entries);
        if (page.next === null) return found;
        cursor = page.next;
      }
      throw new Error("the search does not end");
    };
    const idsOf = (entries: readonly EvidenceEntry[]): readonly string[] =>
      entries.map(({ decision }) => decision.requestId);

    it("returns a workspace's entries newest first, with their outcomes, the same in pages of any size", async () => {
      await fill(40);
      const own = Array.from({ length: 20 }, (_, index) => idAt(38 - 2 * index));
      const whole = await all({});
      expect(idsOf(whole)).toEqual(own);
      expect(
        whole.filter(({ outcome }) => outcome === null).map(({ decision }) => decision.requestId),
      ).toEqual([30, 20, 10, 0].map(idAt));
      for (const limit of [1, 3, 19, 20]) expect(await all({ limit })).toEqual(whole);
      expect(await all({ workspaces: ["gamma"] })).toEqual([]);
      const both = await all({ workspaces: ["acme", "beta"] });
      expect(
        both
          .map(({ decision }) => decision.requestId)
          .toSorted()
          .toReversed(),
      ).toEqual(both.map(({ decision }) => decision.requestId));
      expect(new Set(both.map(({ decision }) => decision.workspace))).toEqual(
        new Set(["acme", "beta"]),
      );
    });

    it("narrows by arrival, by text and by a test of decision and outcome", async () => {
      await fill(30);
      const indices = async (query: Partial<EvidenceSearch>): Promise<readonly number[]> =>
        (await all(query)).map(({ decision }) => (decision.at - START) / 1_000);
      expect(await indices({ from: START + 10_000, to: START + 16_000, limit: 2 })).toEqual([
        16, 14, 12, 10,
      ]);
      expect(await indices({ to: START + 3_000 })).toEqual([2, 0]);
      expect(await indices({ contains: ['"route":"chat"'], limit: 1 })).toEqual([24, 18, 12, 6, 0]);
      const failed = { accepts: ({ outcome }: EvidenceEntry) => outcome?.terminal === "failed" };
      expect(await indices({ ...failed, limit: 1 })).toEqual([28, 14]);
      expect(await indices({ ...failed, to: START + 20_000, limit: 1 })).toEqual([14]);
    });

    it("reports how far back it looked, and ends in an empty log", async () => {
      expect(await store().evidence.search({ ...everything, workspaces: ["acme"] })).toEqual({
        entries: [],
        next: null,
        searchedTo: null,
      });
      await fill(6);
      const { searchedTo } = await store().evidence.search({
        ...everything,
        workspaces: ["acme"],
        limit: 2,
      });
      expect(searchedTo).toBe(START + 2_000);
    });

    it.each([
      { limit: 0 },
      { limit: 101 },
      { cursor: "1" },
      { cursor: "0-1" },
      { cursor: "1-1; x" },
    ])("refuses %o", async (query) => {
      await expect(
        store().evidence.search({ ...everything, workspaces: ["acme"], ...query }),
      ).rejects.toThrow(RangeError);
    });
  });
}
