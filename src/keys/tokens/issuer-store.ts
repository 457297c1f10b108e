/**
 * The public half of a key with which one process signs tokens. Write access to these is the right to make tokens, as write access to keys is the right to make keys.
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
   * Calls back with all that have not expired before it resolves, and with all again within one second of a publication by this or another process.
   * Gives back a function that ends it. A later failure to read the store is retried, and nothing is called for it.
   */
  watch(listener: (records: readonly IssuerRecord[]) => void): Promise<() => void>;
  /** Deletes those that expired at `before` or earlier; gives their number. */
  prune(before: number): Promise<number>;
}
