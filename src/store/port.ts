import type { Scope } from "../canon/scope.ts";
import type { DecisionRecord, OutcomeRecord } from "../evidence/record.ts";

/**
 * What outlives the process. Two engines implement it (SQLite embedded; PostgreSQL shared, later); one conformance
 * suite in `test/store/conformance.ts` is run over both.
 */
export interface Store {
  readonly keys: KeyStore;
  readonly evidence: EvidenceStore;
  readonly policies: PolicyStore;
  /** Writes what is still in memory, then closes. Safe to call twice. */
  close(): Promise<void>;
}

export type KeyStatus = "active" | "revoked";

/** A service key as kept: the secret only as a digest (decisions.md, "Credentials"). All times are milliseconds since the epoch. */
export interface KeyRecord {
  /** Public id; may be logged. */
  readonly id: string;
  /** SHA-256 of the whole key text, lower-case hexadecimal. */
  readonly digest: string;
  readonly workspace: string;
  readonly scopes: readonly Scope[];
  readonly owner: string;
  readonly environment: string;
  readonly workload: string;
  readonly labels: readonly string[];
  readonly expiresAt: number;
  readonly createdAt: number;
  /** Public id of the key that made it, or `bootstrap`, `cli`. */
  readonly createdBy: string;
  readonly lastUsedAt: number | null;
  /** Public id of the key that this one replaces. */
  readonly rotatedFrom: string | null;
  readonly status: KeyStatus;
  readonly revokedAt: number | null;
}

export interface KeyStore {
  /** Durable when it resolves. @throws {DuplicateKeyError} when the id exists. */
  create(record: KeyRecord): Promise<void>;
  get(id: string): Promise<KeyRecord | null>;
  /** Newest first; `workspace` narrows. */
  list(filter?: { readonly workspace?: string }): Promise<readonly KeyRecord[]>;
  /** Durable when it resolves; revoking twice keeps the first time. `null` where there is no such key. */
  revoke(id: string, at: number): Promise<KeyRecord | null>;
  /**
   * Calls back with every key, at once and then after each change by this or any other process, at the latest one
   * second after it. Gives back a function that ends it.
   */
  watch(listener: (records: readonly KeyRecord[]) => void): Promise<() => void>;
}

export interface EvidenceStore {
  /** Resolves when the record is on disk. Records that arrive together share one commit. */
  decide(record: DecisionRecord): Promise<void>;
  /** Written in the next batch; lost by a crash at most for the newest batch, whose outcomes then read `unknown`. */
  settle(record: OutcomeRecord): void;
  /** Resolves when everything handed over so far is on disk. */
  flush(): Promise<void>;
  /** Newest last. An entry without an outcome is still running, or its process died. */
  read(query: EvidenceQuery): Promise<readonly EvidenceEntry[]>;
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
  /** Rises with every decision; never reused. */
  readonly sequence: number;
  readonly decision: DecisionRecord;
  readonly outcome: OutcomeRecord | null;
}

/** Numbers the contents of policies and remembers their mode. Slots, approvals and transitions come on top of it. */
export interface PolicyStore {
  /**
   * Tells the store what was compiled and learns what to run. A content never seen before gets the next revision of its
   * policy; a policy never seen before starts in `initialMode`; afterwards the stored mode wins.
   */
  observe(contents: readonly ObservedPolicy[]): Promise<readonly PolicyState[]>;
}

export interface ObservedPolicy {
  readonly id: string;
  readonly digest: string;
  readonly initialMode: "shadow" | "enforce";
}

export interface PolicyState {
  readonly id: string;
  readonly digest: string;
  readonly revision: number;
  readonly mode: "shadow" | "enforce";
}

/** Thrown by {@link KeyStore.create}. */
export class DuplicateKeyError extends Error {
  override readonly name = "DuplicateKeyError";
  constructor(id: string) {
    super(`a key with the id ${id} exists already`);
  }
}
