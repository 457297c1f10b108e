import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import type { JsonObject } from "../../canon/json.ts";
import { readCount } from "./query.ts";

/** Stages of life that Anthropic's models have; routes have the first only. */
const LIFECYCLES = ["active", "deprecated", "retired"] as const;

const cursor = { type: "string" } as const;

/** Query parameter of both lists, for /openapi.json. */
export const ALL_QUERY = {
  all: {
    type: "boolean",
    default: false,
    description:
      "Includes routes of the workspace on which a plain request of this key is denied, with the reason.",
  },
} as const;

/** Query parameters of a list in Anthropic's shape, for /openapi.json. */
export const PAGE_QUERY = {
  limit: {
    type: "integer",
    minimum: 1,
    maximum: 1_000,
    default: 20,
    description: "Maximum number of entries.",
  },
  after_id: { ...cursor, description: "The page after this id." },
  before_id: { ...cursor, description: "The page before this id; excludes `after_id`." },
  "lifecycle[]": {
    type: "array",
    items: { enum: LIFECYCLES },
    description: "Every model here is `active`.",
  },
} as const;

interface PageBounds {
  readonly limit: number;
  readonly after: string | null;
  readonly before: string | null;
  /** The caller wants none of what there is. */
  readonly isEmpty: boolean;
}

/**
 * One page of a list that is sorted by id, in Anthropic's shape. An id marks a position in the
 * order, whether or not it is on the list: a route that a reload takes away between two pages does
 * not break a client's walk.
 *
 * @param items sorted by id.
 */
export function page<Item extends { readonly id: string }>(
  items: readonly Item[],
  query: URLSearchParams,
  print: (item: Item) => JsonObject,
): { readonly json: JsonObject } | ServiceError {
  const bounds = readBounds(query);
  if ("code" in bounds) return bounds;
  const { limit, after, before, isEmpty } = bounds;
  const wanted = items.filter(
    ({ id }) => !isEmpty && (after === null || id > after) && (before === null || id < before),
  );
  const shown = before === null ? wanted.slice(0, limit) : wanted.slice(-limit);
  return {
    json: {
      data: shown.map(print),
      has_more: shown.length < wanted.length,
      first_id: shown[0]?.id ?? null,
      last_id: shown.at(-1)?.id ?? null,
    },
  };
}

function readBounds(query: URLSearchParams): PageBounds | ServiceError {
  const limit = readCount(query, "limit", PAGE_QUERY);
  const after = query.get("after_id");
  const before = query.get("before_id");
  if (after !== null && before !== null) {
    return invalidRequest(
      "invalid_cursor",
      "after_id and before_id exclude each other; send one of them",
      "before_id",
    );
  }
  const lifecycles = [...query.getAll("lifecycle[]"), ...query.getAll("lifecycle")];
  if (lifecycles.some((lifecycle) => !LIFECYCLES.some((known) => known === lifecycle))) {
    return invalidRequest(
      "invalid_value",
      `lifecycle[] must be one of ${LIFECYCLES.join(", ")}`,
      "lifecycle[]",
    );
  }
  return { limit, after, before, isEmpty: lifecycles.length > 0 && !lifecycles.includes("active") };
}
