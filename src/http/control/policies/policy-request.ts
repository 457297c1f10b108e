import type { ValueOf } from "../../../canon/json/schema.ts";
import { codedError } from "../../../canon/error-codes.ts";
import { parseRevision } from "../../../canon/policy.ts";
import type { WITHDRAW_SCHEMA } from "../../contract/policy-bodies.ts";
import { invalidRequest, type ServiceError } from "../../../canon/error.ts";

/** Query parameters, for /openapi.json. */
export const LIST_QUERY = {
  ended: {
    enum: ["true", "false"],
    default: "false",
    description: "Whether policies that have ended are listed too.",
  },
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
  after: {
    type: "integer",
    minimum: 0,
    default: 0,
    description: "Positions in the log after this one.",
  },
  limit: {
    type: "integer",
    minimum: 1,
    maximum: 1_000,
    default: 100,
    description: "Maximum number of rows.",
  },
} as const;

/** The revision whose content is requested; `null`: the content is named otherwise. */
export function readRevision(query: URLSearchParams): number | null | ServiceError {
  const written = query.get("revision");
  if (written === null) return null;
  if (query.has("digest"))
    return invalidRequest("invalid_value", "Give digest or revision, not both", "revision");
  return Number(written.slice(1));
}

/** Revisions that a body expects in the slots, such as `r4`; `null`: an empty slot. */
export interface ExpectedRevisions {
  readonly candidate_revision?: string | null;
  readonly enforced_revision?: string | null;
}

/** A slot that the body does not name is not looked at. */
export function readExpected({ candidate_revision, enforced_revision }: ExpectedRevisions = {}): {
  readonly candidateRevision?: number | null;
  readonly enforcedRevision?: number | null;
} {
  const candidate = readBodyRevision(candidate_revision);
  const enforced = readBodyRevision(enforced_revision);
  return {
    ...(candidate !== undefined && { candidateRevision: candidate }),
    ...(enforced !== undefined && { enforcedRevision: enforced }),
  };
}

/** Left out, `null`, or the number of a revision such as `r4`. */
export function readBodyRevision(value: string | null | undefined): number | null | undefined {
  return typeof value === "string" ? (parseRevision(value) ?? undefined) : value;
}

/**
 * Why a withdrawal is rejected by its body: that of an approval and that of a candidate have
 * different members.
 */
export function withdrawalError(body: ValueOf<typeof WITHDRAW_SCHEMA>): ServiceError | null {
  const isApproval = body.what === "approval";
  const [needed, other] = isApproval
    ? (["digest", "expected"] as const)
    : (["expected", "digest"] as const);
  if (body[other] !== undefined) {
    const message = `${other} has no meaning for the withdrawal of ${isApproval ? "an approval" : "a candidate"}; leave it out`;
    return invalidRequest("invalid_value", message, other);
  }
  return body[needed] === undefined
    ? invalidRequest("missing_field", `${needed} is required`, needed)
    : null;
}

/** One entity tag of RFC 9110 §8.8.3, with `W/` where it is weak. */
const TAG = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/;

/** More than any page shows. */
const MOST_TAGS = 16;

/**
 * The strong entity tag of `If-Match` to act on: the present one where the header names it,
 * otherwise one that does not fit.
 *
 * @param present the policy's tag now. @param header node joins several headers of the name with
 * commas, as RFC 9110 §5.3 has it.
 */
export function readIfMatch(header: string | undefined, present: string): string | ServiceError {
  if (header === undefined || header.trim() === "" || header.trim() === "*") {
    return codedError(
      "precondition_required",
      "Send If-Match with the ETag of GET /v1/policies/{id}; * is not accepted, because it does not identify a state.",
      { param: "If-Match" },
    );
  }
  const tags = readTags(header);
  if (tags === null) {
    const message = 'If-Match must be an entity tag with its quotation marks, such as "0123abcd"';
    return invalidRequest("invalid_value", message, "If-Match");
  }
  // Strong comparison: a weak tag fits nothing.
  return tags.find((tag) => tag === present) ?? tags[0] ?? "";
}

/** `null` where the text is no list of entity tags. */
function readTags(header: string): readonly string[] | null {
  const tags: string[] = [];
  let rest = header.trim();
  while (tags.length < MOST_TAGS) {
    const [tag] = TAG.exec(rest) ?? [];
    if (tag === undefined) return null;
    tags.push(tag);
    rest = rest.slice(tag.length).trimStart();
    if (rest === "") return tags;
    if (!rest.startsWith(",")) return null;
    rest = rest.slice(1).trimStart();
  }
  return null;
}
