import { CAPABILITY_NAMES, type Capability } from "../../../src/canon/capability.ts";
import type { Decision } from "../../../src/canon/decision.ts";
import type { ServiceError } from "../../../src/canon/error.ts";
import { isJsonObject, type JsonValue } from "../../../src/canon/json.ts";
import type { ProviderRow, RoutingTable, UnknownFields } from "../../../src/canon/table.ts";
import { decide } from "../../../src/decide/decide.ts";
import { refusedKind } from "../../../src/dialects/request-reading.ts";
import { INFERENCE_ENDPOINTS } from "../../../src/http/contract/inference-endpoints.ts";
import { bodyValidator } from "../../../src/http/validate-body.ts";
import {
  endpoint,
  fakePolicies,
  identity,
  model,
  provider,
  route as routeRow,
  table,
  workspace,
} from "../../support/table.ts";
import { NO_HEADERS } from "../laws/target.ts";

/**
 * The route `r` to one native endpoint of a surface.
 *
 * @param approved capabilities that the workspace approves; the model has them all. @param more
 * members of the provider.
 */
export function routeOf(
  { kind, dialect }: Pick<(typeof INFERENCE_ENDPOINTS)[number]["surface"], "kind" | "dialect">,
  approved: readonly Capability[],
  unknownFields: UnknownFields = "reject",
  more: Partial<ProviderRow> = {},
): RoutingTable {
  const capabilities = CAPABILITY_NAMES.toSorted();
  const operations =
    kind === "generate" ? (["generate"] as const) : (["embed", "rerank", "moderate"] as const);
  return table({
    providers: [provider("p", { dialect, ...more })],
    models: [
      model("m", {
        operations: [...operations],
        capabilities,
        signatureFamily: dialect === "anthropic-messages" ? "anthropic" : "openai",
        dimensions: [1],
        moderationCategories: {},
      }),
    ],
    endpoints: [endpoint("e", { dialect, capabilities })],
    routes: [routeRow("r", "e", [], { unknownFields, operations: [...operations] })],
    workspaces: [
      workspace("w", { capabilities: [...approved], dimensions: [1], contextWindow: 1_000_000 }),
    ],
  });
}

/**
 * What the server does with a body before it calls a provider: its schema, its parser, the
 * approvals of the route's native endpoint, and the members that the route does not take.
 *
 * @param surface path of the surface's endpoint. @param approved capabilities that the workspace
 * approves; the model has them all.
 * @returns the refusal, or the decision with the capabilities that the evidence records.
 */
export function answerTo(
  surface: string,
  body: JsonValue,
  approved: readonly Capability[],
  unknownFields: UnknownFields = "reject",
): ServiceError | { readonly decision: Decision; readonly needs: readonly Capability[] } {
  const row = INFERENCE_ENDPOINTS.find(({ path }) => path === surface);
  if (row?.body === undefined || row.body === null || !isJsonObject(body))
    throw new Error(`no body of ${surface}`);
  const invalid = bodyValidator(row.body)(body);
  if (invalid !== null) return invalid;
  const request = row.surface.parse(body, 100, NO_HEADERS);
  if ("code" in request) return request;
  const rows = routeOf(row.surface, approved, unknownFields);
  const decision = decide(rows, fakePolicies(), identity, request, 0);
  const { needs } = request.shape;
  const route = rows.routes[decision.route];
  return (
    refusedKind(request, route) ??
    row.surface.refuseUnknown(body, unknownFields) ?? { decision, needs }
  );
}

/** Whether a body goes to the provider. */
export function passes(...call: Parameters<typeof answerTo>): boolean {
  const answer = answerTo(...call);
  return "decision" in answer && answer.decision.outcome !== "deny";
}
