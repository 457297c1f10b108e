import type { Store } from "../port.ts";
import { evidenceOver, type ReadableLog } from "../evidence-reading.ts";
import { policyLogOver } from "../policy-log.ts";
import {
  issuersOver,
  keyReads,
  keyWatchers,
  limitReads,
  sessionsOver,
  summaryOver,
} from "../common-tables.ts";
import { IN_MEMORY } from "./database.ts";
import { DEFAULT_EVIDENCE_LIMITS, evidenceQueue, type EvidenceLimits } from "../evidence-queue.ts";
import type { WorkerStart } from "./store-engine.ts";
import { openWorkerLink, type StoreThread } from "./worker-link.ts";

interface SqliteStoreOptions {
  /** Made where missing, with its folder; `:memory:` for one that ends with the store. */
  readonly path: string;
  /** How long a write waits, milliseconds. Default 500: key changes are noticed in a second. */
  readonly busyTimeout?: number;
  readonly evidence?: Partial<EvidenceLimits>;
  /** Only reads, and changes nothing of the file; whatever would write fails. Default false. */
  readonly readOnly?: boolean;
  /** Fails to open where rows are missing before the noted head. For servers. Default false. */
  readonly refuseCutEnd?: boolean;
  /** The thread to use, where it is shared with other processes; a new one where absent. */
  readonly startThread?: (start: WorkerStart) => StoreThread;
}

/** @throws {StoreUnavailableError} when it cannot be opened; the message names the fix */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const watchers = keyWatchers();
  const link = await openWorkerLink({
    start: {
      path: options.path,
      busyTimeout: options.busyTimeout ?? 500,
      readOnly: options.readOnly ?? false,
      refuseCutEnd: options.refuseCutEnd ?? false,
    },
    restart: options.path !== IN_MEMORY,
    startWorker: options.startThread,
    onKeysChanged: (records) => watchers.publish(records),
    onRestarted: () => {
      // Failing means that the thread ended again; its next start tries again.
      if (watchers.size > 0) watchKeys().catch(() => undefined);
    },
  });
  const { watchKeys, notedHead } = link.remote("store", "watchKeys", "notedHead");
  const evidence = link.remote(
    "evidence",
    "append",
    "find",
    "abandoned",
    "openRequests",
    "processes",
    "anchors",
    "anchor",
    "reap",
    "deleteThrough",
  );
  const batches: ReadableLog = {
    ...link.remote("batches", "head", "after", "before", "positionOf"),
    ...evidence,
  };
  const queue = evidenceQueue(
    evidence.append,
    { ...DEFAULT_EVIDENCE_LIMITS, ...options.evidence },
    await batches.head().catch(() => null),
  );
  const run = link.runCommon;
  return {
    keys: {
      ...keyReads(run),
      ...link.remote("keys", "create", "revoke", "change", "rotate", "touch"),
      watch: (listener) => watchers.add(listener, watchKeys),
    },
    evidence: evidenceOver(queue, {
      batches,
      health: () =>
        link.fault === null
          ? queue.health()
          : { ...queue.health(), state: "unavailable", fault: link.fault },
      notedHead,
      // Written records are rows at once.
      missing: () => Promise.resolve([]),
      processes: evidence.processes,
      anchors: evidence.anchors,
      anchor: evidence.anchor,
      async endAbandoned() {
        while ((await evidence.reap(REAPED)) === REAPED);
      },
      deleteSome: (through, now) => evidence.deleteThrough(through, DELETED_AT_ONCE, now),
    }),
    policyLog: policyLogOver(run, link.remote("policyLog", "append", "keep")),
    summary: summaryOver(run, link.remote("summary", "write").write),
    issuers: issuersOver(run),
    limits: { ...limitReads(run), ...link.remote("limits", "lease", "prune") },
    sessions: sessionsOver(run),
    async close() {
      queue.close();
      try {
        await queue.flush();
      } finally {
        await link.close();
      }
    },
  };
}

/** Requests of dead processes that are ended at a time. */
const REAPED = 1_000;

/** Rows deleted in one transaction; between two of them appends have their turn. */
const DELETED_AT_ONCE = 500;
