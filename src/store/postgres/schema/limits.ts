/**
 * A lease. Figures stay at 2^53 - 1 where they would pass it: above that, they could not be read exactly, and one of them would keep all others from
 * being leased.
 */
export const LEASE_LIMITS = `
-- counters: objects of s (subject), m (measure), p (period), a (start), c (ceiling), g (give back), o (overdraft),
-- n (need), w (want). slots: objects of s, c, i (in use), w. The answers are lists of pairs in the order given.
CREATE OR REPLACE FUNCTION signalbox.lease_limits(
  the_holder text, now_given bigint, until_given bigint, counters json, slots json,
  OUT counters_leased json, OUT slots_leased json)
  LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  item record;
  used_now bigint;
  granted bigint;
  held_now bigint;
  others bigint;
  figures bigint[] := '{}';
BEGIN
  FOR item IN
    SELECT given.* FROM ROWS FROM (json_to_recordset(counters) AS (
      s text, m text, p text, a bigint, c bigint, g bigint, o bigint, n bigint, w bigint)) WITH ORDINALITY
      AS given (subject, measure, period, start, ceiling, give_back, overdraft, need, want, place)
    ORDER BY given.subject COLLATE "C", given.measure COLLATE "C", given.period COLLATE "C", given.start
  LOOP
    INSERT INTO signalbox.limit_counters AS counter (subject, measure, period, start, used)
      VALUES (item.subject, item.measure, item.period, item.start, item.overdraft)
      ON CONFLICT ON CONSTRAINT limit_counters_pkey
      DO UPDATE SET used = least(9007199254740991, greatest(0, counter.used - item.give_back) + item.overdraft)
      RETURNING counter.used INTO STRICT used_now;
    granted := 0;
    IF item.need > 0 AND used_now + item.need <= item.ceiling THEN
      granted := least(item.want, item.ceiling - used_now);
      used_now := used_now + granted;
      UPDATE signalbox.limit_counters AS counter SET used = used_now WHERE counter.subject = item.subject
        AND counter.measure = item.measure AND counter.period = item.period AND counter.start = item.start;
    END IF;
    figures := figures || ARRAY[item.place, used_now, granted];
  END LOOP;
  counters_leased := coalesce((SELECT json_agg(json_build_array(figures[at + 1], figures[at + 2]) ORDER BY figures[at])
    FROM generate_series(1, cardinality(figures), 3) AS at), '[]'::json);
  figures := '{}';
  FOR item IN
    SELECT given.* FROM ROWS FROM (json_to_recordset(slots) AS (s text, c bigint, i bigint, w bigint)) WITH ORDINALITY
      AS given (subject, ceiling, in_use, want, place)
    ORDER BY given.subject COLLATE "C"
  LOOP
    INSERT INTO signalbox.limit_subjects (subject) VALUES (item.subject) ON CONFLICT DO NOTHING;
    PERFORM FROM signalbox.limit_subjects AS guard WHERE guard.subject = item.subject FOR UPDATE;
    -- A statement of its own: its snapshot is taken once the row is ours.
    SELECT coalesce(sum(slot.held), 0) INTO STRICT others FROM signalbox.limit_slots AS slot
      WHERE slot.subject = item.subject AND slot.holder <> the_holder AND slot.until > now_given;
    held_now := greatest(item.in_use, least(item.want, item.ceiling - others));
    IF held_now <= 0 THEN
      held_now := 0;
      DELETE FROM signalbox.limit_slots AS slot WHERE slot.subject = item.subject AND slot.holder = the_holder;
    ELSE
      INSERT INTO signalbox.limit_slots AS slot (subject, holder, held, until)
        VALUES (item.subject, the_holder, held_now, until_given)
        ON CONFLICT ON CONSTRAINT limit_slots_pkey DO UPDATE SET held = held_now, until = until_given;
    END IF;
    figures := figures || ARRAY[item.place, held_now, others];
  END LOOP;
  slots_leased := coalesce((SELECT json_agg(json_build_array(figures[at + 1], figures[at + 2]) ORDER BY figures[at])
    FROM generate_series(1, cardinality(figures), 3) AS at), '[]'::json);
END $$;
`;

/**
 * Used figures only: the ceilings stand in routes.yaml and on keys. All of a lease is one statement, in which rows are
 * locked in one order, so replicas wait for each other and never in a circle.
 */
export const LIMITS = `
CREATE TABLE signalbox.limit_counters (
  subject text COLLATE "C" NOT NULL,
  measure text COLLATE "C" NOT NULL CHECK (measure IN ('requests', 'tokens', 'micro_usd')),
  period text COLLATE "C" NOT NULL CHECK (period IN ('minute', 'hour', 'day', 'month')),
  start bigint NOT NULL,
  used bigint NOT NULL CHECK (used >= 0),
  PRIMARY KEY (subject, measure, period, start)
) WITH (fillfactor = 50);
CREATE INDEX limit_counters_by_start ON signalbox.limit_counters (start);
-- The row of a subject is what its holders take turns at: what others hold is a sum, which no row of one holder guards.
CREATE TABLE signalbox.limit_subjects (
  subject text COLLATE "C" PRIMARY KEY
);
CREATE TABLE signalbox.limit_slots (
  subject text COLLATE "C" NOT NULL,
  holder text COLLATE "C" NOT NULL,
  held bigint NOT NULL CHECK (held > 0),
  until bigint NOT NULL,
  PRIMARY KEY (subject, holder)
) WITH (fillfactor = 50);

${LEASE_LIMITS}

-- A subject's row stays: there are as many as workspaces and keys with such a limit, and who waits for one must find it.
CREATE FUNCTION signalbox.prune_limits(before bigint) RETURNS bigint LANGUAGE sql SET search_path = pg_catalog AS $$
  WITH counters AS (DELETE FROM signalbox.limit_counters WHERE start < before RETURNING 1),
    slots AS (DELETE FROM signalbox.limit_slots WHERE until < before RETURNING 1)
  SELECT (SELECT count(*) FROM counters) + (SELECT count(*) FROM slots)
$$;
`;
