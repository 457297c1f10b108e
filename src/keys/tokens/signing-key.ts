import { exportJWK, generateKeyPair, type CryptoKey } from "jose";

import { TOKEN_LIFETIME } from "../../canon/credentials/service-key.ts";
import type { IssuerRecord, IssuerStore } from "./issuer-store.ts";
import type { Clock } from "../key-record.ts";
import type { RandomBytes } from "../key-text.ts";

/** How long one key pair signs, milliseconds. */
const SIGNING_TIME = 12 * 60 * 60_000;

/** How long after that its tokens may still be good: the longest life, and a minute for clocks that differ. Milliseconds. */
const AFTERLIFE = (TOKEN_LIFETIME.maximum + 60) * 1_000;

/** How long the public half of an expired pair is kept in the store, milliseconds. */
const KEPT = 24 * 60 * 60_000;

interface SigningKey {
  readonly kid: string;
  /** Cannot be exported: it is in this process's memory and nowhere else. */
  readonly privateKey: CryptoKey;
}

/**
 * This process's key pair: made for the first token, and anew after half a day. The public half is in the store
 * before anything is signed.
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

  /** @throws {StoreUnavailableError} where a new public key cannot be published; the next call tries again. */
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
    const { publicKey, privateKey } = await generateKeyPair("EdDSA", { crv: "Ed25519", extractable: false });
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
