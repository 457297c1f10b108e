import { hash, timingSafeEqual } from "node:crypto";

import type { KeyVerification } from "../canon/credentials/narrowing.ts";
import type { ExchangeGrant } from "../canon/credentials/service-key.ts";
import type { Identity } from "../canon/identity.ts";
import type { KeyRecord, KeyStore, KeyUse } from "./key-store.ts";
import { publicIdIn, publicIdOf } from "./key-text.ts";
import { remember } from "../canon/remember.ts";

/**
 * Minimum time between two writes of a key's `last_used`, milliseconds: it is approximate.
 */
const USE_INTERVAL = 5 * 60_000;

/** How often the ring looks for uses to write, milliseconds. */
const USE_SWEEP = 60_000;

/**
 * Most look-ups of refused keys in the store per second: anonymous callers must not be able to keep
 * it busy.
 */
const LOOK_UPS = 20;

/** How long a look-up counts and its answer is valid, milliseconds. */
const LOOK_UP_MEMORY = 1_000;

const INVALID: KeyVerification = Object.freeze({ ok: false, code: "invalid_api_key" });
const EXPIRED: KeyVerification = Object.freeze({ ok: false, code: "expired_api_key" });

/**
 * Characters of a SHA-256 in hexadecimal. Comparing that text costs a third of comparing a new
 * buffer of bytes.
 */
const DIGEST_LENGTH = 64;

/** Equal to no digest: hexadecimal text has no zero byte. */
const NO_DIGEST = Buffer.alloc(DIGEST_LENGTH);

/**
 * Where the digest of a request's key is written for the comparison; filled anew each time, and
 * never kept.
 */
const scratch = Buffer.alloc(DIGEST_LENGTH);

interface Entry {
  /** The digest's hexadecimal text. */
  readonly digest: Uint8Array;
  readonly accepted: KeyVerification;
  readonly exchange: ExchangeGrant | null;
  readonly expiresAt: number;
  readonly revoked: boolean;
  /** A rotation has replaced it. */
  readonly replaced: boolean;
  /** Milliseconds since the epoch; 0 where not used by this process. */
  usedAt: number;
  writtenAt: number;
}

/**
 * Stands in for a key that does not exist, so that an unknown public id takes the same steps and
 * the same time as a wrong secret.
 */
const ABSENT: Entry = {
  digest: NO_DIGEST,
  accepted: INVALID,
  exchange: null,
  expiresAt: Number.POSITIVE_INFINITY,
  revoked: true,
  replaced: false,
  usedAt: 0,
  writtenAt: 0,
};

/** How a key changed, for listeners. */
export interface KeyChange {
  readonly id: string;
  readonly workspace: string;
  readonly change: "added" | "revoked";
}

/** Every key of the store, in memory. Verifying allocates nothing and calls no store. */
export class KeyRing {
  readonly #entries = new Map<string, Entry>();
  /** Web origin → ids of keys whose exchange grants name it, which no change of a key touches. */
  readonly #keysOfOrigin = new Map<string, Set<string>>();

  /**
   * Takes keys that are new or have changed. A key that was revoked or expired here stays so, even
   * if a late record differs.
   */
  apply(records: readonly KeyRecord[]): readonly KeyChange[] {
    const changes: KeyChange[] = [];
    for (const record of records) {
      const existing = this.#entries.get(record.id);
      if (existing?.revoked === true) continue;
      const entry = makeEntry(record, existing);
      this.#entries.set(record.id, entry);
      for (const origin of record.exchange?.origins ?? []) {
        remember(this.#keysOfOrigin, origin, () => new Set()).add(record.id);
      }
      const { id, workspace } = record;
      if (entry.revoked) changes.push({ id, workspace, change: "revoked" });
      else if (existing === undefined) changes.push({ id, workspace, change: "added" });
    }
    return changes;
  }

  /**
   * Who holds this key.
   *
   * @param keyText the whole key, as {@link bearerCredential} takes it from the header
   * @param now milliseconds since the epoch
   */
  readonly verify = (keyText: string, now: number): KeyVerification => {
    const publicId = publicIdIn(keyText);
    if (publicId === null) return INVALID;
    const entry = this.#entries.get(publicId) ?? ABSENT;
    scratch.write(hash("sha256", keyText, "hex"), "latin1");
    if (!timingSafeEqual(scratch, entry.digest) || entry.revoked) return INVALID;
    if (now >= entry.expiresAt) return EXPIRED;
    entry.usedAt = now;
    return entry.accepted;
  };

  /**
   * The owner of a key in any state; `null` where the secret is wrong. For the records of refusals;
   * it authenticates no request.
   */
  readonly recognise = (keyText: string): Identity | null => {
    const publicId = publicIdOf(keyText);
    const entry = (publicId === null ? null : this.#entries.get(publicId)) ?? ABSENT;
    scratch.write(hash("sha256", keyText, "hex"), "latin1");
    return timingSafeEqual(scratch, entry.digest) && entry.accepted.ok
      ? entry.accepted.identity
      : null;
  };

  /**
   * The owner of the key with this public id, in any state. It authenticates no request: a public
   * id is no proof.
   */
  readonly identityOf = (publicId: string): Identity | null => {
    const accepted = this.#entries.get(publicId)?.accepted;
    return accepted?.ok === true ? accepted.identity : null;
  };

  /** Number of loaded keys, in any state. */
  get size(): number {
    return this.#entries.size;
  }

  /**
   * The key of that id as long as it is good. No secret is looked at: only for who has shown, by a
   * signature of ours, that the key's holder sent them.
   */
  readonly holder = (publicId: string, now: number): Holder | null => {
    const entry = this.#entries.get(publicId);
    if (entry === undefined || entry.revoked || now >= entry.expiresAt || !entry.accepted.ok)
      return null;
    entry.usedAt = now;
    return { identity: entry.accepted.identity, exchange: entry.exchange, rule: null };
  };

  /** Whether a valid key lists this web origin in its exchange grant. */
  readonly allowsOrigin = (origin: string, now: number): boolean => {
    for (const id of this.#keysOfOrigin.get(origin) ?? []) {
      const entry = this.#entries.get(id);
      if (entry !== undefined && !entry.revoked && now < entry.expiresAt) return true;
    }
    return false;
  };

  /**
   * How many valid keys without a replacement expire before a moment, by workspace; workspaces
   * without such keys are left out. Both times are milliseconds since the epoch.
   */
  readonly expiring = (now: number, before: number): ReadonlyMap<string, number> => {
    const counts = new Map<string, number>();
    for (const { workspace, expiresAt } of this.current(now)) {
      if (expiresAt < before) counts.set(workspace, (counts.get(workspace) ?? 0) + 1);
    }
    return counts;
  };

  /** Valid keys without a replacement. @param now milliseconds since the epoch. */
  readonly current = (now: number): readonly Identity[] =>
    [...this.#entries.values()].flatMap(({ accepted, expiresAt, revoked, replaced }) =>
      !accepted.ok || revoked || replaced || expiresAt <= now ? [] : [accepted.identity],
    );

  readonly isRevoked = (publicId: string) => {
    return this.#entries.get(publicId)?.revoked === true;
  };

  has(publicId: string): boolean {
    return this.#entries.has(publicId);
  }

  /**
   * Uses that are to be written now: at most one per key in five minutes. They count as written
   * from here on.
   */
  takeUses(): readonly KeyUse[] {
    const uses: KeyUse[] = [];
    for (const [id, entry] of this.#entries) {
      if (entry.usedAt === 0 || entry.usedAt - entry.writtenAt < USE_INTERVAL) continue;
      entry.writtenAt = entry.usedAt;
      uses.push({ id, at: entry.usedAt });
    }
    return uses;
  }
}

/** Source of tokens: a valid key, or a rule for workloads. */
export interface Holder {
  readonly identity: Identity;
  readonly exchange: ExchangeGrant | null;
  /**
   * Digest of the rule and its issuer, hexadecimal: a token of a rule that has changed since is
   * refused. `null`: it is a key.
   */
  readonly rule: string | null;
}

/** A ring that follows a store. */
export interface OpenKeyRing extends Omit<KeyRing, "apply" | "has" | "takeUses"> {
  /**
   * Looks in the store for a key that another process may have made a moment ago. True: the ring
   * knows it now; verify again. Known ids take the same way, so that the time does not distinguish
   * them from unknown ones. False also where the key is known already, where there have been too
   * many look-ups, where the store fails: nothing has changed then. Never rejects.
   */
  readonly lookUp: (keyText: string) => Promise<boolean>;
  /** The same for who has the public id only. */
  readonly lookUpId: (publicId: string) => Promise<boolean>;
  /** Stops following and writes the last uses. */
  readonly close: () => Promise<void>;
}

/**
 * Loads every key, then follows the changes of this and of other processes.
 *
 * @param changed called for each change after the first load.
 * @throws {StoreUnavailableError}
 */
export async function openKeyRing(
  keys: KeyStore,
  changed: (change: KeyChange) => void = () => {},
): Promise<OpenKeyRing> {
  const ring = new KeyRing();
  let isLoaded = false;
  const unwatch = await keys.watch((records) => {
    const changes = ring.apply(records);
    if (isLoaded) changes.forEach(changed);
  });
  isLoaded = true;
  // A use that cannot be written is forgotten: it is a coarse hint, and the requests themselves are
  // in the evidence.
  const writeUses = (): Promise<void> => keys.touch(ring.takeUses()).catch(() => undefined);
  const sweep = setInterval(() => void writeUses(), USE_SWEEP);
  sweep.unref();
  const lookUpId = lookUpIn(ring, keys);
  return Object.assign(ring, {
    lookUpId,
    lookUp: (keyText: string) => {
      const publicId = publicIdOf(keyText);
      return publicId === null ? Promise.resolve(false) : lookUpId(publicId);
    },
    async close() {
      clearInterval(sweep);
      unwatch();
      await writeUses();
    },
  });
}

interface LookUp {
  /** On the clock of `performance.now()`. */
  readonly at: number;
  readonly found: Promise<boolean>;
}

function lookUpIn(ring: KeyRing, keys: KeyStore): (publicId: string) => Promise<boolean> {
  // The look-ups of the last second, oldest first: they bound the number of new ones and remember
  // absent keys.
  const recent = new Map<string, LookUp>();
  const find = async (publicId: string): Promise<boolean> => {
    // Known ids are looked up as well: otherwise the time of a refusal would show whether an id
    // exists.
    const isKnown = ring.has(publicId);
    const record = await keys.get(publicId).catch(() => null);
    // The ring may have learnt of it meanwhile, and from a newer record than this one.
    if (record !== null && !ring.has(publicId)) ring.apply([record]);
    return !isKnown && ring.has(publicId);
  };
  return (publicId) => {
    const now = performance.now();
    for (const [id, { at }] of recent) {
      if (now - at < LOOK_UP_MEMORY) break;
      recent.delete(id);
    }
    const lookedUp = recent.get(publicId);
    if (lookedUp !== undefined) return lookedUp.found;
    if (recent.size >= LOOK_UPS) return Promise.resolve(false);
    const found = find(publicId);
    recent.set(publicId, { at: now, found });
    return found;
  };
}

function makeEntry(record: KeyRecord, existing: Entry | undefined): Entry {
  // An expiry only ever moves nearer; a record with a later one is older and arrived late.
  const expiresAt = Math.min(record.expiresAt, existing?.expiresAt ?? record.expiresAt);
  const identity: Identity = Object.freeze({
    workspace: record.workspace,
    keyId: record.id,
    scopes: new Set(record.scopes),
    environment: record.environment,
    workload: record.workload,
    owner: record.owner,
    labels: Object.freeze([...record.labels]),
    expiresAt,
    lineage: record.lineage,
    limits: record.limits,
  });
  return {
    // A comparison of unequal lengths throws; a damaged record must be refused, not end the request
    // in an error.
    digest: /^[0-9a-f]{64}$/.test(record.digest) ? Buffer.from(record.digest, "latin1") : NO_DIGEST,
    accepted: Object.freeze({ ok: true, identity }),
    exchange: record.exchange,
    expiresAt,
    revoked: record.status === "revoked",
    replaced: record.replacedBy !== null || existing?.replaced === true,
    usedAt: existing?.usedAt ?? 0,
    writtenAt: existing?.writtenAt ?? record.lastUsedAt ?? 0,
  };
}
