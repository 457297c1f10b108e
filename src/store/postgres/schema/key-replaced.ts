/**
 * Which key has replaced a key: also of the rotations so far, the newest where one key was rotated several times. The row lock of `rotate_key` makes
 * rotations of one key wait for each other, whichever replica calls.
 */
export const KEY_REPLACED = `
ALTER TABLE signalbox.keys ADD COLUMN replaced_by text COLLATE "C";
UPDATE signalbox.keys SET replaced_by = newest.id FROM (
  SELECT DISTINCT ON (rotated_from) rotated_from, id FROM signalbox.keys
  WHERE rotated_from IS NOT NULL ORDER BY rotated_from, created_at DESC, id
) AS newest
WHERE newest.rotated_from = keys.id;

CREATE FUNCTION signalbox.check_key_replaced() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  RAISE EXCEPTION 'a key is rotated once';
END $$;
CREATE TRIGGER keys_are_replaced_once BEFORE UPDATE OF replaced_by ON signalbox.keys
  FOR EACH ROW WHEN (old.replaced_by IS NOT NULL) EXECUTE FUNCTION signalbox.check_key_replaced();

-- Both keys as they then are, the old one first. No rows: no such key. Old key alone: it is not active or has been
-- replaced already, and nothing changed.
CREATE OR REPLACE FUNCTION signalbox.rotate_key(old_id text, replacement jsonb, overlap_end bigint)
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
  RETURN QUERY SELECT * FROM signalbox.add_key(replacement);
END $$;
`;
