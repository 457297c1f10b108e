/** A value and when it stops being valid: milliseconds since the epoch, `null` where not given. */
export interface Dated<Value> {
  readonly value: Value;
  readonly expiresAt: number | null;
}

interface RenewedOptions<Value> {
  readonly fetch: () => Promise<Dated<Value>>;
  /** Longest that a call waits for a value, milliseconds. */
  readonly patience: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * How long before its end a value is renewed, milliseconds. The metadata services of AWS and Google
 * have a new value ready five minutes before the old one ends; asking earlier would only give the
 * old one again.
 */
const RENEWED_AHEAD = 4 * 60_000;
/** A value this close to its end could end on the way to the provider, milliseconds. */
const LEEWAY = 10_000;
/**
 * How often a value without an end is read again, so that a key exchanged in its file is found,
 * milliseconds.
 */
const UNDATED_LIFE = 5 * 60_000;
/** Time without another renewal after a failed one, milliseconds. */
const PAUSE_AFTER_FAILURE = 1_000;
/**
 * Timeout of a renewal, milliseconds. Without it, one lost response would block every later
 * renewal.
 */
const LONGEST_RENEWAL = 30_000;

/**
 * No credential was available in time. It has no `cause` on purpose: errors of the sources contain
 * tokens, paths and responses.
 */
export class CredentialsUnavailable extends Error {
  constructor() {
    super("no credentials could be obtained");
    this.name = "CredentialsUnavailable";
  }
}

interface RenewableValue<Value> {
  readonly value: Value;
  readonly renewAt: number;
  readonly usableUntil: number;
}

/**
 * A value that must be fetched anew from time to time: fetched at the first call, renewed in the
 * background before it ends, by one fetch for all who wait. A renewal that fails has no effect
 * while the old value is valid.
 */
export class Renewed<Value> {
  readonly #options: RenewedOptions<Value>;
  #current: RenewableValue<Value> | null = null;
  #renewal: Promise<Value> | null = null;
  #pausedUntil = -Infinity;

  constructor(options: RenewedOptions<Value>) {
    this.#options = options;
  }

  /**
   * The value at once where one is held. Rejects with {@link CredentialsUnavailable}, after
   * `patience` at the latest.
   */
  get(): Value | Promise<Value> {
    const now = this.#options.now();
    const current = this.#current;
    if (current !== null && now < current.usableUntil) {
      if (now >= current.renewAt && this.#renewal === null && now >= this.#pausedUntil)
        void this.#renew();
      return current.value;
    }
    if (this.#renewal === null && now < this.#pausedUntil)
      return Promise.reject(new CredentialsUnavailable());
    return within(this.#renewal ?? this.#renew(), this.#options.patience);
  }

  #renew(): Promise<Value> {
    const renewal = this.#fetch().finally(() => {
      this.#renewal = null;
    });
    this.#renewal = renewal;
    // Callers that wait get the rejection; a renewal in the background has none.
    renewal.catch(() => {});
    return renewal;
  }

  async #fetch(): Promise<Value> {
    try {
      const { value, expiresAt } = await within(this.#options.fetch(), LONGEST_RENEWAL);
      const now = this.#options.now();
      const usableUntil = expiresAt === null ? Infinity : expiresAt - LEEWAY;
      if (!(now < usableUntil)) throw new CredentialsUnavailable();
      // A short-lived value, or the old one again, is renewed in the second half of its time.
      const ahead = expiresAt === null ? 0 : Math.min(RENEWED_AHEAD, (expiresAt - now) / 2);
      this.#current = {
        value,
        usableUntil,
        renewAt: expiresAt === null ? now + UNDATED_LIFE : expiresAt - ahead,
      };
      return value;
    } catch {
      this.#pausedUntil = this.#options.now() + PAUSE_AFTER_FAILURE;
      throw new CredentialsUnavailable();
    }
  }
}

/** The promise's outcome, or a rejection after `time` milliseconds. */
async function within<Value>(promise: Promise<Value>, time: number): Promise<Value> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new CredentialsUnavailable()), time);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
