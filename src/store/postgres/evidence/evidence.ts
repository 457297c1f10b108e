import type { EvidenceHealth, EvidenceStore } from "../../../evidence/evidence-store.ts";
import { EvidenceQueue, type EvidenceLimits } from "../../evidence-queue.ts";
import type { PostgresLink } from "../link.ts";
import { deleteThrough, postgresLog } from "./log.ts";
import type { RollUpFolder } from "../roll-ups.ts";
import { EvidenceWriter, type ProcessLease } from "./writer.ts";
import { evidenceOver } from "../../evidence-reading.ts";
import { postgresBatches } from "./batch-rows.ts";
import { forgetEnded, reapAbandoned } from "./reaper.ts";
import type { EvidenceSealer } from "./sealer.ts";

/**
 * How often a process renews its lease and searches for decisions of dead processes, milliseconds.
 */
const RENEWAL = 5_000;

/** How often the log is compared with what this process wrote, milliseconds. */
const COMPARING = 1_000;

interface PostgresEvidence {
  readonly port: EvidenceStore;
  /** One round of the work of every five seconds, for tests. */
  tend(): Promise<void>;
  /**
   * Writes what is in memory and ends the lease. @throws {EvidenceUnavailableError}
   * {@link StoreUnavailableError}
   */
  close(): Promise<void>;
}

interface PostgresEvidenceParts {
  readonly link: PostgresLink;
  readonly limits: EvidenceLimits;
  readonly lease: ProcessLease;
  readonly sealer: EvidenceSealer;
  readonly folder: RollUpFolder;
}

export function openPostgresEvidence({
  link,
  limits,
  lease,
  sealer,
  folder,
}: PostgresEvidenceParts): PostgresEvidence {
  const writer = new EvidenceWriter(link, lease, sealer, limits.maxWait);
  // A failure from before the server came back is out of date.
  let failedSinceRestored = false;
  const compare = (): void => {
    // Where the database is unavailable, the link notices it itself.
    if (link.available) void writer.compare().catch(() => undefined);
  };
  const endRestored = link.onRestored(() => {
    failedSinceRestored = false;
    // Another server may answer now.
    compare();
  });
  const comparing = setInterval(compare, COMPARING);
  const queue = new EvidenceQueue(async (records) => {
    try {
      return await writer.append(records);
    } catch (error) {
      failedSinceRestored = true;
      throw error;
    }
  }, limits);
  const tend = async (): Promise<void> => {
    // A process that has written nothing changes nothing, not even requests of dead processes.
    if (lease.id === null || !link.available) return;
    await lease.renew(writer.number);
    await reapAbandoned(link, writer);
    await forgetEnded(link, lease.id);
  };
  let tending: Promise<void> | null = null;
  const timer = setInterval(() => {
    tending ??= tend()
      .catch(() => undefined)
      .finally(() => (tending = null));
  }, RENEWAL);
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
  return {
    port: evidenceOver(queue, {
      batches: postgresBatches(link, () => sealer.seal()),
      health,
      ...postgresLog(link, sealer),
      endAbandoned: () => reapAbandoned(link, writer),
      async deleteThrough(through, now) {
        // The counts outlive the rows.
        await folder.foldTo(through);
        return await deleteThrough(link, through, now);
      },
    }),
    tend,
    async close() {
      clearInterval(timer);
      clearInterval(comparing);
      endRestored();
      queue.close();
      try {
        await queue.flush();
      } finally {
        await tending;
        await lease.end(writer.number).catch(() => undefined);
      }
    },
  };
}
