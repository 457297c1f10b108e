import type { ServiceKey } from "../../../canon/credentials/service-key.ts";
import type { JsonObject } from "../../../canon/json.ts";
import { formatTime } from "../../../canon/rfc3339.ts";

/** A key as people and scripts see it, in the API and at the terminal; times in RFC 3339. */
export function describeKey(key: ServiceKey, now: number): JsonObject {
  const { exchange, limits } = key;
  return {
    object: "service_key",
    id: key.id,
    status: statusOf(key, now),
    workspace: key.workspace,
    environment: key.environment,
    workload: key.workload,
    scopes: key.scopes,
    labels: key.labels,
    owner: key.owner,
    expires_at: formatTime(key.expiresAt),
    created_at: formatTime(key.createdAt),
    created_by: key.createdBy,
    last_used_at: formatTime(key.lastUsedAt),
    rotated_from: key.rotatedFrom,
    replaced_by: key.replacedBy,
    revoked_at: formatTime(key.revokedAt),
    exchange:
      exchange === null
        ? null
        : {
            maximum_lifetime: exchange.maximumLifetime,
            operations: exchange.operations,
            routes: exchange.routes,
            origins: exchange.origins,
          },
    limits:
      limits === null
        ? null
        : {
            requests_per_minute: limits.requestsPerMinute,
            tokens_per_minute: limits.tokensPerMinute,
            concurrency: limits.concurrency,
            budget: limits.budget === null ? null : { ...limits.budget },
          },
  };
}

/** What a key is good for at a moment, milliseconds since the epoch. */
export function statusOf(key: ServiceKey, now: number): "active" | "expired" | "revoked" {
  if (key.status === "revoked") return "revoked";
  return key.expiresAt <= now ? "expired" : "active";
}
