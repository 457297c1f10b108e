import { isScope } from "../canon/identity.ts";
import { isJsonObject, parseJson, parseJsonObject } from "../canon/json.ts";
import { type ChainLink, GENESIS } from "../evidence/chain.ts";
import type { EvidenceAnchor } from "../evidence/evidence-store.ts";
import type { KeyRecord } from "../keys/key-store.ts";
import type { Abandoned, StoredBatch } from "./batch/batch-lines.ts";
import type { ExchangeGrant } from "../canon/credentials/service-key.ts";
import { isTimeZone } from "../canon/local-time.ts";
import { BUDGET_PERIODS, type KeyLimits } from "../canon/limits.ts";
import { isOperation } from "../canon/operation.ts";
import {
  type Check,
  hasShape,
  isListOf,
  isNumber,
  isOneOf,
  isText,
  orAbsent,
  orNull,
} from "../evidence/record-shape.ts";

/** A row of a driver. The readers refuse a missing row and a column of another type. */
export type Row = Readonly<Record<string, unknown>>;

export function readText(row: Row | undefined, column: string): string {
  const value = row?.[column];
  if (typeof value !== "string") throw new TypeError(`column ${column} holds no text`);
  return value;
}

export function readTextOrNull(row: Row, column: string): string | null {
  return row[column] === null ? null : readText(row, column);
}

export function readNumber(row: Row | undefined, column: string): number {
  const value = row?.[column];
  if (typeof value !== "number") throw new TypeError(`column ${column} holds no number`);
  return value;
}

function readNumberOrNull(row: Row, column: string) {
  return row[column] === null ? null : readNumber(row, column);
}

/** A column that holds a list of strings, or its JSON text. */
export function readTexts(row: Row, column: string): readonly string[] {
  const stored = row[column];
  const value: unknown = typeof stored === "string" ? parseJson(stored) : stored;
  if (!Array.isArray(value)) throw new TypeError(`column ${column} holds no list`);
  return value.filter((item) => typeof item === "string");
}

export function readBytes(row: Row, column: string): Uint8Array<ArrayBuffer> {
  const value = row[column];
  if (!(value instanceof Uint8Array) || !(value.buffer instanceof ArrayBuffer)) {
    throw new TypeError(`column ${column} holds no bytes`);
  }
  return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
}

/** A key from its columns; their names are the same in every engine. */
export function readKeyRecord(row: Row): KeyRecord {
  return {
    id: readText(row, "id"),
    digest: readText(row, "digest"),
    name: readTextOrNull(row, "name"),
    workspace: readText(row, "workspace"),
    // A scope that this version does not know grants nothing.
    scopes: readTexts(row, "scopes").filter(isScope),
    owner: readText(row, "owner"),
    environment: readText(row, "environment"),
    workload: readText(row, "workload"),
    labels: readTexts(row, "labels"),
    expiresAt: readNumber(row, "expires_at"),
    createdAt: readNumber(row, "created_at"),
    createdBy: readText(row, "created_by"),
    lastUsedAt: readNumberOrNull(row, "last_used_at"),
    rotatedFrom: readTextOrNull(row, "rotated_from"),
    replacedBy: readTextOrNull(row, "replaced_by"),
    lineage: readTextOrNull(row, "lineage"),
    status: readText(row, "status") === "active" ? "active" : "revoked",
    revokedAt: readNumberOrNull(row, "revoked_at"),
    exchange: parseExchange(readTextOrNull(row, "exchange")),
    limits: parseLimits(readTextOrNull(row, "limits")),
  };
}

/** Position and hash of a row of a log; {@link GENESIS} where there is none. */
export function readLink(row: Row | undefined): ChainLink {
  return row === undefined
    ? GENESIS
    : { position: readNumber(row, "position"), hash: readText(row, "hash") };
}

export function readAnchor(row: Row): EvidenceAnchor {
  return { ...readLink(row), at: readNumber(row, "at") };
}

export function readBatch(row: Row): StoredBatch {
  return {
    first: readNumber(row, "first"),
    last: readNumber(row, "last"),
    hash: readText(row, "hash"),
    lowest: readText(row, "lowest"),
    highest: readText(row, "highest"),
    workspaces: readTexts(row, "workspaces"),
    records: readBytes(row, "records"),
  };
}

/** Requests of dead processes. */
export function readAbandoned(rows: readonly Row[]): Abandoned {
  return new Map(rows.map((row) => [readText(row, "request_id"), readNumber(row, "seen_at")]));
}

/** Unreadable limits allow nothing; failing would block the changes of all other keys. */
const NOTHING: KeyLimits = {
  requestsPerMinute: 0,
  tokensPerMinute: 0,
  concurrency: 0,
  budget: null,
};

const isGrant = hasShape<ExchangeGrant>({
  maximumLifetime: isNumber,
  operations: orNull(isListOf(isText)),
  routes: orNull(isListOf(isText)),
  origins: orNull(isListOf(isText)),
});

/**
 * The exchange grant as `JSON.stringify` wrote it. `null`, no grant, where nothing or something
 * else is stored. An operation that this version does not know is granted to no caller.
 */
export function parseExchange(text: string | null): ExchangeGrant | null {
  const stored: unknown = parseJsonObject(text ?? "");
  if (!isGrant(stored)) return null;
  const { maximumLifetime, operations, routes, origins } = stored;
  return {
    maximumLifetime,
    operations: operations?.filter(isOperation) ?? null,
    routes,
    origins,
  };
}

const isPeriod = hasShape({
  per: isOneOf(BUDGET_PERIODS),
  timeZone: orAbsent((value) => typeof value === "string" && isTimeZone(value)),
});

const isBudget: Check = (value) =>
  isPeriod(value) && isJsonObject(value) && (isNumber(value.usd) || isNumber(value.tokens));

const isLimits = hasShape<KeyLimits>({
  requestsPerMinute: orNull(isNumber),
  tokensPerMinute: orNull(isNumber),
  concurrency: orNull(isNumber),
  budget: orNull(isBudget),
});

/** A key's limits as `JSON.stringify` wrote them; `null` where there are none. */
export function parseLimits(text: string | null): KeyLimits | null {
  if (text === null) return null;
  const stored: unknown = parseJsonObject(text);
  if (!isLimits(stored)) return NOTHING;
  const { requestsPerMinute, tokensPerMinute, concurrency, budget } = stored;
  return { requestsPerMinute, tokensPerMinute, concurrency, budget };
}
