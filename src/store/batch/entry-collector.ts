import type { EvidenceEntry, EvidenceQuery } from "../../evidence/evidence-store.ts";
import { readEntry } from "../stored-evidence.ts";
import { readRows, type Abandoned, type BatchRow, type StoredBatch } from "./lines.ts";

/**
 * Puts each decision together with its outcome, which stands after it: so it goes from the newest
 * batch to older ones.
 */
export class EntryCollector {
  readonly #query: EvidenceQuery;
  readonly #abandoned: Abandoned;
  readonly #newestFirst: EvidenceEntry[] = [];
  readonly #outcomes = new Map<string, string>();

  constructor(query: EvidenceQuery, abandoned: Abandoned) {
    this.#query = query;
    this.#abandoned = abandoned;
  }

  /** In the order of the log. */
  get entries(): readonly EvidenceEntry[] {
    return this.#newestFirst.toReversed();
  }

  /** Takes the next older batch; false when no more are wanted. */
  take(batch: StoredBatch): boolean {
    const { after, limit, workspace, requestId: wanted } = this.#query;
    const decisions: BatchRow[] = [];
    for (const row of readRows(batch)) {
      if (wanted !== undefined && row.requestId !== wanted) continue;
      if (row.kind === "outcome") this.#outcomes.set(row.requestId, row.record);
      else if (workspace !== undefined && row.workspace !== workspace)
        this.#outcomes.delete(row.requestId);
      else if (row.position > after) decisions.push(row);
    }
    for (const { position, requestId, record } of decisions.toReversed()) {
      if (this.#newestFirst.length === limit) return false;
      const outcome = this.#outcomes.get(requestId) ?? null;
      this.#outcomes.delete(requestId);
      this.#newestFirst.push(
        readEntry(position, record, outcome, this.#abandoned.get(requestId) ?? null),
      );
    }
    return this.#newestFirst.length < limit;
  }
}
