import type { SessionHolder } from "../canon/credentials/session.ts";

/** A session as the store keeps it: of the cookie's value only a digest. Times are milliseconds since the epoch. */
export interface SessionRecord {
  /** SHA-256 of the cookie's value, lower-case hexadecimal. */
  readonly digest: string;
  readonly holder: SessionHolder;
  readonly createdAt: number;
  /** When it was last used, to about a minute. */
  readonly seenAt: number;
  /** When it ends however much it is used. */
  readonly endsAt: number;
}

/** Sessions that have ended are deleted. Nothing else of a session changes than when it was last seen. */
export interface SessionStore {
  /** Durable when it resolves. */
  create(record: SessionRecord): Promise<void>;
  /** As it is in the store now; `null` where there is none. */
  find(digest: string): Promise<SessionRecord | null>;
  /** An earlier time than the stored one, or an unknown session, changes nothing. */
  touch(digest: string, at: number): Promise<void>;
  /** Durable when it resolves. An unknown session changes nothing. */
  end(digest: string): Promise<void>;
  /** Deletes those that ended at `now` or earlier, and those last seen at `idleSince` or earlier; gives their number. */
  prune(now: number, idleSince: number): Promise<number>;
}
