import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import type { JsonObject } from "../../../canon/json.ts";
import { readInstant } from "../../../governance/roll-up.ts";
import { readCount } from "../query.ts";
import { describeKey } from "./key-json.ts";
import type {
  KeyFault,
  KeyManagement,
  ServiceKey,
} from "../../../canon/credentials/service-key.ts";
import { WORKSPACES_QUERY } from "../covered-workspaces.ts";

/** Query parameters of the list, for /openapi.json. */
export const KEY_PAGE_QUERY = {
  limit: {
    type: "integer",
    minimum: 1,
    maximum: 100,
    default: 20,
    description: "Maximum number of keys.",
  },
  workspace: {
    type: "string",
    description: "The workspace, for keys with `platform:manage`; their own unless given.",
  },
  workspaces: WORKSPACES_QUERY,
  expires_before: {
    type: "string",
    format: "date-time",
    description:
      "Only active keys without a replacement that expire before this time, those that expire soonest first. For example all that need a rotation within two weeks.",
  },
  after: {
    type: "string",
    description: "The page after the key with this id: `last_id` of the page before.",
  },
} as const;

/**
 * One page of the keys of some workspaces, newest first. Keys are never deleted, so a cursor stays
 * good.
 *
 * @param now milliseconds since the epoch.
 */
export async function pageOfKeys(
  keys: Pick<KeyManagement, "get" | "page">,
  workspaces: readonly string[],
  query: URLSearchParams,
  now: number,
): Promise<{ readonly json: JsonObject } | KeyFault | ServiceError> {
  const limit = readCount(query, "limit", KEY_PAGE_QUERY);
  const end = query.get("expires_before");
  const before = end === null ? null : readInstant(end);
  const expiring = before === null ? null : { after: now, before };
  const after = query.get("after");
  let last: ServiceKey | null = null;
  if (after !== null) {
    const known = await keys.get(after);
    if ("fault" in known && known.fault !== "absent") return known;
    if ("fault" in known || !workspaces.includes(known.workspace)) {
      return invalidRequest(
        "invalid_cursor",
        "after must be the id of a key of this workspace",
        "after",
      );
    }
    last = known;
  }
  const found: ServiceKey[] = [];
  for (const workspace of workspaces) {
    // The cursor is a position in the order of all keys, so it is one in each workspace's, too.
    const page = await keys.page({ workspace, expiring, after: last, limit: limit + 1 });
    if ("fault" in page) return page;
    found.push(...page);
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
function newestFirst(left: ServiceKey, right: ServiceKey): number {
  return right.createdAt - left.createdAt || compareIds(left, right);
}

function soonestFirst(left: ServiceKey, right: ServiceKey): number {
  return left.expiresAt - right.expiresAt || compareIds(left, right);
}

function compareIds(left: ServiceKey, right: ServiceKey): number {
  return left.id < right.id ? -1 : left.id > right.id ? 1 : 0;
}
