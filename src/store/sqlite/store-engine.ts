import type { KeyPage } from "../../canon/credentials/service-key.ts";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { StoreFailure } from "../../canon/error.ts";
import type { StoredContent } from "../../canon/policy.ts";
import { type ChainLink, GENESIS } from "../../evidence/chain.ts";
import type { EvidenceFault } from "../../evidence/evidence-store.ts";
import type {
  IssuerRecord,
  KeyGrants,
  KeyRecord,
  KeyUse,
  SessionRecord,
} from "../../keys/key-store.ts";
import type { PolicyLogRow } from "../../lifecycle/records.ts";
import type { LimitLease } from "../../limits/limit-store.ts";
import type { DecisionFields, OutcomeFields } from "../batch/batch-lines.ts";
import { readNumber } from "../rows.ts";
import type { Door } from "./shared/door.ts";
import { KeyRefusal, describeFailure, isRefusal } from "./sqlite-failure.ts";
import { BatchTable, EvidenceTable } from "./tables/evidence-table.ts";
import { IssuerTable, KeyTable, SessionTable } from "./tables/key-table.ts";
import { LimitTable } from "./tables/limit-table.ts";
import { PolicyLogTable } from "./tables/policy-log-table.ts";
import { type RollUpPage, RollUpTable, packRows } from "./tables/roll-up-table.ts";
import { Transaction } from "./tables/transaction.ts";
import { type StoreWatch, describeFault } from "./store-watch.ts";

/** Given to the worker thread when it starts. */
export interface WorkerStart {
  readonly path: string;
  /** Milliseconds. */
  readonly busyTimeout: number;
  /** Nothing of the file changes; whatever would write fails. */
  readonly readOnly?: boolean;
  /** Opening fails where the log ends before the head that a server noted beside the file. */
  readonly refuseCutEnd?: boolean;
  /** Where other processes reach the thread; absent: nowhere. */
  readonly door?: Door;
}

export type StoreReply =
  /** `value` is the result of the operation. */
  | { readonly kind: "done"; readonly value: unknown }
  | { readonly kind: "key_refused"; readonly reason: KeyRefusal["reason"]; readonly id: string }
  | ({ readonly kind: "failed"; readonly description: string } & Required<StoreFailure>);

export type FromWorker =
  | { readonly type: "opened" }
  | { readonly type: "not_opened"; readonly description: string }
  | { readonly type: "reply"; readonly id: number; readonly reply: StoreReply }
  /** The database under the open connection has changed, or is as it was again: `null`. */
  | { readonly type: "fault"; readonly fault: EvidenceFault | null }
  | { readonly type: "keys_changed"; readonly records: readonly KeyRecord[] }
  /** The thread has closed the connection of another process. */
  | { readonly type: "refused"; readonly description: string };

/** How many decisions of dead processes are ended at a time: a few milliseconds of the worker. */
const REAPED_AT_ONCE = 500;

/** How often they are looked for, milliseconds. */
const REAPING = 5_000;

/**
 * How often counts are written, milliseconds: so much of the log is counted again after a crash.
 */
const CHECKPOINT = 1_000;

type Watch = Pick<StoreWatch, "check" | "compareHead" | "noteHead" | "notedHead" | "close">;

/** For a database that no other process can remove. */
const ALWAYS_THERE: Watch = {
  check: () => null,
  compareHead: (known) => known,
  noteHead: () => {},
  notedHead: () => null,
  close: () => {},
};

/**
 * A request that takes longer ends with a look at the files too, milliseconds. So no reply comes 10
 * ms after the newest look.
 */
const QUICK = 2;

/** The worker's half of the store: one database connection, one request after the other. */
export class StoreEngine {
  readonly #database: DatabaseSync;
  readonly #post: (message: FromWorker) => void;
  readonly #watch: Watch;
  readonly #keys: KeyTable;
  readonly #batches: BatchTable;
  readonly #evidence: EvidenceTable;
  readonly #policyLog: PolicyLogTable;
  readonly #rollUps: RollUpTable;
  readonly #issuers: IssuerTable;
  readonly #limits: LimitTable;
  readonly #sessions: SessionTable;
  readonly #dataVersion: StatementSync;
  #seenDataVersion: number;
  /** Of the request that is answered, milliseconds since the epoch. */
  #now = 0;
  #watching = false;
  #publishedVersion = 0;
  #reapedAt = 0;
  #checkpointedAt = 0;
  #fault: EvidenceFault | null = null;
  /** The newest row of the log that is known to be durable. */
  #head = GENESIS;

  /** The calls of the main thread, by name. Each runs in the worker, one after the other. */
  readonly operations = {
    "keys.create": (record: KeyRecord) => this.#published(() => this.#keys.create(record)),
    "keys.get": (id: string) => this.#keys.get(id),
    "keys.list": (workspace: string | null) => this.#keys.list(workspace),
    "keys.page": (query: KeyPage) => this.#keys.page(query),
    "keys.count_active": (workspace: string, now: number, most: number) =>
      this.#keys.countActive(workspace, now, most),
    "keys.revoke": (id: string, at: number) => this.#published(() => this.#keys.revoke(id, at)),
    "keys.change": (id: string, grants: KeyGrants) =>
      this.#published(() => this.#keys.change(id, grants)),
    "keys.rotate": (id: string, replacement: KeyRecord, expiresAt: number) =>
      this.#published(() => this.#keys.rotate(id, replacement, expiresAt)),
    "keys.touch": (uses: readonly KeyUse[]) => this.#keys.touch(uses),
    "keys.watch": () => {
      this.#watching = true;
      this.#publishedVersion = 0;
      this.#published(() => {});
    },
    "evidence.append": (decisions: Readonly<DecisionFields>, outcomes: Readonly<OutcomeFields>) => {
      const appended = this.#evidence.append(decisions, outcomes, this.#now);
      this.#head = appended.head;
      // Before the reply: what was answered is then noted.
      this.#watch.noteHead(this.#head);
      return appended;
    },
    "evidence.after": (position: number) => this.#batches.after(position),
    "evidence.before": (before: number, after: number, workspace: string | null) =>
      this.#batches.before(before, after, workspace),
    "evidence.find": (requestId: string) => this.#evidence.find(requestId),
    "evidence.abandoned": () => this.#evidence.abandoned(this.#now),
    "evidence.position": (requestId: string) => this.#batches.positionOf(requestId),
    "evidence.head": () => this.#batches.head(),
    "evidence.noted_head": () => this.#watch.notedHead(),
    "evidence.open": () => this.#evidence.open(),
    "evidence.processes": () => this.#evidence.processes(this.#now),
    "evidence.anchors": () => this.#evidence.anchors(),
    "evidence.anchor": (now: number) => this.#evidence.anchor(now),
    "evidence.reap": (limit: number) => this.#evidence.reap(this.#now, limit),
    "evidence.delete": (through: number, limit: number, now: number) => {
      this.#rollUps.write(through);
      return this.#evidence.deleteThrough(through, limit, now);
    },
    "summary.read": (page: RollUpPage) => {
      if (page.after.labels === "") this.#rollUps.write();
      return packRows(this.#rollUps.read(page));
    },
    "summary.workspaces": () => {
      this.#rollUps.write();
      return this.#rollUps.workspaces();
    },
    "policy_log.head": () => this.#policyLog.head(),
    "policy_log.read": (after: number, limit: number) => this.#policyLog.read(after, limit),
    "policy_log.append": (expected: ChainLink, rows: readonly PolicyLogRow[]) =>
      this.#policyLog.append(expected, rows),
    "policy_log.keep": (content: StoredContent) => this.#policyLog.keep(content),
    "policy_log.content": (digest: string) => this.#policyLog.content(digest),
    "issuers.publish": (record: IssuerRecord) => this.#issuers.publish(record),
    "issuers.list": (now: number) => this.#issuers.list(now),
    "issuers.prune": (before: number) => this.#issuers.prune(before),
    "limits.lease": (lease: LimitLease) => this.#limits.lease(lease),
    "limits.read": (now: number) => this.#limits.read(now),
    "limits.prune": (now: number, limit: number) => this.#limits.prune(now, limit),
    "sessions.create": (record: SessionRecord) => this.#sessions.create(record),
    "sessions.find": (digest: string) => this.#sessions.find(digest),
    "sessions.touch": (digest: string, at: number) => this.#sessions.touch(digest, at),
    "sessions.end": (digest: string) => this.#sessions.end(digest),
    "sessions.prune": (now: number, idleSince: number) => this.#sessions.prune(now, idleSince),
    close: () => {
      try {
        if (this.#evidence.writes) this.#rollUps.write();
        this.#evidence.endLease(this.#now);
      } finally {
        this.#watch.close();
        this.#database.close();
      }
    },
  };

  constructor(
    database: DatabaseSync,
    post: (message: FromWorker) => void,
    watch: Watch = ALWAYS_THERE,
  ) {
    const transaction = new Transaction(database);
    this.#database = database;
    this.#post = post;
    this.#watch = watch;
    this.#keys = new KeyTable(database, transaction);
    this.#batches = new BatchTable(database);
    const log = { database, transaction, batches: this.#batches };
    this.#rollUps = new RollUpTable(log);
    this.#evidence = new EvidenceTable({
      ...log,
      appended: (first, records) => this.#rollUps.appended(first, records),
    });
    this.#issuers = new IssuerTable(database);
    this.#policyLog = new PolicyLogTable(database, transaction);
    this.#limits = new LimitTable(database, transaction);
    this.#sessions = new SessionTable(database);
    this.#dataVersion = database.prepare("PRAGMA data_version");
    this.#seenDataVersion = this.#readDataVersion();
  }

  /** Never throws: a failure is a reply, so that one bad request cannot end the thread. */
  answer(request: StoreRequest, now: number): StoreReply {
    try {
      this.#now = now;
      if (request.operation === "close") return this.#perform(request);
      // Before: a checkpoint would fill a truncated file with zeros. After: what was written may
      // not be kept.
      const before = this.#check();
      if (before !== null) return failed(before, "no");
      const began = performance.now();
      const reply = this.#perform(request);
      if (performance.now() - began < QUICK) return reply;
      const after = this.#check();
      return after === null ? reply : failed(after, "unknown");
    } catch (error) {
      if (error instanceof KeyRefusal)
        return { kind: "key_refused", reason: error.reason, id: error.id };
      return {
        kind: "failed",
        description: describeFailure(error),
        refused: isRefusal(error),
        done: "no",
      };
    }
  }

  /**
   * Looks for key changes of other processes, says that this process still runs, and ends what dead
   * ones left.
   */
  poll(now: number): void {
    this.#head = this.#watch.compareHead(this.#head, now);
    if (this.#check() !== null) return;
    try {
      // The number changes with commits of other connections only; this one's own changes are
      // published at once.
      const dataVersion = this.#readDataVersion();
      if (dataVersion !== this.#seenDataVersion) {
        this.#publishKeys();
        this.#seenDataVersion = dataVersion;
      }
      this.#evidence.renewLeaseWhenDue(now);
      this.#reapWhenDue(now);
      this.#checkpointWhenDue(now);
    } catch {
      // Locked or unreadable just now. What was to be seen is still there at the next poll;
      // requests report failures.
    }
  }

  #perform({ operation, parameters }: StoreRequest): StoreReply {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the type of a request pairs them
    const perform = this.operations[operation] as (...values: readonly unknown[]) => unknown;
    return { kind: "done", value: perform(...parameters) };
  }

  /** Call it after a reply: what the request left to do. */
  settle(): void {
    this.#rollUps.count();
  }

  /** Posts a change, so that the server knows of it without a request. */
  #check(): EvidenceFault | null {
    const fault = this.#watch.check();
    if (fault?.cause !== this.#fault?.cause || fault?.file !== this.#fault?.file)
      this.#post({ type: "fault", fault });
    this.#fault = fault;
    return fault;
  }

  /** Only by a process that writes evidence itself: a command that only reads leaves no trace. */
  #reapWhenDue(now: number): void {
    if (!this.#evidence.writes || now - this.#reapedAt < REAPING) return;
    // More than one batch is left to do: go on at the next poll.
    if (this.#evidence.reap(now, REAPED_AT_ONCE) < REAPED_AT_ONCE) this.#reapedAt = now;
  }

  /** Likewise. */
  #checkpointWhenDue(now: number): void {
    if (!this.#evidence.writes || Math.abs(now - this.#checkpointedAt) < CHECKPOINT) return;
    // Where another process holds the database, it is tried again a second later.
    this.#checkpointedAt = now;
    this.#rollUps.write();
  }

  /**
   * Watchers get a change before the caller that made it: messages between two threads keep their
   * order.
   */
  #published<Result>(change: () => Result): Result {
    const result = change();
    const seen = this.#seenDataVersion;
    // Should publishing fail, the next poll does it: a revocation on disk must not stay unknown to
    // this process.
    this.#seenDataVersion = -1;
    this.#publishKeys();
    this.#seenDataVersion = seen;
    return result;
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

export type StoreOperations = StoreEngine["operations"];

/** A call of the main thread to the worker. */
export type StoreRequest = {
  readonly [Name in keyof StoreOperations]: {
    readonly operation: Name;
    readonly parameters: Readonly<Parameters<StoreOperations[Name]>>;
  };
}[keyof StoreOperations];

export interface ToWorker {
  readonly id: number;
  readonly request: StoreRequest;
}

function failed(fault: EvidenceFault, done: "no" | "unknown"): StoreReply {
  return { kind: "failed", description: describeFault(fault), refused: false, done };
}
