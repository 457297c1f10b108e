import type { EvidenceHead, EvidenceLog } from "./evidence-log.ts";
import type { EvidenceFault } from "./fault.ts";
import type { DecisionRecord, OutcomeRecord } from "./record.ts";

export interface EvidenceStore extends EvidenceLog {
  /**
   * Resolves when the record is on disk. Records that arrive together share one commit.
   *
   * @throws {EvidenceUnavailableError} when the record could not be made durable within the bounded wait, or too many
   * records wait already. The caller must not let the answer leave; the next call may succeed. The record may still be
   * written, later: its outcome must be handed over in any case.
   * @throws {DuplicateDecisionError} when there is a decision with this request id.
   */
  decide(record: DecisionRecord): Promise<void>;
  /**
   * Written in the next batch; lost by a crash at most for the newest batch, whose outcomes then read `unknown`. An
   * outcome whose decision is not on disk, or that has an outcome already, is counted in `health().lost` and not kept;
   * that of a decision that was refused at once is not kept and not counted.
   */
  settle(record: OutcomeRecord): void;
  /** Resolves when everything handed over so far is on disk. @throws {EvidenceUnavailableError} */
  flush(): Promise<void>;
  /**
   * Newest last. An entry without an outcome is still running; where its process has died, or closed without settling
   * it, the outcome says `unknown` with status 0.
   *
   * @throws {RangeError} for a limit or a sequence number out of range.
   */
  read(query: EvidenceQuery): Promise<readonly EvidenceEntry[]>;
  /**
   * The newest entries of some workspaces that a test accepts, newest first. The search is bounded, whatever the log's size: a page may have fewer entries than
   * wanted, and where it goes on.
   *
   * @throws {RangeError} for a limit out of range, and a cursor that no page ended with
   */
  search(query: EvidenceSearch): Promise<EvidenceFound>;
  /** For `/status` and metrics. */
  readonly health: () => EvidenceHealth;
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
  readonly head: EvidenceHead | null;
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
  /** Arrival of the requests, milliseconds since the epoch, both included; `null`: from the first, to the newest. */
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
