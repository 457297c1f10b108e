import { type Person, isScope } from "../canon/identity.ts";
import { isJsonObject, parseJson } from "../canon/json.ts";
import type { StoredContent } from "../canon/policy.ts";
import { LIMIT_MEASURES, LIMIT_WINDOWS } from "../canon/limits.ts";
import { type ChainLink, GENESIS } from "../evidence/chain.ts";
import type { EvidenceAnchor } from "../evidence/evidence-store.ts";
import type { RollUpQuery, RollUpRow } from "../governance/increments.ts";
import type { IssuerRecord, KeyRecord, SessionRecord } from "../keys/key-store.ts";
import type { PolicyLogRow } from "../lifecycle/records.ts";
import type { LimitUsage, LimitUse } from "../limits/limit-store.ts";
import type { Abandoned, StoredBatch } from "./batch/batch-lines.ts";
import { parseExchange, parseLimits } from "./stored-grants.ts";

/**
 * A row as a driver gives it. The readers below refuse a missing row and a column of another type
 * instead of passing them on.
 */
export type Row = Readonly<Record<string, unknown>>;

export function readText(row: Row | undefined, column: string): string {
  const value = row?.[column];
  if (typeof value !== "string") throw new TypeError(`column ${column} holds no text`);
  return value;
}

function readTextOrNull(row: Row, column: string): string | null {
  return row[column] === null ? null : readText(row, column);
}

export function readNumber(row: Row | undefined, column: string): number {
  const value = row?.[column];
  if (typeof value !== "number") throw new TypeError(`column ${column} holds no number`);
  return value;
}

function readNumberOrNull(row: Row, column: string): number | null {
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

/** A session from its columns; their names are the same in every engine. */
export function readSession(row: Row): SessionRecord {
  const key = readTextOrNull(row, "key_id");
  return {
    digest: readText(row, "digest"),
    holder: key === null ? readPerson(readText(row, "person")) : { key },
    createdAt: readNumber(row, "created_at"),
    seenAt: readNumber(row, "seen_at"),
    endsAt: readNumber(row, "ends_at"),
  };
}

/** The columns `key_id` and `person`: one of them is `null`. */
export function holderColumns({
  holder,
}: Pick<SessionRecord, "holder">): readonly [string | null, string | null] {
  if ("key" in holder) return [holder.key, null];
  const { issuer, subject, name, groups } = holder;
  return [null, JSON.stringify({ issuer, subject, name, groups })];
}

function readPerson(text: string): Person {
  const value = parseJson(text);
  if (!isJsonObject(value)) throw new TypeError("column person holds no object");
  return {
    issuer: readText(value, "issuer"),
    subject: readText(value, "subject"),
    name: readTextOrNull(value, "name"),
    groups: readTexts(value, "groups"),
  };
}

/** Hour, labels and cell of each row, one after the other. */
export type RowFields = Pick<RollUpRow, "hour" | "labels" | "cell">;

export function readRollUp(row: Row): RowFields {
  return {
    hour: readNumber(row, "hour"),
    labels: readText(row, "labels"),
    cell: readBytes(row, "cell"),
  };
}

/**
 * The cells of a query page by page.
 *
 * @param size of a page: one that has fewer rows is the last. @param read gives the rows behind a
 * position in the order of hour and labels.
 */
export async function* rollUpPages(
  { from }: RollUpQuery,
  size: number,
  read: (after: Pick<RollUpRow, "hour" | "labels">) => Promise<readonly RollUpRow[]>,
): AsyncGenerator<readonly RollUpRow[]> {
  let after = { hour: from, labels: "" };
  for (;;) {
    const page = await read(after);
    if (page.length > 0) yield page;
    const last = page.at(-1);
    if (last === undefined || page.length < size) return;
    after = { hour: last.hour, labels: last.labels };
  }
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

/** A counter of a limit. @throws {TypeError} for a measure or window that is none */
export function readLimitUse(row: Row): LimitUse {
  const [measure, window] = [readText(row, "measure"), readText(row, "period")];
  const knownMeasure = LIMIT_MEASURES.find((one) => one === measure);
  const knownWindow = LIMIT_WINDOWS.find((one) => one === window);
  if (knownMeasure === undefined || knownWindow === undefined)
    throw new TypeError("limit_counters: an unknown measure or window");
  return {
    subject: readText(row, "subject"),
    measure: knownMeasure,
    window: knownWindow,
    start: readNumber(row, "start"),
    used: readNumber(row, "used"),
  };
}

/** Slots of a limit that are held. */
export function readSlots(row: Row): LimitUsage["slots"][number] {
  return { subject: readText(row, "subject"), held: readNumber(row, "held") };
}

export function readIssuer(row: Row): IssuerRecord {
  return {
    kid: readText(row, "kid"),
    publicKey: readText(row, "public_key"),
    expiresAt: readNumber(row, "expires_at"),
  };
}

/** A row of the log from its columns; their names are the same in every engine. */
export function readPolicyRow(row: Row): PolicyLogRow {
  return {
    position: readNumber(row, "position"),
    previous: readText(row, "previous"),
    hash: readText(row, "hash"),
    record: readText(row, "record"),
  };
}

export function readPolicyContent(row: Row | undefined): StoredContent | null {
  if (row === undefined) return null;
  return {
    policy: readText(row, "policy"),
    digest: readText(row, "digest"),
    description: readText(row, "description"),
    module: readBytes(row, "module"),
  };
}
