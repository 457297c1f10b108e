import type { Identity } from "../../canon/identity.ts";
import type { JsonObject, JsonValue } from "../../canon/json.ts";
import { NO_INSTANT, readInstant } from "../../governance/roll-up.ts";
import type { RollUpQuery, RollUpRow } from "../../governance/increments.ts";
import type { ControlEndpoint } from "../contract/endpoint.ts";
import { badRequest, type RefusalError } from "../refusal.ts";

/** Query parameter of readings that can be of several workspaces, for /openapi.json. */
export const WORKSPACES_QUERY = {
  enum: ["own", "all"],
  default: "own",
  description:
    "`all`: every workspace that the caller may read with this scope. A key has its own; a session of the console may have several.",
} as const;

/** Query parameters of readings that have no other, for /openapi.json. */
export const READING_QUERY = { workspaces: WORKSPACES_QUERY } as const;

/** The part of a control call that readings use; the types of the runtime need it alone. */
export interface ReadingCall {
  readonly identity: Identity | null;
  readonly covered: readonly string[];
  readonly url: URL;
}

/** Whose figures a request wants. */
export function readWorkspaces(call: ReadingCall): readonly string[] {
  return call.url.searchParams.get("workspaces") === "all" ? call.covered : [callerWorkspace(call)];
}

/** Who calls. @throws {Error} at an endpoint without a scope. */
export function callerOf({ identity }: Pick<ReadingCall, "identity">): Identity {
  if (identity === null) throw new Error("control: an endpoint without a scope has no caller");
  return identity;
}

/** The workspace of the caller's key, or the one that a session has chosen. */
export function callerWorkspace(call: Pick<ReadingCall, "identity">): string {
  return callerOf(call).workspace;
}

type Read = (query: RollUpQuery) => AsyncIterable<readonly RollUpRow[]>;

/** The cells of several workspaces, one workspace after the other. */
export async function* cellsOf(
  read: Read,
  workspaces: readonly string[],
  query: Omit<RollUpQuery, "workspace">,
): AsyncGenerator<readonly RollUpRow[], void> {
  for (const workspace of workspaces) yield* read({ ...query, workspace });
}

/**
 * Refuses a query that the contract does not allow: a parameter that is given twice or has another
 * value than its schema, or that is required and missing; for readings of keys, policies and
 * evidence an unknown parameter too. The items of lists are left to the handlers, as some may be
 * separated by commas.
 *
 * @throws {RefusalError}
 */
export function checkQuery(
  received: URLSearchParams,
  {
    tag,
    body,
    query,
    optionalQuery = {},
  }: Pick<ControlEndpoint, "tag" | "body" | "query" | "optionalQuery">,
): void {
  const schemas: Readonly<Record<string, JsonObject>> = { ...query, ...optionalQuery };
  if (body === null && READINGS.has(tag)) {
    for (const name of received.keys())
      if (!Object.hasOwn(schemas, name)) throw unknown(name, Object.keys(schemas));
  }
  for (const [name, schema] of Object.entries(schemas)) {
    const values = received.getAll(name);
    if (schema.type === "array" || (values.length === 0 && !Object.hasOwn(query, name))) continue;
    const rule = values.length > 1 ? "must be given once" : brokenRule(values[0] ?? "", schema);
    if (rule !== null) throw badRequest("invalid_value", `${name} ${rule}`, name);
  }
}

/**
 * Tags of endpoints whose GET refuses unknown parameters: a typing error would show other rows than
 * were wanted.
 */
export const READINGS: ReadonlySet<string> = new Set(["Service keys", "Policies", "Governance"]);

function unknown(name: string, parameters: readonly string[]): RefusalError {
  const shown = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name) ? ` ${name}` : "";
  const fix = parameters.length === 0 ? "leave it out" : `give ${parameters.join(", ")}`;
  const param = shown === "" ? undefined : name;
  return badRequest("unknown_parameter", `Unknown query parameter${shown}; ${fix}`, param);
}

function brokenRule(value: string, schema: JsonObject): string | null {
  const { type, format, pattern, minLength, maxLength } = schema;
  const allowed = type === "boolean" ? ["true", "false"] : schema.enum;
  if (isList(allowed))
    return allowed.includes(value) ? null : `must be one of ${allowed.join(", ")}`;
  if (format === "date-time") return readInstant(value) === null ? NO_INSTANT : null;
  if (typeof pattern === "string")
    return new RegExp(pattern).test(value) ? null : `must match ${pattern}`;
  if (type === "integer") {
    const number = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
    const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = schema;
    const [least, most] = [Number(minimum), Number(maximum)];
    return number >= least && number <= most
      ? null
      : `must be a whole number from ${least} to ${most}`;
  }
  if (typeof minLength !== "number" || typeof maxLength !== "number") return null;
  const fits = value.length >= minLength && value.length <= maxLength;
  return fits ? null : `must have ${minLength} to ${maxLength} characters`;
}

function isList(value: JsonValue | undefined): value is readonly string[] {
  return Array.isArray(value);
}

/** A whole number of a query that {@link checkQuery} has checked. */
export function readCount<Name extends string>(
  query: URLSearchParams,
  name: Name,
  schemas: Readonly<Record<Name, { readonly default: number }>>,
): number {
  return Number(query.get(name) ?? schemas[name].default);
}
