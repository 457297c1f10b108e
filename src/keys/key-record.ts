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
import { SCOPES } from "../canon/identity.ts";
import { isTimeZone } from "../canon/local-time.ts";
import { SMALLEST_BUDGET, type Budget, type KeyLimits } from "../canon/limits.ts";
import { OPERATIONS } from "../canon/operation.ts";
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

/** @throws {KeyOptionError} where the condition does not hold. */
function demand(holds: boolean, field: KeyField, fix: string) {
  if (!holds) throw new KeyOptionError(field, fix);
}

const isIntegerIn = (value: number, minimum: number, maximum: number) =>
  Number.isSafeInteger(value) && value >= minimum && value <= maximum;

/** @throws {KeyOptionError} */
export function checkExchange(requested: NewExchange | null): ExchangeGrant | null {
  if (requested === null) return null;
  const { minimum, maximum } = TOKEN_LIFETIME;
  const { maximumLifetime, operations, routes, origins } = requested;
  demand(
    isIntegerIn(maximumLifetime, minimum, maximum),
    "exchange.maximum_lifetime",
    `give whole seconds from ${minimum} to ${maximum}`,
  );
  return {
    maximumLifetime,
    operations:
      operations === null
        ? null
        : checkNames("exchange.operations", operations, OPERATIONS, ", or leave it out"),
    routes: checkTexts(
      "exchange.routes",
      routes,
      MAXIMUM_ROUTES,
      isRouteName,
      "names of routes, each of 1 to 256 characters without spaces",
    ),
    origins: checkTexts(
      "exchange.origins",
      origins,
      MAXIMUM_ORIGINS,
      isOrigin,
      "origins as browsers send them, such as https://app.example.com",
    ),
  };
}

/** The names in the order of `allowed`. */
function checkNames<Name extends string>(
  field: KeyField,
  requested: readonly string[],
  allowed: readonly Name[],
  otherwise = "",
): readonly Name[] {
  demand(
    requested.length > 0 && requested.every((name) => allowed.some((one) => one === name)),
    field,
    `give one or more of ${allowed.join(", ")}${otherwise}`,
  );
  return allowed.filter((name) => requested.includes(name));
}

function checkTexts(
  field: KeyField,
  requested: readonly string[] | null,
  maximum: number,
  isValid: (text: string) => boolean,
  kind: string,
): readonly string[] | null {
  if (requested === null) return null;
  demand(
    requested.length > 0 && requested.length <= maximum && requested.every(isValid),
    field,
    `give 1 to ${maximum} ${kind}, or leave it out`,
  );
  demand(!requested.some(holdsCredential), field, NO_SECRETS);
  return [...new Set(requested)].toSorted();
}

/** @throws {KeyOptionError} */
export function checkLimits(requested: KeyLimits | null): KeyLimits | null {
  if (requested === null) return null;
  const { budget } = requested;
  const limits: KeyLimits = {
    requestsPerMinute: checkCount("limits.requests_per_minute", requested.requestsPerMinute, 1e9),
    tokensPerMinute: checkCount("limits.tokens_per_minute", requested.tokensPerMinute, 1e12),
    concurrency: checkCount("limits.concurrency", requested.concurrency, 1e6),
    budget: budget === null ? null : checkBudget(budget),
  };
  return Object.values(limits).every((limit) => limit === null) ? null : limits;
}

function checkBudget(budget: Budget): Budget {
  const { per, timeZone } = budget;
  demand(
    timeZone === undefined || isTimeZone(timeZone),
    "limits.budget.time_zone",
    "give a name of the IANA database, such as Europe/Berlin, or leave it out for UTC",
  );
  const window = { per, timeZone };
  if (
    "usd" in budget &&
    Number.isFinite(budget.usd) &&
    budget.usd >= SMALLEST_BUDGET &&
    budget.usd <= 1e9
  ) {
    return { usd: budget.usd, ...window };
  }
  if ("tokens" in budget && isIntegerIn(budget.tokens, 1, 1e12))
    return { tokens: budget.tokens, ...window };
  throw new KeyOptionError(
    "limits.budget",
    "give US dollars from 0.000001 to 1000000000, or tokens from 1 to 1000000000000, and hour, day, week or month",
  );
}

function checkCount(field: KeyField, count: number | null, maximum: number): number | null {
  demand(
    count === null || isIntegerIn(count, 1, maximum),
    field,
    `give a whole number from 1 to ${maximum}`,
  );
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
 * An option cannot be used. The message names the field and the fix and never quotes the value: it
 * may be a key.
 */
export class KeyOptionError extends Error {
  override readonly name = "KeyOptionError";
  readonly field: KeyField;
  /**
   * The valid values, without the field's name: callers put the name of their flag or member in
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
  demand(
    isIntegerIn(overlap, 0, MAXIMUM_LIFETIME),
    "overlap",
    `give a duration from 0 to ${MAXIMUM_DAYS} days`,
  );
  const now = Math.trunc(clock());
  if (old.status !== "active" || old.expiresAt <= now) throw new KeyNotActiveError(old.id);
  if (old.replacedBy !== null) throw new KeyRotatedError(old.id);
  const lifetime = Math.min(old.expiresAt - old.createdAt, MAXIMUM_LIFETIME);
  const expiresAt = checkExpiry(options.expiresAt ?? now + lifetime, now);
  const grant = {
    ...old,
    expiresAt,
    createdAt: now,
    createdBy: options.createdBy,
    rotatedFrom: old.id,
    replacedBy: null,
    lineage: old.lineage ?? old.id,
  };
  const created = issue(grant, makeKeyText(randomBytes, old.environment));
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
  const scopes = checkNames("scopes", options.scopes, SCOPES);
  const exchange = checkExchange(options.exchange ?? null);
  demand(
    exchange === null || scopes.includes("inference"),
    "scopes",
    "add inference, without which a key cannot be exchanged",
  );
  demand(isEnvironment(environment), "environment", "give 1 to 16 characters of a–z and 0–9");
  demand(labels.length <= MAXIMUM_LABELS, "labels", `give at most ${MAXIMUM_LABELS}`);
  return {
    name: name === null ? null : checkName("name", name),
    workspace: checkName("workspace", options.workspace),
    scopes,
    owner: checkText(
      "owner",
      options.owner,
      new RegExp(OWNER_PATTERN),
      "give the owner of the key, such as group:payments or an address, up to 128 characters without spaces",
    ),
    environment,
    workload: workload === "" ? "" : checkName("workload", workload),
    labels: [...new Set(labels.map((label) => checkName("labels", label)))].toSorted(),
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
    ...grant,
    id: publicId,
    digest: digestKeyText(text),
    lastUsedAt: null,
    status: "active",
    revokedAt: null,
  };
  return { text, record };
}

function checkName(field: KeyField, value: string) {
  return checkText(
    field,
    value,
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
    "give 1 to 64 letters, digits, dots, dashes or underscores, beginning with a letter or digit",
  );
}

function checkText(field: KeyField, value: string, pattern: RegExp, fix: string): string {
  demand(pattern.test(value), field, fix);
  demand(!holdsCredential(value), field, NO_SECRETS);
  return value;
}

function checkExpiry(expiresAt: number, now: number): number {
  demand(
    Number.isSafeInteger(expiresAt) && expiresAt > now,
    "expires_at",
    "give a time in the future",
  );
  demand(
    expiresAt - now <= MAXIMUM_LIFETIME,
    "expires_at",
    `give a time at most ${MAXIMUM_DAYS} days from now`,
  );
  return expiresAt;
}
