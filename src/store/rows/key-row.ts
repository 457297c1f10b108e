import { isScope } from "../../canon/identity.ts";
import type { KeyRecord } from "../../keys/key-store.ts";
import { parseExchange, parseLimits } from "../stored-grants.ts";
import {
  readNumber,
  readNumberOrNull,
  readText,
  readTextOrNull,
  readTexts,
  type Row,
} from "./row.ts";

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
