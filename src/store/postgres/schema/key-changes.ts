/**
 * Grants of a key that lives can change; who and where it is cannot. A rotation gives the new key the grants that the row has now: what the caller
 * made of an older reading would bring back a grant that was taken away meanwhile.
 */
export const KEY_CHANGES = `
CREATE OR REPLACE FUNCTION signalbox.check_key_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  IF (new.id, new.digest, new.workspace, new.environment, new.created_at, new.created_by, new.rotated_from, new.exchange,
      new.lineage)
    IS DISTINCT FROM (old.id, old.digest, old.workspace, old.environment, old.created_at, old.created_by,
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

CREATE OR REPLACE FUNCTION signalbox.number_key_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
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
  RETURN QUERY SELECT * FROM signalbox.add_key(replacement || jsonb_build_object('scopes', previous.scopes, 'owner',
    previous.owner, 'workload', previous.workload, 'labels', previous.labels, 'limits', previous.limits::jsonb));
END $$;
`;
