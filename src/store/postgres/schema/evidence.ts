/** A process not seen for this long is dead: its decisions without an outcome read `unknown`. Milliseconds. */
const LEASE = 20_000;

/**
 * The log is written by one function, in one statement: the row of `evidence_head` is locked by it, so replicas take
 * turns, and no replica can hold the lock while it is away. Times are the database's, so that the clocks of replicas do
 * not matter to leases. `evidence_open` holds the decisions without an outcome.
 */
export const EVIDENCE = `
-- Without settings of their own, these two can be inlined; calling them for each row costs more than reading it.
CREATE FUNCTION signalbox.now_ms() RETURNS bigint LANGUAGE sql AS $$
  SELECT (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000)::bigint
$$;

CREATE TABLE signalbox.evidence_processes (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  started_at bigint NOT NULL,
  seen_at bigint NOT NULL,
  ended_at bigint
);
CREATE FUNCTION signalbox.is_gone(process signalbox.evidence_processes) RETURNS boolean LANGUAGE sql AS $$
  SELECT process.ended_at IS NOT NULL OR process.seen_at < signalbox.now_ms() - ${LEASE}
$$;

CREATE TABLE signalbox.evidence_log (
  position bigint PRIMARY KEY,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('decision', 'outcome')),
  at bigint NOT NULL,
  request_id text COLLATE "C" NOT NULL,
  workspace text COLLATE "C",
  process bigint NOT NULL,
  record text NOT NULL,
  hash text COLLATE "C" NOT NULL,
  UNIQUE (request_id, kind)
);
CREATE INDEX evidence_log_by_workspace ON signalbox.evidence_log (workspace, position) WHERE kind = 'decision';
CREATE TABLE signalbox.evidence_head (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  position bigint NOT NULL,
  hash text COLLATE "C" NOT NULL
) WITH (fillfactor = 50);
INSERT INTO signalbox.evidence_head (position, hash) VALUES (0, repeat('0', 64));
CREATE TABLE signalbox.evidence_open (
  request_id text COLLATE "C" PRIMARY KEY,
  position bigint NOT NULL,
  process bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE TABLE signalbox.evidence_anchors (
  position bigint PRIMARY KEY,
  hash text COLLATE "C" NOT NULL,
  at bigint NOT NULL
);

CREATE TRIGGER evidence_never_changes BEFORE UPDATE OR TRUNCATE ON signalbox.evidence_log
  FOR EACH STATEMENT EXECUTE FUNCTION signalbox.refuse_removal('evidence is only ever added');
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
  last_gone bigint := (SELECT max(position) FROM gone);
BEGIN
  IF last_gone IS NULL THEN
    RETURN NULL;
  END IF;
  IF EXISTS (SELECT FROM signalbox.evidence_log WHERE position < last_gone) OR NOT EXISTS (
    SELECT FROM gone JOIN signalbox.evidence_anchors AS anchor ON anchor.position = gone.position AND anchor.hash = gone.hash
    WHERE gone.position = last_gone) THEN
    RAISE EXCEPTION 'evidence is deleted from its beginning and up to an anchor only';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER evidence_goes_up_to_an_anchor AFTER DELETE ON signalbox.evidence_log
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION signalbox.check_pruning();

-- Adds the items of a batch: objects of k (kind), r (request id), a (at), w (workspace; of an outcome its decision's is
-- taken), t (the record's text). refused tells of each item that was not added: its place from 1, and whether there is
-- 'same' (this process wrote this very record before), 'other' (another record), or 'orphan' (an outcome without a
-- decision). The look-ups are statements of their own, and a setting: a plan made while the table was small, or by a
-- guess about the batch, would read the whole log later.
CREATE FUNCTION signalbox.append_evidence(
  the_process bigint, batch json, OUT head_position bigint, OUT head_hash text, OUT refused json)
  LANGUAGE plpgsql SET search_path = pg_catalog SET enable_seqscan = off AS $$
DECLARE
  item record;
  present record;
  decision record;
  first_position bigint;
  places bigint[] := '{}';
  reasons text[] := '{}';
  opened text[] := '{}';
  opened_at bigint[] := '{}';
  closed text[] := '{}';
BEGIN
  SELECT head.position, head.hash INTO STRICT head_position, head_hash FROM signalbox.evidence_head AS head FOR UPDATE;
  first_position := head_position;
  FOR item IN
    SELECT given.* FROM ROWS FROM (json_to_recordset(batch) AS (k text, r text, a bigint, w text, t text))
      WITH ORDINALITY AS given (kind, request_id, at, workspace, record, place)
    ORDER BY given.place
  LOOP
    SELECT entry.process, entry.record INTO present FROM signalbox.evidence_log AS entry
      WHERE entry.request_id = item.request_id AND entry.kind = item.kind;
    IF FOUND THEN
      places := array_append(places, item.place);
      reasons := array_append(reasons, CASE
        WHEN present.process = the_process AND present.record = item.record THEN 'same' ELSE 'other' END);
      CONTINUE;
    END IF;
    IF item.kind = 'outcome' THEN
      SELECT entry.workspace INTO decision FROM signalbox.evidence_log AS entry
        WHERE entry.request_id = item.request_id AND entry.kind = 'decision';
      IF NOT FOUND THEN
        places := array_append(places, item.place);
        reasons := array_append(reasons, 'orphan');
        CONTINUE;
      END IF;
      item.workspace := decision.workspace;
    END IF;
    head_position := head_position + 1;
    head_hash := encode(sha256(convert_to(
      head_hash || E'\\n' || head_position || E'\\n' || item.kind || E'\\n' || item.record, 'UTF8')), 'hex');
    INSERT INTO signalbox.evidence_log (position, kind, at, request_id, workspace, process, record, hash)
      VALUES (head_position, item.kind, item.at, item.request_id, item.workspace, the_process, item.record, head_hash);
    IF item.kind = 'decision' THEN
      opened := array_append(opened, item.request_id);
      opened_at := array_append(opened_at, head_position);
    ELSE
      closed := array_append(closed, item.request_id);
    END IF;
  END LOOP;
  IF head_position > first_position THEN
    UPDATE signalbox.evidence_head SET position = head_position, hash = head_hash;
  END IF;
  DELETE FROM signalbox.evidence_open WHERE request_id = ANY (closed);
  INSERT INTO signalbox.evidence_open (request_id, position, process)
    SELECT fresh.request_id, fresh.position, the_process FROM unnest(opened, opened_at) AS fresh (request_id, position)
    WHERE fresh.request_id NOT IN (SELECT unnest(closed));
  refused := coalesce((SELECT json_agg(json_build_array(entry.place, entry.reason))
    FROM unnest(places, reasons) AS entry (place, reason)), '[]'::json);
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

-- Deletes the log's beginning up to and with a position, which becomes an anchor.
CREATE FUNCTION signalbox.prune_evidence(
  last_position bigint, now_given bigint, OUT hash text, OUT at bigint, OUT removed bigint)
  LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  INSERT INTO signalbox.evidence_anchors (position, hash, at)
    SELECT entry.position, entry.hash, now_given FROM signalbox.evidence_log AS entry WHERE entry.position = last_position
    ON CONFLICT ON CONSTRAINT evidence_anchors_pkey DO NOTHING;
  SELECT anchor.hash, anchor.at INTO hash, at
    FROM signalbox.evidence_anchors AS anchor WHERE anchor.position = last_position;
  DELETE FROM signalbox.evidence_log AS entry WHERE entry.position <= last_position;
  GET DIAGNOSTICS removed = ROW_COUNT;
END $$;
`;
