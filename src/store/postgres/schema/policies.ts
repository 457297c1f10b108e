/** Taken over by the log of policies (`schema/policy-log.ts`). */
export const POLICIES = `
CREATE TABLE signalbox.policies (
  id text COLLATE "C" PRIMARY KEY,
  digest text NOT NULL,
  revision integer NOT NULL CHECK (revision >= 1),
  mode text NOT NULL CHECK (mode IN ('shadow', 'enforce'))
);
CREATE TABLE signalbox.policy_revisions (
  id text COLLATE "C" NOT NULL REFERENCES signalbox.policies (id),
  revision integer NOT NULL,
  digest text NOT NULL,
  first_seen_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (id, revision)
);
CREATE FUNCTION signalbox.check_policy_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  IF new.revision <> old.revision + (new.digest <> old.digest)::integer THEN
    RAISE EXCEPTION 'a revision rises by one exactly when the digest changes';
  END IF;
  RETURN new;
END $$;
CREATE TRIGGER policies_count_up BEFORE UPDATE ON signalbox.policies
  FOR EACH ROW EXECUTE FUNCTION signalbox.check_policy_change();

-- In the order of the ids, so that two replicas which start at once wait for each other's rows in the same order.
CREATE FUNCTION signalbox.observe_policies(contents jsonb)
  RETURNS SETOF signalbox.policies LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  content record;
  known signalbox.policies;
BEGIN
  FOR content IN
    SELECT item ->> 'id' AS id, item ->> 'digest' AS digest, item ->> 'initialMode' AS initial_mode
    FROM jsonb_array_elements(contents) AS item ORDER BY (item ->> 'id') COLLATE "C"
  LOOP
    INSERT INTO signalbox.policies (id, digest, revision, mode)
      VALUES (content.id, content.digest, 1, content.initial_mode)
      ON CONFLICT (id) DO NOTHING RETURNING * INTO known;
    IF NOT FOUND THEN
      SELECT * INTO STRICT known FROM signalbox.policies WHERE id = content.id FOR UPDATE;
      IF known.digest = content.digest THEN
        RETURN NEXT known;
        CONTINUE;
      END IF;
      UPDATE signalbox.policies SET digest = content.digest, revision = known.revision + 1 WHERE id = content.id
        RETURNING * INTO known;
    END IF;
    INSERT INTO signalbox.policy_revisions (id, revision, digest) VALUES (known.id, known.revision, known.digest);
    RETURN NEXT known;
  END LOOP;
END $$;
`;
