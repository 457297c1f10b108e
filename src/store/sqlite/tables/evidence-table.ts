import { asIdentifier } from "../../../evidence/record.ts";
import type { ChainLink } from "../../../evidence/chain.ts";
import type { OutcomeFields } from "../../evidence-batch.ts";
import { unknownOutcome } from "../../stored-evidence.ts";
import { encodeBatch, type RecordBatch } from "../../batch/frames.ts";
import { sealBatch, type SealedBatch } from "../batch/seal.ts";
import type { BatchQuery } from "../protocol.ts";
import { convertedBatch } from "../../batch/former-batch.ts";
import { GENESIS } from "../../../evidence/chain.ts";
import type { StoredBatch as FrameBatch } from "../../batch/stored-batch.ts";
import type { Abandoned, StoredBatch } from "../../batch/lines.ts";
import type { BatchTable } from "./batch-table.ts";
import type { LogState } from "./log-state.ts";
import type { EvidenceProcess } from "../../../evidence/evidence-store.ts";
import type { ProcessLease, ProcessTable } from "./process-lease.ts";
import type { RollUpTable } from "./roll-up-table.ts";
import type { Transaction } from "./transaction.ts";

interface AppendResult {
  /** Positions in the batch of the decisions whose request id is recorded already. */
  readonly duplicates: readonly number[];
  /** Outcomes without a decision, or with an outcome there already. */
  readonly lost: number;
  /** The newest row after the batch. */
  readonly head: ChainLink;
}

interface BatchPage {
  readonly batches: readonly StoredBatch[];
  readonly abandoned: Abandoned;
}

interface EvidenceParts {
  readonly transaction: Transaction;
  readonly lease: ProcessLease;
  readonly processes: ProcessTable;
  readonly batches: BatchTable;
  readonly state: LogState;
  readonly rollUps: RollUpTable;
}

/** Appends batches of records, and what follows from them: running requests, counts. Runs in the worker. */
export class EvidenceTable {
  readonly #transaction: Transaction;
  readonly #lease: ProcessLease;
  readonly #processes: ProcessTable;
  readonly #batches: BatchTable;
  readonly #state: LogState;
  readonly #rollUps: RollUpTable;

  constructor({ transaction, lease, processes, batches, state, rollUps }: EvidenceParts) {
    this.#transaction = transaction;
    this.#lease = lease;
    this.#processes = processes;
    this.#batches = batches;
    this.#state = state;
    this.#rollUps = rollUps;
  }

  append(batch: RecordBatch, now: number): AppendResult {
    if (batch.bytes.length === 0) return { duplicates: [], lost: 0, head: this.#batches.head() };
    const sealed = this.#transaction.run(() => this.#insert(batch, this.#lease.take(now)));
    this.#lease.confirm(sealed.process, now);
    this.#state.apply(sealed);
    return { duplicates: sealed.duplicates, lost: sealed.lost, head: sealed.head };
  }

  /** Counts what was appended. After the reply to an append, so that no request waits for it. */
  count(): void {
    try {
      this.#rollUps.count();
    } catch {
      // Unreadable just now. Everything since the newest checkpoint is counted again with the next look.
      this.#state.forget();
    }
  }

  page(query: BatchQuery, now: number): BatchPage {
    return this.#transaction.read(() => {
      this.#state.catchUp();
      return { batches: this.#batches.page(query, now).map(inLines), abandoned: this.#gone(now) };
    });
  }

  /** The batches of a request: of its decision, then of its outcome. */
  find(requestId: string, now: number): BatchPage {
    return this.#transaction.read(() => {
      this.#state.catchUp();
      const isOpen = this.#state.open.get(requestId) !== undefined;
      return { batches: this.#batches.find(requestId, isOpen, now).map(inLines), abandoned: this.#gone(now) };
    });
  }

  /** Processes that write the log, and those that were lost lately. */
  processes(now: number): readonly EvidenceProcess[] {
    return this.#processes.list(now);
  }

  openRequests(): readonly string[] {
    return this.#transaction.read(() => {
      this.#state.catchUp();
      return Array.from(this.#state.open.values(), ({ requestId }) => requestId);
    });
  }

  /**
   * Ends, as `unknown`, up to `limit` decisions whose process has died, and gives how many. What their processes may yet
   * say comes too late and is counted as lost.
   */
  reap(now: number, limit: number): number {
    // Looked for without the write lock: nearly always there is nothing to do.
    if (this.#transaction.read(() => this.#abandoned(now, limit)).size === 0) return 0;
    return this.#changing(() => {
      let ended = 0;
      for (const [process, outcomes] of this.#abandoned(now, limit)) {
        const sealed = this.#insert(encodeBatch([], outcomes), process);
        // The batch of the next process follows this one.
        this.#state.apply(sealed);
        ended += sealed.steps.length;
      }
      return ended;
    });
  }

  /**
   * Writes running requests and counts up to the end of the log, if it has gone on.
   *
   * @param least a position up to which it is enough; the end of the log where absent
   */
  checkpoint(least = Number.POSITIVE_INFINITY): void {
    this.#transaction.read(() => this.#state.catchUp());
    if (this.#state.isCheckpointed(least)) return;
    this.#changing(() => {
      this.#state.catchUpToCheckpoint();
      this.#rollUps.writeCells();
      this.#state.writeCheckpoint();
    });
    this.#state.checkpointed();
    this.#rollUps.checkpointed();
  }

  #gone(now: number): Abandoned {
    const gone = new Map<string, number>();
    for (const { requestId, process } of this.#state.open.values()) {
      const at = this.#processes.diedAt(process, now);
      if (at !== null) gone.set(requestId, at);
    }
    return gone;
  }

  /** Outcomes for decisions of dead processes, by process. */
  #abandoned(now: number, limit: number): ReadonlyMap<number, OutcomeFields> {
    this.#state.catchUp();
    const diedAt = new Map<number, number | null>();
    const outcomes = new Map<number, OutcomeFields>();
    let left = limit;
    for (const { requestId, process } of this.#state.open.values()) {
      if (left === 0) break;
      if (!diedAt.has(process)) diedAt.set(process, this.#processes.diedAt(process, now));
      const at = diedAt.get(process) ?? null;
      if (at === null) continue;
      const list = outcomes.get(process) ?? [];
      outcomes.set(process, list);
      list.push(at, requestId, JSON.stringify(unknownOutcome(asIdentifier(requestId), at)));
      left -= 1;
    }
    return outcomes;
  }

  #insert(batch: RecordBatch, process: number): SealedBatch {
    this.#state.catchUp();
    const sealed = sealBatch(batch, process, this.#state);
    if (sealed.steps.length > 0) this.#batches.insert(sealed, this.#state.highWaterWith(sealed));
    return sealed;
  }

  /** A write transaction that changes what is in memory before it is on disk. */
  #changing<Result>(action: () => Result): Result {
    let began = false;
    try {
      return this.#transaction.run(() => {
        began = true;
        return action();
      });
    } catch (error) {
      if (began) this.#state.forget();
      throw error;
    }
  }
}

function inLines(batch: FrameBatch): StoredBatch {
  const { decided, ended, workspaces } = batch;
  const ids = [decided, ended].filter(({ highest }) => highest !== "");
  const range = {
    lowest: ids.map(({ lowest }) => lowest).toSorted()[0] ?? "",
    highest:
      ids
        .map(({ highest }) => highest)
        .toSorted()
        .at(-1) ?? "",
  };
  return {
    ...convertedBatch({ ...batch, frames: batch.records }, GENESIS.hash),
    ...range,
    workspaces: [...workspaces, ""],
  };
}
