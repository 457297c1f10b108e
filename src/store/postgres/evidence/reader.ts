import { refuseRange } from "../../evidence-range.ts";
import type { EvidenceEntry, EvidenceQuery } from "../../../evidence/evidence-store.ts";
import { EntryCollector } from "../../batch/entry-collector.ts";
import type { PostgresLink } from "../link.ts";
import type { SearchedLog } from "../../batch/search.ts";
import {
  abandonedRequests,
  batchesBefore,
  findBatches,
  newestPosition,
  positionOf,
} from "./batch-rows.ts";

/** The log as a search reads it, after everything that was written went into it. */
export function searchedLog(link: PostgresLink): SearchedLog {
  return {
    head: () => newestPosition(link),
    positionOf: (requestId) => positionOf(link, requestId),
    before: (before, after, workspace) =>
      batchesBefore(link, before, after, workspace ?? undefined),
    abandoned: () => abandonedRequests(link),
    entry: async (requestId) =>
      (await readEvidence(link, { after: 0, limit: 1, requestId }))[0] ?? null,
  };
}

/** Newest last, likewise. @throws {RangeError} {@link StoreUnavailableError} */
export async function readEvidence(
  link: PostgresLink,
  query: EvidenceQuery,
): Promise<readonly EvidenceEntry[]> {
  refuseRange(query);
  const collector = new EntryCollector(query, await abandonedRequests(link));
  if (query.requestId !== undefined) {
    for (const batch of (await findBatches(link, query.requestId)).toReversed())
      collector.take(batch);
    return collector.entries;
  }
  for (let before = Number.MAX_SAFE_INTEGER; ;) {
    const batches = await batchesBefore(link, before, query.after, query.workspace);
    for (const batch of batches) {
      if (!collector.take(batch)) return collector.entries;
      before = batch.last;
    }
    if (batches.length === 0) return collector.entries;
  }
}
