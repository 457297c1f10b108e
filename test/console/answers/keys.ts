import type { CreatedKey, KeyList, ServiceKey } from "../../../console/api/types.ts";

const OWNERS = ["group:payments", "group:search", "sam@example.com", "group:platform"];

const NAMES = ["checkout-prod", "search-index", "nightly-batch", "ci"];

export function serviceKey(at: number, changes: Partial<ServiceKey> = {}): ServiceKey {
  return {
    object: "service_key",
    id: `k${String(at).padStart(11, "0")}`,
    name: at % 2 === 0 ? (NAMES[(at / 2) % NAMES.length] ?? null) : null,
    status: "active",
    workspace: "search",
    environment: "production",
    workload: at % 3 === 0 ? "assistant" : "other",
    scopes:
      at % 4 === 3 ? ["operations:manage", "governance:read"] : ["inference", "catalogue:read"],
    labels: at % 3 === 0 ? ["tools-approved"] : [],
    owner: OWNERS[at % OWNERS.length] ?? "",
    expires_at: new Date(Date.UTC(2027, 0, 20) + at * 86_400_000).toISOString(),
    created_at: "2026-10-22T08:00:00.000Z",
    created_by: "terminal",
    last_used_at: at % 5 === 4 ? null : "2026-11-24T01:55:00.000Z",
    rotated_from: null,
    replaced_by: null,
    revoked_at: null,
    exchange: null,
    limits: null,
    ...changes,
  };
}

/** A page of a list of keys, as the API cuts it. @param after the last id of the page before. */
export function keyPage(all: readonly ServiceKey[], after: string | null, limit: number): KeyList {
  const start = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1;
  const data = all.slice(start, start + limit);
  return {
    object: "list",
    data,
    has_more: start + limit < all.length,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
}

export const CREATED: CreatedKey = {
  ...serviceKey(99),
  key: "sbx_production_k00000000099_secret-part",
};
