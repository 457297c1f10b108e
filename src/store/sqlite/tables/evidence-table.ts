import { asIdentifier } from "../../../evidence/record.ts";
import type { DecisionFields, OutcomeFields } from "../../evidence-batch.ts";
import type { Appended } from "../../evidence-queue.ts";
import { unknownOutcome } from "../../stored-evidence.ts";
import {
  sealBatch,
  toRecords,
  type Abandoned,
  type NewRecord,
  type StoredBatch,
} from "../../batch/lines.ts";
import type { BatchQuery } from "../protocol.ts";
import type { BatchTable } from "./batch-table.ts";
import type { ProcessLease } from "./process-lease.ts";
import type { RequestTable } from "./request-table.ts";
import type { Transaction } from "./transaction.ts";

/**
 * Abandoned requests that a reader learns of; the others still read as running for some seconds.
 */
const MOST_ABANDONED = 10_000;

interface BatchPage {
  readonly batches: readonly StoredBatch[];
  readonly abandoned: Abandoned;
}

interface EvidenceParts {
  readonly transaction: Transaction;
  readonly lease: ProcessLease;
  readonly batches: BatchTable;
  readonly requests: RequestTable;
}

/** Appends batches of records, with the requests that begin and end by them. Runs in the worker. */
export class EvidenceTable {
  readonly #transaction: Transaction;
  readonly #lease: ProcessLease;
  readonly #batches: BatchTable;
  readonly #requests: RequestTable;

  constructor({ transaction, lease, batches, requests }: EvidenceParts) {
    this.#transaction = transaction;
    this.#lease = lease;
    this.#batches = batches;
    this.#requests = requests;
  }

  append(
    decisions: Readonly<DecisionFields>,
    outcomes: Readonly<OutcomeFields>,
    now: number,
  ): Appended {
    const records = toRecords(decisions, outcomes);
    if (records.length === 0) return { duplicates: [], lost: 0, head: this.#batches.head() };
    const { process, appended } = this.#transaction.run(() => {
      const taken = this.#lease.take(now);
      return { process: taken, appended: this.#insert(records, taken) };
    });
    this.#lease.confirm(process, now);
    return appended;
  }

  page(query: BatchQuery, now: number): BatchPage {
    return this.#transaction.read(() => ({
      batches: this.#batches.page(query),
      abandoned: this.#requests.abandoned(now, MOST_ABANDONED),
    }));
  }

  /** The batches of a request: of its decision, then of its outcome. */
  find(requestId: string, now: number): BatchPage {
    return this.#transaction.read(() => ({
      batches: this.#batches.find(
        requestId,
        this.#requests.isOpen(requestId) ? ["decision"] : ["decision", "outcome"],
      ),
      abandoned: this.#requests.abandoned(now, MOST_ABANDONED),
    }));
  }

  /**
   * Ends, as `unknown`, up to `limit` decisions whose process has died, and gives how many.
   * Outcomes of their processes then come too late and are counted as lost.
   */
  reap(now: number, limit: number): number {
    // Looked for without the write lock: nearly always there is nothing to do.
    if (this.#requests.abandoned(now, 1).size === 0) return 0;
    return this.#transaction.run(() => {
      const abandoned = [...this.#requests.abandoned(now, limit)];
      const records = abandoned.map(([requestId, at]): NewRecord => {
        const record = JSON.stringify(unknownOutcome(asIdentifier(requestId), at));
        return { kind: "outcome", requestId, workspace: "", record };
      });
      this.#insert(records, 0);
      return records.length;
    });
  }

  /** Leaves out decisions whose request id is there, and outcomes whose request does not run. */
  #insert(records: readonly NewRecord[], process: number): Appended {
    const before = this.#batches.head();
    const added: NewRecord[] = [];
    const workspaces = new Set<string>();
    const duplicates: number[] = [];
    let lost = 0;
    for (const [index, record] of records.entries()) {
      const { kind, requestId } = record;
      let workspace: string | null = record.workspace;
      if (kind === "outcome") {
        workspace = this.#requests.end(requestId);
        if (workspace === null) lost += 1;
      } else if (
        !this.#requests.begin(before.position + added.length + 1, requestId, process, workspace)
      ) {
        duplicates.push(index);
        workspace = null;
      }
      if (workspace === null) continue;
      workspaces.add(workspace);
      added.push(record);
    }
    if (added.length === 0) return { duplicates, lost, head: before };
    const batch = sealBatch(before, added, workspaces);
    this.#batches.insert(batch);
    return { duplicates, lost, head: { position: batch.last, hash: batch.hash } };
  }
}
