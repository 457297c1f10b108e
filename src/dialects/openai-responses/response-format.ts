import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";

/** The format that a body requests, in the spelling of `text.format`. */
interface RequestedFormat {
  readonly format: JsonObject;
  /** Which member requests it. */
  readonly path: "text.format" | "response_format";
}

/**
 * `text.format`, or the alias `response_format` in its chat spelling (`json_schema` nested) or
 * flat; `null` where neither stands: a bare `text: {}` requests nothing
 * (docs/protocols.md#responses). Two that differ are a 400 that names the alias.
 */
export function requestedFormat(body: JsonObject): RequestedFormat | ServiceError | null {
  const { text, response_format: alias } = body;
  const own = isJsonObject(text) ? text["format"] : null;
  if (!isJsonObject(alias)) return isJsonObject(own) ? { format: own, path: "text.format" } : null;
  const format = flattened(alias);
  if (!isJsonObject(own)) return { format, path: "response_format" };
  if (canonicalJson(withoutNulls(own)) === canonicalJson(withoutNulls(format)))
    return { format: own, path: "text.format" };
  return invalidRequest(
    "conflicting_fields",
    "response_format and text.format ask for different formats; send one of them",
    "response_format",
  );
}

/** The chat spelling as this protocol writes it; a flat one stays as it is. */
function flattened(alias: JsonObject): JsonObject {
  const { json_schema: nested, ...rest } = alias;
  return isJsonObject(nested) ? { ...rest, ...nested } : rest;
}

function withoutNulls(object: JsonObject): Readonly<Record<string, JsonValue>> {
  const kept: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(object))
    if (value !== null && value !== undefined) kept[name] = value;
  return kept;
}
