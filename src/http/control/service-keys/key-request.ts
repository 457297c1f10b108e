import type { ValueOf } from "../../../canon/json/schema.ts";
import type { KeyLimits } from "../../../canon/limits.ts";
import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import { readTime } from "../../../canon/rfc3339.ts";
import type { NewExchange, NewKey, Rotation } from "../../../canon/credentials/service-key.ts";
import type { CREATE_KEY_SCHEMA, ROTATE_KEY_SCHEMA } from "../../contract/key-schemas.ts";

type CreateKeyBody = ValueOf<typeof CREATE_KEY_SCHEMA>;
type RotateKeyBody = ValueOf<typeof ROTATE_KEY_SCHEMA>;

export function readNewKey(
  body: CreateKeyBody,
  workspace: string,
  createdBy: string,
  now: number,
): NewKey | ServiceError {
  const expiresAt = readExpiry(body, now);
  if (expiresAt === null) {
    return invalidRequest("missing_field", "expires_at or expires_in is required", "expires_at");
  }
  if (typeof expiresAt !== "number") return expiresAt;
  const { scopes, owner, environment, workload, labels, exchange, limits } = body;
  return {
    workspace,
    createdBy,
    scopes,
    owner,
    expiresAt,
    ...(environment !== undefined && { environment }),
    ...(workload !== undefined && { workload }),
    ...(labels !== undefined && { labels }),
    exchange: exchange == null ? null : readExchange(exchange),
    limits: limits == null ? null : readLimits(limits),
  };
}

export function readRotation(
  body: RotateKeyBody,
  createdBy: string,
  now: number,
): Rotation | ServiceError {
  const expiresAt = readExpiry(body, now);
  if (expiresAt !== null && typeof expiresAt !== "number") return expiresAt;
  const { overlap_seconds: overlap } = body;
  return {
    createdBy,
    ...(overlap !== undefined && { overlap: overlap * 1_000 }),
    ...(expiresAt !== null && { expiresAt }),
  };
}

/** Milliseconds since the epoch; `null` where the body names no expiry. */
function readExpiry(
  { expires_at: at, expires_in: seconds }: RotateKeyBody,
  now: number,
): number | null | ServiceError {
  if (at !== undefined && seconds !== undefined) {
    return invalidRequest(
      "invalid_value",
      "expires_at and expires_in exclude each other; send one",
      "expires_in",
    );
  }
  if (seconds !== undefined) return now + seconds * 1_000;
  if (at === undefined) return null;
  return (
    readTime(at) ??
    invalidRequest(
      "invalid_value",
      "expires_at must be an RFC 3339 time, such as 2027-01-31T00:00:00Z",
      "expires_at",
    )
  );
}

function readExchange(requested: NonNullable<CreateKeyBody["exchange"]>): NewExchange {
  const {
    maximum_lifetime: maximumLifetime,
    operations = null,
    routes = null,
    origins = null,
  } = requested;
  return { maximumLifetime, operations, routes, origins };
}

function readLimits(requested: NonNullable<CreateKeyBody["limits"]>): KeyLimits {
  const { requests_per_minute, tokens_per_minute, concurrency = null, budget = null } = requested;
  return {
    requestsPerMinute: requests_per_minute ?? null,
    tokensPerMinute: tokens_per_minute ?? null,
    concurrency,
    budget: readBudget(budget),
  };
}

function readBudget(
  requested: NonNullable<CreateKeyBody["limits"]>["budget"] | null,
): KeyLimits["budget"] {
  if (requested == null) return null;
  const { usd, tokens, per } = requested;
  if (usd !== undefined) return { usd, per };
  return tokens === undefined ? null : { tokens, per };
}
