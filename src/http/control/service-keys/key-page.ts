import type { ServiceKey } from "../../../canon/credentials/service-key.ts";
import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import type { JsonObject } from "../../../canon/json.ts";
import type { KeyFault, KeyManagement } from "./key-management.ts";

const DEFAULT_LIMIT = 20;
const MAXIMUM_LIMIT = 100;

/** Query parameters of the list, for /openapi.json. */
export const KEY_PAGE_QUERY = {
  limit: { type: "integer", minimum: 1, maximum: MAXIMUM_LIMIT, default: DEFAULT_LIMIT, description: "Most keys." },
  workspace: { type: "string", description: "The workspace, for keys with `platform:manage`; their own unless given." },
  after: { type: "string", description: "The page after the key with this id: `last_id` of the page before." },
} as const;

/** One page of a workspace's keys, newest first. Keys are never deleted, so a cursor stays good. */
export async function pageOfKeys(
  keys: Pick<KeyManagement, "get" | "page">,
  workspace: string,
  query: URLSearchParams,
  print: (key: ServiceKey) => JsonObject,
): Promise<{ readonly json: JsonObject } | KeyFault | ServiceError> {
  const written = query.get("limit") ?? String(DEFAULT_LIMIT);
  const limit = /^[1-9]\d{0,2}$/.test(written) ? Number(written) : 0;
  if (limit < 1 || limit > MAXIMUM_LIMIT) {
    return invalidRequest("invalid_limit", `limit must be a whole number from 1 to ${MAXIMUM_LIMIT}`, "limit");
  }
  const after = query.get("after");
  let last: ServiceKey | null = null;
  if (after !== null) {
    const known = await keys.get(after);
    if ("fault" in known && known.fault !== "absent") return known;
    if ("fault" in known || known.workspace !== workspace) {
      return invalidRequest("invalid_cursor", "after must be the id of a key of this workspace", "after");
    }
    last = known;
  }
  const found = await keys.page(workspace, last, limit + 1);
  if ("fault" in found) return found;
  const shown = found.slice(0, limit);
  return {
    json: {
      object: "list",
      data: shown.map(print),
      has_more: found.length > limit,
      first_id: shown[0]?.id ?? null,
      last_id: shown.at(-1)?.id ?? null,
    },
  };
}
