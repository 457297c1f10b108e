import {
  serviceError,
  type Denial,
  type ErrorKind,
  type FinalStatus,
  type ServiceError,
} from "./error.ts";
import { FEATURES, isFeature } from "./capability.ts";
import type { PolicySet } from "./policy.ts";
import type { RoutingTable } from "./table.ts";

interface Reason {
  readonly status: FinalStatus;
  readonly kind: ErrorKind;
  /** Member of the request that a client should look at. */
  readonly param: string | null;
  /**
   * Half a sentence after "Request refused: " or "Denied by …: "; `{subject}` and `{failing}` are
   * names of the table.
   */
  readonly sentence: string;
  readonly meaning: string;
  /** A request that is refused for it. */
  readonly example: string;
  readonly fix: string;
}

const EXPLAIN = "`signalbox explain` with the same request shows the rule that decided.";

const UNSERVED = { status: 400, kind: "invalid_request" } as const;
const DENIED = { status: 403, kind: "policy_denied", param: null } as const;

/**
 * Reasons of the router itself. Policies declare their own. Lower case: the request cannot be
 * served as it is (400, 404); upper case: it could be, but is not approved (403). Clients retry
 * 409, 429 and 5xx, so no denial may use them.
 */
export const REASONS = {
  model_not_found: {
    status: 404,
    kind: "not_found",
    param: "model",
    sentence:
      "no route of this name is available to the workspace; GET /v1/models lists those that are",
    meaning:
      "No route of this name is available to the workspace; or a provider does not have a model.",
    example: '`"model": "gpt-5"` where routes.yaml has a route `chat-small`.',
    fix: "Name a route of `GET /v1/models`; operators approve the route for the workspace.",
  },
  moderation_route_missing: {
    ...UNSERVED,
    param: "model",
    sentence:
      "the request names no model and the workspace has no default_moderation_route in routes.yaml; name a route",
    meaning:
      "A request to moderate names no model, and the workspace has no `default_moderation_route`.",
    example: "`POST /v1/moderations` without `model`.",
    fix: "Name a route, or set `default_moderation_route`.",
  },
  operation_not_supported: {
    ...UNSERVED,
    param: "model",
    sentence: "the route does not serve this operation",
    meaning: "The route exists but does not serve this operation.",
    example: "Embeddings from a route of chat models.",
    fix: "Use a route that serves the operation.",
  },
  capability_not_supported: {
    ...UNSERVED,
    param: null,
    sentence: "the request needs the capability {subject}, which {failing} does not have",
    meaning: "The request needs something that a model of the route does not have.",
    example: "An image to a model without `image_input`.",
    fix: "Use another route; operators list the capability on the model, or set `on_gap: narrow`.",
  },
  feature_not_supported: {
    ...UNSERVED,
    param: null,
    sentence:
      "the request uses {feature}, which the wire protocol or the model of {failing} does not have",
    meaning:
      "The request uses something that the wire protocol or the model of an endpoint of the route does not have.",
    example: "`logit_bias` to a provider whose protocol has none.",
    fix: "Leave it out or use another route; docs/translation-matrix.md shows the features of each protocol.",
  },
  unknown_preference: {
    ...UNSERVED,
    param: "provider",
    sentence:
      "provider.{subject} names a provider or region that is not available to the workspace",
    meaning:
      "`provider` of the request names a provider or region that is not available to the workspace. The answer is the same whether another workspace has it or not.",
    example: '`"provider": {"only": ["nobody"]}`.',
    fix: "Correct the name, or approve the provider or region for the workspace.",
  },
  preferences_exclude_all: {
    ...UNSERVED,
    param: "provider",
    sentence: "provider.{subject} leaves no endpoint of the route",
    meaning:
      "The caller's preferences leave no endpoint of the route; `data_collection` is `deny` where a request does not say otherwise.",
    example:
      'A plain request on a route whose providers may train on data, or `"provider": {"only": ["openai-us"]}` on a route in the European Union.',
    fix: "Remove a preference, or use another route. For `data_collection`: send `allow`, or, where the contract says so, write `trains_on_data: false` in the provider's row.",
  },
  CAPABILITY_NOT_APPROVED: {
    ...DENIED,
    sentence: "the capability {subject} is not approved for the workspace",
    meaning: "The workspace may not use a capability that the request needs.",
    example: "Tools in a workspace without `tools` under `approve.capabilities`.",
    fix: `Leave it out, or have it approved. ${EXPLAIN}`,
  },
  PROVIDER_NOT_APPROVED: {
    ...DENIED,
    sentence: "the provider of {failing} is not approved for the workspace",
    meaning: "The provider of an endpoint of the route is not approved for the workspace.",
    example: "A route whose fallback is at a provider that `approve.providers` lacks.",
    fix: `Use another route, or have the provider approved. ${EXPLAIN}`,
  },
  REGION_NOT_APPROVED: {
    ...DENIED,
    sentence: "the region of {failing} is not approved for the workspace",
    meaning: "The region of an endpoint of the route is not approved for the workspace.",
    example: "A route to `us` in a workspace that approves `eu`.",
    fix: `Use a route in an approved region. ${EXPLAIN}`,
  },
  DATA_COLLECTION_NOT_APPROVED: {
    ...DENIED,
    sentence: "{failing} train on data, which the workspace does not approve",
    meaning:
      "Every endpoint of the route is at a provider that trains on data, and the workspace does not approve that.",
    example:
      "`approve.data_collection: deny` and a route whose providers have no `trains_on_data: false`.",
    fix: "Use another route. Where the contract says so, write `trains_on_data: false` in the provider's row. A preference of the request changes nothing.",
  },
  RETENTION_NOT_APPROVED: {
    ...DENIED,
    sentence: "the provider of {failing} keeps data for longer than the workspace approves",
    meaning:
      "Every endpoint of the route is at a provider that keeps data for longer than the workspace approves.",
    example: "`approve.retention: none` and a route whose provider has `retention: days_30`.",
    fix: "Use another route. Where the contract says so, write the shorter `retention` in the provider's row. A preference of the request changes nothing.",
  },
  DIMENSIONS_NOT_APPROVED: {
    ...DENIED,
    param: "dimensions",
    sentence: "the vector length is not approved for the workspace",
    meaning: "The vector length is not approved for the workspace.",
    example: '`"dimensions": 3072` where `approve.dimensions` is `[1536]`.',
    fix: "Request an approved length, or have the length approved.",
  },
  CONTEXT_NOT_APPROVED: {
    ...DENIED,
    param: "model",
    sentence:
      "the context window of the model of {failing} is not approved for embeddings of the workspace",
    meaning: "The context window of the embedding model is above what the workspace approves.",
    example: "`approve.context_window: 512` and a model of 8192.",
    fix: "Raise `approve.context_window`, or use another route.",
  },
  SIGNATURE_FAMILY_MISMATCH: {
    ...DENIED,
    sentence: "the history contains signed reasoning that no endpoint of the route can read",
    meaning: "The conversation contains signed reasoning that no endpoint of the route can read.",
    example: "Reasoning of one vendor sent back to another's model.",
    fix: "Use a route of the same family, or leave the reasoning out.",
  },
  POLICY_TIMEOUT: {
    ...DENIED,
    sentence: "the evaluation of the policy exceeded its work limit",
    meaning: "The evaluation of a policy exceeded its work limit, so its constraints do not pass.",
    example: "Six nested `some x in words` over a list of thirty words.",
    fix: "Make the policy cheaper: replace nested `some` by `in` or by sets. `signalbox check` lists the policies that are close to the bound.",
  },
  NO_CANDIDATE_PASSES: {
    ...DENIED,
    sentence: "no endpoint of the route passes every filter",
    meaning: "Filters of policies leave no endpoint of the route.",
    example: "A residency policy on a route whose endpoints are all elsewhere.",
    fix: `Use another route, or change the policy. ${EXPLAIN}`,
  },
} as const satisfies Record<string, Reason>;

export type ReasonCode = keyof typeof REASONS;

/** The reason of a denial by a policy without a verdict; policies declare all others. */
export const EVALUATION_INDETERMINATE = {
  status: 403,
  meaning: "A policy could not be evaluated for this request, so its constraint does not pass.",
  example: "Two rules of a policy that give one name two values.",
  fix: `Fix the policy: write a test with this request. ${EXPLAIN}`,
} as const;

function isReasonCode(code: string): code is ReasonCode {
  return Object.hasOwn(REASONS, code);
}

function reasonOf(code: string): Reason | null {
  return isReasonCode(code) ? REASONS[code] : null;
}

/**
 * The error of a denial: the status of its reason, and one safe sentence with policy, revision,
 * constraint and reason.
 *
 * @example denialError(decision.denial, request.paths).message
 *
 * @param paths path of the request's member that the denial is about; clients use `param` to fix it
 * or to leave it out.
 * @param nearest similar route names of the caller's workspace, if the requested one does not
 * exist.
 */
export function denialError(
  denial: Denial,
  paths: ReadonlyMap<string, string> = NO_PATHS,
  nearest: readonly string[] = [],
): ServiceError {
  const reason = reasonOf(denial.reason);
  const param = reason?.param ?? (denial.subject === null ? undefined : paths.get(denial.subject));
  const more = { denial, ...(param === undefined ? {} : { param }) };
  if (reason !== null && reason.kind !== "policy_denied") {
    const such = nearest.length === 0 ? "" : `, such as ${nearest.join(", ")}`;
    return serviceError(
      reason.status,
      reason.kind,
      denial.reason,
      `Request refused: ${fill(reason.sentence, denial)}${such}.`,
      more,
    );
  }
  const what = `constraint ${denial.constraint} (reason ${denial.reason})`;
  const by = `Denied by policy ${denial.policy}@${denial.revision.slice(0, 12)}: ${what}`;
  const sentence = reason === null ? namedFailing(denial) : `: ${fill(reason.sentence, denial)}`;
  return serviceError(403, "policy_denied", denial.reason, `${by}${sentence}.`, more);
}

/**
 * The denial with title and owners of its policy, and the link that routes.yaml has a template for.
 *
 * @example denialError(withContact(denial, table, policies), paths)
 */
export function withContact(
  denial: Denial,
  { policies: { denialLink } }: Pick<RoutingTable, "policies">,
  { policies }: Pick<PolicySet, "policies">,
): Denial {
  const found = policies.find(
    ({ identity }) => identity.id === denial.policy && identity.slot === "enforced",
  );
  if (found === undefined) return denial;
  const { title, owners } = found.contract;
  if (denialLink === undefined) return { ...denial, contact: { title, owners } };
  const link = denialLink.replaceAll(/\{(policy|constraint|reason)\}/g, (_, member) =>
    encodeURIComponent(String(Reflect.get(denial, member))),
  );
  return { ...denial, contact: { title, owners, link } };
}

const NO_PATHS: ReadonlyMap<string, string> = new Map();

function namedFailing(denial: Denial) {
  return denial.failing.length === 0
    ? ""
    : `; candidates that do not pass: ${denial.failing.join(", ")}`;
}

function fill(sentence: string, denial: Denial) {
  return sentence
    .replace("{subject}", denial.subject ?? "in question")
    .replace("{feature}", featureText(denial.subject))
    .replace("{failing}", denial.failing.length === 0 ? "the route" : denial.failing.join(", "));
}

function featureText(subject: string | null): string {
  return subject !== null && isFeature(subject) ? FEATURES[subject] : "something";
}
