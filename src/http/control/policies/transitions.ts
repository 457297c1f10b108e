import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../../canon/json.ts";
import type { ControlAnswer, ControlCall } from "../control-call.ts";
import type { LogRow, PolicyAdministration } from "./administration.ts";
import { namedStatus, NO_STORE, orUnavailable, parts } from "./policy-call.ts";
import { checkQuery, readTransitionsPage, TRANSITIONS_QUERY } from "./policy-query.ts";

/** Rows of the log read at a time. */
const PAGE = 1_000;

/** GET /v1/policies/{id}/transitions: the policy's rows of the log, oldest first. The rows between them are other policies'. */
export async function policyTransitions(call: ControlCall): Promise<ControlAnswer> {
  const found = parts(call);
  if ("code" in found) return found;
  const { administration } = found;
  const { searchParams } = call.url;
  const wrong = checkQuery(searchParams, TRANSITIONS_QUERY);
  if (wrong !== null) return wrong;
  const page = readTransitionsPage(searchParams);
  if ("code" in page) return page;
  const status = await namedStatus(administration, call.parameter);
  if ("code" in status) return status;
  const rows = await orUnavailable(rowsAbout(administration, status.id, page.after, page.limit + 1));
  if ("code" in rows) return rows;
  const data = rows.slice(0, page.limit);
  return { json: { object: "list", data, has_more: rows.length > page.limit }, headers: NO_STORE };
}

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
