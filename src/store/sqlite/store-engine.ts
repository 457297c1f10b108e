import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { StoreFailure } from "../../canon/error.ts";
import { GENESIS } from "../../evidence/chain.ts";
import type { EvidenceFault } from "../../evidence/evidence-store.ts";
import type { KeyRecord } from "../../keys/key-store.ts";
import { COMMON_SQL, type RunCommon } from "../common-tables.ts";
import { readNumber } from "../rows.ts";
import type { Door } from "./shared/frames.ts";
import { KeyRefusal, describeFailure, isRefusal } from "./sqlite-failure.ts";
import { batchTable, evidenceTable, type EvidenceTable } from "./evidence-table.ts";
import {
  keyTable,
  type KeyTable,
  limitTable,
  policyLogTable,
  rollUpTable,
  type RollUpTable,
} from "./tables.ts";
import { storeConnection, type Statements } from "./connection.ts";
import { type StoreWatch, describeFault } from "./store-watch.ts";

/** Given to the worker thread when it starts. */
export interface WorkerStart {
  readonly path: string;
  /** Milliseconds. */
  readonly busyTimeout: number;
  /** Opens the file for reading; writes fail. */
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

/** How often dead processes are searched for, milliseconds. */
const REAPING = 5_000;

/** How often counts are written, milliseconds. After a crash, later rows are counted again. */
const CHECKPOINT = 1_000;

/** Files are checked also after a longer request, milliseconds. */
const QUICK = 2;

/** The worker's half of the store: one database connection, one request after the other. */
export class StoreEngine {
  readonly #database: DatabaseSync;
  readonly #post: (message: FromWorker) => void;
  /** `null` for a database that no other process can remove. */
  readonly #watch: StoreWatch | null;
  readonly #common: Statements<typeof COMMON_SQL>;
  readonly #keys: KeyTable;
  readonly #evidence: EvidenceTable;
  readonly #rollUps: RollUpTable;
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

  /** Methods that the main thread calls by part and name, one after the other. */
  readonly parts;

  constructor(
    database: DatabaseSync,
    post: (message: FromWorker) => void,
    watch: StoreWatch | null = null,
  ) {
    const connection = storeConnection(database);
    this.#database = database;
    this.#post = post;
    this.#watch = watch;
    this.#common = connection.prepare(COMMON_SQL);
    this.#keys = keyTable(connection, () => this.#publishOwn());
    const batches = batchTable(connection);
    this.#rollUps = rollUpTable(connection, batches);
    this.#evidence = evidenceTable({
      connection,
      batches,
      now: () => this.#now,
      appended: (records, head) => {
        this.#rollUps.appended(records, head.position);
        this.#head = head;
        // Before the reply: what was answered is then noted.
        watch?.noteHead(head);
      },
      countTo: (position) => this.#rollUps.write(position),
    });
    this.parts = {
      keys: this.#keys,
      batches,
      evidence: this.#evidence,
      summary: this.#rollUps,
      policyLog: policyLogTable(connection),
      limits: limitTable(connection),
      store: {
        watchKeys: () => {
          this.#watching = true;
          this.#publishedVersion = 0;
          this.#publishOwn();
        },
        notedHead: () => watch?.notedHead() ?? null,
        close: () => this.#close(),
      },
    };
    this.#dataVersion = database.prepare("PRAGMA data_version");
    this.#seenDataVersion = this.#readDataVersion();
  }

  /** Never throws: a failure is a reply, so that one bad request cannot end the thread. */
  answer(request: StoreRequest, now: number): StoreReply {
    try {
      this.#now = now;
      if (request.operation === "store.close") return this.#perform(request);
      // Before: a checkpoint would fill a truncated file with zeros. After: the write may be lost.
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

  /** Reads others' key changes, renews the lease, and ends requests of dead processes. */
  poll(now: number): void {
    this.#now = now;
    this.#head = this.#watch?.compareHead(this.#head, now) ?? this.#head;
    if (this.#check() !== null) return;
    try {
      // Changes with commits of other connections only; our own are published at once.
      const dataVersion = this.#readDataVersion();
      if (dataVersion !== this.#seenDataVersion) {
        this.#publishKeys();
        this.#seenDataVersion = dataVersion;
      }
      this.#evidence.renewLeaseWhenDue();
      this.#reapWhenDue(now);
      this.#checkpointWhenDue(now);
    } catch {
      // Locked or unreadable just now: the next poll sees the same changes.
    }
  }

  #perform(request: StoreRequest): StoreReply {
    if (isCommon(request)) {
      const rows = this.#common[request.operation].all(...request.parameters);
      return { kind: "done", value: rows };
    }
    const { operation, parameters } = request;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an operation is of this form
    const [part, name] = operation.split(".") as [keyof StoreParts, string];
    const owner: object = this.parts[part];
    const method: unknown = Reflect.get(owner, name);
    if (typeof method !== "function") throw new TypeError("the store has no such operation");
    return { kind: "done", value: Reflect.apply(method, owner, parameters) };
  }

  #close() {
    try {
      if (this.#evidence.writes) this.#rollUps.write();
      this.#evidence.endLease();
    } finally {
      this.#watch?.close();
      this.#database.close();
    }
  }

  /** Work that follows a reply. */
  settle(): void {
    this.#rollUps.count();
  }

  /** Posts a change, so that the server knows of it without a request. */
  #check(): EvidenceFault | null {
    const fault = this.#watch?.check() ?? null;
    if (fault?.cause !== this.#fault?.cause || fault?.file !== this.#fault?.file)
      this.#post({ type: "fault", fault });
    this.#fault = fault;
    return fault;
  }

  /** Only by a process that writes evidence itself: a command that only reads leaves no trace. */
  #reapWhenDue(now: number) {
    if (!this.#evidence.writes || now - this.#reapedAt < REAPING) return;
    // More than one batch is left: continue at the next poll.
    if (this.#evidence.reap(REAPED_AT_ONCE) < REAPED_AT_ONCE) this.#reapedAt = now;
  }

  /** Likewise. */
  #checkpointWhenDue(now: number) {
    if (!this.#evidence.writes || Math.abs(now - this.#checkpointedAt) < CHECKPOINT) return;
    // Where another process holds the database, it is tried again a second later.
    this.#checkpointedAt = now;
    this.#rollUps.write();
  }

  /** Watchers get a change before its caller: messages between threads keep their order. */
  #publishOwn() {
    const seen = this.#seenDataVersion;
    // If publishing fails, the next poll does it: this process must not miss a revocation on disk.
    this.#seenDataVersion = -1;
    this.#publishKeys();
    this.#seenDataVersion = seen;
  }

  #publishKeys() {
    if (!this.#watching) return;
    const { records, version } = this.#keys.changedSince(this.#publishedVersion);
    const first = this.#publishedVersion === 0;
    this.#publishedVersion = version;
    if (first || records.length > 0) this.#post({ type: "keys_changed", records });
  }

  #readDataVersion() {
    return readNumber(this.#dataVersion.get(), "data_version");
  }
}

export type StoreParts = StoreEngine["parts"];

interface CommonRequest {
  readonly operation: keyof typeof COMMON_SQL;
  readonly parameters: NonNullable<Parameters<RunCommon>[1]>;
}

function isCommon(request: StoreRequest): request is CommonRequest {
  return Object.hasOwn(COMMON_SQL, request.operation);
}

/** A call of the main thread to the worker, such as `keys.create`. */
export type StoreRequest =
  | CommonRequest
  | {
      readonly [Part in keyof StoreParts]: {
        readonly [Name in keyof StoreParts[Part]]: StoreParts[Part][Name] extends (
          ...parameters: infer Parameters
        ) => unknown
          ? {
              readonly operation: `${Part}.${Name & string}`;
              readonly parameters: Readonly<Parameters>;
            }
          : never;
      }[keyof StoreParts[Part]];
    }[keyof StoreParts];

export interface ToWorker {
  readonly id: number;
  readonly request: StoreRequest;
}

function failed(fault: EvidenceFault, done: "no" | "unknown"): StoreReply {
  return { kind: "failed", description: describeFault(fault), refused: false, done };
}
