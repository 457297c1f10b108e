import { isScope } from "../canon/identity.ts";
import { parseJson } from "../canon/json.ts";
import { type ChainLink, GENESIS } from "../evidence/chain.ts";
import type { EvidenceAnchor } from "../evidence/evidence-store.ts";
import type { KeyRecord } from "../keys/key-store.ts";
import type { Abandoned, StoredBatch } from "./batch/batch-lines.ts";
import { parseExchange, parseLimits } from "./stored-grants.ts";

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
