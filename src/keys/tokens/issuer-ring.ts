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

/**
 * The public keys of every process that signs tokens, in memory. @throws {StoreUnavailableError}
 */
export async function openIssuerRing(store: IssuerStore, clock: Clock) {
  const issuers = new Map<string, Issuer>();
  let lookedUpAt = Number.NEGATIVE_INFINITY;
  /**
   * The look-up that has not begun yet: all who wait share it. One that has begun may have read too
   * early.
   */
  let next: Promise<void> | null = null;

  async function add(records: readonly IssuerRecord[]) {
    const now = clock();
    for (const [kid, { expiresAt }] of issuers) if (expiresAt <= now) issuers.delete(kid);
    for (const { kid, publicKey, expiresAt } of records) {
      if (issuers.has(kid)) continue;
      const key = await importPublicKey(publicKey);
      if (key !== null) issuers.set(kid, { key, expiresAt });
    }
  }

  function present(kid: string) {
    const issuer = issuers.get(kid);
    return issuer === undefined || issuer.expiresAt <= clock() ? null : issuer.key;
  }

  async function lookUp() {
    await delay(Math.max(lookedUpAt + LOOK_UP_PAUSE - performance.now(), 0), undefined, {
      ref: false,
    });
    lookedUpAt = performance.now();
    next = null;
    await add(await store.list(clock()).catch(() => []));
  }

  // A key that cannot be imported is skipped; its tokens are then rejected.
  const close = await store.watch((records) => void add(records).catch(() => undefined));
  await add(await store.list(clock()));
  return {
    add,
    close,
    /**
     * The public key of that name, looked for in the store where it is not present; `null` where
     * there is none. Never rejects.
     */
    async find(kid: string): Promise<CryptoKey | null> {
      const key = present(kid);
      if (key !== null) return key;
      next ??= lookUp();
      await next;
      return present(kid);
    },
  };
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
const RETENTION = 24 * 60 * 60_000;

interface SigningKey {
  readonly kid: string;
  /** Cannot be exported: it is in this process's memory and nowhere else. */
  readonly privateKey: CryptoKey;
}

/**
 * This process's key pair: made for the first token, and anew after half a day. The public half is
 * in the store before anything is signed.
 *
 * @param onPublished hears of each new pair before it signs.
 */
export function createSigningKeys(
  issuers: IssuerStore,
  clock: Clock,
  randomBytes: RandomBytes,
  onPublished: (record: IssuerRecord) => Promise<void>,
) {
  let newest: Promise<SigningKey> | null = null;
  let signsUntil = 0;

  /**
   * @throws {StoreUnavailableError} where a new public key cannot be published; the next call tries
   * again.
   */
  function current(): Promise<SigningKey> {
    if (newest === null || clock() >= signsUntil) {
      signsUntil = clock() + SIGNING_TIME;
      const created = make();
      newest = created;
      created.catch(() => {
        if (newest === created) newest = null;
      });
    }
    return newest;
  }

  async function make(): Promise<SigningKey> {
    const expiresAt = signsUntil + AFTERLIFE;
    const { publicKey, privateKey } = await generateKeyPair("EdDSA", {
      crv: "Ed25519",
      extractable: false,
    });
    const { x } = await exportJWK(publicKey);
    if (x === undefined) throw new Error("tokens: an Ed25519 key without a public half");
    const kid = Buffer.from(randomBytes(12)).toString("base64url");
    const record = { kid, publicKey: x, expiresAt };
    await issuers.publish(record);
    await onPublished(record);
    await issuers.prune(clock() - RETENTION);
    return { kid, privateKey };
  }

  return {
    current,
    /** @param typ of the header. @throws {StoreUnavailableError} likewise. */
    async sign(claims: JWTPayload, typ: string): Promise<string> {
      const { kid, privateKey } = await current();
      return new SignJWT(claims).setProtectedHeader({ alg: "EdDSA", typ, kid }).sign(privateKey);
    },
  };
}
