import type { EvidenceStore } from "../../evidence/evidence-store.ts";
import type { KeyStore, IssuerStore } from "../../keys/key-store.ts";
import type { PolicyLogStore } from "../../lifecycle/records.ts";
import type { SummaryStore } from "../../governance/increments.ts";
import type { Store } from "../port.ts";
import { evidenceOver, type ReadableLog } from "../evidence-reading.ts";
import { policyLogOver } from "../policy-log.ts";
import { rollUpPages } from "../rows.ts";
import { KeyWatchers, watchIssuers } from "../watchers.ts";
import { IN_MEMORY } from "./database.ts";
import { DEFAULT_EVIDENCE_LIMITS, EvidenceQueue, type EvidenceLimits } from "../evidence-queue.ts";
import { unpackRows } from "./tables/roll-up-table.ts";
import type { WorkerStart } from "./store-engine.ts";
import { WorkerLink, type StoreThread } from "./worker-link.ts";

interface SqliteStoreOptions {
  /**
   * The database file; made where missing, with its folder. `:memory:` for one that ends with the
   * store.
   */
  readonly path: string;
  /**
   * How long a write waits for another process, milliseconds. Default 500: a server must notice
   * other processes' key changes within a second. Commands can wait longer.
   */
  readonly busyTimeout?: number;
  readonly evidence?: Partial<EvidenceLimits>;
  /** Only reads, and changes nothing of the file; whatever would write fails. Default false. */
  readonly readOnly?: boolean;
  /**
   * Fails to open where the log ends before the newest row that a server noted beside the file:
   * records are missing at its end. For servers; commands must work then too. Default false.
   */
  readonly refuseCutEnd?: boolean;
  /** The thread to use, where it is shared with other processes; a new one where absent. */
  readonly startThread?: (start: WorkerStart) => StoreThread;
}

/** @throws {StoreUnavailableError} when the database cannot be opened; the message names the fix */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const watchers = new KeyWatchers();
  const link = await WorkerLink.open({
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
      if (watchers.size > 0) link.call("keys.watch").catch(() => undefined);
    },
  });
  const queue = new EvidenceQueue(
    (decisions, outcomes) => link.call("evidence.append", decisions, outcomes),
    { ...DEFAULT_EVIDENCE_LIMITS, ...options.evidence },
    await link.call("evidence.head").catch(() => null),
  );
  return {
    keys: keyStore(link, watchers),
    evidence: evidenceStore(link, queue),
    policyLog: policyLogStore(link),
    summary: summaryStore(link),
    issuers: issuerStore(link),
    limits: {
      lease: (lease) => link.call("limits.lease", lease),
      read: (now) => link.call("limits.read", now),
      prune: (now, limit) => link.call("limits.prune", now, limit),
    },
    sessions: {
      create: (record) => link.call("sessions.create", record),
      find: (digest) => link.call("sessions.find", digest),
      touch: (digest, at) => link.call("sessions.touch", digest, at),
      endSession: (digest) => link.call("sessions.end", digest),
      prune: (now, idleSince) => link.call("sessions.prune", now, idleSince),
    },
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

function keyStore(link: WorkerLink, watchers: KeyWatchers): KeyStore {
  return {
    create: (record) => link.call("keys.create", record),
    get: (id) => link.call("keys.get", id),
    list: (filter) => link.call("keys.list", filter?.workspace ?? null),
    page: (query) => link.call("keys.page", query),
    countActive: (workspace, now, most) => link.call("keys.count_active", workspace, now, most),
    revoke: (id, at) => link.call("keys.revoke", id, at),
    change: (id, grants) => link.call("keys.change", id, grants),
    rotate: (id, replacement, expiresAt) => link.call("keys.rotate", id, replacement, expiresAt),
    async touch(uses) {
      if (uses.length > 0) await link.call("keys.touch", uses);
    },
    watch: (listener) => watchers.add(listener, () => link.call("keys.watch")),
  };
}

/** Requests of dead processes that are ended at a time. */
const REAPED = 1_000;

/** Rows deleted in one transaction; between two of them appends have their turn. */
const DELETED_AT_ONCE = 500;

function evidenceStore(link: WorkerLink, queue: EvidenceQueue): EvidenceStore {
  const batches: ReadableLog = {
    head: () => link.call("evidence.head"),
    after: (position) => link.call("evidence.after", position),
    before: (before, after, workspace) => link.call("evidence.before", before, after, workspace),
    find: (requestId) => link.call("evidence.find", requestId),
    positionOf: (requestId) => link.call("evidence.position", requestId),
    openRequests: () => link.call("evidence.open"),
    abandoned: () => link.call("evidence.abandoned"),
  };
  return evidenceOver(queue, {
    batches,
    health: () =>
      link.fault === null
        ? queue.health()
        : { ...queue.health(), state: "unavailable", fault: link.fault },
    notedHead: () => link.call("evidence.noted_head"),
    // Written records are rows at once.
    missing: () => Promise.resolve([]),
    processes: () => link.call("evidence.processes"),
    anchors: () => link.call("evidence.anchors"),
    anchor: (now) => link.call("evidence.anchor", now),
    async endAbandoned() {
      while ((await link.call("evidence.reap", REAPED)) === REAPED);
    },
    async deleteThrough(through, now) {
      let rows = 0;
      for (let step = 1; step > 0; rows += step)
        step = await link.call("evidence.delete", through, DELETED_AT_ONCE, now);
      return rows;
    },
  });
}

function issuerStore(link: WorkerLink): IssuerStore {
  const list: IssuerStore["list"] = (now) => link.call("issuers.list", now);
  return {
    publish: (record) => link.call("issuers.publish", record),
    list,
    watch: (listener) => watchIssuers(list, listener),
    prune: (before) => link.call("issuers.prune", before),
  };
}

/** Rows read at a time: a page keeps the worker from writing for a few milliseconds at most. */
const PAGE = 1_000;

function policyLogStore(link: WorkerLink): PolicyLogStore {
  return policyLogOver({
    page: PAGE,
    head: () => link.call("policy_log.head"),
    rows: (after, limit) => link.call("policy_log.read", after, limit),
    append: (expected, rows) => link.call("policy_log.append", expected, rows),
    keep: (content) => link.call("policy_log.keep", content),
    content: (digest) => link.call("policy_log.content", digest),
  });
}

function summaryStore(link: WorkerLink): SummaryStore {
  return {
    read: (query) =>
      rollUpPages(query, PAGE, async (after) =>
        unpackRows(await link.call("summary.read", { ...query, after, limit: PAGE }), query),
      ),
    workspaces: () => link.call("summary.workspaces"),
  };
}
