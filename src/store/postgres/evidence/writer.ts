import { GENESIS } from "../../../evidence/chain.ts";
import type { EvidenceFault, EvidenceHead } from "../../../evidence/evidence-store.ts";
import type { DecisionFields, OutcomeFields } from "../../evidence-batch.ts";
import type { Appended } from "../../evidence-queue.ts";
import { StoreUnavailableError } from "../../../canon/errors/store-unavailable.ts";
import { StatementFailure, TRY_AGAIN } from "../failure.ts";
import type { PostgresLink } from "../link.ts";
import { numberArray, textArray } from "../array-text.ts";
import type { Parameter, Row } from "../pool.ts";
import { RecentIds } from "../../batch/recent-ids.ts";
import { readNumber, readText, readTextOrNull } from "../../rows/row.ts";
import { frameItems, toBatch, type BatchItem, type EvidenceBatch } from "./batch.ts";
import type { ProcessLease } from "./process-lease.ts";

/**
 * Whether the log is the continuation of the row at position $1 with the hash $2, which was the end of a batch. Where the
 * batch is gone, a prune explains it if the log goes on.
 */
const CONTINUES = `coalesce(
    (SELECT CASE WHEN batch.first <= $1 THEN batch.last = $1 AND batch.hash = $2 END
      FROM signalbox.evidence_batches AS batch WHERE batch.last >= $1 ORDER BY batch.last LIMIT 1),
    (SELECT head.position >= $1 FROM signalbox.evidence_head AS head))`;

// The condition names no column of the function's result, so PostgreSQL evaluates it first, and calls nothing where it fails.
const APPEND = `
SELECT head_position, head_hash, present, refused FROM signalbox.append_evidence($3, $4, $5::text::bigint[], $6::text::text[],
  $7::text::int[], $8::text::text[], $9::text::int[], $10::text::int[], $11::text::text[], $12::text::text[], $13) WHERE ${CONTINUES}`;

const WORKSPACES =
  "SELECT request_id, workspace FROM signalbox.evidence_open WHERE request_id = ANY ($1::text::text[])";

const COMPARE = `
SELECT head.position AS head_position, head.hash AS head_hash, ${CONTINUES} AS continues FROM signalbox.evidence_head AS head`;

const DIVERGED =
  "the evidence in the database is not what this process wrote; name the right server, or restart to use what is there now";

/** Records of one statement; at about 20 µs each it stays far below the statement's time. */
const LARGEST_STATEMENT = 2_000;

/** An item, and where it stood among the batch's decisions; `null` for an outcome. */
interface Entry {
  readonly item: BatchItem;
  readonly position: number | null;
}

/** Adds batches to the log, and knows its head from the answers. */
export class EvidenceWriter {
  readonly #link: PostgresLink;
  readonly #lease: ProcessLease;
  readonly #maxWait: number;
  #head: EvidenceHead | null;
  #fault: EvidenceFault | null = null;
  readonly #recent = new RecentIds();
  /** Requests of this process that run, and their workspaces. */
  readonly #running = new Map<string, string | null>();
  /** Of this process's newest batch. */
  #number = 0;
  /** What is in batches of which is not known whether they were written, by their numbers. */
  readonly #unsure = new Map<number, ReadonlySet<string>>();
  #before: Promise<void> = Promise.resolve();

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
   * @throws {StoreUnavailableError} while the database is unavailable
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
   * @throws {StoreUnavailableError} when that is not known; the same records may be handed over again
   */
  append(decisions: DecisionFields, outcomes: OutcomeFields): Promise<Appended> {
    // Taken apart before anything is waited for: the queue empties the list of decisions that it refuses.
    const batch = toBatch(decisions, outcomes);
    // One after the other: the numbers of a process's batches rise.
    const appended = this.#before.then(() => this.#append(batch));
    this.#before = appended.then(
      () => undefined,
      () => undefined,
    );
    return appended;
  }

  async #append({ items, positions, duplicates: repeated, lost: unheard }: EvidenceBatch): Promise<Appended> {
    const deadline = performance.now() + this.#maxWait;
    const duplicates = [...repeated];
    let lost = unheard;
    const entries: Entry[] = [];
    for (const [index, item] of items.entries()) {
      const position = positions[index] ?? null;
      if (position !== null && this.#recent.has(item.r)) duplicates.push(position);
      else entries.push({ item, position });
    }
    for (let start = 0; start < entries.length; start += LARGEST_STATEMENT) {
      for (const { position } of await this.#write(entries.slice(start, start + LARGEST_STATEMENT), deadline)) {
        if (position === null) lost += 1;
        else duplicates.push(position);
      }
    }
    return { duplicates, lost, head: this.#head ?? GENESIS };
  }

  /** Gives what was refused: decisions whose request runs, and outcomes whose request does not. */
  async #write(entries: readonly Entry[], deadline: number): Promise<readonly Entry[]> {
    const refused: Entry[] = [];
    this.#number += 1;
    let left = entries;
    while (left.length > 0) {
      const answer = await this.#send(left, this.#number, deadline);
      const written = new Set(answer.present.flatMap((number) => [...(this.#unsure.get(number) ?? [])]));
      if (answer.present.length === 0 && answer.refused.length === 0) {
        for (const { item } of left) this.#note(item);
        // What was not there by now never will be: its number is too low.
        this.#unsure.clear();
        return refused;
      }
      const refusedPositions = new Set(answer.refused);
      const sent = left;
      for (const number of answer.present) this.#unsure.delete(number);
      for (const [index, entry] of sent.entries()) {
        if (written.has(keyOf(entry.item))) this.#note(entry.item);
        else if (refusedPositions.has(index + 1)) {
          this.#running.delete(entry.item.r);
          refused.push(entry);
        }
      }
      left = sent.filter(({ item }, index) => !written.has(keyOf(item)) && !refusedPositions.has(index + 1));
    }
    return refused;
  }

  async #send(entries: readonly Entry[], number: number, deadline: number): Promise<Answer> {
    const items = entries.map(({ item }) => item);
    for (;;) {
      const wasUnsure = this.#unsure.has(number);
      try {
        const process = await this.#lease.take();
        const parameters = await this.#parameters(items);
        const { position, hash } = this.#head ?? GENESIS;
        const unsure = numberArray([...this.#unsure.keys()]);
        this.#unsure.set(number, new Set(items.map(keyOf)));
        const row = (await this.#link.query(APPEND, [position, hash, process, number, unsure, ...parameters]))[0];
        if (row === undefined) {
          await this.compare();
          throw new StoreUnavailableError(DIVERGED, { done: "no" });
        }
        this.#remember({ position: readNumber(row, "head_position"), hash: readText(row, "head_hash") });
        return { present: readNumbers(row, "present"), refused: readNumbers(row, "refused") };
      } catch (error) {
        if (!wasUnsure && error instanceof StoreUnavailableError && error.done === "no") this.#unsure.delete(number);
        if (!(error instanceof StatementFailure)) throw error;
        const left = deadline - performance.now();
        if (left <= 0 || !(error.away || TRY_AGAIN.includes(error.code ?? ""))) throw error;
        await this.#link.whenAvailable(left);
      }
    }
  }

  async #parameters(items: readonly BatchItem[]): Promise<readonly Parameter[]> {
    const unknown = items.filter(({ k, r }) => k === "outcome" && !this.#running.has(r)).map(({ r }) => r);
    const decided = new Set(items.filter(({ k }) => k === "decision").map(({ r }) => r));
    const wanted = unknown.filter((requestId) => !decided.has(requestId));
    const others = new Map<string, string | null>();
    if (wanted.length > 0) {
      for (const row of await this.#link.query(WORKSPACES, [textArray(wanted)])) {
        others.set(readText(row, "request_id"), readTextOrNull(row, "workspace"));
      }
    }
    const framed = frameItems(items, (requestId) => this.#running.get(requestId) ?? others.get(requestId) ?? null);
    return [
      textArray(framed.decided),
      numberArray(framed.workspaceNumbers),
      textArray(framed.ended),
      numberArray(framed.starts),
      numberArray(framed.ends),
      textArray([framed.decidedIds.lowest, framed.decidedIds.highest, framed.endedIds.lowest, framed.endedIds.highest]),
      textArray(framed.workspaces),
      framed.records,
    ];
  }

  /** The item is on disk. */
  #note({ k, r, w }: BatchItem): void {
    if (k === "outcome") this.#running.delete(r);
    else {
      this.#recent.add(r);
      this.#running.set(r, w);
    }
  }

  #remember(head: EvidenceHead): void {
    if (head.position > 0 && head.position >= (this.#head?.position ?? 0)) this.#head = head;
  }
}

interface Answer {
  /** Which of the batches that were not known to be written are there; where there are any, nothing was added. */
  readonly present: readonly number[];
  /** Positions of records that cannot be added, from 1; where there are any, nothing was added. */
  readonly refused: readonly number[];
}

const keyOf = ({ k, r }: BatchItem): string => `${k} ${r}`;

function readNumbers(row: Row, column: string): readonly number[] {
  const value = row[column];
  if (!Array.isArray(value)) throw new TypeError(`column ${column} holds no list`);
  return value.map((entry: unknown) => {
    if (typeof entry !== "number") throw new TypeError(`column ${column} holds something else`);
    return entry;
  });
}
