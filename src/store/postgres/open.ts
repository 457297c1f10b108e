import type { Store } from "../port.ts";
import { issuersOver, sessionsOver, summaryOver } from "../common-tables.ts";
import { DEFAULT_EVIDENCE_LIMITS, type EvidenceLimits, evidenceQueue } from "../evidence-queue.ts";
import { evidenceWriter, processLease } from "./evidence/writer.ts";
import {
  deleteSome,
  forgetEnded,
  postgresBatches,
  postgresLog,
  readLogHead,
  reapAbandoned,
} from "./evidence/log.ts";
import { evidenceSealer } from "./evidence/sealer.ts";
import {
  keyFeed,
  postgresKeys,
  postgresLimits,
  postgresPolicyLog,
  rollUpFolder,
} from "./tables.ts";
import { DEFAULT_LINK_BOUNDS, type LinkBounds, openPostgresLink } from "./link.ts";
import { parsePostgresUrl } from "./settings.ts";
import type { EvidenceHealth } from "../../evidence/evidence-store.ts";
import { evidenceOver } from "../evidence-reading.ts";

/** How often the lease is renewed and dead processes are searched for, milliseconds. */
const RENEWAL = 5_000;

/** How often the log is compared with what this process wrote, milliseconds. */
const COMPARING = 1_000;

export interface PostgresStoreOptions {
  /** See {@link parsePostgresUrl}. Contains a password: never put it into errors or logs. */
  readonly url: string;
  /** Whether an empty database gets the schema; otherwise it is refused. Default: yes. */
  readonly create?: boolean;
  readonly bounds?: Partial<LinkBounds>;
  readonly evidence?: Partial<EvidenceLimits>;
}

/** Members beside the port, for tests. */
export interface PostgresStore extends Store {
  /** Renews the lease and ends requests of dead processes, now and not within five seconds. */
  tend(): Promise<void>;
}

/** @throws {StoreUnavailableError} when it cannot be opened; the message names the fix */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  const settings = parsePostgresUrl(options.url);
  const link = await openPostgresLink(settings, options.create ?? true, {
    ...DEFAULT_LINK_BOUNDS,
    ...options.bounds,
  });
  const feed = keyFeed(link);
  const sealer = evidenceSealer(link, await readLogHead(link).catch(() => null));
  const lease = processLease(link);
  // A process that has written nothing changes nothing: no counts, no requests of dead processes.
  const folder = rollUpFolder(link, sealer, () => lease.id !== null);
  const limits = { ...DEFAULT_EVIDENCE_LIMITS, ...options.evidence };
  const writer = evidenceWriter(link, lease, sealer, limits.maxWait);
  // A failure from before the server came back is out of date.
  let failedSinceRestored = false;
  const queue = evidenceQueue(async (records) => {
    try {
      return await writer.append(records);
    } catch (error) {
      failedSinceRestored = true;
      throw error;
    }
  }, limits);
  const compare = () => {
    // Where the database is unavailable, the link notices it itself.
    if (link.available) void writer.compare().catch(() => undefined);
  };
  const endRestored = link.onRestored(() => {
    failedSinceRestored = false;
    // Another server may answer now.
    compare();
  });
  const tend = async () => {
    if (lease.id === null || !link.available) return;
    await lease.renew(writer.number);
    await reapAbandoned(link, writer);
    await forgetEnded(link, lease.id);
  };
  let tending: Promise<void> | null = null;
  const timers = [
    setInterval(compare, COMPARING),
    setInterval(() => {
      tending ??= tend()
        .catch(() => undefined)
        .finally(() => (tending = null));
    }, RENEWAL),
  ];
  const health = (): EvidenceHealth => {
    const { state, ...counts } = queue.health();
    const { fault } = writer;
    const ok =
      fault === null &&
      link.available &&
      (state === "ok" || (!failedSinceRestored && !queue.refusing));
    return {
      ...counts,
      state: ok ? "ok" : "unavailable",
      head: sealer.head,
      ...(fault !== null && { fault }),
    };
  };
  /** Writes what is in memory and ends the lease. */
  const closeEvidence = async () => {
    for (const timer of timers) clearInterval(timer);
    endRestored();
    queue.close();
    try {
      await queue.flush();
    } finally {
      await tending;
      await lease.end(writer.number).catch(() => undefined);
    }
  };
  let closing: Promise<void> | null = null;
  const close = async () => {
    try {
      await feed.close();
      await folder.close();
      await closeEvidence();
    } finally {
      await link.close();
    }
  };
  return {
    keys: postgresKeys(link, feed),
    evidence: evidenceOver(queue, {
      batches: postgresBatches(link, () => sealer.seal()),
      health,
      ...postgresLog(link, sealer),
      endAbandoned: () => reapAbandoned(link, writer),
      async deleteSome(through, now) {
        // The counts outlive the rows.
        await folder.foldTo(through);
        return await deleteSome(link, through, now);
      },
    }),
    policyLog: postgresPolicyLog(link),
    summary: summaryOver(link.runCommon, () => folder.foldAll()),
    issuers: issuersOver(link.runCommon),
    limits: postgresLimits(link),
    sessions: sessionsOver(link.runCommon),
    tend,
    close: () => (closing ??= close()),
  };
}
