import type { KeyPage, ServiceKey } from "../canon/credentials/service-key.ts";
import type { SessionHolder } from "../canon/identity.ts";

/**
 * A service key as the store keeps it: of the secret only a digest
 * (docs/keys.md#the-text-of-a-key).
 */
export interface KeyRecord extends ServiceKey {
  /** SHA-256 of the whole key text, lower-case hexadecimal. */
  readonly digest: string;
}

/**
 * The members of a key that can be changed: not its text, so not its environment, and nothing that
 * tokens or other keys took from it.
 */
export type KeyGrants = Pick<KeyRecord, "scopes" | "owner" | "workload" | "labels" | "limits">;

/**
 * Keys are never deleted, never come back from `revoked`, and their expiry only ever moves nearer.
 */
export interface KeyStore {
  /** Durable when it resolves. @throws {DuplicateKeyError} when the id exists. */
  create(record: KeyRecord): Promise<void>;
  get(id: string): Promise<KeyRecord | null>;
  /** Newest first; `workspace` narrows. All of them: for the terminal. */
  list(filter?: { readonly workspace?: string }): Promise<readonly KeyRecord[]>;
  /**
   * The same, some keys of one workspace at a time, without reading the others; those that expire
   * soonest first where only expiring ones are wanted.
   */
  page(query: KeyPage): Promise<readonly KeyRecord[]>;
  /**
   * How many keys of a workspace are good at a moment; `most` where there are as many or more.
   *
   * @param now milliseconds since the epoch
   */
  countActive(workspace: string, now: number, most: number): Promise<number>;
  /**
   * Durable when it resolves; revoking twice keeps the first time. `null` where there is no such
   * key.
   */
  revoke(id: string, at: number): Promise<KeyRecord | null>;
  /**
   * Gives a key other grants; durable when it resolves. The last of simultaneous changes wins.
   * `null` where there is no such key.
   *
   * @throws {KeyNotActiveError} when the key is revoked.
   */
  change(id: string, grants: KeyGrants): Promise<KeyRecord | null>;
  /**
   * Adds `replacement` and brings the expiry of the key `id` forward to `expiresAt` (never later
   * than it was), both or neither; durable when it resolves. Gives the replaced key back as it now
   * is; `null` where there is no such key. The grants that can be changed are those that the key
   * has now, whatever is in `replacement`: it may come from an older reading.
   *
   * A key is rotated once; the first process wins.
   *
   * @throws {KeyRotatedError} when the key has been replaced already and is not revoked.
   * @throws {KeyNotActiveError} when the key is revoked, or had expired at `replacement.createdAt`.
   * @throws {DuplicateKeyError} when the replacement's id exists.
   */
  rotate(id: string, replacement: KeyRecord, expiresAt: number): Promise<KeyRecord | null>;
  /**
   * Remembers when keys were last used; an earlier time than the stored one, or an unknown key,
   * changes nothing.
   */
  touch(uses: readonly KeyUse[]): Promise<void>;
  /**
   * Calls back with every key, once, before it resolves; afterwards with the keys that were added
   * or changed (not those only used): for a change by this process before it resolves, by another
   * one within one second. A key is shown as it then is: of several changes at once the states
   * between may be missing, and no older state follows a newer one. So a revocation is never lost,
   * and never undone. Gives back a function that ends it.
   */
  watch(listener: (records: readonly KeyRecord[]) => void): Promise<() => void>;
}

export interface KeyUse {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/**
 * A key with this id exists already; ids are random, so this is a repeated call or a copied record.
 */
export class DuplicateKeyError extends Error {
  override readonly name = "DuplicateKeyError";
  constructor(id: string) {
    super(`a key with the id ${id} exists already`);
  }
}

/**
 * Only a key that works can be replaced: rotation must not bring a revoked or expired grant back to
 * life.
 */
export class KeyNotActiveError extends Error {
  override readonly name = "KeyNotActiveError";
  constructor(id: string) {
    super(`the key ${id} is revoked or expired; create a new key instead`);
  }
}

/**
 * Rotation is serial per key: a second one would give a key that lives no longer than the overlap
 * of the first.
 */
export class KeyRotatedError extends Error {
  override readonly name = "KeyRotatedError";
  constructor(id: string) {
    super(
      `the key ${id} has been rotated already; rotate the key that replaced it, or create a new key`,
    );
  }
}

/**
 * A session as the store keeps it: of the cookie's value only a digest. Times are milliseconds
 * since the epoch.
 */
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

/**
 * Sessions that have ended are deleted. Nothing else of a session changes than when it was last
 * seen.
 */
export interface SessionStore {
  /** Durable when it resolves. */
  create(record: SessionRecord): Promise<void>;
  /** As it is in the store now; `null` where there is none. */
  find(digest: string): Promise<SessionRecord | null>;
  /** An earlier time than the stored one, or an unknown session, changes nothing. */
  touch(digest: string, at: number): Promise<void>;
  /** Durable when it resolves. An unknown session changes nothing. */
  endSession(digest: string): Promise<void>;
  /**
   * Deletes those that ended at `now` or earlier, and those last seen at `idleSince` or earlier;
   * gives their number.
   */
  prune(now: number, idleSince: number): Promise<number>;
}

/**
 * The public half of a key with which one process signs tokens. Write access to these is the right
 * to make tokens, as write access to keys is the right to make keys.
 */
export interface IssuerRecord {
  /** Random, 1 to 64 characters of base64url; a token names it. */
  readonly kid: string;
  /** The Ed25519 public key, 32 bytes as base64url: `x` of its JWK (RFC 8037 §2). */
  readonly publicKey: string;
  /** When the last token signed with it has expired, milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Issuers are added, never changed, and pruned when they have expired. */
export interface IssuerStore {
  /** Durable when it resolves. A `kid` that is there already keeps its first record. */
  publish(record: IssuerRecord): Promise<void>;
  /** Those that expire after `now`, milliseconds since the epoch; by `kid`. */
  list(now: number): Promise<readonly IssuerRecord[]>;
  /**
   * Calls back with all that have not expired before it resolves, and with all again within one
   * second of a publication by this or another process. Gives back a function that ends it. A later
   * failure to read the store is retried, and nothing is called for it.
   */
  watch(listener: (records: readonly IssuerRecord[]) => void): Promise<() => void>;
  /** Deletes those that expired at `before` or earlier; gives their number. */
  prune(before: number): Promise<number>;
}
