/** Any number, the same in every version of this program: who holds it adds to the log of policies. */
const ADVISORY_LOCK = 7_241_853_902_118;

/**
 * The log of policies and their contents. A trigger computes each row's hash anew, so that a row that does not follow is refused from every writer: one that
 * did not verify would end the log for every reader, for ever. The log begins with the numbers that policies had before, one record for each: evidence
 * speaks of them, so none may be given again. They are `ImportedRecord`s (`lifecycle/records.ts`) in the form of `canonicalJson`, in the order of policy and
 * number, the same that SQLite makes of the same tables.
 *
 * The old tables stay for replicas of the version before, which go on while new ones start: they read them, and observe what is known. Another number they
 * cannot give any more; the log would give it to another content.
 */
export const POLICY_LOG = `
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
  PERFORM pg_advisory_xact_lock(${ADVISORY_LOCK});
  SELECT * INTO head FROM signalbox.policy_log ORDER BY position DESC LIMIT 1;
  IF coalesce(head.position, 0) <> expected_position OR coalesce(head.hash, repeat('0', 64)) <> expected_hash THEN
    RETURN false;
  END IF;
  INSERT INTO signalbox.policy_log (position, previous, hash, record)
    SELECT given.position, given.previous, given.hash, given.record
    FROM json_to_recordset(added) AS given (position bigint, previous text, hash text, record text) ORDER BY given.position;
  RETURN true;
END $$;

DO $$
DECLARE
  known record;
  place bigint := 0;
  previous_hash text := repeat('0', 64);
  next_hash text;
BEGIN
  FOR known IN
    SELECT format('{"at":%s,"digest":%s,"kind":"imported","mode":%s,"policy":%s,"revision":%s}',
      floor(extract(epoch FROM seen.first_seen_at) * 1000)::bigint, to_json(seen.digest), to_json(policy.mode),
      to_json(seen.id), seen.revision) AS record
    FROM signalbox.policy_revisions AS seen JOIN signalbox.policies AS policy ON policy.id = seen.id
    ORDER BY seen.id COLLATE "C", seen.revision
  LOOP
    place := place + 1;
    next_hash := signalbox.policy_row_hash(previous_hash, place, known.record);
    INSERT INTO signalbox.policy_log (position, previous, hash, record)
      VALUES (place, previous_hash, next_hash, known.record);
    previous_hash := next_hash;
  END LOOP;
END $$;
CREATE TRIGGER policies_are_numbered_elsewhere BEFORE INSERT ON signalbox.policy_revisions
  FOR EACH STATEMENT EXECUTE FUNCTION signalbox.refuse_removal('policies are numbered in policy_log; run the newer program');
`;
