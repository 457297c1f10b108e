import { hash } from "node:crypto";
import { StoreUnavailableError } from "../canon/error.ts";
import type { SessionHolder, SessionTimes } from "../canon/identity.ts";
import type { RandomBytes } from "./key-text.ts";
import type { SessionRecord, SessionStore } from "./key-store.ts";

/**
 * How long a look into the store counts, milliseconds: a sign-out on another replica is seen so
 * soon.
 */
const FRESH = 1_000;

/**
 * Looks into the store in that time, at most, for values that this process has neither made nor
 * seen good: anonymous callers must not be able to keep it busy.
 */
const UNKNOWN_LOOK_UPS = 50;

/** As many of them may come from one address, so that one caller cannot use up the others' part. */
const UNKNOWN_LOOK_UPS_OF_ADDRESS = 10;

/** Sessions that were good here, remembered at most. */
const REMEMBERED = 10_000;

/** A use is written again only after this long, milliseconds. */
const TOUCH_INTERVAL = 60_000;

/** 256 bits as base64url. */
const VALUE = /^[A-Za-z0-9_-]{43}$/;

interface Look {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Address of the caller. */
  readonly address: string;
  readonly found: Promise<SessionRecord | null>;
}

/**
 * Sessions of the console, over a store that all replicas share. Methods throw
 * {@link StoreUnavailableError} where it is unavailable.
 */
export function createSessions(store: SessionStore, randomBytes: RandomBytes) {
  /** The looks of the last second by digest, oldest first. */
  const looks = new Map<string, Look>();

  /** Digests of sessions that were good at the last look. */
  const good = new Set<string>();

  /**
   * Starts a session. The value is the credential: it is for the holder's browser, and stands
   * nowhere else.
   *
   * @param now milliseconds since the epoch. @param latest when it ends at the latest, whatever
   * the other times are.
   */
  async function start(
    holder: SessionHolder,
    now: number,
    { idle, absolute }: SessionTimes,
    latest = Number.POSITIVE_INFINITY,
  ): Promise<{ readonly value: string; readonly record: SessionRecord }> {
    const value = Buffer.from(randomBytes(32)).toString("base64url");
    const at = Math.trunc(now);
    const endsAt = Math.trunc(Math.min(now + absolute, latest));
    const record: SessionRecord = {
      digest: digestOf(value),
      holder,
      createdAt: at,
      seenAt: at,
      endsAt,
    };
    await store.prune(at, at - idle);
    await store.create(record);
    remember(record.digest);
    return { value, record };
  }

  /**
   * The session that a browser's value is of, used now; `null` where it has ended or never was.
   * @param address of the caller.
   */
  async function find(
    value: string,
    now: number,
    { idle }: Pick<SessionTimes, "idle">,
    address: string,
  ): Promise<SessionRecord | null> {
    if (!VALUE.test(value)) return null;
    const digest = digestOf(value);
    const look = lookUp(digest, now, address);
    const record = await look.found;
    if (record === null) return null;
    if (now >= record.endsAt || now >= record.seenAt + idle) {
      await store.endSession(digest);
      return forget(digest);
    }
    if (now - record.seenAt < TOUCH_INTERVAL) return record;
    const touched = { ...record, seenAt: Math.trunc(now) };
    await store.touch(digest, touched.seenAt);
    // Not where it was ended meanwhile: it would be good for another second.
    if (looks.get(digest) === look) looks.set(digest, { ...look, found: Promise.resolve(touched) });
    return touched;
  }

  /** Ends it here at once, and within a second for every other process. */
  async function endSession(value: string) {
    const digest = digestOf(value);
    await store.endSession(digest);
    forget(digest);
  }

  function lookUp(digest: string, now: number, address: string): Look {
    for (const [digestSeen, { at }] of looks) {
      if (Math.abs(now - at) < FRESH) break;
      looks.delete(digestSeen);
    }
    const recent = looks.get(digest);
    if (recent !== undefined) return recent;
    if (!good.has(digest) && !mayLookUp(address)) {
      throw new StoreUnavailableError("too many sessions are looked up at once", { applied: "no" });
    }
    const look = { at: now, address, found: store.find(digest) };
    looks.set(digest, look);
    look.found.then(
      (record) => (record === null ? good.delete(digest) : remember(digest)),
      () => looks.delete(digest),
    );
    return look;
  }

  function mayLookUp(address: string): boolean {
    const unknown = [...looks].filter(([digest]) => !good.has(digest));
    const ofAddress = unknown.filter(([, look]) => look.address === address);
    return unknown.length < UNKNOWN_LOOK_UPS && ofAddress.length < UNKNOWN_LOOK_UPS_OF_ADDRESS;
  }

  function remember(digest: string) {
    if (good.size >= REMEMBERED) good.clear();
    good.add(digest);
  }

  function forget(digest: string): null {
    good.delete(digest);
    looks.delete(digest);
    return null;
  }

  return { start, find, endSession };
}

function digestOf(value: string) {
  return hash("sha256", value, "hex");
}

/** How long a code is good, milliseconds. */
const LIFETIME = 10 * 60_000;

/** Codes that sign in once each, for a link that a terminal shows; in the memory of one process. */
export function createSignInCodes(randomBytes: RandomBytes) {
  const codes = new Map<string, { readonly keyId: string; readonly until: number }>();
  return {
    /** @param now milliseconds since the epoch. */
    make(keyId: string, now: number): string {
      const code = Buffer.from(randomBytes(32)).toString("base64url");
      codes.set(code, { keyId, until: now + LIFETIME });
      return code;
    },
    /**
     * The key that the code stands for; no second time. `null` for one that is unknown, used or too
     * old.
     */
    take(code: string, now: number): string | null {
      const found = codes.get(code);
      codes.delete(code);
      return found === undefined || now >= found.until ? null : found.keyId;
    },
  };
}
