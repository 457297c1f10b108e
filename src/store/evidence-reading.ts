import type { ChainLink } from "../evidence/chain.ts";
import {
  type EvidenceEntry,
  type EvidenceFound,
  type EvidenceQuery,
  type EvidenceSearch,
  type EvidenceStore,
  type LogRow,
} from "../evidence/evidence-store.ts";
import {
  logRows,
  readRows,
  type Abandoned,
  type BatchRow,
  type StoredBatch,
} from "./batch/batch-lines.ts";
import type { EvidenceQueue } from "./evidence-queue.ts";
import { refuseRange } from "./policy-log.ts";
import { readEntry } from "./stored-evidence.ts";

/** The batches of an engine's log. Both engines read entries, rows and searches from it. */
export interface ReadableLog {
  /** The newest row, after everything that was written has become a row. */
  readonly head: () => Promise<ChainLink>;
  /** A page of batches after a position, in order. */
  readonly after: (position: number) => Promise<readonly StoredBatch[]>;
  /** Newest first, with a last position between the two. @param workspace `null`: any */
  before(before: number, after: number, workspace: string | null): Promise<readonly StoredBatch[]>;
  /** The batches of a request: of its decision and of its outcome, in any order. */
  find(requestId: string): Promise<readonly StoredBatch[]>;
  /** Last position of the first batch with this request id or a larger one; else the newest. */
  positionOf(requestId: string): Promise<number>;
  /** Request ids of the decisions without an outcome. */
  readonly openRequests: () => Promise<readonly string[]>;
  /** Decisions of processes that are gone. */
  abandoned(): Promise<Abandoned>;
}

/** An engine's part of the evidence, beside its batches. */
interface EvidenceEngine extends Pick<
  EvidenceStore,
  "anchor" | "anchors" | "health" | "missing" | "notedHead" | "processes"
> {
  readonly batches: ReadableLog;
  /** Ends the requests of processes that are gone. */
  readonly endAbandoned: () => Promise<void>;
  /** Counts the rows up to the end of a batch, anchors and deletes some. @returns how many */
  readonly deleteSome: (through: number, now: number) => Promise<number>;
}

/** The evidence over a queue that writes it and an engine that has it. */
export function evidenceOver(
  queue: EvidenceQueue,
  { batches, endAbandoned, deleteSome, ...engine }: EvidenceEngine,
): EvidenceStore {
  return {
    ...engine,
    begin: (record, settled) => queue.begin(record, settled),
    settle: (record) => queue.settle(record),
    flush: () => queue.flush(),
    read: (query) => readEntries(batches, query),
    search: (query) => searchEvidence(batches, query),
    log: (query) => readLog(batches, query),
    head: batches.head,
    openRequests: batches.openRequests,
    async prune(before, now) {
      // Requests of dead processes have ended too, possibly without a record yet.
      await endAbandoned();
      await batches.head();
      const through = await prunableThrough(batches, before);
      if (through === 0) return { anchor: null, rows: 0 };
      let rows = 0;
      for (let step = 1; step > 0; rows += step) step = await deleteSome(through, now);
      const anchors = await engine.anchors();
      return { anchor: anchors.find(({ position }) => position === through) ?? null, rows };
    },
  };
}

/** Rows after a position. @throws {RangeError} {@link StoreUnavailableError} */
async function readLog(
  log: ReadableLog,
  query: { readonly after: number; readonly limit: number },
): Promise<readonly LogRow[]> {
  refuseRange(query.after, query.limit);
  await log.head();
  const read: LogRow[] = [];
  for await (const batch of batchesFrom(query.after, log.after)) {
    for (const row of logRows(batch, query.after)) {
      read.push(row);
      if (read.length === query.limit) return read;
    }
  }
  return read;
}

/** The batches of all pages. @param read gives those that follow a last position */
async function* batchesFrom(
  position: number,
  read: (position: number) => Promise<readonly StoredBatch[]>,
): AsyncGenerator<StoredBatch, void> {
  for (let page = await read(position); page.length > 0;) {
    yield* page;
    page = await read(page.at(-1)?.last ?? 0);
  }
}

/** Entries, the newest last. @throws {RangeError} {@link StoreUnavailableError} */
async function readEntries(
  log: ReadableLog,
  query: EvidenceQuery,
): Promise<readonly EvidenceEntry[]> {
  refuseRange(query.after, query.limit);
  await log.head();
  return entriesOf(log, query);
}

/** The same of what is in the log already. */
async function entriesOf(
  log: ReadableLog,
  query: EvidenceQuery,
): Promise<readonly EvidenceEntry[]> {
  const { after, limit, workspace, requestId: searchedId } = query;
  const abandoned = await log.abandoned();
  const pair = outcomePairing();
  const newestFirst: EvidenceEntry[] = [];
  for await (const batch of batchesOf(log, query)) {
    const decisions = pair(
      batch,
      (row) =>
        (searchedId ?? row.requestId) === row.requestId &&
        (workspace ?? row.workspace) === row.workspace &&
        row.position > after,
    );
    for (const [{ position, requestId, record }, outcome] of decisions) {
      if (newestFirst.length === limit) break;
      const diedAt = abandoned.get(requestId) ?? null;
      newestFirst.push(readEntry(position, record, outcome, diedAt));
    }
    if (newestFirst.length === limit) break;
  }
  return newestFirst.toReversed();
}

/** The batches in which a query may find entries, the newest first. */
async function* batchesOf(
  log: ReadableLog,
  { after, workspace, requestId }: EvidenceQuery,
): AsyncGenerator<StoredBatch, void> {
  if (requestId !== undefined)
    return yield* (await log.find(requestId)).toSorted((left, right) => right.last - left.last);
  yield* batchesFrom(Number.MAX_SAFE_INTEGER, (end) => log.before(end, after, workspace ?? null));
}

/** Pairs decisions with their outcomes, from the newest batch to older ones. */
function outcomePairing() {
  const outcomes = new Map<string, string>();

  /** The accepted decisions of the next older batch, the newest first. */
  return function* take(
    batch: StoredBatch,
    accepts: (row: BatchRow) => boolean,
  ): Generator<readonly [decision: BatchRow, outcome: string | null], void> {
    const decisions: BatchRow[] = [];
    for (const row of readRows(batch)) {
      if (row.kind === "outcome") outcomes.set(row.requestId, row.record);
      else if (accepts(row)) decisions.push(row);
      else outcomes.delete(row.requestId);
    }
    for (const decision of decisions.toReversed()) {
      yield [decision, outcomes.get(decision.requestId) ?? null];
      outcomes.delete(decision.requestId);
    }
  };
}

/** Rows per statement: for a workspace with few requests it must not read the whole log. */
const WINDOW = 20_000;
/** Rows and bytes of one search: a page that finds nothing takes 100 ms at most. */
const MOST_SEARCHED_ROWS = 400_000;
const MOST_BYTES = 8 * 1024 * 1024;
/** Outcomes of a page that are looked up one by one, as newer than its first decision. */
const MOST_LOOK_UPS = 200;
/** Longest time, milliseconds, from a request's id to its decision: its body is read between. */
const LATEST = 120_000;

const CURSOR = /^([1-9][0-9]{0,14})-([1-9][0-9]{0,14})$/;

/** Newest accepted entries of some workspaces. @throws {RangeError} for limit or cursor */
async function searchEvidence(log: ReadableLog, query: EvidenceSearch): Promise<EvidenceFound> {
  if (!Number.isSafeInteger(query.limit) || query.limit < 1 || query.limit > 100) {
    throw new RangeError("limit: give a whole number from 1 to 100");
  }
  const newest = await log.head();
  const start = await startOf(log, query, newest.position);
  const page = searchedPage(log, query, start.position, await log.abandoned());
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
    if (rows >= MOST_SEARCHED_ROWS || page.bytes >= MOST_BYTES)
      return page.found(`${before - 1}-${before}`);
  }
  return page.found();
}

/**
 * Last position of the first batch that is read, and a position: decisions from there on are on an
 * earlier page.
 */
async function startOf(log: ReadableLog, { cursor, to }: EvidenceSearch, newest: number) {
  if (cursor !== null) {
    const [, last, position] = CURSOR.exec(cursor) ?? [];
    if (last === undefined || position === undefined)
      throw new RangeError("cursor: give one that a page ended with");
    return { last: Number(last), position: Number(position) };
  }
  const last = to === null ? newest : await log.positionOf(lowestIdAt(to + LATEST));
  return { last, position: Number.MAX_SAFE_INTEGER };
}

/** No request id of that millisecond or later is smaller (`http/heads.ts`). */
function lowestIdAt(time: number) {
  return `req_${Math.max(0, Math.floor(time)).toString(16).padStart(12, "0")}`;
}

/**
 * Gathers entries from the newest batch to older ones: an outcome stands after its decision.
 *
 * @param first decisions from this position on are on an earlier page
 */
function searchedPage(
  log: ReadableLog,
  query: EvidenceSearch,
  first: number,
  abandoned: Abandoned,
) {
  const { from, to, contains, limit } = query;
  const workspaces: ReadonlySet<string | null> = new Set(query.workspaces);
  const pair = outcomePairing();
  const entries: EvidenceEntry[] = [];
  let cursor: string | null = null;
  let lookUps = 0;
  let searchedTo: number | null = null;
  let bytes = 0;

  async function entryOf(
    { position, at, requestId, record }: BatchRow,
    outcome: string | null,
  ): Promise<EvidenceEntry | null> {
    if ((from !== null && at < from) || (to !== null && at > to)) return null;
    if (!contains.every((part) => record.includes(part))) return null;
    // On a later page the outcome may stand on an earlier one.
    if (outcome !== null || (first === Number.MAX_SAFE_INTEGER && to === null))
      return readEntry(position, record, outcome, abandoned.get(requestId) ?? null);
    lookUps += 1;
    const [found] = await entriesOf(log, { after: 0, limit: 1, requestId });
    return found ?? readEntry(position, record, null, null);
  }

  return {
    /** Of the records that were read. */
    get bytes(): number {
      return bytes;
    },
    /** Takes the next older batch; false when no more are wanted. */
    async take(batch: StoredBatch): Promise<boolean> {
      let newest = Number.POSITIVE_INFINITY;
      const decisions = pair(batch, (row) => {
        bytes += row.record.length;
        return workspaces.has(row.workspace) && row.position < first;
      });
      for (const [decision, outcome] of decisions) {
        const { position, at } = decision;
        if (newest === Number.POSITIVE_INFINITY) newest = at;
        searchedTo = Math.min(searchedTo ?? at, at);
        const entry = await entryOf(decision, outcome);
        if (entry === null || !query.accepts(entry)) continue;
        entries.push(entry);
        if (entries.length < limit && lookUps < MOST_LOOK_UPS) continue;
        cursor = `${batch.last}-${position}`;
        return false;
      }
      return from === null || newest >= from - LATEST;
    },
    found: (next = cursor): EvidenceFound => ({ entries, next, searchedTo }),
  };
}

/**
 * The last position that a prune may delete, once the requests of processes that are gone have
 * ended; 0 for none.
 *
 * @param before rows younger than this are kept, milliseconds since the epoch
 */
async function prunableThrough(log: ReadableLog, before: number): Promise<number> {
  const open = new Set(await log.openRequests());
  const scan = pruneScan(before, open);
  for await (const batch of batchesFrom(0, log.after)) {
    const rows = readRows(batch).map((row) => ({ ...row, endsBatch: row.position === batch.last }));
    if (!scan.take(rows)) break;
  }
  return scan.through;
}

/** The members of a log row that pruning reads. */
export interface ScannedRow {
  readonly position: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly kind: "decision" | "outcome";
  readonly requestId: string;
  /** Whether the log can be cut after it: the rows of a batch are deleted together. */
  readonly endsBatch: boolean;
}

/** Milliseconds. Where requests overlap for longer, a prune does not wait for a pause. */
const LONGEST_OVERLAP = 86_400_000;

/**
 * Finds the end of the prefix that a prune may delete; takes rows from the beginning.
 *
 * @param before rows younger than this are kept, milliseconds since the epoch
 * @param open ids of running requests
 */
export function pruneScan(before: number, open: ReadonlySet<string>) {
  const running = new Set<string>();
  let firstAt: number | null = null;
  let newestAt = 0;
  let cutAfter = 0;
  let quiet = 0;

  return {
    /** Takes the next rows; false when no more are wanted. */
    take(rows: Iterable<ScannedRow>): boolean {
      for (const { position, at, kind, requestId, endsBatch } of rows) {
        if (at >= before || open.has(requestId)) return false;
        firstAt ??= at;
        if (kind === "decision") running.add(requestId);
        else running.delete(requestId);
        if (!endsBatch) continue;
        cutAfter = position;
        newestAt = at;
        if (running.size === 0) quiet = position;
      }
      return true;
    },
    /** The last position to delete; 0 for none. */
    get through(): number {
      if (quiet > 0 || firstAt === null) return quiet;
      return newestAt - firstAt > LONGEST_OVERLAP ? cutAfter : 0;
    },
  };
}
