import type { Denial } from "./decision.ts";
import { FEATURES, isFeature } from "./generate/feature.ts";
import { serviceError, type ErrorKind, type FinalStatus, type ServiceError } from "./error.ts";

interface Reason {
  readonly status: FinalStatus;
  readonly kind: ErrorKind;
  /** Member of the request that a client should look at. */
  readonly param: string | null;
  /** Half a sentence after "Request refused: " or "Denied by …: "; `{subject}` and `{failing}` are words of the table. */
  readonly sentence: string;
}

/**
 * Reasons that the router itself gives. Policies declare their own. Lower case: the request cannot be served as it is (400, 404);
 * upper case: it could be, but is not approved (403). Clients retry 409, 429 and 5xx, so no denial may use them.
 */
export const REASONS = {
  model_not_found: {
    status: 404,
    kind: "not_found",
    param: "model",
    sentence: "no route of this name is available to the workspace; GET /v1/models lists those that are",
  },
  moderation_route_missing: {
    status: 400,
    kind: "invalid_request",
    param: "model",
    sentence:
      "the request names no model and the workspace has no default_moderation_route in routes.yaml; name a route",
  },
  operation_not_supported: {
    status: 400,
    kind: "invalid_request",
    param: "model",
    sentence: "the route does not serve this operation",
  },
  capability_not_supported: {
    status: 400,
    kind: "invalid_request",
    param: null,
    sentence: "the request needs the capability {subject}, which {failing} does not have",
  },
  feature_not_supported: {
    status: 400,
    kind: "invalid_request",
    param: null,
    sentence:
      "the request uses {feature}, which cannot be said to {failing}, whose wire protocol or model has no place for it",
  },
  unknown_preference: {
    status: 400,
    kind: "invalid_request",
    param: "provider",
    sentence: "provider.{subject} names a provider or region that is not available to the workspace",
  },
  preferences_exclude_all: {
    status: 400,
    kind: "invalid_request",
    param: "provider",
    sentence: "provider.{subject} leaves no endpoint of the route",
  },
  CAPABILITY_NOT_APPROVED: {
    status: 403,
    kind: "policy_denied",
    param: null,
    sentence: "the capability {subject} is not approved for the workspace",
  },
  PROVIDER_NOT_APPROVED: {
    status: 403,
    kind: "policy_denied",
    param: null,
    sentence: "the provider of {failing} is not approved for the workspace",
  },
  REGION_NOT_APPROVED: {
    status: 403,
    kind: "policy_denied",
    param: null,
    sentence: "the region of {failing} is not approved for the workspace",
  },
  DIMENSIONS_NOT_APPROVED: {
    status: 403,
    kind: "policy_denied",
    param: "dimensions",
    sentence: "the vector length is not approved for the workspace",
  },
  CONTEXT_NOT_APPROVED: {
    status: 403,
    kind: "policy_denied",
    param: "model",
    sentence: "the context window of the model of {failing} is not approved for embeddings of the workspace",
  },
  SIGNATURE_FAMILY_MISMATCH: {
    status: 403,
    kind: "policy_denied",
    param: null,
    sentence: "the history holds signed reasoning that no endpoint of the route can read",
  },
  POLICY_TIMEOUT: {
    status: 403,
    kind: "policy_denied",
    param: null,
    sentence: "evaluating the policy took more than an evaluation may take",
  },
  NO_CANDIDATE_PASSES: {
    status: 403,
    kind: "policy_denied",
    param: null,
    sentence: "no endpoint of the route passes every filter",
  },
} as const satisfies Record<string, Reason>;

export type ReasonCode = keyof typeof REASONS;

function isReasonCode(code: string): code is ReasonCode {
  return Object.hasOwn(REASONS, code);
}

function reasonOf(code: string): Reason | null {
  return isReasonCode(code) ? REASONS[code] : null;
}

/**
 * A denial as the client gets it: the status of its reason, and one safe sentence that repeats policy, revision, constraint and reason.
 *
 * @param paths which member of the request asked for what the denial is about; clients look at `param` to mend or to leave out.
 */
export function denialError(denial: Denial, paths: ReadonlyMap<string, string> = NO_PATHS): ServiceError {
  const reason = reasonOf(denial.reason);
  const param = reason?.param ?? (denial.subject === null ? undefined : paths.get(denial.subject));
  const more = { denial, ...(param === undefined ? {} : { param }) };
  if (reason !== null && reason.kind !== "policy_denied") {
    const sentence = fill(reason.sentence, denial);
    return serviceError(reason.status, reason.kind, denial.reason, `Request refused: ${sentence}.`, more);
  }
  const what = `constraint ${denial.constraint} (reason ${denial.reason})`;
  const by = `Denied by policy ${denial.policy}@${denial.revision.slice(0, 12)}: ${what}`;
  const sentence = reason === null ? namedFailing(denial) : `: ${fill(reason.sentence, denial)}`;
  return serviceError(403, "policy_denied", denial.reason, `${by}${sentence}.`, more);
}

const NO_PATHS: ReadonlyMap<string, string> = new Map();

function namedFailing(denial: Denial): string {
  return denial.failing.length === 0 ? "" : `, not passed by ${denial.failing.join(", ")}`;
}

function fill(sentence: string, denial: Denial): string {
  return sentence
    .replace("{subject}", denial.subject ?? "in question")
    .replace("{feature}", featureWords(denial.subject))
    .replace("{failing}", denial.failing.length === 0 ? "the route" : denial.failing.join(", "));
}

function featureWords(subject: string | null): string {
  return subject !== null && isFeature(subject) ? FEATURES[subject] : "something";
}
