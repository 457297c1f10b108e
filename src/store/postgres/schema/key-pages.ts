/** Pages in the order of the list, counting what is good, and what rotations belong together: also of the rotations so far. */
export const KEY_PAGES = `
DROP INDEX signalbox.keys_by_workspace;
CREATE INDEX keys_by_workspace ON signalbox.keys (workspace, created_at DESC, id);
CREATE INDEX keys_by_state ON signalbox.keys (workspace, status, expires_at);
ALTER TABLE signalbox.keys ADD COLUMN lineage text COLLATE "C";
WITH RECURSIVE descent (id, first) AS (
  SELECT id, id FROM signalbox.keys WHERE rotated_from IS NULL
  UNION ALL SELECT keys.id, descent.first FROM signalbox.keys JOIN descent ON keys.rotated_from = descent.id
)
UPDATE signalbox.keys SET lineage = descent.first FROM descent
WHERE descent.id = keys.id AND keys.rotated_from IS NOT NULL;

CREATE OR REPLACE FUNCTION signalbox.check_key_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  IF (new.id, new.digest, new.workspace, new.scopes, new.owner, new.environment, new.workload, new.labels,
      new.created_at, new.created_by, new.rotated_from, new.exchange, new.limits, new.lineage)
    IS DISTINCT FROM (old.id, old.digest, old.workspace, old.scopes, old.owner, old.environment, old.workload,
      old.labels, old.created_at, old.created_by, old.rotated_from, old.exchange, old.limits, old.lineage) THEN
    RAISE EXCEPTION 'the grants of a key never change';
  END IF;
  IF old.status = 'revoked' AND (new.status, new.revoked_at) IS DISTINCT FROM (old.status, old.revoked_at) THEN
    RAISE EXCEPTION 'a revoked key never comes back';
  END IF;
  IF new.expires_at > old.expires_at THEN
    RAISE EXCEPTION 'the expiry of a key only moves nearer';
  END IF;
  RETURN new;
END $$;

CREATE OR REPLACE FUNCTION signalbox.add_key(record jsonb) RETURNS SETOF signalbox.keys LANGUAGE sql
SET search_path = pg_catalog AS $$
  INSERT INTO signalbox.keys (id, digest, workspace, scopes, owner, environment, workload, labels, expires_at, created_at,
    created_by, last_used_at, rotated_from, lineage, status, revoked_at, exchange, limits, version)
  VALUES (record ->> 'id', record ->> 'digest', record ->> 'workspace', record -> 'scopes', record ->> 'owner',
    record ->> 'environment', record ->> 'workload', record -> 'labels', (record ->> 'expiresAt')::bigint,
    (record ->> 'createdAt')::bigint, record ->> 'createdBy', (record ->> 'lastUsedAt')::bigint,
    record ->> 'rotatedFrom', record ->> 'lineage', record ->> 'status', (record ->> 'revokedAt')::bigint,
    record ->> 'exchange', record ->> 'limits', 0)
  RETURNING *
$$;
`;
