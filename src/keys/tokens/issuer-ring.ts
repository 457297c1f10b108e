import { setTimeout as delay } from "node:timers/promises";
import {
  exportJWK,
  generateKeyPair,
  importJWK,
  SignJWT,
  type CryptoKey,
  type JWTPayload,
} from "jose";
import type { IssuerRecord, IssuerStore } from "../key-store.ts";
import type { Clock } from "../key-record.ts";
import { TOKEN_LIFETIME } from "../../canon/credentials/service-key.ts";
import type { RandomBytes } from "../key-text.ts";

/**
 * Least time between two readings of the store that tokens of unknown issuers cause, milliseconds.
 */
const LOOK_UP_PAUSE = 200;

interface Issuer {
  readonly key: CryptoKey;
  readonly expiresAt: number;
}

/** The public keys of every process that signs tokens, in memory. */
export class IssuerRing {
  readonly #store: IssuerStore;
  readonly #clock: Clock;
  readonly #issuers = new Map<string, Issuer>();
  #unwatch: () => void = () => undefined;
  #lookedUpAt = Number.NEGATIVE_INFINITY;
  /**
   * The look-up that has not begun yet: all who wait share it. One that has begun may have read too
   * early.
   */
  #next: Promise<void> | null = null;

  constructor(store: IssuerStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** @throws {StoreUnavailableError} */
  async open(): Promise<void> {
    // A key that cannot be imported is skipped; its tokens are then rejected.
    this.#unwatch = await this.#store.watch(
      (records) => void this.add(records).catch(() => undefined),
    );
    await this.add(await this.#store.list(this.#clock()));
  }

  close(): void {
    this.#unwatch();
  }

  async add(records: readonly IssuerRecord[]): Promise<void> {
    const now = this.#clock();
    for (const [kid, { expiresAt }] of this.#issuers)
      if (expiresAt <= now) this.#issuers.delete(kid);
    for (const { kid, publicKey, expiresAt } of records) {
      if (this.#issuers.has(kid)) continue;
      const key = await importPublicKey(publicKey);
      if (key !== null) this.#issuers.set(kid, { key, expiresAt });
    }
  }

  /**
   * The public key of that name, looked for in the store where it is not known; `null` where there
   * is none. Never rejects.
   */
  async find(kid: string): Promise<CryptoKey | null> {
    const known = this.#known(kid);
    if (known !== null) return known;
    this.#next ??= this.#lookUp();
    await this.#next;
    return this.#known(kid);
  }

  #known(kid: string): CryptoKey | null {
    const issuer = this.#issuers.get(kid);
    return issuer === undefined || issuer.expiresAt <= this.#clock() ? null : issuer.key;
  }

  async #lookUp() {
    await delay(Math.max(this.#lookedUpAt + LOOK_UP_PAUSE - performance.now(), 0), undefined, {
      ref: false,
    });
    this.#lookedUpAt = performance.now();
    this.#next = null;
    const records = await this.#store.list(this.#clock()).catch(() => []);
    await this.add(records);
  }
}

async function importPublicKey(x: string): Promise<CryptoKey | null> {
  try {
    const key = await importJWK({ kty: "OKP", crv: "Ed25519", x }, "EdDSA");
    return key instanceof Uint8Array ? null : key;
  } catch {
    return null;
  }
}

/** How long one key pair signs, milliseconds. */
const SIGNING_TIME = 12 * 60 * 60_000;

/**
 * How long after that its tokens may still be good: the longest life, and a minute for clocks that
 * differ. Milliseconds.
 */
const AFTERLIFE = (TOKEN_LIFETIME.maximum + 60) * 1_000;

/** How long the public half of an expired pair is kept in the store, milliseconds. */
const KEPT = 24 * 60 * 60_000;

interface SigningKey {
  readonly kid: string;
  /** Cannot be exported: it is in this process's memory and nowhere else. */
  readonly privateKey: CryptoKey;
}

/**
 * This process's key pair: made for the first token, and anew after half a day. The public half is
 * in the store before anything is signed.
 */
export class SigningKeys {
  readonly #issuers: IssuerStore;
  readonly #clock: Clock;
  readonly #randomBytes: RandomBytes;
  readonly #onPublished: (record: IssuerRecord) => Promise<void>;
  #current: Promise<SigningKey> | null = null;
  #signsUntil = 0;

  /** @param onPublished hears of each new pair before it signs. */
  constructor(
    issuers: IssuerStore,
    clock: Clock,
    randomBytes: RandomBytes,
    onPublished: (record: IssuerRecord) => Promise<void>,
  ) {
    this.#issuers = issuers;
    this.#clock = clock;
    this.#randomBytes = randomBytes;
    this.#onPublished = onPublished;
  }

  /**
   * @param typ of the header.
   * @throws {StoreUnavailableError} where a new public key cannot be published; the next call tries
   * again.
   */
  async sign(claims: JWTPayload, typ: string): Promise<string> {
    const { kid, privateKey } = await this.current();
    return new SignJWT(claims).setProtectedHeader({ alg: "EdDSA", typ, kid }).sign(privateKey);
  }

  /** @throws {StoreUnavailableError} likewise. */
  current(): Promise<SigningKey> {
    if (this.#current === null || this.#clock() >= this.#signsUntil) {
      this.#signsUntil = this.#clock() + SIGNING_TIME;
      const made = this.#make(this.#signsUntil);
      this.#current = made;
      made.catch(() => {
        if (this.#current === made) this.#current = null;
      });
    }
    return this.#current;
  }

  async #make(signsUntil: number): Promise<SigningKey> {
    const { publicKey, privateKey } = await generateKeyPair("EdDSA", {
      crv: "Ed25519",
      extractable: false,
    });
    const { x } = await exportJWK(publicKey);
    if (x === undefined) throw new Error("tokens: an Ed25519 key without a public half");
    const kid = Buffer.from(this.#randomBytes(12)).toString("base64url");
    const record = { kid, publicKey: x, expiresAt: signsUntil + AFTERLIFE };
    await this.#issuers.publish(record);
    await this.#onPublished(record);
    await this.#issuers.prune(this.#clock() - KEPT);
    return { kid, privateKey };
  }
}
