import { isScope } from "../../../canon/scope.ts";
import type { KeyRecord } from "../../port.ts";
import { parseExchange, parseLimits } from "../../stored-grants.ts";
import type { Row } from "../pool.ts";
import { readNumber, readNumberOrNull, readText, readTextOrNull, readTexts } from "../row.ts";

export const KEY_COLUMNS = `id, digest, workspace, scopes, owner, environment, workload, labels, expires_at, created_at,
  created_by, last_used_at, rotated_from, status, revoked_at, exchange, limits, lineage, version`;

/** A key with the number of its newest change. */
export function readKey(row: Row): { readonly record: KeyRecord; readonly version: number } {
  const record: KeyRecord = {
    id: readText(row, "id"),
    digest: readText(row, "digest"),
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
    lineage: readTextOrNull(row, "lineage"),
    status: readText(row, "status") === "active" ? "active" : "revoked",
    revokedAt: readNumberOrNull(row, "revoked_at"),
    exchange: parseExchange(readTextOrNull(row, "exchange")),
    limits: parseLimits(readTextOrNull(row, "limits")),
  };
  return { record, version: readNumber(row, "version") };
}
