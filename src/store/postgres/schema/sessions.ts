export const SESSIONS = `
CREATE TABLE signalbox.sessions (
  digest text COLLATE "C" PRIMARY KEY,
  holder text COLLATE "C" NOT NULL,
  key_id text COLLATE "C",
  person text,
  created_at bigint NOT NULL,
  seen_at bigint NOT NULL,
  ends_at bigint NOT NULL,
  CHECK ((key_id IS NULL) <> (person IS NULL))
);
CREATE INDEX sessions_by_holder ON signalbox.sessions (holder);
CREATE INDEX sessions_by_end ON signalbox.sessions (ends_at);
CREATE INDEX sessions_by_use ON signalbox.sessions (seen_at);
`;
