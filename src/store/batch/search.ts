import type {
  EvidenceEntry,
  EvidenceFound,
  EvidenceSearch,
} from "../../evidence/evidence-store.ts";
import { readEntry } from "../stored-evidence.ts";
import { readRows, type Abandoned, type BatchRow, type StoredBatch } from "./lines.ts";

/** What the search reads of an engine. */
export interface SearchedLog {
  /** Position of the newest row; 0 where there is none. */
  head(): Promise<number>;
  /**
   * Last position of a batch with this request id or a larger one, of which none was decided
   * before; the newest where none is.
   */
  positionOf(requestId: string): Promise<number>;
  /**
   * Batches with a last position between the two, the newest first; some of them, where they are
   * large. @param workspace `null`: of all.
   */
  before(before: number, after: number, workspace: string | null): Promise<readonly StoredBatch[]>;
  /** Decisions of processes that are gone. */
  abandoned(): Promise<Abandoned>;
  /** The entry of a request. */
  entry(requestId: string): Promise<EvidenceEntry | null>;
}

/**
 * Rows that one statement looks at: a workspace with few requests must not make it read the whole
 * log.
 */
const WINDOW = 20_000;
/**
 * Rows and bytes of one search. With more, a page of a filter that matches nothing would take
 * longer than 100 ms.
 */
const MOST_ROWS = 400_000;
const MOST_BYTES = 8 * 1024 * 1024;
/**
 * Outcomes that are looked up one by one, because they were written after the page's first
 * decision.
 */
const MOST_LOOK_UPS = 200;
/**
 * A decision is written after its body was read: so much later than its id says, at most.
 * Milliseconds.
 */
const LATEST = 120_000;

const CURSOR = /^([1-9][0-9]{0,14})-([1-9][0-9]{0,14})$/;

/**
 * The newest entries of some workspaces that a query accepts. @throws {RangeError} for a limit or
 * cursor that is none
 */
export async function searchEvidence(
  log: SearchedLog,
  query: EvidenceSearch,
): Promise<EvidenceFound> {
  if (!Number.isSafeInteger(query.limit) || query.limit < 1 || query.limit > 100) {
    throw new RangeError("limit: give a whole number from 1 to 100");
  }
  const start = await startOf(log, query);
  const page = new Page({ log, query, first: start.position, abandoned: await log.abandoned() });
  const [first = null, ...others] = query.workspaces;
  const only = others.length === 0 ? first : null;
  let before = start.last + 1;
  for (let rows = 0; before > 1;) {
    const after = Math.max(0, before - 1 - WINDOW);
    const batches = await log.before(before, after, only);
    for (const batch of batches) if (!(await page.take(batch))) return page.found();
    const oldest = batches.at(-1);
    const next = oldest === undefined ? after + 1 : oldest.last;
    rows += before - next;
    before = next;
    if (oldest === undefined && after === 0) break;
    if (rows >= MOST_ROWS || page.bytes >= MOST_BYTES) return page.found(`${before - 1}-${before}`);
  }
  return page.found();
}

interface Start {
  /** Last position of the first batch that is read. */
  readonly last: number;
  /** Decisions from here on are on an earlier page. */
  readonly position: number;
}

async function startOf(log: SearchedLog, { cursor, to }: EvidenceSearch): Promise<Start> {
  if (cursor !== null) {
    const [, last, position] = CURSOR.exec(cursor) ?? [];
    if (last === undefined || position === undefined)
      throw new RangeError("cursor: give one that a page ended with");
    return { last: Number(last), position: Number(position) };
  }
  const last = to === null ? await log.head() : await log.positionOf(lowestIdAt(to + LATEST));
  return { last, position: Number.MAX_SAFE_INTEGER };
}

/** No request id of that millisecond or later is smaller (`http/heads.ts`). */
function lowestIdAt(time: number): string {
  return `req_${Math.max(0, Math.floor(time)).toString(16).padStart(12, "0")}`;
}

interface PageParts {
  readonly log: SearchedLog;
  readonly query: EvidenceSearch;
  /** Decisions from this position on are on an earlier page. */
  readonly first: number;
  readonly abandoned: Abandoned;
}

/** Gathers entries from the newest batch to older ones: an outcome stands after its decision. */
class Page {
  readonly #log: SearchedLog;
  readonly #query: EvidenceSearch;
  readonly #first: number;
  readonly #abandoned: Abandoned;
  readonly #workspaces: ReadonlySet<string | null>;
  readonly #outcomes = new Map<string, string>();
  readonly #entries: EvidenceEntry[] = [];
  #next: string | null = null;
  #lookUps = 0;
  #searchedTo: number | null = null;
  bytes = 0;

  constructor({ log, query, first, abandoned }: PageParts) {
    this.#log = log;
    this.#query = query;
    this.#first = first;
    this.#abandoned = abandoned;
    this.#workspaces = new Set(query.workspaces);
  }

  /** Takes the next older batch; false when no more are wanted. */
  async take(batch: StoredBatch): Promise<boolean> {
    const decisions = this.#read(batch);
    const { from, limit } = this.#query;
    for (const decision of decisions.toReversed()) {
      const { position, at } = decision;
      this.#searchedTo = Math.min(this.#searchedTo ?? at, at);
      const entry = await this.#entry(decision);
      if (entry === null || !this.#query.accepts(entry)) continue;
      this.#entries.push(entry);
      if (this.#entries.length < limit && this.#lookUps < MOST_LOOK_UPS) continue;
      this.#next = `${batch.last}-${position}`;
      return false;
    }
    const newest = decisions.at(-1);
    return from === null || newest === undefined || newest.at >= from - LATEST;
  }

  /** Decisions in order; outcomes are kept for those of this batch and of older ones. */
  #read(batch: StoredBatch): readonly BatchRow[] {
    const decisions: BatchRow[] = [];
    for (const row of readRows(batch)) {
      this.bytes += row.record.length;
      if (row.kind === "outcome") this.#outcomes.set(row.requestId, row.record);
      else if (!this.#workspaces.has(row.workspace)) this.#outcomes.delete(row.requestId);
      else if (row.position < this.#first) decisions.push(row);
    }
    return decisions;
  }

  async #entry({ position, at, requestId, record }: BatchRow): Promise<EvidenceEntry | null> {
    const { from, to, contains } = this.#query;
    const outcome = this.#outcomes.get(requestId);
    this.#outcomes.delete(requestId);
    if ((from !== null && at < from) || (to !== null && at > to)) return null;
    if (!contains.every((part) => record.includes(part))) return null;
    // On a later page the outcome may stand on an earlier one.
    if (
      outcome !== undefined ||
      (this.#first === Number.MAX_SAFE_INTEGER && this.#query.to === null)
    ) {
      return readEntry(position, record, outcome ?? null, this.#abandoned.get(requestId) ?? null);
    }
    this.#lookUps += 1;
    return (await this.#log.entry(requestId)) ?? readEntry(position, record, null, null);
  }

  found(next: string | null = this.#next): EvidenceFound {
    return { entries: this.#entries, next, searchedTo: this.#searchedTo };
  }
}
