import { isJsonObject, type JsonObject } from "../json.ts";
import { listAt } from "../member-table.ts";
import { invalid, type Problem } from "../problem.ts";

/** Most marks in one request (Anthropic's guide to prompt caching). */
const MOST_MARKS = 4;

/** Checks every `cache_control` of a request, and that there are not too many. */
export function checkCacheMarks(body: JsonObject): Problem | null {
  let marks = 0;
  for (const [path, holder] of holdersIn(body)) {
    const mark = holder["cache_control"] ?? null;
    if (mark === null) continue;
    marks += 1;
    if (!isJsonObject(mark) || mark["type"] !== "ephemeral")
      return invalid(`${path}cache_control.type`, "Input should be 'ephemeral'");
    const ttl = mark["ttl"] ?? "5m";
    if (ttl !== "5m" && ttl !== "1h") return invalid(`${path}cache_control.ttl`, "Input should be '5m' or '1h'");
  }
  if (marks <= MOST_MARKS) return null;
  return invalid(null, `A maximum of ${MOST_MARKS} blocks with cache_control may be provided. Found ${marks}.`);
}

/** Everything that can carry a mark, with its path and a dot. */
function holdersIn(body: JsonObject): readonly (readonly [path: string, holder: JsonObject])[] {
  const holders: [string, JsonObject][] = [["", body]];
  const collect = (list: readonly unknown[], path: string): void => {
    for (const [index, item] of list.entries()) if (isJsonObject(item)) holders.push([`${path}.${index}.`, item]);
  };
  collect(listAt(body, "tools"), "tools");
  collect(listAt(body, "system"), "system");
  for (const [index, message] of listAt(body, "messages").entries()) {
    if (!isJsonObject(message)) continue;
    for (const [place, block] of listAt(message, "content").entries()) {
      if (!isJsonObject(block)) continue;
      const path = `messages.${index}.content.${place}`;
      holders.push([`${path}.`, block]);
      collect(listAt(block, "content"), `${path}.content`);
    }
  }
  return holders;
}
