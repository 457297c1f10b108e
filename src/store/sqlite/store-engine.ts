import type { DatabaseSync, StatementSync } from "node:sqlite";
import { BatchTable, EvidenceTable } from "./tables/evidence-table.ts";
import { IssuerTable } from "./tables/issuer-table.ts";
import { changeReply, KeyTable, rotateReply } from "./tables/key-table.ts";
import { LimitTable } from "./tables/limit-table.ts";
import { PolicyLogTable } from "./tables/policy-log-table.ts";
import { SessionTable } from "./tables/session-table.ts";
import { packRows } from "./roll-up-pages.ts";
import { RollUpTable } from "./tables/roll-up-table.ts";
import type { FromWorker, EvidenceAppend, StoreReply, StoreRequest } from "./protocol.ts";
import { readNumber } from "../rows/row.ts";
import { describeFailure, isRefusal } from "./sqlite-failure.ts";
import { Transaction } from "./tables/transaction.ts";
import { describeFault, type StoreWatch } from "./watch/store-watch.ts";
import { GENESIS } from "../../evidence/chain.ts";
import type { EvidenceFault } from "../../evidence/evidence-store.ts";

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

const DONE: StoreReply = { kind: "done" };

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
  #watching = false;
  #publishedVersion = 0;
  #reapedAt = 0;
  #checkpointedAt = 0;
  #fault: EvidenceFault | null = null;
  /** The newest row of the log that is known to be durable. */
  #head = GENESIS;

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
      if (request.operation === "close") return this.#perform(request, now);
      // Before: a checkpoint would fill a truncated file with zeros. After: what was written may
      // not be kept.
      const before = this.#check();
      if (before !== null) return failed(before, "no");
      const began = performance.now();
      const reply = this.#perform(request, now);
      if (performance.now() - began < QUICK) return reply;
      const after = this.#check();
      return after === null ? reply : failed(after, "unknown");
    } catch (error) {
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

  #perform(request: StoreRequest, now: number): StoreReply {
    switch (request.operation) {
      case "keys.create": {
        const { record } = request;
        return this.#published(
          this.#keys.create(record) ? DONE : { kind: "duplicate_key", id: record.id },
        );
      }
      case "keys.get":
        return { kind: "key", record: this.#keys.get(request.id) };
      case "keys.list":
        return { kind: "keys", records: this.#keys.list(request.workspace) };
      case "keys.page":
        return { kind: "keys", records: this.#keys.page(request.query) };
      case "keys.count_active":
        return {
          kind: "count",
          count: this.#keys.countActive(request.workspace, request.now, request.most),
        };
      case "keys.revoke":
        return this.#published({ kind: "key", record: this.#keys.revoke(request.id, request.at) });
      case "keys.change":
        return this.#published(changeReply(this.#keys, request));
      case "keys.rotate":
        return this.#published(rotateReply(this.#keys, request));
      case "keys.touch":
        this.#keys.touch(request.uses);
        return DONE;
      case "keys.watch":
        this.#watching = true;
        this.#publishedVersion = 0;
        return this.#published(DONE);
      case "evidence.append":
        return this.#append(request, now);
      case "evidence.batches":
        return { kind: "batches", ...this.#evidence.page(request.query, now) };
      case "evidence.find":
        return { kind: "batches", ...this.#evidence.find(request.requestId, now) };
      case "evidence.position":
        return { kind: "count", count: this.#batches.positionOf(request.requestId) };
      case "evidence.head":
        return { kind: "head", head: this.#batches.head() };
      case "evidence.noted_head":
        return { kind: "noted_head", noted: this.#watch.notedHead() };
      case "evidence.open":
        return { kind: "open", requestIds: this.#evidence.open() };
      case "evidence.processes":
        return { kind: "processes", processes: this.#evidence.processes(now) };
      case "evidence.anchors":
        return { kind: "anchors", anchors: this.#evidence.anchors() };
      case "evidence.anchor":
        return { kind: "anchor", anchor: this.#evidence.anchor(request.now) };
      case "evidence.reap":
        return { kind: "count", count: this.#evidence.reap(now, request.limit) };
      case "evidence.delete":
        this.#rollUps.write(request.through);
        return {
          kind: "count",
          count: this.#evidence.deleteThrough(request.through, request.limit, request.now),
        };
      case "summary.read":
        if (request.page.after.labels === "") this.#rollUps.write();
        return { kind: "roll_ups", rows: packRows(this.#rollUps.read(request.page)) };
      case "summary.workspaces":
        this.#rollUps.write();
        return { kind: "workspaces", workspaces: this.#rollUps.workspaces() };
      case "policy_log.head":
        return { kind: "head", head: this.#policyLog.head() };
      case "policy_log.read":
        return { kind: "policy_rows", rows: this.#policyLog.read(request.after, request.limit) };
      case "policy_log.append":
        return {
          kind: "policy_appended",
          appended: this.#policyLog.append(request.expected, request.rows),
        };
      case "policy_log.keep":
        this.#policyLog.keep(request.content);
        return DONE;
      case "policy_log.content":
        return { kind: "policy_content", content: this.#policyLog.content(request.digest) };
      case "issuers.publish":
      case "issuers.list":
      case "issuers.prune":
        return this.#issuers.answer(request);
      case "limits.lease":
        return { kind: "limits_leased", leased: this.#limits.lease(request.lease) };
      case "limits.read":
        return { kind: "limits", usage: this.#limits.read(request.now) };
      case "limits.prune":
        return { kind: "pruned", count: this.#limits.prune(request.now, request.limit) };
      case "close":
        try {
          if (this.#evidence.writes) this.#rollUps.write();
          this.#evidence.endLease(now);
        } finally {
          this.#watch.close();
          this.#database.close();
        }
        return DONE;
      case "sessions.create":
      case "sessions.find":
      case "sessions.touch":
      case "sessions.end":
      case "sessions.prune":
        return this.#sessions.answer(request);
    }
  }

  /** Call it after a reply: what the request left to do. */
  settle(): void {
    this.#rollUps.count();
  }

  #append({ decisions, outcomes }: EvidenceAppend, now: number): StoreReply {
    const appended = this.#evidence.append(decisions, outcomes, now);
    this.#head = appended.head;
    // Before the reply: what was answered is then noted.
    this.#watch.noteHead(this.#head);
    return { kind: "appended", ...appended };
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
  #published(reply: StoreReply): StoreReply {
    const seen = this.#seenDataVersion;
    // Should publishing fail, the next poll does it: a revocation on disk must not stay unknown to
    // this process.
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

function failed(fault: EvidenceFault, done: "no" | "unknown"): StoreReply {
  return { kind: "failed", description: describeFault(fault), refused: false, done };
}
