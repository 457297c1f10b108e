/**
 * `version` rises with every change of any key, except of last_used_at, in the order of the commits: a trigger takes it
 * from one row whose lock is held until the commit. So who reads on from a version misses nothing.
 */
export const KEYS = `
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
  CHECK ((status = 'revoked') = (revoked_at IS NOT NULL))
);
CREATE INDEX keys_by_version ON signalbox.keys (version);
CREATE INDEX keys_by_workspace ON signalbox.keys (workspace, created_at);

CREATE FUNCTION signalbox.check_key_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  IF (new.id, new.digest, new.workspace, new.scopes, new.owner, new.environment, new.workload, new.labels,
      new.created_at, new.created_by, new.rotated_from, new.exchange, new.limits)
    IS DISTINCT FROM (old.id, old.digest, old.workspace, old.scopes, old.owner, old.environment, old.workload,
      old.labels, old.created_at, old.created_by, old.rotated_from, old.exchange, old.limits) THEN
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
CREATE TRIGGER keys_change_for_the_worse BEFORE UPDATE ON signalbox.keys
  FOR EACH ROW EXECUTE FUNCTION signalbox.check_key_change();

CREATE FUNCTION signalbox.number_key_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF (new.status, new.revoked_at, new.expires_at) IS NOT DISTINCT FROM (old.status, old.revoked_at, old.expires_at) THEN
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

CREATE FUNCTION signalbox.refuse_removal() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  RAISE EXCEPTION '%', TG_ARGV[0];
END $$;
CREATE TRIGGER keys_are_kept BEFORE DELETE OR TRUNCATE ON signalbox.keys
  FOR EACH STATEMENT EXECUTE FUNCTION signalbox.refuse_removal('keys are kept; revoke instead');

CREATE FUNCTION signalbox.add_key(record jsonb) RETURNS SETOF signalbox.keys LANGUAGE sql SET search_path = pg_catalog AS $$
  INSERT INTO signalbox.keys (id, digest, workspace, scopes, owner, environment, workload, labels, expires_at, created_at,
    created_by, last_used_at, rotated_from, status, revoked_at, exchange, limits, version)
  VALUES (record ->> 'id', record ->> 'digest', record ->> 'workspace', record -> 'scopes', record ->> 'owner',
    record ->> 'environment', record ->> 'workload', record -> 'labels', (record ->> 'expiresAt')::bigint,
    (record ->> 'createdAt')::bigint, record ->> 'createdBy', (record ->> 'lastUsedAt')::bigint,
    record ->> 'rotatedFrom', record ->> 'status', (record ->> 'revokedAt')::bigint,
    record ->> 'exchange', record ->> 'limits', 0)
  RETURNING *
$$;

-- Both keys as they then are, the old one first. No rows: no such key. Old key alone: it is not active, nothing changed.
CREATE FUNCTION signalbox.rotate_key(old_id text, replacement jsonb, overlap_end bigint)
  RETURNS SETOF signalbox.keys LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  previous signalbox.keys;
BEGIN
  SELECT * INTO previous FROM signalbox.keys WHERE id = old_id FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  IF previous.status <> 'active' OR previous.expires_at <= (replacement ->> 'createdAt')::bigint THEN
    RETURN NEXT previous;
    RETURN;
  END IF;
  UPDATE signalbox.keys SET expires_at = least(expires_at, overlap_end) WHERE id = old_id RETURNING * INTO previous;
  RETURN NEXT previous;
  RETURN QUERY SELECT * FROM signalbox.add_key(replacement);
END $$;
`;
