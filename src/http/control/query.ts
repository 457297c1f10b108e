import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import type { JsonObject, JsonValue } from "../../canon/json.ts";
import type { ControlEndpoint } from "../contract/endpoint.ts";

/**
 * Refuses the query of a request for readings of policies and of evidence, where it names a parameter that the endpoint does not have, gives one twice, or
 * has a value that a closed list or a length forbids. The other endpoints ignore what they do not know.
 */
export function checkQuery(
  query: URLSearchParams,
  { tag, body, optionalQuery = {} }: Pick<ControlEndpoint, "tag" | "body" | "optionalQuery">,
): ServiceError | null {
  if (body !== null || (tag !== "Policies" && tag !== "Governance")) return null;
  for (const name of query.keys()) {
    const schema = Object.hasOwn(optionalQuery, name) ? optionalQuery[name] : undefined;
    const wrong = schema === undefined ? unknown(name, Object.keys(optionalQuery)) : checkValues(name, query, schema);
    if (wrong !== null) return wrong;
  }
  return null;
}

function unknown(name: string, known: readonly string[]): ServiceError {
  const shown = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name) ? ` ${name}` : "";
  const fix = known.length === 0 ? "leave it out" : `give ${known.join(", ")}`;
  const param = shown === "" ? undefined : name;
  return invalidRequest("unknown_parameter", `Unknown query parameter${shown}; ${fix}`, param);
}

function checkValues(name: string, query: URLSearchParams, schema: JsonObject): ServiceError | null {
  const values = query.getAll(name);
  if (schema["type"] === "array") return null;
  if (values.length > 1) return invalidRequest("invalid_value", `${name} must be given once`, name);
  const [value = ""] = values;
  const { enum: allowed, minLength, maxLength } = schema;
  if (isList(allowed) && !allowed.includes(value)) {
    return invalidRequest("invalid_value", `${name} must be one of ${allowed.join(", ")}`, name);
  }
  if (typeof minLength !== "number" || typeof maxLength !== "number") return null;
  if (value.length < minLength || value.length > maxLength) {
    return invalidRequest("invalid_value", `${name} must have ${minLength} to ${maxLength} characters`, name);
  }
  return null;
}

function isList(value: JsonValue | undefined): value is readonly string[] {
  return Array.isArray(value);
}

/**
 * A whole number of a query.
 *
 * @param schema of the parameter. @param code of the refusal.
 */
export function readCount<Name extends string>(
  query: URLSearchParams,
  name: Name,
  schemas: Readonly<Record<Name, CountSchema>>,
  code: "invalid_value" | "invalid_limit" = "invalid_value",
): number | ServiceError {
  const { minimum, maximum = Number.MAX_SAFE_INTEGER, default: otherwise } = schemas[name];
  const written = query.get(name);
  if (written === null) return otherwise;
  const value = /^\d{1,16}$/.test(written) ? Number(written) : -1;
  if (value >= minimum && value <= maximum) return value;
  const bounds = schemas[name].maximum === undefined ? `, at least ${minimum}` : ` from ${minimum} to ${maximum}`;
  return invalidRequest(code, `${name} must be a whole number${bounds}`, name);
}

interface CountSchema {
  readonly minimum: number;
  readonly maximum?: number;
  readonly default: number;
}
