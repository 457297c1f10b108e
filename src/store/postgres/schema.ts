import { EVIDENCE } from "./evidence/schema.ts";

/** Of the lock for adding to the policy log: any number, the same in every version. */
const POLICY_LOCK = 7_241_853_902_118;

const REMOVALS = `
CREATE FUNCTION signalbox.refuse_removal() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  RAISE EXCEPTION '%', TG_ARGV[0];
END $$;
`;

const CHECK_KEY_CHANGE = `-- Grants of a key that lives can change; who and where it is cannot.
CREATE OR REPLACE FUNCTION signalbox.check_key_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  IF (new.id, new.name, new.digest, new.workspace, new.environment, new.created_at, new.created_by, new.rotated_from,
      new.exchange, new.lineage)
    IS DISTINCT FROM (old.id, old.name, old.digest, old.workspace, old.environment, old.created_at, old.created_by,
      old.rotated_from, old.exchange, old.lineage) THEN
    RAISE EXCEPTION 'only scopes, owner, workload, labels and limits of a key change';
  END IF;
  IF old.status = 'revoked' AND (new.status, new.revoked_at, new.scopes, new.owner, new.workload, new.labels, new.limits)
    IS DISTINCT FROM (old.status, old.revoked_at, old.scopes, old.owner, old.workload, old.labels, old.limits) THEN
    RAISE EXCEPTION 'a revoked key never comes back, and its grants never change';
  END IF;
  IF new.expires_at > old.expires_at THEN
    RAISE EXCEPTION 'the expiry of a key only moves nearer';
  END IF;
  RETURN new;
END $$;
`;

const ADD_KEY = `CREATE OR REPLACE FUNCTION signalbox.add_key(record jsonb) RETURNS SETOF signalbox.keys LANGUAGE sql
SET search_path = pg_catalog AS $$
  INSERT INTO signalbox.keys (id, digest, workspace, scopes, owner, environment, workload, labels, expires_at, created_at,
    created_by, last_used_at, rotated_from, lineage, status, revoked_at, exchange, limits, version, name)
  VALUES (record ->> 'id', record ->> 'digest', record ->> 'workspace', record -> 'scopes', record ->> 'owner',
    record ->> 'environment', record ->> 'workload', record -> 'labels', (record ->> 'expiresAt')::bigint,
    (record ->> 'createdAt')::bigint, record ->> 'createdBy', (record ->> 'lastUsedAt')::bigint,
    record ->> 'rotatedFrom', record ->> 'lineage', record ->> 'status', (record ->> 'revokedAt')::bigint,
    record ->> 'exchange', record ->> 'limits', 0, record ->> 'name')
  RETURNING *
$$;
`;

/** Weeks are counted since version 15; pruning is a statement. */
export const COUNT_WEEKS = `
DROP FUNCTION signalbox.prune_limits;
ALTER TABLE signalbox.limit_counters DROP CONSTRAINT limit_counters_period_check,
  ADD CONSTRAINT limit_counters_period_check CHECK (period IN ('minute', 'hour', 'day', 'week', 'month'));
DROP INDEX signalbox.limit_counters_by_start;
CREATE INDEX limit_counters_by_start ON signalbox.limit_counters (start, period);
`;

/** Gives keys of version 14 the column of version 15. */
export const NAME_KEYS = `ALTER TABLE signalbox.keys ADD COLUMN name text;
${CHECK_KEY_CHANGE}${ADD_KEY}`;

/**
 * `version` rises with every change of any key, except of last_used_at, in the order of the
 * commits: a trigger takes it from one row whose lock is held until the commit. So a reader that
 * continues from a version misses no change.
 */
const KEYS = `
CREATE TABLE signalbox.key_version (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  version bigint NOT NULL
);
INSERT INTO signalbox.key_version (version) VALUES (0);
CREATE TABLE signalbox.keys (
  id text COLLATE "C" PRIMARY KEY,
  digest text COLLATE "C" NOT NULL UNIQUE,
  workspace text COLLATE "C" NOT NULL,
  scopes jsonb NOT NULL,
  owner text NOT NULL,
  environment text NOT NULL,
  workload text NOT NULL,
  labels jsonb NOT NULL,
  expires_at bigint NOT NULL,
  created_at bigint NOT NULL,
  created_by text NOT NULL,
  last_used_at bigint,
  rotated_from text COLLATE "C" REFERENCES signalbox.keys (id),
  status text NOT NULL CHECK (status IN ('active', 'revoked')),
  revoked_at bigint,
  exchange text,
  limits text,
  version bigint NOT NULL,
  -- The first key of its rotations.
  lineage text COLLATE "C",
  replaced_by text COLLATE "C",
  name text,
  CHECK ((status = 'revoked') = (revoked_at IS NOT NULL))
);
CREATE INDEX keys_by_version ON signalbox.keys (version);
CREATE INDEX keys_by_workspace ON signalbox.keys (workspace, created_at DESC, id);
CREATE INDEX keys_by_state ON signalbox.keys (workspace, status, expires_at);

${CHECK_KEY_CHANGE}CREATE TRIGGER keys_change_for_the_worse BEFORE UPDATE ON signalbox.keys
  FOR EACH ROW EXECUTE FUNCTION signalbox.check_key_change();

CREATE FUNCTION signalbox.check_key_replaced() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  RAISE EXCEPTION 'a key is rotated once';
END $$;
CREATE TRIGGER keys_are_replaced_once BEFORE UPDATE OF replaced_by ON signalbox.keys
  FOR EACH ROW WHEN (old.replaced_by IS NOT NULL) EXECUTE FUNCTION signalbox.check_key_replaced();

CREATE FUNCTION signalbox.number_key_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF (new.status, new.revoked_at, new.expires_at, new.scopes, new.owner, new.workload, new.labels, new.limits)
      IS NOT DISTINCT FROM
      (old.status, old.revoked_at, old.expires_at, old.scopes, old.owner, old.workload, old.labels, old.limits) THEN
      new.version := old.version;
      RETURN new;
    END IF;
  END IF;
  UPDATE signalbox.key_version SET version = version + 1 RETURNING version INTO STRICT new.version;
  NOTIFY signalbox_keys;
  RETURN new;
END $$;
-- After the check: triggers of one kind fire in the order of their names.
CREATE TRIGGER keys_count_changes BEFORE INSERT OR UPDATE ON signalbox.keys
  FOR EACH ROW EXECUTE FUNCTION signalbox.number_key_change();
CREATE TRIGGER keys_are_kept BEFORE DELETE OR TRUNCATE ON signalbox.keys
  FOR EACH STATEMENT EXECUTE FUNCTION signalbox.refuse_removal('keys are kept; revoke instead');

${ADD_KEY}
-- Both keys as they then are, the old one first. No rows: no such key. Old key alone: it is not active or has been
-- replaced already, and nothing changed. The row lock makes rotations of one key wait for each other. The new key gets
-- the grants of the row: the caller's older reading could bring back a grant that was taken away meanwhile.
CREATE FUNCTION signalbox.rotate_key(old_id text, replacement jsonb, overlap_end bigint)
  RETURNS SETOF signalbox.keys LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  previous signalbox.keys;
BEGIN
  SELECT * INTO previous FROM signalbox.keys WHERE id = old_id FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  IF previous.status <> 'active' OR previous.replaced_by IS NOT NULL
    OR previous.expires_at <= (replacement ->> 'createdAt')::bigint THEN
    RETURN NEXT previous;
    RETURN;
  END IF;
  UPDATE signalbox.keys SET replaced_by = replacement ->> 'id', expires_at = least(expires_at, overlap_end)
  WHERE id = old_id RETURNING * INTO previous;
  RETURN NEXT previous;
  RETURN QUERY SELECT * FROM signalbox.add_key(replacement || jsonb_build_object('scopes', previous.scopes, 'owner',
    previous.owner, 'workload', previous.workload, 'labels', previous.labels, 'limits', previous.limits::jsonb));
END $$;
`;

/**
 * `roll_ups` counts the log up to the cursor's position: both change together, in
 * `fold_roll_ups`. So a record is counted once, even if statements, answers or replicas are lost;
 * records after the cursor are counted before counts are read.
 */
const ROLL_UPS = `
CREATE TABLE signalbox.roll_ups (
  workspace text COLLATE "C" NOT NULL,
  facet text COLLATE "C" NOT NULL,
  hour bigint NOT NULL,
  labels text COLLATE "C" NOT NULL,
  cell bytea NOT NULL,
  PRIMARY KEY (workspace, facet, hour, labels)
);
-- folder: which replica counts in the background, until when.
CREATE TABLE signalbox.roll_up_cursor (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  position bigint NOT NULL,
  folder text,
  until bigint NOT NULL
) WITH (fillfactor = 50);
INSERT INTO signalbox.roll_up_cursor (position, until) VALUES (0, 0);

CREATE FUNCTION signalbox.check_cursor_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  IF new.position < old.position THEN
    RAISE EXCEPTION 'the cursor of the roll-ups only moves on';
  END IF;
  RETURN new;
END $$;
CREATE TRIGGER the_cursor_moves_on BEFORE UPDATE ON signalbox.roll_up_cursor
  FOR EACH ROW EXECUTE FUNCTION signalbox.check_cursor_change();
CREATE TRIGGER the_cursor_is_kept BEFORE DELETE OR TRUNCATE ON signalbox.roll_up_cursor
  FOR EACH STATEMENT EXECUTE FUNCTION signalbox.refuse_removal('the cursor of the roll-ups is kept');

-- Takes cells as they are with the rows up to last_position: objects of w (workspace), f (facet), h (hour), l (labels),
-- c (the cell, base64). Nothing happens, and false, where somebody has moved the cursor since those cells were made.
CREATE FUNCTION signalbox.fold_roll_ups(first_position bigint, last_position bigint, cells json) RETURNS boolean
  LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  UPDATE signalbox.roll_up_cursor SET position = last_position WHERE position = first_position;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  INSERT INTO signalbox.roll_ups (workspace, facet, hour, labels, cell)
    SELECT item.w, item.f, item.h, item.l, decode(item.c, 'base64')
    FROM json_to_recordset(cells) AS item (w text, f text, h bigint, l text, c text)
    ON CONFLICT ON CONSTRAINT roll_ups_pkey DO UPDATE SET cell = excluded.cell;
  RETURN true;
END $$;
`;

const ISSUERS = `
CREATE TABLE signalbox.issuers (
  kid text COLLATE "C" PRIMARY KEY,
  public_key text NOT NULL,
  expires_at bigint NOT NULL
);
CREATE TRIGGER issuers_never_change BEFORE UPDATE ON signalbox.issuers
  FOR EACH STATEMENT EXECUTE FUNCTION signalbox.refuse_removal('issuers never change; publish another');
`;

/**
 * Used figures only: the ceilings stand in routes.yaml and on keys. All of a lease is one
 * statement, in which rows are locked in one order, so replicas wait for each other and never in a
 * circle.
 */
const LIMITS = `
CREATE TABLE signalbox.limit_counters (
  subject text COLLATE "C" NOT NULL,
  measure text COLLATE "C" NOT NULL CHECK (measure IN ('requests', 'tokens', 'micro_usd')),
  period text COLLATE "C" NOT NULL CHECK (period IN ('minute', 'hour', 'day', 'week', 'month')),
  start bigint NOT NULL,
  used bigint NOT NULL CHECK (used >= 0),
  PRIMARY KEY (subject, measure, period, start)
) WITH (fillfactor = 50);
CREATE INDEX limit_counters_by_start ON signalbox.limit_counters (start, period);
-- The row of a subject is what its holders take turns at: what others hold is a sum, which no row of one holder guards. It
-- stays: there are as many as workspaces and keys with such a limit, and who waits for one must find it.
CREATE TABLE signalbox.limit_subjects (
  subject text COLLATE "C" PRIMARY KEY
);
CREATE TABLE signalbox.limit_slots (
  subject text COLLATE "C" NOT NULL,
  holder text COLLATE "C" NOT NULL,
  held bigint NOT NULL CHECK (held > 0),
  until bigint NOT NULL,
  PRIMARY KEY (subject, holder)
) WITH (fillfactor = 50);

-- A lease. Figures stay at 2^53 - 1 where they would pass it: above that, they could not be read exactly, and one of them
-- would keep all others from being leased.
-- counters: objects of s (subject), m (measure), p (period), a (start), c (ceiling), g (give back), o (overdraft),
-- n (need), w (want). slots: objects of s, c, i (in use), w. The answers are lists of pairs in the order given.
CREATE FUNCTION signalbox.lease_limits(
  the_holder text, now_given bigint, until_given bigint, counters json, slots json,
  OUT counters_leased json, OUT slots_leased json)
  LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  item record;
  used_now bigint;
  granted bigint;
  held_now bigint;
  others bigint;
  figures bigint[] := '{}';
BEGIN
  FOR item IN
    SELECT given.* FROM ROWS FROM (json_to_recordset(counters) AS (
      s text, m text, p text, a bigint, c bigint, g bigint, o bigint, n bigint, w bigint)) WITH ORDINALITY
      AS given (subject, measure, period, start, ceiling, give_back, overdraft, need, want, place)
    ORDER BY given.subject COLLATE "C", given.measure COLLATE "C", given.period COLLATE "C", given.start
  LOOP
    INSERT INTO signalbox.limit_counters AS counter (subject, measure, period, start, used)
      VALUES (item.subject, item.measure, item.period, item.start, item.overdraft)
      ON CONFLICT ON CONSTRAINT limit_counters_pkey
      DO UPDATE SET used = least(9007199254740991, greatest(0, counter.used - item.give_back) + item.overdraft)
      RETURNING counter.used INTO STRICT used_now;
    granted := 0;
    IF item.need > 0 AND used_now + item.need <= item.ceiling THEN
      granted := least(item.want, item.ceiling - used_now);
      used_now := used_now + granted;
      UPDATE signalbox.limit_counters AS counter SET used = used_now WHERE counter.subject = item.subject
        AND counter.measure = item.measure AND counter.period = item.period AND counter.start = item.start;
    END IF;
    figures := figures || ARRAY[item.place, used_now, granted];
  END LOOP;
  counters_leased := coalesce((SELECT json_agg(json_build_array(figures[at + 1], figures[at + 2]) ORDER BY figures[at])
    FROM generate_series(1, cardinality(figures), 3) AS at), '[]'::json);
  figures := '{}';
  FOR item IN
    SELECT given.* FROM ROWS FROM (json_to_recordset(slots) AS (s text, c bigint, i bigint, w bigint)) WITH ORDINALITY
      AS given (subject, ceiling, in_use, want, place)
    ORDER BY given.subject COLLATE "C"
  LOOP
    INSERT INTO signalbox.limit_subjects (subject) VALUES (item.subject) ON CONFLICT DO NOTHING;
    PERFORM FROM signalbox.limit_subjects AS guard WHERE guard.subject = item.subject FOR UPDATE;
    -- A statement of its own: its snapshot is taken once the row is ours.
    SELECT coalesce(sum(slot.held), 0) INTO STRICT others FROM signalbox.limit_slots AS slot
      WHERE slot.subject = item.subject AND slot.holder <> the_holder AND slot.until > now_given;
    held_now := greatest(item.in_use, least(item.want, item.ceiling - others));
    IF held_now <= 0 THEN
      held_now := 0;
      DELETE FROM signalbox.limit_slots AS slot WHERE slot.subject = item.subject AND slot.holder = the_holder;
    ELSE
      INSERT INTO signalbox.limit_slots AS slot (subject, holder, held, until)
        VALUES (item.subject, the_holder, held_now, until_given)
        ON CONFLICT ON CONSTRAINT limit_slots_pkey DO UPDATE SET held = held_now, until = until_given;
    END IF;
    figures := figures || ARRAY[item.place, held_now, others];
  END LOOP;
  slots_leased := coalesce((SELECT json_agg(json_build_array(figures[at + 1], figures[at + 2]) ORDER BY figures[at])
    FROM generate_series(1, cardinality(figures), 3) AS at), '[]'::json);
END $$;
`;

/**
 * The log of policies and their contents. A trigger computes each row's hash anew, so that a row
 * that does not follow is refused from every writer: one that did not verify would end the log for
 * every reader, for ever.
 */
const POLICY_LOG = `
CREATE TABLE signalbox.policy_log (
  position bigint PRIMARY KEY CHECK (position >= 1),
  previous text COLLATE "C" NOT NULL,
  hash text COLLATE "C" NOT NULL,
  record text NOT NULL CHECK (record::json IS NOT NULL)
);
CREATE TABLE signalbox.policy_contents (
  digest text COLLATE "C" PRIMARY KEY,
  policy text COLLATE "C" NOT NULL,
  description text NOT NULL CHECK (description::json IS NOT NULL),
  module bytea NOT NULL
);
CREATE TRIGGER policy_log_never_changes BEFORE UPDATE OR DELETE OR TRUNCATE ON signalbox.policy_log
  FOR EACH STATEMENT EXECUTE FUNCTION signalbox.refuse_removal('what happened to policies is only ever added');
CREATE TRIGGER policy_contents_never_change BEFORE UPDATE OR DELETE OR TRUNCATE ON signalbox.policy_contents
  FOR EACH STATEMENT EXECUTE FUNCTION signalbox.refuse_removal('contents of policies are kept as they are');

CREATE FUNCTION signalbox.policy_row_hash(previous text, place bigint, record text) RETURNS text LANGUAGE sql AS $$
  SELECT pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(
    previous || E'\\n' || place || E'\\npolicy\\n' || record, 'UTF8')), 'hex')
$$;
CREATE FUNCTION signalbox.check_policy_row() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  head signalbox.policy_log;
BEGIN
  SELECT * INTO head FROM signalbox.policy_log ORDER BY position DESC LIMIT 1;
  IF new.position <> coalesce(head.position, 0) + 1 OR new.previous <> coalesce(head.hash, repeat('0', 64))
    OR new.hash <> signalbox.policy_row_hash(new.previous, new.position, new.record) THEN
    RAISE EXCEPTION 'what happened to policies is only ever added at its end, with the hash that follows';
  END IF;
  RETURN new;
END $$;
CREATE TRIGGER policy_log_follows BEFORE INSERT ON signalbox.policy_log
  FOR EACH ROW EXECUTE FUNCTION signalbox.check_policy_row();

-- False, and nothing is added, where the expected row is not the head. The lock ends with the statement; what is read after it is as of then.
CREATE FUNCTION signalbox.append_policy_log(expected_position bigint, expected_hash text, added json) RETURNS boolean
  LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  head signalbox.policy_log;
BEGIN
  PERFORM pg_advisory_xact_lock(${POLICY_LOCK});
  SELECT * INTO head FROM signalbox.policy_log ORDER BY position DESC LIMIT 1;
  IF coalesce(head.position, 0) <> expected_position OR coalesce(head.hash, repeat('0', 64)) <> expected_hash THEN
    RETURN false;
  END IF;
  INSERT INTO signalbox.policy_log (position, previous, hash, record)
    SELECT given.position, given.previous, given.hash, given.record
    FROM json_to_recordset(added) AS given (position bigint, previous text, hash text, record text) ORDER BY given.position;
  RETURN true;
END $$;
`;

const SESSIONS = `
CREATE TABLE signalbox.sessions (
  digest text COLLATE "C" PRIMARY KEY,
  holder text COLLATE "C" NOT NULL,
  key_id text COLLATE "C",
  person text,
  created_at bigint NOT NULL,
  seen_at bigint NOT NULL,
  ends_at bigint NOT NULL,
  CHECK ((key_id IS NULL) <> (person IS NULL))
);
CREATE INDEX sessions_by_holder ON signalbox.sessions (holder);
CREATE INDEX sessions_by_end ON signalbox.sessions (ends_at);
CREATE INDEX sessions_by_use ON signalbox.sessions (seen_at);
`;

/** Databases of commit a0f1d9ef also have two empty tables: `policies`, `policy_revisions`. */
export const BASELINE =
  REMOVALS + KEYS + EVIDENCE + ROLL_UPS + ISSUERS + LIMITS + POLICY_LOG + SESSIONS;
