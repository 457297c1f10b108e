import type { ServiceKey } from "../../../canon/credentials/service-key.ts";
import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import type { JsonObject } from "../../../canon/json.ts";

const DEFAULT_LIMIT = 20;
const MAXIMUM_LIMIT = 100;

/** Query parameters of the list, for /openapi.json. */
export const KEY_PAGE_QUERY = {
  limit: { type: "integer", minimum: 1, maximum: MAXIMUM_LIMIT, default: DEFAULT_LIMIT },
  after: { type: "string", description: "The page after the key with this id: `last_id` of the page before." },
} as const;

/** One page of a workspace's keys, newest first. Keys are never deleted, so a cursor stays good. */
export function pageOfKeys(
  keys: readonly ServiceKey[],
  query: URLSearchParams,
  print: (key: ServiceKey) => JsonObject,
): { readonly json: JsonObject } | ServiceError {
  const written = query.get("limit") ?? String(DEFAULT_LIMIT);
  const limit = /^[1-9]\d{0,2}$/.test(written) ? Number(written) : 0;
  if (limit < 1 || limit > MAXIMUM_LIMIT) {
    return invalidRequest("invalid_limit", `limit must be a whole number from 1 to ${MAXIMUM_LIMIT}`, "limit");
  }
  const after = query.get("after");
  const start = after === null ? 0 : keys.findIndex(({ id }) => id === after) + 1;
  if (after !== null && start === 0) {
    return invalidRequest("invalid_cursor", "after must be the id of a key of this workspace", "after");
  }
  const shown = keys.slice(start, start + limit);
  return {
    json: {
      object: "list",
      data: shown.map(print),
      has_more: start + shown.length < keys.length,
      first_id: shown[0]?.id ?? null,
      last_id: shown.at(-1)?.id ?? null,
    },
  };
}
