import type { EvidenceStore } from "../evidence/evidence-store.ts";
import type { KeyStore, SessionStore, IssuerStore } from "../keys/key-store.ts";
import type { SummaryStore } from "../governance/increments.ts";
import type { LimitStore } from "../limits/limit-store.ts";
import type { PolicyLogStore } from "../lifecycle/records.ts";

/**
 * Durable state. Two engines implement it (SQLite embedded, PostgreSQL shared); one
 * conformance suite in `test/store/conformance.ts` is run over both. Each part is an interface of
 * the folder that uses it, with the errors that it names.
 */
export interface Store {
  readonly keys: KeyStore;
  readonly evidence: EvidenceStore;
  /** Events of policies, and their contents. */
  readonly policyLog: PolicyLogStore;
  readonly summary: SummaryStore;
  /** Issuers of exchanged tokens. */
  readonly issuers: IssuerStore;
  readonly limits: LimitStore;
  /** Sessions of the console. */
  readonly sessions: SessionStore;
  /**
   * Writes what is still in memory, then closes. Safe to call twice.
   *
   * @throws {EvidenceUnavailableError} {@link StoreUnavailableError} when something could not be
   * written; it is closed nevertheless
   */
  close(): Promise<void>;
}
