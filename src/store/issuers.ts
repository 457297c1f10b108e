/**
 * The public half of a key with which one process signs tokens. Whoever can write these can make tokens, as whoever can write keys can make keys.
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
   * Gives back a function that ends it. A store that cannot be read later on is asked again; nothing is called then.
   */
  watch(listener: (records: readonly IssuerRecord[]) => void): Promise<() => void>;
  /** Deletes those that expired at `before` or earlier; gives their number. */
  prune(before: number): Promise<number>;
}

/** How often issuers are looked at, milliseconds; the port promises one second. */
const POLL = 400;

/**
 * `watch` for an engine that only lists. There are about as many issuers as processes, so looking is as cheap as listening and cannot miss anything.
 */
export async function watchIssuers(
  list: IssuerStore["list"],
  listener: (records: readonly IssuerRecord[]) => void,
): Promise<() => void> {
  let told = "";
  const look = async (): Promise<void> => {
    const records = await list(Date.now());
    const kids = records.map(({ kid }) => kid).join();
    if (kids === told) return;
    told = kids;
    listener(records);
  };
  const first = await list(Date.now());
  told = first.map(({ kid }) => kid).join();
  listener(first);
  const timer = setInterval(() => void look().catch(() => undefined), POLL);
  timer.unref();
  return () => clearInterval(timer);
}
