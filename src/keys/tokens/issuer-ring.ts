import { setTimeout as delay } from "node:timers/promises";
import { importJWK, type CryptoKey } from "jose";

import type { IssuerRecord, IssuerStore } from "./issuer-store.ts";
import type { Clock } from "../key-record.ts";

/** Least time between two readings of the store that tokens of unknown issuers cause, milliseconds. */
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
  /** The look-up that has not begun yet: all who wait share it. One that has begun may have read too early. */
  #next: Promise<void> | null = null;

  constructor(store: IssuerStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** @throws {StoreUnavailableError} */
  async open(): Promise<void> {
    // A key that cannot be imported is skipped; its tokens are then rejected.
    this.#unwatch = await this.#store.watch((records) => void this.add(records).catch(() => undefined));
    await this.add(await this.#store.list(this.#clock()));
  }

  close(): void {
    this.#unwatch();
  }

  async add(records: readonly IssuerRecord[]): Promise<void> {
    const now = this.#clock();
    for (const [kid, { expiresAt }] of this.#issuers) if (expiresAt <= now) this.#issuers.delete(kid);
    for (const { kid, publicKey, expiresAt } of records) {
      if (this.#issuers.has(kid)) continue;
      const key = await importPublicKey(publicKey);
      if (key !== null) this.#issuers.set(kid, { key, expiresAt });
    }
  }

  /** The public key of that name, looked for in the store where it is not known; `null` where there is none. Never rejects. */
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

  async #lookUp(): Promise<void> {
    await delay(Math.max(this.#lookedUpAt + LOOK_UP_PAUSE - performance.now(), 0), undefined, { ref: false });
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
