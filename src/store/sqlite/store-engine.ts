import type { DatabaseSync } from "node:sqlite";
import type { StoreFailure } from "../../canon/error.ts";
import { GENESIS } from "../../evidence/chain.ts";
import type { EvidenceFault, NotedHead } from "../../evidence/evidence-store.ts";
import type { KeyRecord } from "../../keys/key-store.ts";
import { COMMON_SQL, type RunCommon } from "../common-tables.ts";
import { readNumber } from "../rows.ts";
import type { Door } from "./shared/frames.ts";
import { KeyRefusal, describeFailure, isRefusal } from "./sqlite-failure.ts";
import { batchTable, evidenceTable, type BatchTable } from "./evidence-table.ts";
import { keyTable, limitTable, policyLogTable, rollUpTable } from "./tables.ts";
import { storeConnection } from "./connection.ts";
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

/** Methods that the main thread calls by part and name, one after the other. */
export interface StoreParts {
  readonly keys: ReturnType<typeof keyTable>;
  readonly batches: BatchTable;
  readonly evidence: ReturnType<typeof evidenceTable>;
  readonly summary: ReturnType<typeof rollUpTable>;
  readonly policyLog: ReturnType<typeof policyLogTable>;
  readonly limits: ReturnType<typeof limitTable>;
  readonly store: {
    readonly watchKeys: () => void;
    readonly notedHead: () => NotedHead | null;
    readonly close: () => void;
  };
}

export type StoreEngine = ReturnType<typeof storeEngine>;

/**
 * The worker's half of the store: one database connection, one request after the other.
 *
 * @param watch `null` for a database that no other process can remove
 */
export function storeEngine(
  database: DatabaseSync,
  post: (message: FromWorker) => void,
  watch: StoreWatch | null = null,
) {
  /** Of the request that is answered, milliseconds since the epoch. */
  let requestedAt = 0;
  let watching = false;
  let publishedVersion = 0;
  let reapedAt = 0;
  let checkpointedAt = 0;
  let fault: EvidenceFault | null = null;
  /** The newest row of the log that is known to be durable. */
  let newest = GENESIS;
  const connection = storeConnection(database);
  const common = connection.prepare(COMMON_SQL);
  const versionStatement = database.prepare("PRAGMA data_version");
  const readDataVersion = () => readNumber(versionStatement.get(), "data_version");
  let seenDataVersion = readDataVersion();
  const keys = keyTable(connection, publishOwn);
  const batches = batchTable(connection);
  const rollUps = rollUpTable(connection, batches);
  const evidence = evidenceTable({
    connection,
    batches,
    now: () => requestedAt,
    appended: (records, head) => {
      rollUps.appended(records, head.position);
      newest = head;
      // Before the reply, so that every confirmed row is covered by the note.
      watch?.noteHead(head);
    },
    countTo: rollUps.write,
  });
  const parts: StoreParts = {
    keys,
    batches,
    evidence,
    summary: rollUps,
    policyLog: policyLogTable(connection),
    limits: limitTable(connection),
    store: {
      watchKeys: () => {
        watching = true;
        publishedVersion = 0;
        publishOwn();
      },
      notedHead: () => watch?.notedHead() ?? null,
      close: () => {
        try {
          if (evidence.writes) rollUps.write();
          evidence.endLease();
        } finally {
          watch?.close();
          database.close();
        }
      },
    },
  };

  function perform(request: StoreRequest): StoreReply {
    if (isCommon(request)) {
      const rows = common[request.operation].all(...request.parameters);
      return { kind: "done", value: rows };
    }
    const { operation, parameters } = request;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an operation is of this form
    const [part, name] = operation.split(".") as [keyof StoreParts, string];
    const owner: object = parts[part];
    const method: unknown = Reflect.get(owner, name);
    if (typeof method !== "function") throw new TypeError("the store has no such operation");
    return { kind: "done", value: Reflect.apply(method, owner, parameters) };
  }

  /** Posts a change, so that the server knows of it without a request. */
  function check(): EvidenceFault | null {
    const found = watch?.check() ?? null;
    if (found?.cause !== fault?.cause || found?.file !== fault?.file)
      post({ type: "fault", fault: found });
    fault = found;
    return found;
  }

  /** Only by a process that writes evidence itself: a command that only reads leaves no trace. */
  function reapWhenDue(now: number) {
    if (!evidence.writes || now - reapedAt < REAPING) return;
    // More than one batch is left: continue at the next poll.
    if (evidence.reap(REAPED_AT_ONCE) < REAPED_AT_ONCE) reapedAt = now;
  }

  /** Likewise. */
  function checkpointWhenDue(now: number) {
    if (!evidence.writes || Math.abs(now - checkpointedAt) < CHECKPOINT) return;
    // Where another process holds the database, it is tried again a second later.
    checkpointedAt = now;
    rollUps.write();
  }

  /** Watchers get a change before its caller: messages between threads keep their order. */
  function publishOwn() {
    const before = seenDataVersion;
    // If publishing fails, the next poll does it: this process must not miss a revocation on disk.
    seenDataVersion = -1;
    publishKeys();
    seenDataVersion = before;
  }

  function publishKeys() {
    if (!watching) return;
    const { records, version } = keys.changedSince(publishedVersion);
    const first = publishedVersion === 0;
    publishedVersion = version;
    if (first || records.length > 0) post({ type: "keys_changed", records });
  }

  return {
    /** Never throws: a failure is a reply, so that one bad request cannot end the thread. */
    answer(request: StoreRequest, now: number): StoreReply {
      try {
        requestedAt = now;
        if (request.operation === "store.close") return perform(request);
        // Before: a checkpoint would fill a truncated file with zeros. After: the write may be
        // lost.
        const before = check();
        if (before !== null) return failed(before, "no");
        const began = performance.now();
        const reply = perform(request);
        if (performance.now() - began < QUICK) return reply;
        const after = check();
        return after === null ? reply : failed(after, "unknown");
      } catch (error) {
        if (error instanceof KeyRefusal)
          return { kind: "key_refused", reason: error.reason, id: error.id };
        return {
          kind: "failed",
          description: describeFailure(error),
          permanent: isRefusal(error),
          applied: "no",
        };
      }
    },
    /** Reads others' key changes, renews the lease, and ends requests of dead processes. */
    poll(now: number): void {
      requestedAt = now;
      newest = watch?.compareHead(newest, now) ?? newest;
      if (check() !== null) return;
      try {
        // Changes with commits of other connections only; our own are published at once.
        const dataVersion = readDataVersion();
        if (dataVersion !== seenDataVersion) {
          publishKeys();
          seenDataVersion = dataVersion;
        }
        evidence.renewLeaseWhenDue();
        reapWhenDue(now);
        checkpointWhenDue(now);
      } catch {
        // Locked or unreadable just now: the next poll sees the same changes.
      }
    },
    /** Work that follows a reply. */
    settle: () => rollUps.count(),
  };
}

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

function failed(fault: EvidenceFault, applied: "no" | "unknown"): StoreReply {
  return { kind: "failed", description: describeFault(fault), permanent: false, applied };
}
