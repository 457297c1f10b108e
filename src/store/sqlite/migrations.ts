import type { DatabaseSync } from "node:sqlite";

import { migrateToEvidenceBatches } from "./schema/evidence-batches.ts";
import { migrateToEvidenceLog } from "./schema/evidence.ts";
import { migrateToPolicyLog } from "./schema/policy-log.ts";
import { migrateToRollUps } from "./schema/roll-ups.ts";

/** One step forward. Steps are never changed once released, never taken back; a new need is a new step at the end. */
interface Migration {
  /** Rises. */
  readonly version: number;
  readonly name: string;
  /** Statements, or a step that needs more than statements; either runs inside one transaction with its number. */
  readonly sql: string | ((database: DatabaseSync) => void);
}

const KEYS = `
CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  workspace TEXT NOT NULL,
  scopes TEXT NOT NULL CHECK (json_valid(scopes)),
  owner TEXT NOT NULL,
  environment TEXT NOT NULL,
  workload TEXT NOT NULL,
  labels TEXT NOT NULL CHECK (json_valid(labels)),
  expires_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  last_used_at INTEGER,
  rotated_from TEXT REFERENCES keys (id),
  status TEXT NOT NULL CHECK (status IN ('active', 'revoked')),
  revoked_at INTEGER,
  -- Rises with every change of any key, except of last_used_at: what watchers read on from.
  version INTEGER NOT NULL,
  CHECK ((status = 'revoked') = (revoked_at IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX keys_by_version ON keys (version);
CREATE INDEX keys_by_workspace ON keys (workspace, created_at);
CREATE TRIGGER keys_stay_revoked BEFORE UPDATE OF status, revoked_at ON keys WHEN old.status = 'revoked'
  BEGIN SELECT RAISE(ABORT, 'a revoked key never comes back'); END;
CREATE TRIGGER keys_never_live_longer BEFORE UPDATE OF expires_at ON keys WHEN new.expires_at > old.expires_at
  BEGIN SELECT RAISE(ABORT, 'the expiry of a key only moves nearer'); END;
CREATE TRIGGER keys_keep_their_grants
  BEFORE UPDATE OF id, digest, workspace, scopes, owner, environment, workload, labels, created_at, created_by, rotated_from ON keys
  BEGIN SELECT RAISE(ABORT, 'the grants of a key never change'); END;
CREATE TRIGGER keys_are_kept BEFORE DELETE ON keys
  BEGIN SELECT RAISE(ABORT, 'keys are kept; revoke instead'); END;
`;

/** Taken over by the log of version 4; `processes` stays. */
const EVIDENCE = `
CREATE TABLE processes (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  started_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT;
CREATE TABLE decisions (
  sequence INTEGER PRIMARY KEY,
  process INTEGER NOT NULL REFERENCES processes (id),
  at INTEGER NOT NULL,
  request_id TEXT NOT NULL UNIQUE,
  workspace TEXT,
  record TEXT NOT NULL
) STRICT;
CREATE INDEX decisions_by_workspace ON decisions (workspace);
CREATE TABLE outcomes (
  decision INTEGER PRIMARY KEY REFERENCES decisions (sequence),
  record TEXT NOT NULL
) STRICT;
CREATE TRIGGER decisions_never_change BEFORE UPDATE ON decisions
  BEGIN SELECT RAISE(ABORT, 'evidence is only ever added'); END;
CREATE TRIGGER decisions_are_kept BEFORE DELETE ON decisions
  BEGIN SELECT RAISE(ABORT, 'evidence is only ever added'); END;
CREATE TRIGGER outcomes_never_change BEFORE UPDATE ON outcomes
  BEGIN SELECT RAISE(ABORT, 'evidence is only ever added'); END;
CREATE TRIGGER outcomes_are_kept BEFORE DELETE ON outcomes
  BEGIN SELECT RAISE(ABORT, 'evidence is only ever added'); END;
`;

/** Taken over by the log of version 10. */
const POLICIES = `
CREATE TABLE policies (
  id TEXT PRIMARY KEY,
  digest TEXT NOT NULL,
  revision INTEGER NOT NULL CHECK (revision >= 1),
  mode TEXT NOT NULL CHECK (mode IN ('shadow', 'enforce'))
) STRICT, WITHOUT ROWID;
CREATE TABLE policy_revisions (
  id TEXT NOT NULL REFERENCES policies (id),
  revision INTEGER NOT NULL,
  digest TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  PRIMARY KEY (id, revision)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER policies_count_up BEFORE UPDATE OF digest, revision ON policies
  WHEN (new.digest <> old.digest) <> (new.revision = old.revision + 1) OR (new.digest = old.digest AND new.revision <> old.revision)
  BEGIN SELECT RAISE(ABORT, 'a revision rises by one exactly when the digest changes'); END;
`;

const LIMITS = `
CREATE TABLE limit_counters (
  subject TEXT NOT NULL,
  measure TEXT NOT NULL CHECK (measure IN ('requests', 'tokens', 'micro_usd')),
  period TEXT NOT NULL CHECK (period IN ('minute', 'hour', 'day', 'month')),
  start INTEGER NOT NULL,
  used INTEGER NOT NULL CHECK (used >= 0),
  PRIMARY KEY (subject, measure, period, start)
) STRICT, WITHOUT ROWID;
CREATE INDEX limit_counters_by_start ON limit_counters (start);
CREATE TABLE limit_slots (
  subject TEXT NOT NULL,
  holder TEXT NOT NULL,
  held INTEGER NOT NULL CHECK (held > 0),
  until INTEGER NOT NULL,
  PRIMARY KEY (subject, holder)
) STRICT, WITHOUT ROWID;
`;

/** Both hold JSON, or nothing for keys that may not be exchanged and have no limits of their own. */
const KEY_GRANTS = `
ALTER TABLE keys ADD COLUMN exchange TEXT CHECK (exchange IS NULL OR json_valid(exchange));
ALTER TABLE keys ADD COLUMN limits TEXT CHECK (limits IS NULL OR json_valid(limits));
CREATE TRIGGER keys_keep_their_exchange_and_limits BEFORE UPDATE OF exchange, limits ON keys
  BEGIN SELECT RAISE(ABORT, 'the grants of a key never change'); END;
`;

const ISSUERS = `
CREATE TABLE issuers (
  kid TEXT PRIMARY KEY,
  public_key TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER issuers_never_change BEFORE UPDATE ON issuers
  BEGIN SELECT RAISE(ABORT, 'an issuer never changes'); END;
`;

/** Pages in the order of the list, counting what is good, and what rotations belong together: also of the rotations so far. */
const KEY_PAGES = `
DROP INDEX keys_by_workspace;
CREATE INDEX keys_by_workspace ON keys (workspace, created_at DESC, id);
CREATE INDEX keys_by_state ON keys (workspace, status, expires_at);
ALTER TABLE keys ADD COLUMN lineage TEXT;
WITH RECURSIVE descent (id, first) AS (
  SELECT id, id FROM keys WHERE rotated_from IS NULL
  UNION ALL SELECT keys.id, descent.first FROM keys JOIN descent ON keys.rotated_from = descent.id
)
UPDATE keys SET lineage = descent.first FROM descent WHERE descent.id = keys.id AND keys.rotated_from IS NOT NULL;
CREATE TRIGGER keys_keep_their_lineage BEFORE UPDATE OF lineage ON keys
  BEGIN SELECT RAISE(ABORT, 'the grants of a key never change'); END;
`;

/** Which key has replaced a key: also of the rotations so far, the newest where one key was rotated several times. */
const KEY_REPLACED = `
ALTER TABLE keys ADD COLUMN replaced_by TEXT;
WITH newest (replaced, id) AS (
  SELECT rotated_from, id FROM (
    SELECT rotated_from, id, row_number() OVER (PARTITION BY rotated_from ORDER BY created_at DESC, id) AS place
    FROM keys WHERE rotated_from IS NOT NULL)
  WHERE place = 1
)
UPDATE keys SET replaced_by = newest.id FROM newest WHERE newest.replaced = keys.id;
CREATE TRIGGER keys_are_replaced_once BEFORE UPDATE OF replaced_by ON keys WHEN old.replaced_by IS NOT NULL
  BEGIN SELECT RAISE(ABORT, 'a key is rotated once'); END;
`;

const SESSIONS = `
CREATE TABLE sessions (
  digest TEXT PRIMARY KEY,
  -- Equal for all sessions of a key or person.
  holder TEXT NOT NULL,
  key_id TEXT,
  person TEXT CHECK (person IS NULL OR json_valid(person)),
  created_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  ends_at INTEGER NOT NULL,
  CHECK ((key_id IS NULL) <> (person IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_holder ON sessions (holder);
CREATE INDEX sessions_by_end ON sessions (ends_at);
CREATE INDEX sessions_by_use ON sessions (seen_at);
`;

/** Grants of a key that lives can change; who and where it is cannot. */
const KEY_CHANGES = `
DROP TRIGGER keys_keep_their_grants;
DROP TRIGGER keys_keep_their_exchange_and_limits;
CREATE TRIGGER keys_stay_what_they_are
  BEFORE UPDATE OF id, digest, workspace, environment, created_at, created_by, rotated_from, exchange ON keys
  BEGIN SELECT RAISE(ABORT, 'only scopes, owner, workload, labels and limits of a key change'); END;
CREATE TRIGGER revoked_keys_keep_their_grants
  BEFORE UPDATE OF scopes, owner, workload, labels, limits ON keys WHEN old.status = 'revoked'
  BEGIN SELECT RAISE(ABORT, 'the grants of a revoked key never change'); END;
`;

/**
 * From here on batches may be compressed (`batch/compression.ts`). Those that are there stay as they are: the step only
 * keeps programs out that would read a compressed batch as one without records.
 */
const COMPRESSED_EVIDENCE = "";

export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: "keys", sql: KEYS },
  { version: 2, name: "evidence", sql: EVIDENCE },
  { version: 3, name: "policies", sql: POLICIES },
  { version: 4, name: "evidence log", sql: migrateToEvidenceLog },
  { version: 5, name: "limits", sql: LIMITS },
  { version: 6, name: "key grants", sql: KEY_GRANTS },
  { version: 7, name: "issuers", sql: ISSUERS },
  { version: 8, name: "roll-ups", sql: migrateToRollUps },
  { version: 9, name: "key pages", sql: KEY_PAGES },
  { version: 10, name: "policy log", sql: migrateToPolicyLog },
  { version: 11, name: "key replaced", sql: KEY_REPLACED },
  { version: 12, name: "evidence batches", sql: migrateToEvidenceBatches },
  { version: 13, name: "sessions", sql: SESSIONS },
  { version: 14, name: "key changes", sql: KEY_CHANGES },
  { version: 15, name: "compressed evidence", sql: COMPRESSED_EVIDENCE },
];
