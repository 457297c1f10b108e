import type { EvidenceLogStore } from "../evidence-log.ts";
import { DEFAULT_EVIDENCE_LIMITS, type EvidenceLimits } from "../evidence-queue.ts";
import { openPostgresEvidence } from "./evidence/evidence.ts";
import { KeyFeed } from "./key-feed.ts";
import { postgresKeys } from "./keys.ts";
import { DEFAULT_LINK_BOUNDS, PostgresLink, type LinkBounds } from "./link.ts";
import { postgresPolicies } from "./policies.ts";
import { parsePostgresUrl } from "./settings.ts";

export interface PostgresStoreOptions {
  /** See {@link parsePostgresUrl}. Holds a password: it stands in no error and no log. */
  readonly url: string;
  /** Whether an empty database gets the schema; otherwise it is refused. Default: yes. */
  readonly create?: boolean;
  readonly bounds?: Partial<LinkBounds>;
  readonly evidence?: Partial<EvidenceLimits>;
}

/** What tests see of it besides the port. */
export interface PostgresStore extends EvidenceLogStore {
  /** Renews the lease and ends what processes that are gone left running, now instead of within five seconds. */
  tend(): Promise<void>;
}

/** @throws {StoreUnavailableError} when the database cannot be opened; the message names the fix */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  const settings = parsePostgresUrl(options.url);
  const link = await PostgresLink.open(settings, options.create ?? true, { ...DEFAULT_LINK_BOUNDS, ...options.bounds });
  const feed = new KeyFeed(link);
  const evidence = openPostgresEvidence(link, { ...DEFAULT_EVIDENCE_LIMITS, ...options.evidence });
  let closing: Promise<void> | null = null;
  const close = async (): Promise<void> => {
    try {
      await feed.close();
      await evidence.close();
    } finally {
      await link.close();
    }
  };
  return {
    keys: postgresKeys(link, feed),
    evidence: evidence.port,
    policies: postgresPolicies(link),
    tend: () => evidence.tend(),
    close: () => (closing ??= close()),
  };
}
