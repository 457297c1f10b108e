import { randomBytes } from "node:crypto";
import { createKey as create } from "../../src/keys/key-record.ts";
import type { KeyRecord } from "../../src/keys/key-store.ts";

export function createKey(): KeyRecord {
  const expiresAt = Date.now() + 60_000;
  const options = {
    workspace: "w",
    owner: "test",
    environment: "production",
    expiresAt,
    createdBy: "test",
  };
  return create({ ...options, scopes: ["inference"] }, Date.now, randomBytes).record;
}

export function revokedRecord(record: KeyRecord): KeyRecord {
  return { ...record, status: "revoked" };
}
