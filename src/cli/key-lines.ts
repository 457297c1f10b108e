import type { KeyRecord } from "../store/port.ts";

/** A key as people and scripts see it: everything but the digest; times in RFC 3339. */
export function describeKey(record: KeyRecord, now: number): Readonly<Record<string, unknown>> {
  return {
    id: record.id,
    status: statusOf(record, now),
    workspace: record.workspace,
    environment: record.environment,
    workload: record.workload,
    scopes: record.scopes,
    labels: record.labels,
    owner: record.owner,
    expires_at: formatTime(record.expiresAt),
    created_at: formatTime(record.createdAt),
    created_by: record.createdBy,
    last_used_at: formatTime(record.lastUsedAt),
    rotated_from: record.rotatedFrom,
    revoked_at: formatTime(record.revokedAt),
  };
}

export function formatKeys(records: readonly KeyRecord[], now: number): string {
  if (records.length === 0) return "No keys.\n";
  return formatTable([
    ["ID", "STATUS", "WORKSPACE", "ENVIRONMENT", "SCOPES", "OWNER", "EXPIRES", "LAST USED"],
    ...records.map((record) => [
      record.id,
      statusOf(record, now),
      record.workspace,
      record.environment,
      record.scopes.join(","),
      record.owner,
      new Date(record.expiresAt).toISOString().slice(0, 16),
      formatTime(record.lastUsedAt)?.slice(0, 16) ?? "never",
    ]),
  ]);
}

function statusOf(record: KeyRecord, now: number): "active" | "expired" | "revoked" {
  if (record.status === "revoked") return "revoked";
  return record.expiresAt <= now ? "expired" : "active";
}

function formatTime(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

/** Rows as columns of equal width, two spaces apart, without spaces at the ends of lines. */
function formatTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  }
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join("");
}
