import { LogPacker } from "../../batch/pack.ts";
import { FrameCursor, HASH_BYTES } from "../../batch/frames.ts";
import { readNumber } from "../../rows/row.ts";
import type { StoredBatch } from "../../batch/stored-batch.ts";
import { StoreUnavailableError } from "../../../canon/errors/store-unavailable.ts";
import { textArray } from "../array-text.ts";
import type { Parameter, Row } from "../pool.ts";

/**
 * The log as batches: a row holds many records as bytes (`store/batch/frames.ts`), and their hashes apart, since only the
 * server knows what they are chained to. `decided_…` and `ended_…` are the smallest and largest request ids of its decisions
 * and outcomes, `high_water` the largest id of a decision so far, by which look-ups find their batch. `number` counts the
 * batches of a process, so that one whose answer was lost is not written twice.
 */
const TABLES = `
CREATE TABLE signalbox.evidence_batches (
  last bigint PRIMARY KEY,
  first bigint NOT NULL CHECK (first >= 1 AND first <= last),
  hash text COLLATE "C" NOT NULL,
  process bigint NOT NULL,
  number bigint,
  high_water text COLLATE "C" NOT NULL,
  decided_lowest text COLLATE "C" NOT NULL,
  decided_highest text COLLATE "C" NOT NULL,
  ended_lowest text COLLATE "C" NOT NULL,
  ended_highest text COLLATE "C" NOT NULL,
  workspaces text[] NOT NULL,
  hashes bytea NOT NULL,
  records bytea NOT NULL,
  UNIQUE (process, number)
);
CREATE INDEX evidence_batches_by_high_water ON signalbox.evidence_batches (high_water, last);
-- Compressing costs more than all the rest.
ALTER TABLE signalbox.evidence_batches ALTER hashes SET STORAGE EXTERNAL, ALTER records SET STORAGE EXTERNAL;
ALTER TABLE signalbox.evidence_head ADD COLUMN high_water text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE signalbox.evidence_open ADD COLUMN workspace text COLLATE "C";
UPDATE signalbox.evidence_open AS running SET workspace = entry.workspace
  FROM signalbox.evidence_log AS entry WHERE entry.position = running.position;
`;

/** Made after the rows have been taken over. Dropping a table does not fire its triggers. */
const FUNCTIONS = `
DROP FUNCTION signalbox.append_evidence(bigint, json);
DROP TABLE signalbox.evidence_log;

CREATE TRIGGER evidence_never_changes BEFORE UPDATE OR TRUNCATE ON signalbox.evidence_batches
  FOR EACH STATEMENT EXECUTE FUNCTION signalbox.refuse_removal('evidence is only ever added');

CREATE OR REPLACE FUNCTION signalbox.check_pruning() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
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

CREATE OR REPLACE FUNCTION signalbox.check_counted() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  IF (SELECT max(gone.last) FROM gone) > (SELECT cursor.position FROM signalbox.roll_up_cursor AS cursor) THEN
    RAISE EXCEPTION 'evidence is counted before it is deleted';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER evidence_goes_when_counted AFTER DELETE ON signalbox.evidence_batches
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION signalbox.check_counted();

-- Adds a batch: first its decisions, then its outcomes. places has the place of each decision's workspace in workspaces,
-- from 1; starts and ends, where the text of each record is in records; ranges, the columns decided_lowest and so on. It adds nothing
-- where present is not empty: which of the process's batches in unsure are there, so that their records must not come again;
-- where refused is not empty: the places, from 1, of decisions whose request runs and of outcomes whose request does not.
-- The setting: a plan made while the tables were small would read all of them later.
CREATE FUNCTION signalbox.append_evidence(
  the_process bigint, the_number bigint, unsure bigint[], decided text[], places int[], ended text[],
  starts int[], ends int[], ranges text[], the_workspaces text[], the_records bytea,
  OUT head_position bigint, OUT head_hash text, OUT present json, OUT refused json)
  LANGUAGE plpgsql SET search_path = pg_catalog SET enable_seqscan = off AS $$
DECLARE
  first_position bigint;
  water text COLLATE "C";
  digests bytea[] := '{}';
  digest bytea;
  kind text := E'\\ndecision\\n';
BEGIN
  SELECT head.position, head.hash, head.high_water INTO STRICT head_position, head_hash, water
    FROM signalbox.evidence_head AS head FOR UPDATE;
  first_position := head_position + 1;
  present := '[]'::json;
  refused := '[]'::json;
  IF cardinality(unsure) > 0 THEN
    -- Each by a look-up of its own: compared with a list, all batches of the process would be read.
    present := coalesce((SELECT json_agg(given.number) FROM unnest(unsure) AS given (number) WHERE EXISTS (
      SELECT FROM signalbox.evidence_batches AS batch
      WHERE batch.process = the_process AND batch.number = given.number)), '[]'::json);
    IF json_array_length(present) > 0 THEN
      RETURN;
    END IF;
  END IF;
  -- An attempt that was given up, and whose records another batch has taken along since.
  IF the_number <= (SELECT batch.number FROM signalbox.evidence_batches AS batch
      WHERE batch.process = the_process AND batch.number IS NOT NULL ORDER BY batch.number DESC LIMIT 1) THEN
    RAISE EXCEPTION 'a later batch of this process is there' USING ERRCODE = 'serialization_failure';
  END IF;
  refused := coalesce((
    SELECT json_agg(item.place) FROM (
      SELECT given.place FROM unnest(decided) WITH ORDINALITY AS given (request_id, place)
        WHERE EXISTS (SELECT FROM signalbox.evidence_open AS running WHERE running.request_id = given.request_id)
      UNION ALL
      SELECT cardinality(decided) + given.place FROM unnest(ended) WITH ORDINALITY AS given (request_id, place)
        WHERE given.request_id NOT IN (SELECT unnest(decided))
          AND NOT EXISTS (SELECT FROM signalbox.evidence_open AS running WHERE running.request_id = given.request_id)
    ) AS item), '[]'::json);
  IF json_array_length(refused) > 0 THEN
    RETURN;
  END IF;
  FOR item IN 1..cardinality(ends) LOOP
    IF item = cardinality(decided) + 1 THEN
      kind := E'\\noutcome\\n';
    END IF;
    head_position := head_position + 1;
    digest := sha256(convert_to(head_hash || E'\\n' || head_position || kind, 'UTF8')
      || substr(the_records, starts[item] + 1, ends[item] - starts[item]));
    head_hash := encode(digest, 'hex');
    digests := digests || digest;
  END LOOP;
  water := greatest(water, ranges[2]);
  UPDATE signalbox.evidence_head SET position = head_position, hash = head_hash, high_water = water;
  INSERT INTO signalbox.evidence_batches (
      last, first, hash, process, number, high_water, decided_lowest, decided_highest, ended_lowest, ended_highest,
      workspaces, hashes, records)
    VALUES (head_position, first_position, head_hash, the_process, the_number, water,
      ranges[1], ranges[2], ranges[3], ranges[4], the_workspaces,
      (SELECT string_agg(one.hash, ''::bytea) FROM unnest(digests) AS one (hash)), the_records);
  IF cardinality(ended) > 0 THEN
    DELETE FROM signalbox.evidence_open WHERE request_id = ANY (ended);
  END IF;
  INSERT INTO signalbox.evidence_open (request_id, position, process, workspace)
    SELECT given.request_id, first_position + given.place - 1, the_process, the_workspaces[places[given.place]]
    FROM unnest(decided) WITH ORDINALITY AS given (request_id, place) WHERE given.request_id NOT IN (SELECT unnest(ended));
END $$;

-- Deletes the log's beginning up to and with the last position of a batch, which becomes an anchor.
CREATE OR REPLACE FUNCTION signalbox.prune_evidence(
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

type Query = (text: string, parameters?: readonly Parameter[]) => Promise<readonly Row[]>;

/** Rows of the old log that are read at a time. */
const PAGE = 2_000;

const LIVING =
  "SELECT count(*) AS living FROM signalbox.evidence_processes AS process WHERE NOT signalbox.is_gone(process)";
const ROWS = `
SELECT position, kind, at, request_id, workspace, process, record, hash FROM signalbox.evidence_log
WHERE position > $1 ORDER BY position LIMIT ${PAGE}`;
const INSERT = `
INSERT INTO signalbox.evidence_batches VALUES ($1, $2, $3, $4, NULL, $5, $6, $7, $8, $9, $10::text::text[], $11, $12)`;

const IN_USE =
  'this database is in use by a server of an older version, and converting it would make that server refuse every request; stop all servers of this database first (after a crash, wait 20 seconds), then start "signalbox serve" of this version';

/**
 * Takes over the log of version 2, row by row.
 *
 * @throws {StoreUnavailableError} while a server of an older version runs on it
 */
export async function migrateToEvidenceBatches(query: Query): Promise<void> {
  // No other writer appends meanwhile.
  await query("LOCK TABLE signalbox.evidence_head IN ACCESS EXCLUSIVE MODE");
  if (readNumber((await query(LIVING))[0] ?? {}, "living") > 0) {
    throw new StoreUnavailableError(IN_USE, { done: "no" });
  }
  await query(TABLES);
  const packer = new LogPacker();
  let highWater = "";
  const store = async (batch: StoredBatch | null): Promise<void> => {
    if (batch === null) return;
    highWater = batch.highWater;
    const { first, last, hash, process, decided, ended, workspaces, records } = batch;
    const ids = [decided.lowest, decided.highest, ended.lowest, ended.highest];
    const row = [last, first, hash, process, highWater, ...ids, textArray(workspaces), hashesOf(records), records];
    await query(INSERT, row);
  };
  for (let after = 0; ;) {
    const rows = await query(ROWS, [after]);
    for (const row of rows) await store(packer.take(row));
    const last = rows.at(-1);
    if (last === undefined) break;
    after = readNumber(last, "position");
  }
  await store(packer.end());
  // The head's trigger wants a later position.
  await query("ALTER TABLE signalbox.evidence_head DISABLE TRIGGER the_head_moves_on");
  await query("UPDATE signalbox.evidence_head SET high_water = $1", [highWater]);
  await query("ALTER TABLE signalbox.evidence_head ENABLE TRIGGER the_head_moves_on");
  await query(FUNCTIONS);
}

function hashesOf(records: Uint8Array<ArrayBuffer>): Uint8Array {
  const cursor = new FrameCursor(records);
  const hashes: Uint8Array[] = [];
  while (cursor.next()) hashes.push(cursor.hashBytes);
  return Buffer.concat(hashes, hashes.length * HASH_BYTES);
}
