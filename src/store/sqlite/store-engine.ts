import type { DatabaseSync, StatementSync } from "node:sqlite";

import { EvidenceTable } from "./tables/evidence-table.ts";
import { KeyTable, type RotateResult } from "./tables/key-table.ts";
import { LimitTable } from "./tables/limit-table.ts";
import { PolicyTable } from "./tables/policy-table.ts";
import { ProcessLease } from "./tables/process-lease.ts";
import type { FromWorker, StoreReply, StoreRequest } from "./protocol.ts";
import { readNumber } from "./tables/row.ts";
import { describeFailure } from "./sqlite-failure.ts";
import { Transaction } from "./tables/transaction.ts";

const DONE: StoreReply = { kind: "done" };

/** The worker's half of the store: one database connection, one request after the other. */
export class StoreEngine {
  readonly #database: DatabaseSync;
  readonly #post: (message: FromWorker) => void;
  readonly #keys: KeyTable;
  readonly #evidence: EvidenceTable;
  readonly #policies: PolicyTable;
  readonly #limits: LimitTable;
  readonly #lease: ProcessLease;
  readonly #dataVersion: StatementSync;
  #seenDataVersion: number;
  #watching = false;
  #publishedVersion = 0;

  constructor(database: DatabaseSync, post: (message: FromWorker) => void) {
    const transaction = new Transaction(database);
    this.#database = database;
    this.#post = post;
    this.#lease = new ProcessLease(database);
    this.#keys = new KeyTable(database, transaction);
    this.#evidence = new EvidenceTable(database, transaction, this.#lease);
    this.#policies = new PolicyTable(database, transaction);
    this.#limits = new LimitTable(database, transaction);
    this.#dataVersion = database.prepare("PRAGMA data_version");
    this.#seenDataVersion = this.#readDataVersion();
  }

  /** Never throws: a failure is a reply, so that one bad request cannot end the thread. */
  answer(request: StoreRequest, now: number): StoreReply {
    try {
      return this.#perform(request, now);
    } catch (error) {
      return { kind: "failed", description: describeFailure(error) };
    }
  }

  /** Looks for key changes of other processes and says that this process still runs. */
  poll(now: number): void {
    try {
      // The number changes with commits of other connections only; this one's own changes are published at once.
      const dataVersion = this.#readDataVersion();
      if (dataVersion !== this.#seenDataVersion) {
        this.#publishKeys();
        this.#seenDataVersion = dataVersion;
      }
      this.#lease.renewWhenDue(now);
    } catch {
      // Locked or unreadable just now. What was to be seen is still there at the next poll; requests report failures.
    }
  }

  #perform(request: StoreRequest, now: number): StoreReply {
    switch (request.operation) {
      case "keys.create":
        return this.#published(
          this.#keys.create(request.record) ? DONE : { kind: "duplicate_key", id: request.record.id },
        );
      case "keys.get":
        return { kind: "key", record: this.#keys.get(request.id) };
      case "keys.list":
        return { kind: "keys", records: this.#keys.list(request.workspace) };
      case "keys.revoke":
        return this.#published({ kind: "key", record: this.#keys.revoke(request.id, request.at) });
      case "keys.rotate": {
        const { id, replacement, expiresAt } = request;
        return this.#published(rotateReply(this.#keys.rotate(id, replacement, expiresAt), id, replacement.id));
      }
      case "keys.touch":
        this.#keys.touch(request.uses);
        return DONE;
      case "keys.watch":
        this.#watching = true;
        this.#publishedVersion = 0;
        return this.#published(DONE);
      case "evidence.append":
        if (request.decisions.length + request.outcomes.length === 0)
          return { kind: "appended", duplicates: [], lost: 0 };
        return {
          kind: "appended",
          ...this.#evidence.append(request.decisions, request.outcomes, now),
        };
      case "evidence.read":
        return { kind: "evidence", rows: this.#evidence.read(request.query, now) };
      case "policies.observe":
        return { kind: "policies", states: this.#policies.observe(request.contents, now) };
      case "limits.lease":
        return { kind: "limits_leased", leased: this.#limits.lease(request.lease) };
      case "limits.read":
        return { kind: "limits", standing: this.#limits.read(request.since, request.now) };
      case "limits.prune":
        return { kind: "pruned", rows: this.#limits.prune(request.before) };
      case "close":
        try {
          this.#lease.end(now);
        } finally {
          this.#database.close();
        }
        return DONE;
    }
  }

  /** Watchers hear of a change before whoever asked for it: messages between two threads keep their order. */
  #published(reply: StoreReply): StoreReply {
    const seen = this.#seenDataVersion;
    // Should publishing fail, the next poll does it: a revocation on disk must not stay unknown to this process.
    this.#seenDataVersion = -1;
    this.#publishKeys();
    this.#seenDataVersion = seen;
    return reply;
  }

  #publishKeys(): void {
    if (!this.#watching) return;
    const { records, version } = this.#keys.changedSince(this.#publishedVersion);
    const first = this.#publishedVersion === 0;
    this.#publishedVersion = version;
    if (first || records.length > 0) this.#post({ type: "keys_changed", records });
  }

  #readDataVersion(): number {
    return readNumber(this.#dataVersion.get() ?? {}, "data_version");
  }
}

function rotateReply(result: RotateResult, id: string, replacementId: string): StoreReply {
  if (result === "absent") return { kind: "key", record: null };
  if (result === "not_active") return { kind: "key_not_active", id };
  if (result === "duplicate") return { kind: "duplicate_key", id: replacementId };
  return { kind: "key", record: result };
}
