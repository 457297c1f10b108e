/** A process not seen for so long is dead: its running requests read `unknown`. Milliseconds. */
const LEASE = 20_000;

/** SQLSTATE with which a batch is refused. */
export const BATCH_REJECTED = "SB001";

/**
 * The log as batches: a row holds many records as lines (`store/batch/batch-lines.ts`), `lowest`
 * and `highest` are the smallest and largest of their request ids, by which look-ups find it.
 *
 * A process writes its records to `evidence_written` and `evidence_requests`, rows of its own only:
 * replicas do not wait for each other, and PostgreSQL's group commit shares the disk among them.
 * `number` counts the batches of a process without a hole, so that one whose answer was lost is not
 * written twice and a missing one is seen. `id` rises from a decision to its outcome, whichever
 * process writes that.
 *
 * `seal_evidence` moves written batches into the log, about once a second and before the log is
 * read. Times are the database's, so that the clocks of replicas do not matter to leases.
 */
export const EVIDENCE = `
-- Without settings of their own, these two can be inlined; calling them for each row costs more than reading it.
CREATE FUNCTION signalbox.now_ms() RETURNS bigint LANGUAGE sql AS $$
  SELECT (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000)::bigint
$$;

-- token: an id can be given twice, by a standby that lagged when it became the primary. number: the newest batch that the
-- process knows as written, now and then. sealed: the newest in the log. swept: after its end its requests were ended too.
CREATE TABLE signalbox.evidence_processes (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  token text NOT NULL,
  started_at bigint NOT NULL,
  seen_at bigint NOT NULL,
  ended_at bigint,
  number bigint NOT NULL DEFAULT 0,
  sealed bigint NOT NULL DEFAULT 0,
  swept boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50);
CREATE FUNCTION signalbox.is_gone(process signalbox.evidence_processes) RETURNS boolean LANGUAGE sql AS $$
  SELECT process.ended_at IS NOT NULL OR process.seen_at < signalbox.now_ms() - ${LEASE}
$$;

CREATE TABLE signalbox.evidence_written (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  process bigint NOT NULL,
  number bigint NOT NULL,
  workspaces text[] NOT NULL,
  records bytea NOT NULL,
  UNIQUE (process, number)
) WITH (toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
-- The request ids of decisions that run, and for a minute at least of those that ended.
CREATE TABLE signalbox.evidence_requests (
  request_id text COLLATE "C" PRIMARY KEY,
  process bigint NOT NULL,
  workspace text COLLATE "C" NOT NULL,
  ended_at bigint
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
CREATE TABLE signalbox.evidence_batches (
  last bigint PRIMARY KEY,
  first bigint NOT NULL CHECK (first >= 1 AND first <= last),
  hash text COLLATE "C" NOT NULL,
  lowest text COLLATE "C" NOT NULL,
  highest text COLLATE "C" NOT NULL,
  workspaces text[] NOT NULL,
  records bytea NOT NULL
);
CREATE INDEX evidence_batches_by_highest ON signalbox.evidence_batches (highest, last) INCLUDE (lowest);
-- The process that writes them compresses them better.
ALTER TABLE signalbox.evidence_written ALTER records SET STORAGE EXTERNAL;
ALTER TABLE signalbox.evidence_batches ALTER records SET STORAGE EXTERNAL;
-- Batches that were gone when a later one of their process was sealed, after which position.
CREATE TABLE signalbox.evidence_missing (
  process bigint NOT NULL,
  first bigint NOT NULL,
  last bigint NOT NULL,
  position bigint NOT NULL,
  PRIMARY KEY (process, first)
);
CREATE TABLE signalbox.evidence_head (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  position bigint NOT NULL,
  hash text COLLATE "C" NOT NULL
) WITH (fillfactor = 50);
INSERT INTO signalbox.evidence_head (position, hash) VALUES (0, repeat('0', 64));
CREATE TABLE signalbox.evidence_anchors (
  position bigint PRIMARY KEY,
  hash text COLLATE "C" NOT NULL,
  at bigint NOT NULL
);

CREATE TRIGGER evidence_never_changes BEFORE UPDATE OR TRUNCATE ON signalbox.evidence_batches
  FOR EACH STATEMENT EXECUTE FUNCTION signalbox.refuse_removal('evidence is only ever added');
CREATE TRIGGER written_evidence_never_changes BEFORE UPDATE OR TRUNCATE ON signalbox.evidence_written
  FOR EACH STATEMENT EXECUTE FUNCTION signalbox.refuse_removal('evidence is only ever added');
CREATE TRIGGER missing_evidence_is_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON signalbox.evidence_missing
  FOR EACH STATEMENT EXECUTE FUNCTION signalbox.refuse_removal('what is missing stays noted');
CREATE TRIGGER anchors_are_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON signalbox.evidence_anchors
  FOR EACH STATEMENT EXECUTE FUNCTION signalbox.refuse_removal('anchors are kept');
CREATE TRIGGER the_head_is_kept BEFORE DELETE OR TRUNCATE ON signalbox.evidence_head
  FOR EACH STATEMENT EXECUTE FUNCTION signalbox.refuse_removal('the head of the evidence is kept');

CREATE FUNCTION signalbox.check_head_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  IF new.position <= old.position THEN
    RAISE EXCEPTION 'the head of the evidence only moves on';
  END IF;
  RETURN new;
END $$;
CREATE TRIGGER the_head_moves_on BEFORE UPDATE ON signalbox.evidence_head
  FOR EACH ROW EXECUTE FUNCTION signalbox.check_head_change();

CREATE FUNCTION signalbox.check_pruning() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  last_gone bigint := (SELECT max(last) FROM gone);
BEGIN
  IF last_gone IS NULL THEN
    RETURN NULL;
  END IF;
  IF EXISTS (SELECT FROM signalbox.evidence_batches WHERE last < last_gone) OR NOT EXISTS (
    SELECT FROM gone JOIN signalbox.evidence_anchors AS anchor ON anchor.position = gone.last AND anchor.hash = gone.hash
    WHERE gone.last = last_gone) THEN
    RAISE EXCEPTION 'evidence is deleted from its beginning and up to an anchor only';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER evidence_goes_up_to_an_anchor AFTER DELETE ON signalbox.evidence_batches
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION signalbox.check_pruning();

CREATE FUNCTION signalbox.check_counted() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  IF (SELECT max(gone.last) FROM gone) > (SELECT cursor.position FROM signalbox.roll_up_cursor AS cursor) THEN
    RAISE EXCEPTION 'evidence is counted before it is deleted';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER evidence_goes_when_counted AFTER DELETE ON signalbox.evidence_batches
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION signalbox.check_counted();

CREATE FUNCTION signalbox.check_sealed() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  IF EXISTS (SELECT FROM gone LEFT JOIN signalbox.evidence_processes AS process ON process.id = gone.process
      WHERE gone.number > coalesce(process.sealed, 0)) THEN
    RAISE EXCEPTION 'written evidence goes into the log before it is deleted';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER written_evidence_goes_when_sealed AFTER DELETE ON signalbox.evidence_written
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION signalbox.check_sealed();

-- Whether the batch of a process is there. One query, so one snapshot: meanwhile it may move from one table to the other.
CREATE FUNCTION signalbox.has_batch(the_process bigint, the_token text, the_number bigint) RETURNS boolean
  LANGUAGE sql STABLE AS $$
  SELECT process.sealed >= the_number OR EXISTS (SELECT FROM signalbox.evidence_written AS written
    WHERE written.process = the_process AND written.number = the_number)
  FROM signalbox.evidence_processes AS process WHERE process.id = the_process AND process.token = the_token
$$;

-- Writes a batch: 'written' where it is there now, or was there already; 'behind' where the one before it is not. Fails with
-- ${BATCH_REJECTED}, and writes nothing, where a decision's request id is there already or an outcome's request does not run.
-- The setting: a plan made while the tables were small would read all of them later.
CREATE FUNCTION signalbox.append_evidence(the_process bigint, the_token text, the_number bigint,
  decided text[], decided_workspaces text[], ended text[], the_records bytea) RETURNS text
  LANGUAGE plpgsql SET search_path = pg_catalog SET enable_seqscan = off AS $$
DECLARE
  changed bigint;
  of_outcomes text[] := '{}';
BEGIN
  IF signalbox.has_batch(the_process, the_token, the_number) THEN
    RETURN 'written';
  END IF;
  IF signalbox.has_batch(the_process, the_token, the_number - 1) IS NOT TRUE THEN
    RETURN 'behind';
  END IF;
  INSERT INTO signalbox.evidence_requests (request_id, process, workspace)
    SELECT given.request_id, the_process, given.workspace
    FROM unnest(decided, decided_workspaces) AS given (request_id, workspace) ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS changed = ROW_COUNT;
  IF changed < cardinality(decided) THEN
    RAISE EXCEPTION 'a request id is there already' USING ERRCODE = '${BATCH_REJECTED}';
  END IF;
  IF cardinality(ended) > 0 THEN
    WITH closed AS (UPDATE signalbox.evidence_requests AS request SET ended_at = signalbox.now_ms()
      WHERE request.request_id = ANY (ended) AND request.ended_at IS NULL RETURNING request.workspace)
    SELECT count(*), array_agg(DISTINCT closed.workspace) INTO changed, of_outcomes FROM closed;
    IF changed < cardinality(ended) THEN
      RAISE EXCEPTION 'a request does not run' USING ERRCODE = '${BATCH_REJECTED}';
    END IF;
  END IF;
  INSERT INTO signalbox.evidence_written (process, number, workspaces, records)
    VALUES (the_process, the_number, decided_workspaces || of_outcomes, the_records);
  RETURN 'written';
END $$;

-- Adds a batch to the log and removes what it was made of: of each process in sealed (objects of process, last), the batches
-- up to the last. missing: objects of process, first, last. Nothing happens, and false, where the head has moved meanwhile.
CREATE FUNCTION signalbox.seal_evidence(expected_position bigint, expected_hash text, the_last bigint, the_hash text,
  the_lowest text, the_highest text, the_workspaces text[], the_records bytea, sealed json, missing json) RETURNS boolean
  LANGUAGE plpgsql SET search_path = pg_catalog SET enable_seqscan = off AS $$
BEGIN
  UPDATE signalbox.evidence_head SET position = the_last, hash = the_hash
    WHERE position = expected_position AND hash = expected_hash;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  INSERT INTO signalbox.evidence_batches (last, first, hash, lowest, highest, workspaces, records)
    VALUES (the_last, expected_position + 1, the_hash, the_lowest, the_highest, the_workspaces, the_records);
  INSERT INTO signalbox.evidence_missing (process, first, last, position)
    SELECT item.process, item.first, item.last, expected_position
    FROM json_to_recordset(missing) AS item (process bigint, first bigint, last bigint) ON CONFLICT DO NOTHING;
  UPDATE signalbox.evidence_processes AS process SET sealed = greatest(process.sealed, item.last)
    FROM json_to_recordset(seal_evidence.sealed) AS item (process bigint, last bigint) WHERE process.id = item.process;
  DELETE FROM signalbox.evidence_written AS written
    USING json_to_recordset(seal_evidence.sealed) AS item (process bigint, last bigint)
    WHERE written.process = item.process AND written.number <= item.last;
  RETURN true;
END $$;

CREATE FUNCTION signalbox.anchor_evidence(now_given bigint) RETURNS SETOF signalbox.evidence_anchors
  LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  head signalbox.evidence_head;
BEGIN
  SELECT * INTO STRICT head FROM signalbox.evidence_head FOR UPDATE;
  IF head.position > 0 THEN
    INSERT INTO signalbox.evidence_anchors (position, hash, at) VALUES (head.position, head.hash, now_given)
      ON CONFLICT (position) DO NOTHING;
    RETURN QUERY SELECT * FROM signalbox.evidence_anchors AS anchor WHERE anchor.position = head.position;
  END IF;
END $$;

-- Deletes the log's beginning up to and with the last position of a batch, which becomes an anchor.
CREATE FUNCTION signalbox.prune_evidence(
  last_position bigint, now_given bigint, OUT hash text, OUT at bigint, OUT removed bigint)
  LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  INSERT INTO signalbox.evidence_anchors (position, hash, at)
    SELECT batch.last, batch.hash, now_given FROM signalbox.evidence_batches AS batch WHERE batch.last = last_position
    ON CONFLICT ON CONSTRAINT evidence_anchors_pkey DO NOTHING;
  SELECT anchor.hash, anchor.at INTO hash, at
    FROM signalbox.evidence_anchors AS anchor WHERE anchor.position = last_position;
  WITH gone AS (
    DELETE FROM signalbox.evidence_batches AS batch WHERE batch.last <= last_position RETURNING batch.first, batch.last)
  SELECT coalesce(sum(gone.last - gone.first + 1), 0) INTO removed FROM gone;
END $$;
`;
