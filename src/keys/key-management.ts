import {
  KeyFaultError,
  type ExistingKey,
  type KeyFault,
  type KeyManagement,
  type PreparedKey,
  type ServiceKey,
} from "../canon/credentials/service-key.ts";
import {
  DuplicateKeyError,
  KeyNotActiveError,
  KeyRotatedError,
  type KeyRecord,
  type KeyStore,
  type KeyGrants,
} from "./key-store.ts";
import { StoreUnavailableError } from "../canon/error.ts";
import {
  KeyOptionError,
  createKey,
  prepareRotation,
  type Clock,
  type CreatedKey,
} from "./key-record.ts";
import { type RandomBytes, publicIdFor } from "./key-text.ts";
import { canonicalJson } from "../canon/json.ts";

/**
 * Good keys of one workspace, at most: every process has all keys in memory. Some more may be made
 * at once.
 */
export const MAXIMUM_ACTIVE_KEYS = 10_000;

/** Creates and changes keys, with a reason for each refusal: the operations of `/v1/keys`. */
export function manageKeys(keys: KeyStore, clock: Clock, randomBytes: RandomBytes): KeyManagement {
  const checkSpace = async (workspace: string) => {
    const active = await keys.countActive(workspace, Math.trunc(clock()), MAXIMUM_ACTIVE_KEYS);
    if (active >= MAXIMUM_ACTIVE_KEYS) throw new KeyFaultError({ fault: "too_many" });
  };
  /**
   * A key that was rotated works until its overlap ends, so all good keys of the name change; the
   * newest last, so that a retry finds the rest.
   */
  const differing = (line: readonly KeyRecord[], requested: KeyRecord) =>
    line.flatMap((key) => {
      const grants = isLive(key, Math.trunc(clock())) ? changedGrants(key, requested) : [];
      return grants.length === 0 ? [] : [{ id: key.id, grants }];
    });
  const changeLine = async (name: string, requested: KeyRecord): Promise<ServiceKey> => {
    // Twice: a rotation may have copied the former grants to one more key meanwhile. A later one
    // copies the new ones.
    for (let look = 0; look < 2; look += 1) {
      const { line } = await findNamed(keys, requested.workspace, name);
      for (const { id } of differing(line, requested)) await keys.change(id, requested);
    }
    return withoutDigest(existing((await findNamed(keys, requested.workspace, name)).line.at(-1)));
  };
  const prepared = async ({ text, record }: CreatedKey): Promise<PreparedKey> => {
    await checkSpace(record.workspace);
    const store = async (): Promise<null> => {
      await keys.create(record);
      return null;
    };
    return { text, key: withoutDigest(record), previous: null, store: () => orFault(store) };
  };
  return {
    get: (id) =>
      orFault(async () => {
        const record = await keys.get(id);
        return record === null ? null : withoutDigest(record);
      }),
    page: (query) => orFault(async () => (await keys.page(query)).map(withoutDigest)),
    create: (options) => orFault(() => prepared(createKey(options, clock, randomBytes))),
    findByName: (workspace, name) =>
      orFault(async () => (await findNamed(keys, workspace, name)).line.map(withoutDigest)),
    put: (name, options) =>
      orFault(async (): Promise<PreparedKey | ExistingKey> => {
        const { line, nextId } = await findNamed(keys, options.workspace, name);
        const newest = line.at(-1);
        if (newest !== undefined && isLive(newest, Math.trunc(clock()))) {
          const requested = createKey(options, clock, randomBytes).record;
          const field = differingField(newest, requested, line.length > 1);
          if (field !== null) throw new KeyFaultError({ fault: "differs", field, fix: IS_KEPT });
          const grants = [...new Set(differing(line, requested).flatMap((one) => one.grants))];
          const store = () => orFault(() => changeLine(name, requested));
          return {
            existing: withoutDigest(newest),
            change: grants.length === 0 ? null : { grants, store },
          };
        }
        if (nextId === null)
          throw new KeyOptionError("name", "take another one; it has been used too often");
        return prepared(createKey({ ...options, name, publicId: nextId }, clock, randomBytes));
      }),
    rotate: (id, options) =>
      orFault(async () => {
        const old = existing(await keys.get(id));
        const { text, record, previous } = prepareRotation(old, options, clock, randomBytes);
        // A key that ends at once no longer counts beside the one that replaces it.
        if (previous.expiresAt > record.createdAt) await checkSpace(old.workspace);
        const store = async (): Promise<ServiceKey> =>
          withoutDigest(existing(await keys.rotate(id, record, previous.expiresAt)));
        return {
          text,
          key: withoutDigest(record),
          previous: withoutDigest(previous),
          store: () => orFault(store),
        };
      }),
    revoke: (id) =>
      orFault(async () => withoutDigest(existing(await keys.revoke(id, Math.trunc(clock()))))),
  };
}

function isLive({ status, expiresAt }: ServiceKey, now: number) {
  return status === "active" && expiresAt > now;
}

const IS_KEPT =
  "is not that of the key, which keeps it; delete the name first, or take another one";

/** @throws {KeyFaultError} and errors that are no answer for a caller. */
async function orFault<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const fault = faultOf(error);
    throw fault === null ? error : new KeyFaultError(fault);
  }
}

function faultOf(error: unknown): KeyFault | null {
  if (error instanceof KeyOptionError)
    return { fault: "option", field: error.field, fix: error.fix };
  if (error instanceof KeyNotActiveError) return { fault: "not_active" };
  if (error instanceof KeyRotatedError) return { fault: "rotated" };
  if (error instanceof DuplicateKeyError) return { fault: "taken" };
  return error instanceof StoreUnavailableError ? { fault: "unavailable" } : null;
}

/** @throws {KeyFaultError} where there is no such key. */
function existing(record: KeyRecord | null | undefined): KeyRecord {
  if (record == null) throw new KeyFaultError({ fault: "absent" });
  return record;
}

function withoutDigest(record: KeyRecord): ServiceKey {
  const key: Partial<KeyRecord> & ServiceKey = { ...record };
  Reflect.deleteProperty(key, "digest");
  return key;
}

/**
 * How often a name can be deleted and given anew, and a key be rotated before reading it costs too
 * much.
 */
const MOST_GENERATIONS = 100;

const MOST_ROTATIONS = 1_000;

interface NamedKey {
  /**
   * The key that the name stands for, or last stood for, after those that rotations have replaced;
   * none where the name was never given.
   */
  readonly line: readonly KeyRecord[];
  /** Id of the next key of the name; `null` where there have been too many. */
  readonly nextId: string | null;
}

/**
 * The key of a name. Keys are never deleted, so each new one of a name has the next number:
 * `publicIdFor` makes an id of workspace, name and number, and no two processes can make the same
 * key.
 */
async function findNamed(
  keys: Pick<KeyStore, "get">,
  workspace: string,
  name: string,
): Promise<NamedKey> {
  let found: KeyRecord | null = null;
  let number = 0;
  let nextId: string | null = idOf(workspace, name, number);
  while (nextId !== null) {
    const next = await keys.get(nextId);
    // Of another workspace: a collision of ids, which must not show one tenant's key to another.
    if (next?.workspace !== workspace) break;
    found = next;
    number += 1;
    nextId = number < MOST_GENERATIONS ? idOf(workspace, name, number) : null;
  }
  return { line: found === null ? [] : await withRotations(keys, found), nextId };
}

async function withRotations(
  keys: Pick<KeyStore, "get">,
  first: KeyRecord,
): Promise<readonly KeyRecord[]> {
  const line = [first];
  let { replacedBy } = first;
  while (replacedBy !== null && line.length < MOST_ROTATIONS) {
    const next = await keys.get(replacedBy);
    if (next === null) break;
    line.push(next);
    ({ replacedBy } = next);
  }
  return line;
}

function idOf(workspace: string, name: string, number: number) {
  return publicIdFor(["named key", workspace, name, number]);
}

/** Members that a key keeps for life. */
const FIXED_MEMBERS = [
  "environment",
  "exchange",
  "expiresAt",
] as const satisfies readonly (keyof KeyRecord)[];

const CHANGEABLE = [
  "scopes",
  "owner",
  "workload",
  "labels",
  "limits",
] as const satisfies readonly (keyof KeyGrants)[];

/**
 * The first thing that a key keeps and that is wanted otherwise; `null` where there is none. A
 * rotation has given the key another expiry.
 */
function differingField(key: KeyRecord, requested: KeyRecord, isRotated: boolean): string | null {
  const differing = FIXED_MEMBERS.find(
    (member) =>
      !(isRotated && member === "expiresAt") &&
      canonicalJson(key[member]) !== canonicalJson(requested[member]),
  );
  return differing === "expiresAt" ? "expires_at" : (differing ?? null);
}

/** The names of the changeable grants in which a key differs from the wanted one. */
function changedGrants(key: KeyGrants, requested: KeyGrants): readonly (keyof KeyGrants)[] {
  return CHANGEABLE.filter(
    (grant) => canonicalJson(key[grant]) !== canonicalJson(requested[grant]),
  );
}
