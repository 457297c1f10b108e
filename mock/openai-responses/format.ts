import { isJsonObject, type JsonObject } from "../json.ts";
import { checkMembers, isBoolean, isObject, isText, memberTable, oneOf, type Check } from "../member-table.ts";
import type { Problem } from "../problem.ts";
import { unsupported, wordingAt } from "./wording.ts";

const TEXT = memberTable(
  ["format", "an object", isObject],
  ["verbosity", "low, medium or high", oneOf("low", "medium", "high")],
);

const isSchemaName: Check = (value) => typeof value === "string" && /^[\w-]{1,64}$/.test(value);

/** Members of each kind of format. */
const KINDS = new Map([
  ["text", memberTable(["type", "a string", isText])],
  ["json_object", memberTable(["type", "a string", isText])],
  [
    "json_schema",
    memberTable(
      ["type", "a string", isText],
      ["name", "1 to 64 letters, digits, underscores or hyphens", isSchemaName],
      ["schema", "a JSON Schema", isObject],
      ["strict", "a boolean", isBoolean],
      ["description", "a string", isText],
    ),
  ],
]);

/** Reads `text`: the schema of the answer, `null` for text. */
export function readFormat(body: JsonObject): { readonly schema: unknown } | Problem {
  const text = body["text"];
  if (!isJsonObject(text)) return { schema: null };
  const problem = checkMembers(text, { table: TEXT, required: [], lenient: false }, wordingAt("text"));
  if (problem !== null) return problem;
  const format = text["format"];
  if (!isJsonObject(format)) return { schema: null };
  const kind = typeof format["type"] === "string" ? format["type"] : "";
  const table = KINDS.get(kind);
  if (table === undefined) return unsupported("text.format.type", KINDS.keys());
  const required = kind === "json_schema" ? ["name", "schema"] : [];
  const wrong = checkMembers(format, { table, required, lenient: false }, wordingAt("text.format"));
  if (wrong !== null) return wrong;
  if (kind === "text") return { schema: null };
  return { schema: kind === "json_object" ? { type: "object" } : format["schema"] };
}
