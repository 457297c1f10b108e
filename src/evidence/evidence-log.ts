/**
 * The evidence as one append-only log whose rows are chained by hashes (`evidence/chain.ts`): the part of the store's
 * port that an auditor's tools and retention need.
 */
export interface EvidenceLog {
  /** The newest row of the log, of every process. */
  head(): Promise<EvidenceHead>;
  /**
   * The newest row that a server noted apart from the log's rows, so that a log that was cut off at its end can be distinguished
   * from a whole one. `null` where there is no such note.
   */
  notedHead(): Promise<NotedHead | null>;
  /** In order of position. @throws {RangeError} for a limit that is not 1 to 10,000, or a position below 0. */
  log(query: { readonly after: number; readonly limit: number }): Promise<readonly LogRow[]>;
  /** Positions of the decisions that the store has as not ended, in order. */
  openDecisions(): Promise<readonly number[]>;
  /** Processes that write the log, and those that were lost in the last hour; the oldest first. A process is there from its first decision on. */
  processes(): Promise<readonly EvidenceProcess[]>;
  /** Oldest first. Where rows were pruned, the log begins after one of them. */
  anchors(): Promise<readonly EvidenceAnchor[]>;
  /**
   * Remembers the present head as an anchor; twice at one position is one anchor. `null` when the log is empty.
   *
   * @param now milliseconds since the epoch
   */
  anchor(now: number): Promise<EvidenceAnchor | null>;
  /**
   * Deletes, in bounded steps between which appends go on, the longest prefix of rows older than `before` whose
   * requests have ended, after writing an anchor at its end. No decision is parted from its outcome; only where requests
   * have overlapped for a whole day without a pause, outcomes of the prefix's last requests may stay behind.
   *
   * @param before milliseconds since the epoch. @param now likewise.
   */
  prune(before: number, now: number): Promise<Pruned>;
}

/** A process that writes the log. Times are milliseconds since the epoch. */
export interface EvidenceProcess {
  readonly startedAt: number;
  /** When it last said that it runs. */
  readonly seenAt: number;
  /** `lost`: it did not close, and its lease is over. */
  readonly state: "running" | "lost";
}

/** For how long a lost process is listed, milliseconds. */
export const LOST_IS_LISTED = 3_600_000;

export interface Pruned {
  /** Where the log now begins; `null` when nothing was deleted. */
  readonly anchor: EvidenceAnchor | null;
  /** How many rows were deleted. */
  readonly rows: number;
}

export interface EvidenceHead {
  /** 0 when there never was a row. */
  readonly position: number;
  /** 64 lower-case hexadecimal digits; zeros when there never was a row. */
  readonly hash: string;
}

export interface NotedHead extends EvidenceHead {
  /** The name of the file that holds the note, without its folder; over PostgreSQL of the table. */
  readonly file: string;
}

export interface LogRow {
  /** From 1, without gaps. */
  readonly position: number;
  readonly kind: "decision" | "outcome";
  /** The record's JSON text, exactly as it was hashed. */
  readonly record: string;
  readonly hash: string;
  /** What the row is looked up by: copies of what the record says, which the chain does not cover. */
  readonly columns: {
    readonly requestId: string;
    /** Whole milliseconds since the epoch. */
    readonly at: number;
    /** Of an outcome, that of its decision. */
    readonly workspace: string | null;
    /** Whether a look-up by the request's id finds it; `true` where absent. */
    readonly isFound?: boolean;
  };
}

export interface EvidenceAnchor {
  readonly position: number;
  readonly hash: string;
  /** When it was made, milliseconds since the epoch. */
  readonly at: number;
}

/** The largest `limit` of {@link EvidenceLog.log}. */
export const LARGEST_LOG_PAGE = 10_000;
