import { GENESIS } from "../../../evidence/chain.ts";
import type { EvidenceFault } from "../../../evidence/fault.ts";
import type { DecisionFields, OutcomeFields } from "../../evidence-batch.ts";
import type { EvidenceHead } from "../../../evidence/evidence-log.ts";
import type { Appended } from "../../evidence-queue.ts";
import { StoreUnavailableError } from "../../../canon/errors/store-unavailable.ts";
import { StatementFailure, TRY_AGAIN } from "../failure.ts";
import type { PostgresLink } from "../link.ts";
import type { Row } from "../pool.ts";
import { readNumber, readText } from "../../rows/row.ts";
import { toBatch, type BatchItem } from "./batch.ts";
import type { ProcessLease } from "./process-lease.ts";

/**
 * Whether the log is the continuation of the row at position $1 with the hash $2. Where the row is gone, a prune explains
 * it if the log goes on.
 */
const CONTINUES = `coalesce(
    (SELECT entry.hash = $2 FROM signalbox.evidence_log AS entry WHERE entry.position = $1),
    (SELECT head.position >= $1 FROM signalbox.evidence_head AS head))`;

// The condition names no column of the function's result, so PostgreSQL evaluates it first, and calls nothing where it fails.
const APPEND = `
SELECT head_position, head_hash, refused FROM signalbox.append_evidence($3, $4::text::json) WHERE ${CONTINUES}`;

const COMPARE = `
SELECT head.position AS head_position, head.hash AS head_hash, ${CONTINUES} AS continues FROM signalbox.evidence_head AS head`;

const DIVERGED =
  "the evidence in the database is not what this process wrote; name the right server, or restart to use what is there now";

/** Rows of one statement; at about 50 µs each it stays far below the statement's time. */
const LARGEST_STATEMENT = 2_000;

/** Why an item was not added: there is this very record by this process, another record, or no decision. */
type Refusal = "same" | "other" | "orphan";

/** Adds batches to the log, and knows its head from the answers. */
export class EvidenceWriter {
  readonly #link: PostgresLink;
  readonly #lease: ProcessLease;
  readonly #maxWait: number;
  #head: EvidenceHead | null;
  #fault: EvidenceFault | null = null;

  /**
   * @param maxWait how long a batch is tried again when its connection was lost, milliseconds: as long as somebody waits
   * @param head the newest row of the log as far as is known
   */
  constructor(link: PostgresLink, lease: ProcessLease, maxWait: number, head: EvidenceHead | null) {
    this.#link = link;
    this.#lease = lease;
    this.#maxWait = maxWait;
    this.#head = head;
  }

  /** The newest row as last known to this process. */
  get head(): EvidenceHead | null {
    return this.#head;
  }

  /** Why nothing is written: the database does not hold what this process knows as durable, as after a failover to a replica that lags. */
  get fault(): EvidenceFault | null {
    return this.#fault;
  }

  /**
   * Compares the log with the newest row that this process knows; afterwards {@link fault} is right.
   *
   * @throws {StoreUnavailableError} when the database cannot be asked
   */
  async compare(): Promise<void> {
    const known = this.#head ?? GENESIS;
    const row = (await this.#link.query(COMPARE, [known.position, known.hash]))[0] ?? {};
    const head = { position: readNumber(row, "head_position"), hash: readText(row, "head_hash") };
    if (row["continues"] === true) {
      this.#fault = null;
      this.#remember(head);
    } else {
      this.#fault = { cause: head.position < known.position ? "log_behind" : "log_differs", file: null };
    }
  }

  /**
   * Resolves when the batch is on disk.
   *
   * @throws {StoreUnavailableError} when that is not known; the same outcomes may be handed over again
   */
  async append(decisions: DecisionFields, outcomes: OutcomeFields): Promise<Appended> {
    // Taken apart before anything is waited for: the queue empties the list of decisions that it refuses.
    const batch = toBatch(decisions, outcomes);
    const duplicates = [...batch.duplicates];
    let { lost } = batch;
    const deadline = performance.now() + this.#maxWait;
    for (let start = 0; start < batch.items.length; start += LARGEST_STATEMENT) {
      const { refused, again } = await this.#write(batch.items.slice(start, start + LARGEST_STATEMENT), deadline);
      for (const [index, refusal] of refused) {
        const position = batch.positions[start + index] ?? null;
        if (position === null) lost += refusal === "same" ? 0 : 1;
        // Only after a lost answer the same record is ours; otherwise somebody gave a request id twice.
        else if (!(again && refusal === "same")) duplicates.push(position);
      }
    }
    return { duplicates, lost, head: this.#head ?? GENESIS };
  }

  async #write(items: readonly BatchItem[], deadline: number): Promise<Written> {
    const text = JSON.stringify(items);
    for (let again = false; ; again = true) {
      try {
        const process = await this.#lease.take();
        const { position, hash } = this.#head ?? GENESIS;
        const row = (await this.#link.query(APPEND, [position, hash, process, text]))[0];
        if (row === undefined) {
          await this.compare();
          throw new StoreUnavailableError(DIVERGED, { done: "no" });
        }
        this.#remember({ position: readNumber(row, "head_position"), hash: readText(row, "head_hash") });
        return { refused: readRefused(row), again };
      } catch (error) {
        if (!(error instanceof StatementFailure)) throw error;
        const left = deadline - performance.now();
        if (left <= 0 || !(error.away || TRY_AGAIN.includes(error.code ?? ""))) throw error;
        await this.#link.whenAvailable(left);
      }
    }
  }

  #remember(head: EvidenceHead): void {
    if (head.position > 0 && head.position >= (this.#head?.position ?? 0)) this.#head = head;
  }
}

interface Written {
  /** Index of the item in the statement, and why it was not added. */
  readonly refused: readonly (readonly [number, Refusal])[];
  readonly again: boolean;
}

function readRefused(row: Row): Written["refused"] {
  const value = row["refused"];
  if (!Array.isArray(value)) throw new TypeError("column refused holds no list");
  return value.map((entry: unknown) => {
    const [position, reason] = Array.isArray(entry) ? (entry as unknown[]) : [];
    if (typeof position !== "number" || (reason !== "same" && reason !== "other" && reason !== "orphan")) {
      throw new TypeError("column refused holds something else");
    }
    return [position - 1, reason] as const;
  });
}
