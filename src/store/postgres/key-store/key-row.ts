import type { KeyRecord } from "../../../keys/key-store.ts";
import { readKeyRecord } from "../../rows/key-row.ts";
import { readNumber, type Row } from "../../rows/row.ts";

export const KEY_COLUMNS = `id, digest, workspace, scopes, owner, environment, workload, labels, expires_at, created_at,
  created_by, last_used_at, rotated_from, replaced_by, status, revoked_at, exchange, limits, lineage, name, version`;

/** A key with the number of its newest change. */
export function readKey(row: Row): { readonly record: KeyRecord; readonly version: number } {
  return { record: readKeyRecord(row), version: readNumber(row, "version") };
}
