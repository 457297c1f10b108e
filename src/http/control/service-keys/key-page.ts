import { described, INSTANT, TEXT, type ValueOf } from "../../../canon/json/schema.ts";
import type { JsonObject } from "../../../canon/json.ts";
import { compare } from "../../../governance/measures.ts";
import { readInstant } from "../../../governance/roll-up.ts";
import { badRequest } from "../../refusal.ts";
import { readCount, WORKSPACES_QUERY } from "../query.ts";
import type {
  KeyManagement,
  NewExchange,
  NewKey,
  Rotation,
  ServiceKey,
} from "../../../canon/credentials/service-key.ts";
import type { Budget, KeyLimits } from "../../../canon/limits.ts";
import { formatTime, readTime } from "../../../canon/rfc3339.ts";
import type { CREATE_KEY_SCHEMA, ROTATE_KEY_SCHEMA } from "../../contract/key-schemas.ts";

/** A key as people and scripts see it, in the API and at the terminal; times in RFC 3339. */
export function describeKey(key: ServiceKey, now: number): JsonObject {
  const { exchange, limits } = key;
  return {
    object: "service_key",
    id: key.id,
    name: key.name,
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
            budget: limits.budget === null ? null : describeBudget(limits.budget),
          },
  };
}

function describeBudget({ timeZone, ...budget }: Budget): JsonObject {
  return { ...budget, time_zone: timeZone };
}

/** Whether a key authenticates at a moment, milliseconds since the epoch. */
export function statusOf(key: ServiceKey, now: number): "active" | "expired" | "revoked" {
  if (key.status === "revoked") return "revoked";
  return key.expiresAt <= now ? "expired" : "active";
}

type CreateKeyBody = ValueOf<typeof CREATE_KEY_SCHEMA>;
type RotateKeyBody = ValueOf<typeof ROTATE_KEY_SCHEMA>;

/** @throws {RefusalError} */
export function readNewKey(
  body: CreateKeyBody,
  workspace: string,
  createdBy: string,
  now: number,
): NewKey {
  const expiresAt = readExpiry(body, now);
  if (expiresAt === null) {
    throw badRequest("missing_field", "expires_at or expires_in is required", "expires_at");
  }
  const { name, scopes, owner, environment, workload, labels, exchange, limits } = body;
  return {
    workspace,
    name,
    createdBy,
    scopes,
    owner,
    expiresAt,
    environment,
    workload,
    labels,
    exchange: exchange == null ? null : readExchange(exchange),
    limits: limits == null ? null : readLimits(limits),
  };
}

/** @throws {RefusalError} */
export function readRotation(body: RotateKeyBody, createdBy: string, now: number): Rotation {
  const { overlap_seconds: overlap } = body;
  return {
    createdBy,
    overlap: overlap === undefined ? undefined : overlap * 1_000,
    expiresAt: readExpiry(body, now) ?? undefined,
  };
}

/** Milliseconds since the epoch; `null` where the body names no expiry. @throws {RefusalError} */
function readExpiry(
  { expires_at: at, expires_in: seconds }: RotateKeyBody,
  now: number,
): number | null {
  if (at !== undefined && seconds !== undefined) {
    throw badRequest(
      "invalid_value",
      "expires_at and expires_in exclude each other; send one",
      "expires_in",
    );
  }
  if (seconds !== undefined) return now + seconds * 1_000;
  if (at === undefined) return null;
  const time = readTime(at);
  if (time !== null) return time;
  throw badRequest(
    "invalid_value",
    "expires_at must be an RFC 3339 time, such as 2027-01-31T00:00:00Z",
    "expires_at",
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
  const { usd, tokens, per, time_zone: timeZone } = requested;
  const window = { per, timeZone };
  if (usd !== undefined && tokens === undefined) return { usd, ...window };
  // No tokens are no budget: a body with both amounts, or with none, is refused by the field's
  // rule.
  return { tokens: usd === undefined ? (tokens ?? 0) : 0, ...window };
}

/** Query parameters of the list, for /openapi.json. */
export const KEY_PAGE_QUERY = {
  limit: {
    type: "integer",
    minimum: 1,
    maximum: 100,
    default: 20,
    description: "Maximum number of keys.",
  },
  workspace: described(
    TEXT,
    "The workspace, for keys with `platform:manage`; their own unless given.",
  ),
  workspaces: WORKSPACES_QUERY,
  expires_before: described(
    INSTANT,
    "Only active keys without a replacement that expire before this time, those that expire soonest first. For example all that need a rotation within two weeks.",
  ),
  after: described(TEXT, "The page after the key with this id: `last_id` of the page before."),
} as const;

/**
 * One page of the keys of some workspaces, newest first. Keys are never deleted, so a cursor stays
 * good.
 *
 * @param now milliseconds since the epoch. @throws {RefusalError}
 */
export async function pageOfKeys(
  keys: Pick<KeyManagement, "get" | "page">,
  workspaces: readonly string[],
  query: URLSearchParams,
  now: number,
): Promise<{ readonly json: JsonObject }> {
  const limit = readCount(query, "limit", KEY_PAGE_QUERY);
  const end = query.get("expires_before");
  const before = end === null ? null : readInstant(end);
  const expiring = before === null ? null : { after: now, before };
  const after = query.get("after");
  let last: ServiceKey | null = null;
  if (after !== null) {
    last = await keys.get(after);
    if (last === null || !workspaces.includes(last.workspace)) {
      throw badRequest(
        "invalid_cursor",
        "after must be the id of a key of this workspace",
        "after",
      );
    }
  }
  const found: ServiceKey[] = [];
  for (const workspace of workspaces) {
    // The cursor is a position in the order of all keys, so it is one in each workspace's, too.
    found.push(...(await keys.page({ workspace, expiring, after: last, limit: limit + 1 })));
  }
  const shown = found.toSorted(expiring === null ? newestFirst : soonestFirst).slice(0, limit);
  return {
    json: {
      object: "list",
      data: shown.map((key) => describeKey(key, now)),
      has_more: found.length > limit,
      first_id: shown[0]?.id ?? null,
      last_id: shown.at(-1)?.id ?? null,
    },
  };
}

/** The orders of the store's pages (`keys/key-store.ts`). */
function newestFirst(left: ServiceKey, right: ServiceKey) {
  return right.createdAt - left.createdAt || compare(left.id, right.id);
}

function soonestFirst(left: ServiceKey, right: ServiceKey) {
  return left.expiresAt - right.expiresAt || compare(left.id, right.id);
}
