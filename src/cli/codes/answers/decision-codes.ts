import type { ReasonCode } from "../../../canon/reasons.ts";
import { answer, type AnswerCode } from "./answer-code.ts";

const EXPLAIN = "`signalbox explain` with the same request says which rule decided.";

/** Reasons that the router itself gives for a denial; policies declare their own. */
export const DECISION_CODES: Readonly<Record<ReasonCode | "EVALUATION_INDETERMINATE", AnswerCode>> = {
  EVALUATION_INDETERMINATE: answer(
    403,
    "A policy could not be evaluated for this request, so its constraint does not pass.",
    "Two rules of a policy that give one name two values.",
    `Mend the policy: write a test with this request. ${EXPLAIN}`,
  ),
  POLICY_TIMEOUT: answer(
    403,
    "Evaluating a policy took more than an evaluation may take, so its constraints do not pass.",
    "Six nested `some x in words` over a list of thirty words.",
    "Make the policy cheaper: replace nested `some` by `in` or by sets. `signalbox check` says which policies come near the bound.",
  ),
  model_not_found: answer(
    404,
    "No route of this name is available to the workspace; or a provider does not know a model.",
    '`"model": "gpt-5"` where routes.yaml has a route `chat-small`.',
    "Name a route of `GET /v1/models`; operators approve the route for the workspace.",
  ),
  moderation_route_missing: answer(
    400,
    "A request to moderate names no model, and the workspace has no `default_moderation_route`.",
    "`POST /v1/moderations` without `model`.",
    "Name a route, or set `default_moderation_route`.",
  ),
  operation_not_supported: answer(
    400,
    "The route exists and does not serve this kind of work.",
    "Embeddings of a route that generates.",
    "Use a route that does.",
  ),
  capability_not_supported: answer(
    400,
    "The request needs something that a model of the route does not have.",
    "An image to a model without `image_input`.",
    "Use another route; operators list the capability on the model, or set `on_gap: narrow`.",
  ),
  feature_not_supported: answer(
    400,
    "The request uses something that the wire protocol of an endpoint of the route has no place for.",
    "`logit_bias` to a provider whose protocol has none.",
    "Leave it out or use another route; docs/translation-matrix.md says what each protocol carries.",
  ),
  unknown_preference: answer(
    400,
    "`provider` of the request names a provider or region that is not approved for the workspace; `ignore` and `region` may also name what the route has. The answer is the same whether another workspace has it or not.",
    '`"provider": {"only": ["nobody"]}`.',
    "Correct the name, or approve the provider or region for the workspace.",
  ),
  preferences_exclude_all: answer(
    400,
    "The caller's preferences leave no endpoint of the route; `data_collection` is `deny` where a request does not say otherwise.",
    'A plain request on a route whose providers may train on data, or `"provider": {"only": ["openai-us"]}` on a route in the European Union.',
    "Prefer less, or use another route. For `data_collection`: send `allow`, or, where the contract says so, write `trains_on_data: false` in the provider's row.",
  ),
  CAPABILITY_NOT_APPROVED: answer(
    403,
    "The workspace may not use a capability that the request needs.",
    "Tools in a workspace without `tools` under `approve.capabilities`.",
    `Leave it out, or have it approved. ${EXPLAIN}`,
  ),
  PROVIDER_NOT_APPROVED: answer(
    403,
    "The provider of an endpoint of the route is not approved for the workspace.",
    "A route whose fallback is at a provider that `approve.providers` lacks.",
    `Use another route, or have the provider approved. ${EXPLAIN}`,
  ),
  REGION_NOT_APPROVED: answer(
    403,
    "The region of an endpoint of the route is not approved for the workspace.",
    "A route to `us` in a workspace that approves `eu`.",
    `Use a route in an approved region. ${EXPLAIN}`,
  ),
  DIMENSIONS_NOT_APPROVED: answer(
    403,
    "The vector length is not approved for the workspace.",
    '`"dimensions": 3072` where `approve.dimensions` is `[1536]`.',
    "Ask for an approved length, or have it approved.",
  ),
  CONTEXT_NOT_APPROVED: answer(
    403,
    "The context window of the embedding model is above what the workspace approves.",
    "`approve.context_window: 512` and a model of 8192.",
    "Raise `approve.context_window`, or use another route.",
  ),
  SIGNATURE_FAMILY_MISMATCH: answer(
    403,
    "The conversation holds signed reasoning that no endpoint of the route can read.",
    "Reasoning of one vendor sent back to another's model.",
    "Use a route of the same family, or leave the reasoning out.",
  ),
  NO_CANDIDATE_PASSES: answer(
    403,
    "Filters of policies leave no endpoint of the route.",
    "A residency policy on a route whose endpoints are all elsewhere.",
    `Use another route, or change the policy. ${EXPLAIN}`,
  ),
};
