import type { ServiceKey } from "../canon/credentials/service-key.ts";
import type { EvidenceFault } from "../evidence/fault.ts";
import type { DecisionRecord, OutcomeRecord } from "../evidence/record.ts";
import type { EvidenceHead, EvidenceLog } from "./evidence-log.ts";
import type { SummaryStore } from "./summary.ts";
import type { IssuerStore } from "./issuers.ts";
import type { LimitStore } from "./limits.ts";
import type { PolicyLogStore } from "./policy-log.ts";

/**
 * What outlives the process. Two engines implement it (SQLite embedded, PostgreSQL shared); one conformance
 * suite in `test/store/conformance.ts` is run over both. Errors are those of `errors.ts`.
 */
export interface Store {
  readonly keys: KeyStore;
  readonly evidence: EvidenceStore;
  /** What happened to policies, and their contents. */
  readonly policyLog: PolicyLogStore;
  readonly summary: SummaryStore;
  /** Who signs exchanged tokens. */
  readonly issuers: IssuerStore;
  readonly limits: LimitStore;
  /**
   * Writes what is still in memory, then closes. Safe to call twice.
   *
   * @throws {EvidenceUnavailableError} {@link StoreUnavailableError} when something could not be written; it is closed
   * nevertheless
   */
  close(): Promise<void>;
}

/** A service key as the store keeps it: of the secret only a digest (docs/keys.md#the-text-of-a-key). */
export interface KeyRecord extends ServiceKey {
  /** SHA-256 of the whole key text, lower-case hexadecimal. */
  readonly digest: string;
}

/** Keys are never deleted, never come back from `revoked`, and their expiry only ever moves nearer. */
export interface KeyStore {
  /** Durable when it resolves. @throws {DuplicateKeyError} when the id exists. */
  create(record: KeyRecord): Promise<void>;
  get(id: string): Promise<KeyRecord | null>;
  /** Newest first; `workspace` narrows. All of them: for the terminal. */
  list(filter?: { readonly workspace?: string }): Promise<readonly KeyRecord[]>;
  /** The same, some keys of one workspace at a time, without reading the others. */
  page(query: KeyPageQuery): Promise<readonly KeyRecord[]>;
  /**
   * How many keys of a workspace are good at a moment; `most` where there are as many or more.
   *
   * @param now milliseconds since the epoch
   */
  countActive(workspace: string, now: number, most: number): Promise<number>;
  /** Durable when it resolves; revoking twice keeps the first time. `null` where there is no such key. */
  revoke(id: string, at: number): Promise<KeyRecord | null>;
  /**
   * Adds `replacement` and brings the expiry of the key `id` forward to `expiresAt` (never later than it was), both or
   * neither; durable when it resolves. Gives the replaced key back as it now is; `null` where there is no such key.
   *
   * A key is rotated once, whichever process asks first.
   *
   * @throws {KeyRotatedError} when the key has been replaced already and is not revoked.
   * @throws {KeyNotActiveError} when the key is revoked, or had expired at `replacement.createdAt`.
   * @throws {DuplicateKeyError} when the replacement's id exists.
   */
  rotate(id: string, replacement: KeyRecord, expiresAt: number): Promise<KeyRecord | null>;
  /** Remembers when keys were last used; an earlier time than the stored one, or an unknown key, changes nothing. */
  touch(uses: readonly KeyUse[]): Promise<void>;
  /**
   * Calls back with every key, once, before it resolves; afterwards with the keys that were added or changed (not those
   * only used), for this process before the change resolves, for changes by another process within one second. Gives
   * back a function that ends it.
   */
  watch(listener: (records: readonly KeyRecord[]) => void): Promise<() => void>;
}

export interface KeyPageQuery {
  readonly workspace: string;
  /** The key that the page comes after; `null` for the first page. */
  readonly after: Pick<KeyRecord, "id" | "createdAt"> | null;
  /** At least 1. */
  readonly limit: number;
}

export interface KeyUse {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

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
  /** For `/status` and metrics. */
  health(): EvidenceHealth;
}

export interface EvidenceHealth {
  /** `unavailable`: the newest batch failed or is late; decisions may be refused. */
  readonly state: "ok" | "unavailable";
  /** Decisions handed over and not yet on disk. */
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

export interface EvidenceEntry {
  /** The decision's position in the log: rises with every decision, never reused. */
  readonly sequence: number;
  readonly decision: DecisionRecord;
  readonly outcome: OutcomeRecord | null;
}
