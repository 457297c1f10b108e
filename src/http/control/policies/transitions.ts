import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../../canon/json.ts";
import type { LogRow, PolicyAdministration } from "./administration.ts";
import { ofPolicy, orUnavailable } from "./policy-call.ts";
import { readTransitionsPage } from "./policy-query.ts";

/** Rows of the log read at a time. */
const PAGE = 1_000;

/** GET /v1/policies/{id}/transitions: the policy's rows of the log, oldest first. The rows between them are other policies'. */
export const policyTransitions = ofPolicy(async ({ url }, { administration, status }) => {
  const page = readTransitionsPage(url.searchParams);
  if ("code" in page) return page;
  const rows = await orUnavailable(rowsAbout(administration, status.id, page.after, page.limit + 1));
  if ("code" in rows) return rows;
  const data = rows.slice(0, page.limit);
  return { json: { object: "list", data, has_more: rows.length > page.limit } };
});

async function rowsAbout(
  { rows }: Pick<PolicyAdministration, "rows">,
  policy: string,
  after: number,
  limit: number,
): Promise<readonly JsonObject[]> {
  const found: JsonObject[] = [];
  let position = after;
  while (found.length < limit) {
    const read = await rows({ after: position, limit: PAGE });
    for (const row of read) {
      const record = recordOf(row);
      if (record["policy"] !== policy) continue;
      found.push({ position: row.position, previous: row.previous, hash: row.hash, record });
    }
    position = read.at(-1)?.position ?? position;
    if (read.length < PAGE) break;
  }
  return found.slice(0, limit);
}

function recordOf({ record }: LogRow): JsonObject {
  const value: JsonValue = parseJson(record);
  return isJsonObject(value) ? value : {};
}
