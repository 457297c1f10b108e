import type { EvidenceEntry, EvidenceQuery } from "../../evidence/evidence-store.ts";
import { readEntry } from "../stored-evidence.ts";
import { FrameCursor } from "./frames.ts";
import type { StoredBatch } from "./stored-batch.ts";

/** Where a record's text is. */
interface Piece {
  readonly bytes: Buffer;
  readonly from: number;
  readonly to: number;
}

/** Puts each decision together with its outcome, which stands after it: so it goes from the newest batch to older ones. */
export class EntryCollector {
  readonly #query: EvidenceQuery;
  readonly #newestFirst: EvidenceEntry[] = [];
  readonly #outcomes = new Map<string, Piece>();

  constructor(query: EvidenceQuery) {
    this.#query = query;
  }

  /** In the order of the log. */
  get entries(): readonly EvidenceEntry[] {
    return this.#newestFirst.toReversed();
  }

  /** Takes the next older batch; false when no more are wanted. */
  take(batch: StoredBatch): boolean {
    const { after, limit, workspace, requestId: wanted } = this.#query;
    const cursor = new FrameCursor(batch.records);
    const decisions: { readonly position: number; readonly requestId: string; readonly piece: Piece }[] = [];
    for (let position = batch.first; cursor.next(); position += 1) {
      if (workspace !== undefined && batch.workspaces[cursor.workspaceNumber - 1] !== workspace) continue;
      const { requestId } = cursor;
      if (wanted !== undefined && requestId !== wanted) continue;
      const piece = { bytes: cursor.bytes, from: cursor.recordStart, to: cursor.end };
      if (cursor.kind === "outcome") this.#outcomes.set(requestId, piece);
      else if (position > after) decisions.push({ position, requestId, piece });
    }
    for (const { position, requestId, piece } of decisions.toReversed()) {
      if (this.#newestFirst.length === limit) return false;
      const outcome = this.#outcomes.get(requestId);
      this.#outcomes.delete(requestId);
      const text = outcome === undefined ? null : textOf(outcome);
      this.#newestFirst.push(readEntry(position, textOf(piece), text, batch.diedAt));
    }
    return this.#newestFirst.length < limit;
  }
}

function textOf({ bytes, from, to }: Piece): string {
  return bytes.toString("utf8", from, to);
}
