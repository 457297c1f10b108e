/**
 * `roll_ups` holds what the log says up to the cursor's position, and nothing else: both change together, in
 * `fold_roll_ups`. So a record is counted once whatever becomes of statements, answers and replicas, and what is after
 * the cursor is counted before it is read.
 */
export const ROLL_UPS = `
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

CREATE FUNCTION signalbox.check_counted() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  IF (SELECT max(gone.position) FROM gone) > (SELECT cursor.position FROM signalbox.roll_up_cursor AS cursor) THEN
    RAISE EXCEPTION 'evidence is counted before it is deleted';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER evidence_goes_when_counted AFTER DELETE ON signalbox.evidence_log
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION signalbox.check_counted();

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
