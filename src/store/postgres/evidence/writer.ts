import { GENESIS } from "../../../evidence/chain.ts";
import type { DecisionFields, OutcomeFields } from "../../evidence-batch.ts";
import type { EvidenceHead } from "../../evidence-log.ts";
import type { Appended } from "../../evidence-queue.ts";
import { StatementFailure, TRY_AGAIN } from "../failure.ts";
import type { PostgresLink } from "../link.ts";
import type { Row } from "../pool.ts";
import { readNumber, readText } from "../../rows/row.ts";
import { toBatch, type BatchItem } from "./batch.ts";
import type { ProcessLease } from "./process-lease.ts";

const APPEND = "SELECT head_position, head_hash, refused FROM signalbox.append_evidence($1, $2::text::json)";

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
        const place = batch.places[start + index] ?? null;
        if (place === null) lost += refusal === "same" ? 0 : 1;
        // Only after a lost answer the same record is ours; otherwise somebody gave a request id twice.
        else if (!(again && refusal === "same")) duplicates.push(place);
      }
    }
    return { duplicates, lost, head: this.#head ?? GENESIS };
  }

  async #write(items: readonly BatchItem[], deadline: number): Promise<Written> {
    const text = JSON.stringify(items);
    for (let again = false; ; again = true) {
      try {
        const process = await this.#lease.take();
        const row = (await this.#link.query(APPEND, [process, text]))[0] ?? {};
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
    const [place, reason] = Array.isArray(entry) ? (entry as unknown[]) : [];
    if (typeof place !== "number" || (reason !== "same" && reason !== "other" && reason !== "orphan")) {
      throw new TypeError("column refused holds something else");
    }
    return [place - 1, reason] as const;
  });
}
