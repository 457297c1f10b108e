import type { KeyLimits } from "../../../canon/limits.ts";
import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import { readTime } from "../../../canon/rfc3339.ts";
import type { NewExchange, NewKey, Rotation } from "../../../canon/credentials/key-management.ts";

/** Reads a body that matches `CREATE_KEY_SCHEMA`. */
export function readNewKey(body: JsonObject, workspace: string, createdBy: string, now: number): NewKey | ServiceError {
  const expiresAt = readExpiry(body, now);
  if (expiresAt === null) {
    return invalidRequest("missing_field", "expires_at or expires_in is required", "expires_at");
  }
  if (typeof expiresAt !== "number") return expiresAt;
  const { owner, environment, workload, labels, exchange, limits } = body;
  return {
    workspace,
    createdBy,
    scopes: readTexts(body["scopes"]) ?? [],
    owner: typeof owner === "string" ? owner : "",
    expiresAt,
    ...(typeof environment === "string" && { environment }),
    ...(typeof workload === "string" && { workload }),
    ...(labels !== undefined && { labels: readTexts(labels) ?? [] }),
    exchange: isJsonObject(exchange) ? readExchange(exchange) : null,
    limits: isJsonObject(limits) ? readLimits(limits) : null,
  };
}

/** Reads a body that matches `ROTATE_KEY_SCHEMA`. */
export function readRotation(body: JsonObject, createdBy: string, now: number): Rotation | ServiceError {
  const expiresAt = readExpiry(body, now);
  if (expiresAt !== null && typeof expiresAt !== "number") return expiresAt;
  const { overlap_seconds: overlap } = body;
  return {
    createdBy,
    ...(typeof overlap === "number" && { overlap: overlap * 1_000 }),
    ...(expiresAt !== null && { expiresAt }),
  };
}

/** Milliseconds since the epoch; `null` where the body names no expiry. */
function readExpiry(body: JsonObject, now: number): number | null | ServiceError {
  const { expires_at: at, expires_in: seconds } = body;
  if (at !== undefined && seconds !== undefined) {
    return invalidRequest("invalid_value", "expires_at and expires_in exclude each other; send one", "expires_in");
  }
  if (typeof seconds === "number") return now + seconds * 1_000;
  if (typeof at !== "string") return null;
  return (
    readTime(at) ??
    invalidRequest("invalid_value", "expires_at must be an RFC 3339 time, such as 2027-01-31T00:00:00Z", "expires_at")
  );
}

function readExchange(requested: JsonObject): NewExchange {
  return {
    maximumLifetime: Number(requested["maximum_lifetime"]),
    operations: readTexts(requested["operations"]),
    routes: readTexts(requested["routes"]),
    origins: readTexts(requested["origins"]),
  };
}

function readLimits(requested: JsonObject): KeyLimits {
  return {
    requestsPerMinute: readCount(requested["requests_per_minute"]),
    tokensPerMinute: readCount(requested["tokens_per_minute"]),
    concurrency: readCount(requested["concurrency"]),
    budget: readBudget(requested["budget"]),
  };
}

function readBudget(requested: JsonValue | undefined): KeyLimits["budget"] {
  if (!isJsonObject(requested)) return null;
  const { usd, tokens, per } = requested;
  if (per !== "hour" && per !== "day" && per !== "month") return null;
  if (typeof usd === "number") return { usd, per };
  return typeof tokens === "number" ? { tokens, per } : null;
}

function readCount(value: JsonValue | undefined): number | null {
  return typeof value === "number" ? value : null;
}

function readTexts(value: JsonValue | undefined): readonly string[] | null {
  return Array.isArray(value) ? value.map(String) : null;
}
