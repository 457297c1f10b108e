import { isJsonObject, type JsonObject } from "../json.ts";
import { checkMembers, isObject, memberTable, oneOf, orNull } from "../member-table.ts";
import { invalid, type Problem } from "../problem.ts";
import { wordingAt } from "./error.ts";
import { hasBeta, type Edition } from "./version.ts";

const EFFORT = [
  "effort",
  "'low', 'medium', 'high', 'xhigh' or 'max'",
  orNull(oneOf("low", "medium", "high", "xhigh", "max")),
] as const;
const FORMAT = ["format", "an object", orNull(isObject)] as const;
const MEMBERS = memberTable(EFFORT, FORMAT);
const BETA_MEMBERS = memberTable(EFFORT, FORMAT, ["task_budget", "an object", orNull(isObject)]);

const FORMAT_MEMBERS = memberTable(
  ["type", "'json_schema'", oneOf("json_schema")],
  ["schema", "a valid dictionary", isObject],
);

/** Reads `output_config`, and `output_format` as it was called in its beta. */
export function readOutputConfig(body: JsonObject, edition: Edition): { readonly schema: unknown } | Problem {
  const config = body["output_config"];
  const older = body["output_format"];
  if (isJsonObject(older)) return readFormat(older, "output_format");
  if (!isJsonObject(config)) return { schema: null };
  const table = hasBeta(edition, "task-budgets") ? BETA_MEMBERS : MEMBERS;
  const problem = checkMembers(config, { table, required: [], lenient: false }, wordingAt("output_config"));
  if (problem !== null) return problem;
  const format = config["format"];
  return isJsonObject(format) ? readFormat(format, "output_config.format") : { schema: null };
}

function readFormat(format: JsonObject, path: string): { readonly schema: unknown } | Problem {
  const members = { table: FORMAT_MEMBERS, required: ["type", "schema"], lenient: false };
  const problem = checkMembers(format, members, wordingAt(path));
  if (problem !== null) return problem;
  if (!isClosed(format["schema"], SCHEMA_PARTS)) {
    return invalid(
      `${path}.schema`,
      "For 'object' type, 'additionalProperties' must be explicitly set to false, at every depth.",
    );
  }
  return { schema: format["schema"] };
}

/** Parts of a schema that are looked at; one that has more is too complex for Anthropic too. */
const SCHEMA_PARTS = 10_000;

/** Whether every schema of an object says `additionalProperties: false`. */
function isClosed(schema: unknown, most: number): boolean {
  const open: unknown[] = [schema];
  for (let seen = 0; open.length > 0; seen += 1) {
    const part = open.pop();
    if (seen > most) return false;
    if (!isJsonObject(part)) continue;
    if (part["type"] === "object" && part["additionalProperties"] !== false) return false;
    for (const keyword of ["properties", "$defs", "definitions"] as const) {
      const parts = part[keyword];
      if (isJsonObject(parts)) open.push(...Object.values(parts));
    }
    for (const keyword of ["anyOf", "allOf", "oneOf", "prefixItems"] as const) {
      const parts: unknown = part[keyword];
      if (Array.isArray(parts)) open.push(...parts);
    }
    open.push(part["items"]);
  }
  return true;
}
