import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import { readCount } from "../query.ts";

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
  revision: {
    type: "string",
    pattern: "^r[1-9][0-9]{0,8}$",
    description: "The content's revision instead, such as `r7`, as decisions name it.",
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
  limit: { type: "integer", minimum: 1, maximum: 1_000, default: 100, description: "Maximum number of rows." },
} as const;

/** Which content is requested; `null`: the candidate, else the enforced content. */
export function readDigest(query: URLSearchParams): string | null | ServiceError {
  const written = query.get("digest");
  if (written === null || /^(?:enforced|candidate|[0-9a-f]{6,64})$/.test(written)) return written;
  const message = "digest must be enforced, candidate, or 6 to 64 lower-case hexadecimal digits";
  return invalidRequest("invalid_value", message, "digest");
}

/** The revision whose content is requested; `null`: the content is named otherwise. */
export function readRevision(query: URLSearchParams): number | null | ServiceError {
  const written = query.get("revision");
  if (written === null) return null;
  if (query.has("digest")) return invalidRequest("invalid_value", "Give digest or revision, not both", "revision");
  if (/^r[1-9]\d{0,8}$/.test(written)) return Number(written.slice(1));
  return invalidRequest("invalid_value", "revision must be the letter r and a number, such as r7", "revision");
}

export function readTransitionsPage(
  query: URLSearchParams,
): { readonly after: number; readonly limit: number } | ServiceError {
  const after = readCount(query, "after", TRANSITIONS_QUERY);
  if (typeof after !== "number") return after;
  const limit = readCount(query, "limit", TRANSITIONS_QUERY);
  return typeof limit === "number" ? { after, limit } : limit;
}
