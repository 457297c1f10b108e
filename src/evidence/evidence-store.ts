import type { ChainLink, ChainRow, RowColumns } from "./chain.ts";
import type { DecisionRecord, OutcomeRecord } from "./record.ts";

export interface EvidenceStore extends EvidenceLog {
  /**
   * Hands a record over before an answer waits for it. It is written after a short delay, or when
   * it is needed; records that arrive together share one commit.
   *
   * @param settled called once, possibly before this returns: with `null` when the record is on
   * disk, with {@link DuplicateDecisionError} when there is a decision with this request id, or
   * with {@link EvidenceUnavailableError} when the record is not known to be on disk within the
   * bounded wait, which begins when the record is needed, or when too many records wait already.
   * The answer must not leave then. The record may still be written later, so its outcome must be
   * handed over in any case.
   * @example evidence.begin(record, (error) => finish(error)).needed()
   */
  begin(record: DecisionRecord, settled: (error: Error | null) => void): PendingDecision;
  /**
   * Written in the next batch; lost by a crash at most for the newest batch, whose outcomes then
   * read `unknown`. An outcome whose decision is not on disk, or that has an outcome already, is
   * counted in `health().lost` and not kept; that of a decision that was refused at once is not
   * kept and not counted.
   */
  settle(record: OutcomeRecord): void;
  /** Resolves when everything handed over so far is on disk. @throws {EvidenceUnavailableError} */
  flush(): Promise<void>;
  /**
   * Newest last. An entry without an outcome is still running; where its process has died, or
   * closed without settling it, the outcome is `unknown` with status 0.
   *
   * @throws {RangeError} for a limit or a sequence number out of range.
   */
  read(query: EvidenceQuery): Promise<readonly EvidenceEntry[]>;
  /**
   * The newest entries of some workspaces that a test accepts, newest first. The search is bounded,
   * whatever the log's size: a page may have fewer entries than requested, and the cursor of the
   * next one.
   *
   * @throws {RangeError} for a limit out of range, and a cursor that no page ended with
   */
  search(query: EvidenceSearch): Promise<EvidenceFound>;
  /** For `/status` and metrics. */
  readonly health: () => EvidenceHealth;
}

/** A decision on its way to the disk. */
export interface PendingDecision {
  /** An answer is ready and waits for it. */
  needed(): void;
}

export interface EvidenceHealth {
  /** `unavailable`: the newest batch failed or is late; decisions may be refused. */
  readonly state: "ok" | "unavailable";
  /** Decisions that are not yet on disk. */
  readonly waiting: number;
  /** Decisions that this process could not confirm in time, since its start. */
  readonly refused: number;
  /** Outcomes that could not be kept, since the start; those decisions read `unknown`. */
  readonly lost: number;
  /** The newest row as last known to this process, without asking; `null` until it is. */
  readonly head: ChainLink | null;
  /** How long a write has waited for its confirmation, milliseconds; 0: none waits. */
  readonly owing: number;
  /** Why everything is refused, where the database itself is no longer what this process wrote. */
  readonly fault?: EvidenceFault;
}

export interface EvidenceQuery {
  /** Entries after this sequence number; 0 for all. */
  readonly after: number;
  /** 1 to 10,000; the newest ones when there are more. */
  readonly limit: number;
  readonly workspace?: string;
  readonly requestId?: string;
}

export interface EvidenceSearch {
  /** At least one. */
  readonly workspaces: readonly string[];
  /** Arrival, milliseconds since the epoch, inclusive; `null`: from the first, to the newest. */
  readonly from: number | null;
  readonly to: number | null;
  /** Where the page before ended; `null` for the first. */
  readonly cursor: string | null;
  /** 1 to 100. */
  readonly limit: number;
  /** Texts that the JSON of a decision must contain: a cheap test before the record is read. */
  readonly contains: readonly string[];
  readonly accepts: (entry: EvidenceEntry) => boolean;
}

export interface EvidenceFound {
  /** Newest first. */
  readonly entries: readonly EvidenceEntry[];
  /** Where the next page begins; `null` at the end of the log. */
  readonly next: string | null;
  /** Arrival of the oldest decision that was looked at; `null` without any. */
  readonly searchedTo: number | null;
}

export interface EvidenceEntry {
  /** The decision's position in the log: rises with every decision, never reused. */
  readonly sequence: number;
  readonly decision: DecisionRecord;
  readonly outcome: OutcomeRecord | null;
}

/** The evidence as one append-only log of chained rows (`evidence/chain.ts`), for auditors. */
export interface EvidenceLog {
  /** The newest row of the log, of every process; `GENESIS` where there never was a row. */
  head(): Promise<ChainLink>;
  /** The newest row, noted apart from the log, by which a cut log is noticed; `null`: no note. */
  notedHead(): Promise<NotedHead | null>;
  /** In order. @throws {RangeError} for a limit that is not 1 to 10,000, or a position below 0. */
  log(query: { readonly after: number; readonly limit: number }): Promise<readonly LogRow[]>;
  /** Request ids of the decisions that the store has as not ended. */
  openRequests(): Promise<readonly string[]>;
  /** Batches of records that were written and are not there, before they were part of the log. */
  missing(): Promise<readonly MissingBatches[]>;
  /** Processes that write the log, from their first decision on, and those lost in an hour. */
  processes(): Promise<readonly EvidenceProcess[]>;
  /** Oldest first. Where rows were pruned, the log begins after one of them. */
  anchors(): Promise<readonly EvidenceAnchor[]>;
  /** Remembers the head as an anchor; `null`: an empty log. @param now epoch milliseconds */
  anchor(now: number): Promise<EvidenceAnchor | null>;
  /**
   * Deletes, in bounded steps between which appends continue, the longest prefix of rows older than
   * `before` whose requests have ended, after writing an anchor at its end. No decision is parted
   * from its outcome; only where requests have overlapped for a whole day without a pause, outcomes
   * of the prefix's last requests may stay behind.
   *
   * @param before milliseconds since the epoch. @param now likewise.
   */
  prune(before: number, now: number): Promise<Pruned>;
}

/** A process that writes the log. Times are milliseconds since the epoch. */
export interface EvidenceProcess {
  readonly startedAt: number;
  /** Time of its newest heartbeat. */
  readonly seenAt: number;
  /** `lost`: it did not close, and its lease is over. */
  readonly state: "running" | "lost";
}

/** A process numbers its batches from 1, without a hole. */
export interface MissingBatches {
  readonly process: number;
  /** Numbers of the first and the last. */
  readonly first: number;
  readonly last: number;
}

/** For how long a lost process is listed, milliseconds. */
export const LOST_IS_LISTED = 3_600_000;

export interface Pruned {
  /** Where the log now begins; `null` when nothing was deleted. */
  readonly anchor: EvidenceAnchor | null;
  /** How many rows were deleted. */
  readonly rows: number;
}

export interface NotedHead extends ChainLink {
  /** The name of the file that holds the note, without its folder; over PostgreSQL of the table. */
  readonly file: string;
}

/** Positions are from 1, without gaps. */
export interface LogRow extends ChainRow {
  readonly columns: RowColumns;
}

export interface EvidenceAnchor extends ChainLink {
  /** When it was made, milliseconds since the epoch. */
  readonly at: number;
}

/**
 * Fault of the database under a running process. `file_…`: of one of its files.
 * `log_behind`: what is stored ends before what this process knows as durable. `log_differs`: it is
 * another log. `log_unreadable`: a separate connection cannot read it.
 */
export const EVIDENCE_FAULT_CAUSES = [
  "file_removed",
  "file_replaced",
  "file_truncated",
  "log_behind",
  "log_differs",
  "log_unreadable",
] as const;

export type EvidenceFaultCause = (typeof EVIDENCE_FAULT_CAUSES)[number];

export interface EvidenceFault {
  readonly cause: EvidenceFaultCause;
  /** The file's name without its folder; `null` for a database without files, as PostgreSQL. */
  readonly file: string | null;
}

/** A decision with this request id is on disk already; request ids must be unique. */
export class DuplicateDecisionError extends Error {
  override readonly name = "DuplicateDecisionError";
  constructor() {
    super("a decision with this request id is recorded already");
  }
}

/** Why a decision could not be made durable; a closed list, safe to log. */
export type EvidenceUnavailableReason = "late" | "full" | "failed" | "closed";

const EVIDENCE_SENTENCES = {
  late: "the evidence store has not confirmed a write",
  full: "too many decisions have been waiting for the evidence store",
  failed: "the evidence store has not been able to write",
  closed: "the evidence store has been closed",
} as const satisfies Record<EvidenceUnavailableReason, string>;

/** The decision may not be on disk, so no answer may leave: 503. Temporary. */
export class EvidenceUnavailableError extends Error {
  override readonly name = "EvidenceUnavailableError";
  readonly reason: EvidenceUnavailableReason;
  /** @param owing how long the store has owed a confirmation, milliseconds */
  constructor(reason: EvidenceUnavailableReason, owing = 0) {
    super(
      `${EVIDENCE_SENTENCES[reason]}${owing === 0 ? "" : ` for ${(owing / 1000).toFixed(1)} s`}`,
    );
    this.reason = reason;
  }
}
