import type { Store } from "../port.ts";
import { issuersOver, sessionsOver, summaryOver } from "../common-tables.ts";
import { DEFAULT_EVIDENCE_LIMITS, type EvidenceLimits } from "../evidence-queue.ts";
import { openPostgresEvidence } from "./evidence/evidence.ts";
import { ProcessLease } from "./evidence/writer.ts";
import { readLogHead } from "./evidence/log.ts";
import { EvidenceSealer } from "./evidence/sealer.ts";
import { KeyFeed, postgresKeys } from "./keys.ts";
import { postgresLimits } from "./limits.ts";
import { DEFAULT_LINK_BOUNDS, PostgresLink, type LinkBounds } from "./link.ts";
import { postgresPolicyLog } from "./policy-log.ts";
import { parsePostgresUrl } from "./settings.ts";
import { RollUpFolder } from "./roll-ups.ts";

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
  /**
   * Renews the lease and ends what processes that are gone left running, now instead of within five
   * seconds.
   */
  tend(): Promise<void>;
}

/** @throws {StoreUnavailableError} when the database cannot be opened; the message names the fix */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  const settings = parsePostgresUrl(options.url);
  const link = await PostgresLink.open(settings, options.create ?? true, {
    ...DEFAULT_LINK_BOUNDS,
    ...options.bounds,
  });
  const feed = new KeyFeed(link);
  const sealer = new EvidenceSealer(link, await readLogHead(link).catch(() => null));
  const lease = new ProcessLease(link);
  // A process that has written nothing changes nothing, not even the counts of others.
  const folder = new RollUpFolder(link, sealer, () => lease.id !== null);
  const limits = { ...DEFAULT_EVIDENCE_LIMITS, ...options.evidence };
  const evidence = openPostgresEvidence({ link, limits, lease, sealer, folder });
  let closing: Promise<void> | null = null;
  const close = async (): Promise<void> => {
    try {
      await feed.close();
      await folder.close();
      await evidence.close();
    } finally {
      await link.close();
    }
  };
  return {
    keys: postgresKeys(link, feed),
    evidence: evidence.port,
    policyLog: postgresPolicyLog(link),
    summary: summaryOver(link.runCommon, () => folder.foldAll()),
    issuers: issuersOver(link.runCommon),
    limits: postgresLimits(link),
    sessions: sessionsOver(link.runCommon),
    tend: () => evidence.tend(),
    close: () => (closing ??= close()),
  };
}
