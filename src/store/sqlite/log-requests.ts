import {
  LARGEST_LOG_PAGE,
  type EvidenceLog,
  type LogRow,
  type Pruned,
} from "../../evidence/evidence-store.ts";
import { PruneScan } from "../prune-scan.ts";
import { logRows } from "../batch/lines.ts";
import type { WorkerLink } from "./worker-link.ts";

/** Requests of dead processes that are ended at a time. */
const REAPED = 1_000;

/** Rows deleted in one transaction; between two of them appends have their turn. */
const DELETED_AT_ONCE = 500;

/** The log's part of the port, as requests to the worker. */
export function evidenceLog(link: WorkerLink): EvidenceLog {
  return {
    async head() {
      return (await link.request({ operation: "evidence.head" }, "head")).head;
    },
    async notedHead() {
      return (await link.request({ operation: "evidence.noted_head" }, "noted_head")).noted;
    },
    log: ({ after, limit }) => readLog(link, after, limit),
    openRequests: () => openRequests(link),
    // What is written is a part of the log at once.
    missing: () => Promise.resolve([]),
    async processes() {
      return (await link.request({ operation: "evidence.processes" }, "processes")).processes;
    },
    async anchors() {
      return (await link.request({ operation: "evidence.anchors" }, "anchors")).anchors;
    },
    async anchor(now) {
      return (await link.request({ operation: "evidence.anchor", now }, "anchor")).anchor;
    },
    prune: (before, now) => prune(link, before, now),
  };
}

async function openRequests(link: WorkerLink): Promise<readonly string[]> {
  return (await link.request({ operation: "evidence.open" }, "open")).requestIds;
}

async function readLog(link: WorkerLink, after: number, limit: number): Promise<readonly LogRow[]> {
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > LARGEST_LOG_PAGE) {
    throw new RangeError("limit: give a whole number from 1 to 10,000");
  }
  if (!Number.isSafeInteger(after) || after < 0)
    throw new RangeError("after: give a position, 0 for the whole log");
  const read: LogRow[] = [];
  let end = after;
  for (;;) {
    const query = { after: end, before: 0, newestFirst: false, workspace: null };
    const { batches } = await link.request({ operation: "evidence.batches", query }, "batches");
    for (const batch of batches) {
      for (const row of logRows(batch, after)) {
        read.push(row);
        if (read.length === limit) return read;
      }
      end = batch.last;
    }
    if (batches.length === 0) return read;
  }
}

async function prune(link: WorkerLink, before: number, now: number): Promise<Pruned> {
  // Requests of dead processes have ended too, possibly without a record yet.
  for (let reaped = REAPED; reaped === REAPED;) {
    reaped = (await link.request({ operation: "evidence.reap", limit: REAPED }, "count")).count;
  }
  const open = new Set(await openRequests(link));
  const scan = new PruneScan(before);
  for (let more = true; more;) {
    const query = { after: scan.end, before: 0, newestFirst: false, workspace: null };
    const { batches } = await link.request({ operation: "evidence.batches", query }, "batches");
    more = batches.length > 0 && batches.every((batch) => scan.takeBatch(batch, open));
  }
  const { through } = scan;
  if (through === 0) return { anchor: null, rows: 0 };
  let deleted = 0;
  for (let step = 1; step > 0; deleted += step) {
    const request = { operation: "evidence.delete", through, limit: DELETED_AT_ONCE, now } as const;
    step = (await link.request(request, "count")).count;
  }
  const { anchors } = await link.request({ operation: "evidence.anchors" }, "anchors");
  return { anchor: anchors.find(({ position }) => position === through) ?? null, rows: deleted };
}
