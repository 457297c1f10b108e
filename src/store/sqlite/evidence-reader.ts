import type { EvidenceEntry, EvidenceQuery } from "../../evidence/evidence-store.ts";
import { refuseRange } from "../evidence-range.ts";
import type { SearchedLog } from "../batch/search.ts";
import { EntryCollector } from "../batch/entry-collector.ts";
import type { WorkerLink } from "./worker-link.ts";

/** The log as a search reads it. */
export function searchedLog(link: WorkerLink): SearchedLog {
  return {
    head: async () => (await link.request({ operation: "evidence.head" }, "head")).head.position,
    positionOf: async (requestId) =>
      (await link.request({ operation: "evidence.position", requestId }, "count")).count,
    before: async (before, after, workspace) => {
      const query = { after, before, newestFirst: true, workspace };
      return (await link.request({ operation: "evidence.batches", query }, "batches")).batches;
    },
    abandoned: async () => {
      const query = { after: 0, before: 0, newestFirst: true, workspace: null };
      return (await link.request({ operation: "evidence.batches", query }, "batches")).abandoned;
    },
    entry: async (requestId) =>
      (await readEvidence(link, { after: 0, limit: 1, requestId }))[0] ?? null,
  };
}

/** @throws {RangeError} {@link StoreUnavailableError} */
export async function readEvidence(
  link: WorkerLink,
  query: EvidenceQuery,
): Promise<readonly EvidenceEntry[]> {
  refuseRange(query);
  const { requestId } = query;
  if (requestId !== undefined) {
    const { batches, abandoned } = await link.request(
      { operation: "evidence.find", requestId },
      "batches",
    );
    const collector = new EntryCollector(query, abandoned);
    for (const batch of batches.toReversed()) collector.take(batch);
    return collector.entries;
  }
  const workspace = query.workspace ?? null;
  let collector: EntryCollector | null = null;
  for (let before = Number.MAX_SAFE_INTEGER; ;) {
    const page = { after: query.after, before, newestFirst: true, workspace };
    const { batches, abandoned } = await link.request(
      { operation: "evidence.batches", query: page },
      "batches",
    );
    collector ??= new EntryCollector(query, abandoned);
    for (const batch of batches) {
      if (!collector.take(batch)) return collector.entries;
      before = batch.last;
    }
    if (batches.length === 0) return collector.entries;
  }
}
