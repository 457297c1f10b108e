import { DatabaseSync } from "node:sqlite";
import { GENESIS, type ChainLink } from "../../../evidence/chain.ts";
import type { EvidenceFaultCause } from "../../../evidence/evidence-store.ts";
import { readNumber, readText, type Row } from "../../rows/row.ts";
import { isBusy, isCannotOpen } from "../sqlite-failure.ts";

const COVERING =
  "SELECT first, last, hash FROM evidence_batches WHERE last >= ? ORDER BY last LIMIT 1";
const NEWEST = "SELECT last AS position, hash FROM evidence_batches ORDER BY last DESC LIMIT 1";
const START = "SELECT position, hash FROM evidence_start";

/** A single failed reading may be another process that opens the file at the same moment. */
const FAILURES = 2;

/**
 * The end of the log as a new connection finds it on disk. The connection that writes has pages in
 * memory, and would not notice that the files hold something else.
 */
export class DiskHead {
  readonly #path: string;
  #failures = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * The newest row on disk, or what is wrong with it. Takes about 0.2 ms.
   *
   * @param known a row that this process knows as durable
   */
  compare(known: ChainLink): ChainLink | EvidenceFaultCause {
    try {
      const head = this.#read(known);
      this.#failures = 0;
      return head;
    } catch (error) {
      // A process without free file descriptors cannot open anything; files that are gone are seen
      // by their own watch.
      if (isBusy(error) || isCannotOpen(error)) return known;
      this.#failures += 1;
      return this.#failures < FAILURES ? known : "log_unreadable";
    }
  }

  #read(known: ChainLink): ChainLink | EvidenceFaultCause {
    const database = new DatabaseSync(this.#path, { readOnly: true, timeout: 0 });
    try {
      database.exec("PRAGMA trusted_schema = OFF");
      return readEnd(database, known).judged;
    } finally {
      database.close();
    }
  }
}

/** The newest row of the log, and what {@link judge} finds of it. */
export function readEnd(
  database: DatabaseSync,
  known: ChainLink,
): { readonly head: ChainLink; readonly judged: ChainLink | EvidenceFaultCause } {
  const newest = database.prepare(NEWEST).get() ?? database.prepare(START).get();
  const head = newest === undefined ? GENESIS : readLink(newest);
  return { head, judged: judge(known, rowAt(database, known.position), head) };
}

/**
 * The row at a position that was the end of a batch; without a hash where that batch is another
 * one, `null` where it is gone.
 */
function rowAt(database: DatabaseSync, position: number): ChainLink | null {
  const row = database.prepare(COVERING).get(position);
  if (row === undefined || readNumber(row, "first") > position) return null;
  return { position, hash: readNumber(row, "last") === position ? readText(row, "hash") : "" };
}

/**
 * Whether a log is the continuation of what was known of it.
 *
 * @param kept the row at the known position; `null` where there is none, which a prune explains if
 * the log goes on
 */
export function judge(
  known: ChainLink,
  kept: ChainLink | null,
  head: ChainLink,
): ChainLink | EvidenceFaultCause {
  if (head.position < known.position) return "log_behind";
  if ((kept ?? known).hash !== known.hash) return "log_differs";
  if (head.position === known.position && head.hash !== known.hash) return "log_differs";
  return head;
}

function readLink(row: Row): ChainLink {
  return { position: readNumber(row, "position"), hash: readText(row, "hash") };
}
