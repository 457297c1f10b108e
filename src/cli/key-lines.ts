import { statusOf } from "../http/control/service-keys/key-json.ts";
import { formatTime } from "../canon/rfc3339.ts";
import { formatTable } from "./terminal/printing.ts";
import type { KeyRecord } from "../keys/key-store.ts";

export function formatKeys(records: readonly KeyRecord[], now: number): string {
  if (records.length === 0) return "No keys.\n";
  return formatTable([
    [
      "ID",
      "STATUS",
      "WORKSPACE",
      "ENVIRONMENT",
      "SCOPES",
      "LABELS",
      "OWNER",
      "EXPIRES",
      "LAST USED",
      "LIMITS",
      "EXCHANGE",
    ],
    ...records.map((record) => [
      record.id,
      statusOf(record, now),
      record.workspace,
      record.environment,
      record.scopes.join(","),
      record.labels.length === 0 ? "-" : record.labels.join(","),
      record.owner,
      new Date(record.expiresAt).toISOString().slice(0, 16),
      formatTime(record.lastUsedAt)?.slice(0, 16) ?? "never",
      formatLimits(record.limits),
      record.exchange === null ? "no" : `${record.exchange.maximumLifetime}s`,
    ]),
  ]);
}

function formatLimits(limits: KeyRecord["limits"]): string {
  if (limits === null) return "none";
  const { requestsPerMinute, tokensPerMinute, concurrency, budget } = limits;
  const parts = [
    requestsPerMinute === null ? "" : `${requestsPerMinute} requests/min`,
    tokensPerMinute === null ? "" : `${tokensPerMinute} tokens/min`,
    concurrency === null ? "" : `${concurrency} at once`,
    budget === null ? "" : `${"usd" in budget ? `${budget.usd} USD` : `${budget.tokens} tokens`}/${budget.per}`,
  ];
  return parts.filter((part) => part !== "").join(", ");
}
