import { hash } from "node:crypto";
import { isOrigin, isRouteName } from "../canon/credentials/narrowing.ts";
import {
  DEFAULT_KEY_ENVIRONMENT,
  TOKEN_LIFETIME,
  type ExchangeGrant,
  type NewExchange,
  type NewKey,
  type Rotation,
} from "../canon/credentials/service-key.ts";
import { SCOPES, isScope, type Scope } from "../canon/identity.ts";
import { isTimeZone } from "../canon/local-time.ts";
import { SMALLEST_BUDGET, type Budget, type KeyLimits } from "../canon/limits.ts";
import { OPERATIONS, isOperation } from "../canon/operation.ts";
import { OWNER_PATTERN } from "../canon/table.ts";
import { KeyNotActiveError, KeyRotatedError, type KeyRecord, type KeyStore } from "./key-store.ts";
import {
  holdsCredential,
  isEnvironment,
  makeKeyText,
  parseKeyText,
  type KeyText,
  type RandomBytes,
} from "./key-text.ts";

const MAXIMUM_ROUTES = 256;
const MAXIMUM_ORIGINS = 32;

/** @throws {KeyOptionError} */
export function checkExchange(requested: NewExchange | null): ExchangeGrant | null {
  if (requested === null) return null;
  const { minimum, maximum } = TOKEN_LIFETIME;
  const { maximumLifetime } = requested;
  if (
    !Number.isSafeInteger(maximumLifetime) ||
    maximumLifetime < minimum ||
    maximumLifetime > maximum
  ) {
    throw new KeyOptionError(
      "exchange.maximum_lifetime",
      `give whole seconds from ${minimum} to ${maximum}`,
    );
  }
  return {
    maximumLifetime,
    operations: checkOperations(requested.operations),
    routes: checkRoutes(requested.routes),
    origins: checkOrigins(requested.origins),
  };
}

function checkOperations(requested: readonly string[] | null): ExchangeGrant["operations"] {
  if (requested === null) return null;
  const known = requested.filter(isOperation);
  if (known.length === 0 || known.length < requested.length) {
    throw new KeyOptionError(
      "exchange.operations",
      `give one or more of ${OPERATIONS.join(", ")}, or leave it out`,
    );
  }
  return OPERATIONS.filter((operation) => known.includes(operation));
}

function checkRoutes(requested: readonly string[] | null): ExchangeGrant["routes"] {
  if (requested === null) return null;
  if (
    requested.length === 0 ||
    requested.length > MAXIMUM_ROUTES ||
    !requested.every(isRouteName)
  ) {
    throw new KeyOptionError(
      "exchange.routes",
      `give 1 to ${MAXIMUM_ROUTES} names of routes, each of 1 to 256 characters without spaces, or leave it out`,
    );
  }
  if (requested.some(holdsCredential)) throw new KeyOptionError("exchange.routes", NO_SECRETS);
  return [...new Set(requested)].toSorted();
}

function checkOrigins(requested: readonly string[] | null): ExchangeGrant["origins"] {
  if (requested === null) return null;
  if (requested.length === 0 || requested.length > MAXIMUM_ORIGINS || !requested.every(isOrigin)) {
    throw new KeyOptionError(
      "exchange.origins",
      `give 1 to ${MAXIMUM_ORIGINS} origins as browsers send them, such as https://app.example.com, or leave it out`,
    );
  }
  return [...new Set(requested)].toSorted();
}

/** @throws {KeyOptionError} */
export function checkLimits(requested: KeyLimits | null): KeyLimits | null {
  if (requested === null) return null;
  const { budget } = requested;
  const limits: KeyLimits = {
    requestsPerMinute: checkCount(
      "limits.requests_per_minute",
      requested.requestsPerMinute,
      1_000_000_000,
    ),
    tokensPerMinute: checkCount(
      "limits.tokens_per_minute",
      requested.tokensPerMinute,
      1_000_000_000_000,
    ),
    concurrency: checkCount("limits.concurrency", requested.concurrency, 1_000_000),
    budget: budget === null ? null : checkBudget(budget),
  };
  return Object.values(limits).every((limit) => limit === null) ? null : limits;
}

function checkBudget(budget: Budget): Budget {
  const { per, timeZone } = budget;
  if (timeZone !== undefined && !isTimeZone(timeZone)) {
    throw new KeyOptionError(
      "limits.budget.time_zone",
      "give a name of the IANA database, such as Europe/Berlin, or leave it out for UTC",
    );
  }
  const window = { per, ...(timeZone !== undefined && { timeZone }) };
  if (
    "usd" in budget &&
    Number.isFinite(budget.usd) &&
    budget.usd >= SMALLEST_BUDGET &&
    budget.usd <= 1_000_000_000
  ) {
    return { usd: budget.usd, ...window };
  }
  if (
    "tokens" in budget &&
    Number.isSafeInteger(budget.tokens) &&
    budget.tokens >= 1 &&
    budget.tokens <= 1e12
  ) {
    return { tokens: budget.tokens, ...window };
  }
  throw new KeyOptionError(
    "limits.budget",
    "give US dollars from 0.000001 to 1000000000, or tokens from 1 to 1000000000000, and hour, day, week or month",
  );
}

function checkCount(field: KeyField, count: number | null, maximum: number): number | null {
  if (count !== null && !(Number.isSafeInteger(count) && count >= 1 && count <= maximum)) {
    throw new KeyOptionError(field, `give a whole number from 1 to ${maximum}`);
  }
  return count;
}

export type KeyField =
  | "name"
  | "workspace"
  | "scopes"
  | "owner"
  | "expires_at"
  | "environment"
  | "workload"
  | "labels"
  | "exchange.maximum_lifetime"
  | "exchange.operations"
  | "exchange.routes"
  | "exchange.origins"
  | "limits.requests_per_minute"
  | "limits.tokens_per_minute"
  | "limits.concurrency"
  | "limits.budget"
  | "limits.budget.time_zone"
  | "overlap"
  | "key";

/** The fix of a text that would be kept, and read by others, with a secret in it. */
const NO_SECRETS = "leave the service key or token out; this would store a secret";

/**
 * An option cannot be used. The message names the field and the fix and never quotes what was
 * given: somebody may have put a key there.
 */
export class KeyOptionError extends Error {
  override readonly name = "KeyOptionError";
  readonly field: KeyField;
  /**
   * What to give instead, without the field's name: callers put the name of their flag or member in
   * front.
   */
  readonly fix: string;
  constructor(field: KeyField, fix: string) {
    super(`${field}: ${fix}`);
    this.field = field;
    this.fix = fix;
  }
}

export const DAY = 24 * 60 * 60_000;

/** The longest life of a key. */
const MAXIMUM_DAYS = 400;
const MAXIMUM_LIFETIME = MAXIMUM_DAYS * DAY;

/**
 * How long a rotated key still works by default (docs/keys.md#making-listing-rotating-revoking),
 * milliseconds.
 */
const DEFAULT_OVERLAP = DAY;

const MAXIMUM_LABELS = 32;

/** Milliseconds since the epoch. */
export type Clock = () => number;

export interface KeyOptions extends NewKey {
  /** Default: at random. */
  readonly publicId?: string;
}

export interface CreatedKey {
  /** The whole key, for its requester; it cannot be read again. */
  readonly text: string;
  readonly record: KeyRecord;
}

/** Makes a key; the caller stores the record. @throws {KeyOptionError} */
export function createKey(options: KeyOptions, clock: Clock, randomBytes: RandomBytes): CreatedKey {
  const grant = checkGrant(options, clock);
  return issue(grant, makeKeyText(randomBytes, grant.environment, options.publicId));
}

/**
 * The record of a key whose text was made elsewhere, such as the first key that an operator brings
 * along. The text must be a whole key as `createKey` makes them; its environment is the text's.
 *
 * @throws {KeyOptionError}
 */
export function importKey(
  text: string,
  options: Omit<KeyOptions, "environment" | "publicId">,
  clock: Clock,
): KeyRecord {
  const parts = parseKeyText(text);
  if (parts === null) {
    throw new KeyOptionError(
      "key",
      "give a whole service key, such as signalbox keys create prints it",
    );
  }
  const { environment, publicId } = parts;
  return issue(checkGrant({ ...options, environment }, clock), { text, publicId }).record;
}

interface RotatedKey extends CreatedKey {
  /** The replaced key, with its new expiry. */
  readonly previous: KeyRecord;
}

/**
 * Makes a key with the same grants; `previous` is to end at the end of the overlap. Nothing is
 * stored.
 *
 * @throws {KeyOptionError}
 * @throws {KeyNotActiveError} for a key that is revoked or expired: rotation must not revive it
 * @throws {KeyRotatedError} for a key that has been rotated already: its life is that of its
 * overlap, and the new key's would be too
 */
export function prepareRotation(
  old: KeyRecord,
  options: Rotation,
  clock: Clock,
  randomBytes: RandomBytes,
): RotatedKey {
  const overlap = options.overlap ?? DEFAULT_OVERLAP;
  if (!Number.isSafeInteger(overlap) || overlap < 0 || overlap > MAXIMUM_LIFETIME) {
    throw new KeyOptionError("overlap", `give a duration from 0 to ${MAXIMUM_DAYS} days`);
  }
  const now = Math.trunc(clock());
  if (old.status !== "active" || old.expiresAt <= now) throw new KeyNotActiveError(old.id);
  if (old.replacedBy !== null) throw new KeyRotatedError(old.id);
  const lifetime = Math.min(old.expiresAt - old.createdAt, MAXIMUM_LIFETIME);
  const expiresAt = checkExpiry(options.expiresAt ?? now + lifetime, now);
  const { name, workspace, scopes, owner, environment, workload, labels, exchange, limits } = old;
  const created = issue(
    {
      name,
      workspace,
      scopes,
      owner,
      environment,
      workload,
      labels,
      exchange,
      limits,
      expiresAt,
      createdAt: now,
      createdBy: options.createdBy,
      rotatedFrom: old.id,
      replacedBy: null,
      lineage: old.lineage ?? old.id,
    },
    makeKeyText(randomBytes, environment),
  );
  return {
    ...created,
    previous: {
      ...old,
      replacedBy: created.record.id,
      expiresAt: Math.min(old.expiresAt, now + overlap),
    },
  };
}

/**
 * The same, stored: the new key and the old one's nearer expiry, both or neither. `null` where
 * there is no such key.
 *
 * @throws {KeyOptionError}
 * @throws {KeyNotActiveError}
 * @throws {KeyRotatedError}
 */
export async function rotateKey(
  keys: KeyStore,
  id: string,
  options: Rotation,
  clock: Clock,
  randomBytes: RandomBytes,
): Promise<RotatedKey | null> {
  const old = await keys.get(id);
  if (old === null) return null;
  const prepared = prepareRotation(old, options, clock, randomBytes);
  const previous = await keys.rotate(id, prepared.record, prepared.previous.expiresAt);
  return previous === null ? null : { ...prepared, previous };
}

/** The digest under which a key is kept. */
export function digestKeyText(text: string): string {
  return hash("sha256", text, "hex");
}

type Grant = Omit<KeyRecord, "id" | "digest" | "lastUsedAt" | "status" | "revokedAt">;

function checkGrant(options: KeyOptions, clock: Clock): Grant {
  const now = Math.trunc(clock());
  const { workload = "", labels = [], environment = DEFAULT_KEY_ENVIRONMENT } = options;
  const name = options.name ?? null;
  const scopes = checkScopes(options.scopes);
  const exchange = checkExchange(options.exchange ?? null);
  if (exchange !== null && !scopes.includes("inference")) {
    throw new KeyOptionError("scopes", "add inference, without which a key cannot be exchanged");
  }
  return {
    name: name === null ? null : checkName("name", name),
    workspace: checkName("workspace", options.workspace),
    scopes,
    owner: checkOwner(options.owner),
    environment: checkEnvironment(environment),
    workload: workload === "" ? "" : checkName("workload", workload),
    labels: checkLabels(labels),
    exchange,
    limits: checkLimits(options.limits ?? null),
    expiresAt: checkExpiry(options.expiresAt, now),
    createdAt: now,
    createdBy: options.createdBy,
    rotatedFrom: null,
    replacedBy: null,
    lineage: null,
  };
}

function issue(grant: Grant, { text, publicId }: KeyText): CreatedKey {
  const record: KeyRecord = {
    id: publicId,
    digest: digestKeyText(text),
    ...grant,
    lastUsedAt: null,
    status: "active",
    revokedAt: null,
  };
  return { text, record };
}

function checkName(field: "name" | "workspace" | "workload" | "labels", value: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(value)) {
    throw new KeyOptionError(
      field,
      "give 1 to 64 letters, digits, dots, dashes or underscores, beginning with a letter or digit",
    );
  }
  if (holdsCredential(value)) throw new KeyOptionError(field, NO_SECRETS);
  return value;
}

function checkOwner(owner: string): string {
  if (!new RegExp(OWNER_PATTERN).test(owner)) {
    throw new KeyOptionError(
      "owner",
      "give the owner of the key, such as group:payments or an address, up to 128 characters without spaces",
    );
  }
  if (holdsCredential(owner)) throw new KeyOptionError("owner", NO_SECRETS);
  return owner;
}

function checkEnvironment(environment: string): string {
  if (!isEnvironment(environment))
    throw new KeyOptionError("environment", "give 1 to 16 characters of a–z and 0–9");
  return environment;
}

function checkScopes(scopes: readonly string[]): readonly Scope[] {
  const known = scopes.filter(isScope);
  if (known.length === 0 || known.length < scopes.length) {
    throw new KeyOptionError("scopes", `give one or more of ${SCOPES.join(", ")}`);
  }
  return SCOPES.filter((scope) => known.includes(scope));
}

function checkLabels(labels: readonly string[]): readonly string[] {
  if (labels.length > MAXIMUM_LABELS)
    throw new KeyOptionError("labels", `give at most ${MAXIMUM_LABELS}`);
  return [...new Set(labels.map((label) => checkName("labels", label)))].toSorted();
}

function checkExpiry(expiresAt: number, now: number): number {
  if (!Number.isSafeInteger(expiresAt) || expiresAt <= now) {
    throw new KeyOptionError("expires_at", "give a time in the future");
  }
  if (expiresAt - now > MAXIMUM_LIFETIME) {
    throw new KeyOptionError("expires_at", `give a time at most ${MAXIMUM_DAYS} days from now`);
  }
  return expiresAt;
}
