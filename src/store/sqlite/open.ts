import type { LimitStore } from "../../limits/limit-store.ts";
import type { EvidenceStore } from "../../evidence/evidence-store.ts";
import type { KeyRecord, KeyStore, SessionStore, IssuerStore } from "../../keys/key-store.ts";
import type { PolicyLogStore } from "../../lifecycle/records.ts";
import type { SummaryStore } from "../../governance/increments.ts";
import type { Store } from "../port.ts";
import { policyLogOver } from "../policy-log.ts";
import { rollUpPages } from "../rows/roll-up-rows.ts";
import { watchIssuers } from "../issuers.ts";
import { IN_MEMORY } from "./database.ts";
import { DEFAULT_EVIDENCE_LIMITS, EvidenceQueue, type EvidenceLimits } from "../evidence-queue.ts";
import { KeyWatchers } from "../key-watchers.ts";
import { searchEvidence } from "../batch/search.ts";
import { readEvidence, searchedLog } from "./evidence-reader.ts";
import { evidenceLog } from "./log-requests.ts";
import { unpackRows } from "./roll-up-pages.ts";
import type { WorkerStart } from "./protocol.ts";
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
      if (watchers.size > 0)
        link.request({ operation: "keys.watch" }, "done").catch(() => undefined);
    },
  });
  const queue = new EvidenceQueue(
    (decisions, outcomes) =>
      link.request({ operation: "evidence.append", decisions, outcomes }, "appended"),
    { ...DEFAULT_EVIDENCE_LIMITS, ...options.evidence },
    await evidenceLog(link)
      .head()
      .catch(() => null),
  );
  return {
    keys: keyStore(link, watchers),
    evidence: evidenceStore(link, queue),
    policyLog: policyLogStore(link),
    summary: summaryStore(link),
    issuers: issuerStore(link),
    limits: limitStore(link),
    sessions: sessionStore(link),
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
    async create(record) {
      await link.request({ operation: "keys.create", record }, "done");
    },
    async get(id) {
      return (await link.request({ operation: "keys.get", id }, "key")).record;
    },
    async list(filter) {
      return (
        await link.request({ operation: "keys.list", workspace: filter?.workspace ?? null }, "keys")
      ).records;
    },
    async page(query) {
      return (await link.request({ operation: "keys.page", query }, "keys")).records;
    },
    async countActive(workspace, now, most) {
      return (await link.request({ operation: "keys.count_active", workspace, now, most }, "count"))
        .count;
    },
    async revoke(id, at) {
      return (await link.request({ operation: "keys.revoke", id, at }, "key")).record;
    },
    async change(id, grants) {
      const { scopes, owner, workload, labels, limits } = grants;
      const request = {
        operation: "keys.change",
        id,
        grants: { scopes, owner, workload, labels, limits },
      } as const;
      return (await link.request(request, "key")).record;
    },
    async rotate(id, replacement: KeyRecord, expiresAt) {
      return (await link.request({ operation: "keys.rotate", id, replacement, expiresAt }, "key"))
        .record;
    },
    async touch(uses) {
      if (uses.length > 0) await link.request({ operation: "keys.touch", uses }, "done");
    },
    watch: (listener) =>
      watchers.add(listener, async () => {
        await link.request({ operation: "keys.watch" }, "done");
      }),
  };
}

function evidenceStore(link: WorkerLink, queue: EvidenceQueue): EvidenceStore {
  return {
    ...evidenceLog(link),
    decide: (record) => queue.decide(record),
    begin: (record, settled) => queue.begin(record, settled),
    settle: (record) => queue.settle(record),
    flush: () => queue.flush(),
    health: () =>
      link.fault === null
        ? queue.health()
        : { ...queue.health(), state: "unavailable", fault: link.fault },
    read: (query) => readEvidence(link, query),
    search: (query) => searchEvidence(searchedLog(link), query),
  };
}

function issuerStore(link: WorkerLink): IssuerStore {
  const list: IssuerStore["list"] = async (now) =>
    (await link.request({ operation: "issuers.list", now }, "issuers")).records;
  return {
    async publish(record) {
      await link.request({ operation: "issuers.publish", record }, "done");
    },
    list,
    watch: (listener) => watchIssuers(list, listener),
    async prune(before) {
      return (await link.request({ operation: "issuers.prune", before }, "pruned")).count;
    },
  };
}

function limitStore(link: WorkerLink): LimitStore {
  return {
    async lease(lease) {
      return (await link.request({ operation: "limits.lease", lease }, "limits_leased")).leased;
    },
    async read(now) {
      return (await link.request({ operation: "limits.read", now }, "limits")).usage;
    },
    async prune(now, limit) {
      return (await link.request({ operation: "limits.prune", now, limit }, "pruned")).count;
    },
  };
}

function sessionStore(link: WorkerLink): SessionStore {
  return {
    async create(record) {
      await link.request({ operation: "sessions.create", record }, "done");
    },
    async find(digest) {
      return (await link.request({ operation: "sessions.find", digest }, "session")).record;
    },
    async touch(digest, at) {
      await link.request({ operation: "sessions.touch", digest, at }, "done");
    },
    async end(digest) {
      await link.request({ operation: "sessions.end", digest }, "done");
    },
    async prune(now, idleSince) {
      return (await link.request({ operation: "sessions.prune", now, idleSince }, "pruned")).count;
    },
  };
}

/**
 * Rows read at a time: one page keeps the worker from writing evidence for a few milliseconds at
 * most.
 */
const PAGE = 1_000;

function policyLogStore(link: WorkerLink): PolicyLogStore {
  return policyLogOver({
    page: PAGE,
    head: async () => (await link.request({ operation: "policy_log.head" }, "head")).head,
    rows: async (after, limit) =>
      (await link.request({ operation: "policy_log.read", after, limit }, "policy_rows")).rows,
    append: async (expected, rows) =>
      (await link.request({ operation: "policy_log.append", expected, rows }, "policy_appended"))
        .appended,
    async keep(content) {
      await link.request({ operation: "policy_log.keep", content }, "done");
    },
    content: async (digest) =>
      (await link.request({ operation: "policy_log.content", digest }, "policy_content")).content,
  });
}

function summaryStore(link: WorkerLink): SummaryStore {
  return {
    read: (query) =>
      rollUpPages(query, PAGE, async (after) => {
        const page = { ...query, after, limit: PAGE };
        return unpackRows(
          (await link.request({ operation: "summary.read", page }, "roll_ups")).rows,
          query,
        );
      }),
    async workspaces() {
      return (await link.request({ operation: "summary.workspaces" }, "workspaces")).workspaces;
    },
  };
}
