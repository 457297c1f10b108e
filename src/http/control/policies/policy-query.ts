import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import type { JsonObject } from "../../../canon/json.ts";

const TRANSITIONS = { default: 100, maximum: 1_000 };

/** Query parameters, for /openapi.json. */
export const LIST_QUERY = {
  ended: { enum: ["true", "false"], default: "false", description: "Whether policies that have ended are listed too." },
} as const;

export const CONTENT_QUERY = {
  digest: {
    type: "string",
    pattern: "^(?:enforced|candidate|[0-9a-f]{6,64})$",
    description:
      "At least the first 6 digits of the content's digest, or its slot. Default: the candidate, or the enforced content if there is no candidate.",
  },
} as const;

export const SIMULATION_QUERY = {
  digest: {
    ...CONTENT_QUERY.digest,
    description:
      "At least the first 6 digits of the content's digest, or the slot that it is in; the candidate unless given.",
  },
} as const;

export const TRANSITIONS_QUERY = {
  after: { type: "integer", minimum: 0, default: 0, description: "Positions in the log after this one." },
  limit: {
    type: "integer",
    minimum: 1,
    maximum: TRANSITIONS.maximum,
    default: TRANSITIONS.default,
    description: "Most rows.",
  },
} as const;

/** Refuses parameters that the endpoint does not know, and those that are given twice. */
export function checkQuery(query: URLSearchParams, schemas: Readonly<Record<string, JsonObject>>): ServiceError | null {
  const known = Object.keys(schemas);
  for (const name of query.keys()) {
    if (known.includes(name)) {
      if (query.getAll(name).length === 1) continue;
      return invalidRequest("invalid_value", `${name} must be given once`, name);
    }
    const shown = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name) ? ` ${name}` : "";
    const fix = known.length === 0 ? "leave it out" : `give ${known.join(", ")}`;
    const param = shown === "" ? undefined : name;
    return invalidRequest("unknown_parameter", `Unknown query parameter${shown}; ${fix}`, param);
  }
  return null;
}

/** Whether ended policies are requested. */
export function readEnded(query: URLSearchParams): boolean | ServiceError {
  const written = query.get("ended") ?? "false";
  if (written === "true" || written === "false") return written === "true";
  return invalidRequest("invalid_value", "ended must be true or false", "ended");
}

/** Which content is requested; `null`: the candidate, else the enforced content. */
export function readDigest(query: URLSearchParams): string | null | ServiceError {
  const written = query.get("digest");
  if (written === null || /^(?:enforced|candidate|[0-9a-f]{6,64})$/.test(written)) return written;
  const message = "digest must be enforced, candidate, or 6 to 64 lower-case hexadecimal digits";
  return invalidRequest("invalid_value", message, "digest");
}

export function readTransitionsPage(
  query: URLSearchParams,
): { readonly after: number; readonly limit: number } | ServiceError {
  const after = readCount(query, "after", 0, 0, Number.MAX_SAFE_INTEGER);
  if (typeof after !== "number") return after;
  const limit = readCount(query, "limit", TRANSITIONS.default, 1, TRANSITIONS.maximum);
  return typeof limit === "number" ? { after, limit } : limit;
}

function readCount(
  query: URLSearchParams,
  name: string,
  otherwise: number,
  least: number,
  most: number,
): number | ServiceError {
  const written = query.get(name);
  if (written === null) return otherwise;
  const value = /^\d{1,16}$/.test(written) ? Number(written) : -1;
  if (value >= least && value <= most) return value;
  const bounds = most === Number.MAX_SAFE_INTEGER ? `, at least ${least}` : ` from ${least} to ${most}`;
  return invalidRequest("invalid_value", `${name} must be a whole number${bounds}`, name);
}
