import type { BudgetStep } from "../canon/limits.ts";
import type { Candidate } from "../canon/decision.ts";
import type { Identity } from "../canon/identity.ts";
import type { PolicyCandidate, PolicyInput, PolicyTime } from "../canon/policy.ts";
import type { ProviderPreferences, RequestShape } from "../canon/request.ts";
import type { RouteRow, RoutingTable, WorkspaceRow } from "../canon/table.ts";

/** What policies read that is neither of the request nor of the configuration. */
interface Circumstances {
  readonly time: PolicyTime;
  readonly budget: BudgetStep;
}

/**
 * Everything that a policy can read of a request: names of the table, enums, booleans and buckets
 * (docs/policies.md#what-a-policy-may-read).
 */
export function policyInput(
  table: RoutingTable,
  workspace: WorkspaceRow,
  identity: Identity,
  route: RouteRow,
  shape: RequestShape,
  preferences: ProviderPreferences | null,
  { time, budget }: Circumstances,
  candidates: readonly Candidate[],
): PolicyInput {
  return {
    operation: shape.operation,
    workspace: { id: workspace.id, tier: workspace.tier, labels: workspace.labels },
    key: keyInput(table, identity),
    request: {
      route: route.id,
      ...requestInput(shape),
      dimensions: knownDimensions(table, shape.dimensions),
      allow_fallbacks: preferences?.allow_fallbacks !== false,
      data_collection: preferences?.data_collection === "allow" ? "allow" : "deny",
      zdr: preferences?.zdr === true,
    },
    budget: { remaining: budget },
    time,
    candidates: candidates.map((candidate) => policyCandidate(table, candidate)),
  };
}

/** What policies read of a request's shape, whatever the table says. */
export function requestInput({ needs, stream, context, maxOutput, reasoningEffort }: RequestShape) {
  return { needs, stream, context, max_output: maxOutput, reasoning_effort: reasoningEffort };
}

/**
 * The attributes of a key. A value outside the vocabulary becomes `other`, so that inputs stay
 * finite.
 */
export function keyInput(table: RoutingTable, identity: Identity): PolicyInput["key"] {
  const { environments, workloads, owners, labels } = table.vocabulary;
  const { owner = "" } = identity;
  return {
    environment: environments.includes(identity.environment) ? identity.environment : "other",
    workload: workloads.includes(identity.workload) ? identity.workload : "other",
    owner: owners?.includes(owner) === true ? owner : "other",
    labels: identity.labels.filter((label) => labels.includes(label)).toSorted(),
  };
}

function knownDimensions(table: RoutingTable, requested: number | null): number {
  if (requested === null) return 0;
  return Object.values(table.models).some((model) => model.dimensions.includes(requested))
    ? requested
    : 0;
}

function policyCandidate(table: RoutingTable, { endpoint, rank }: Candidate): PolicyCandidate {
  const provider = table.providers[endpoint.provider];
  return {
    id: endpoint.id,
    rank,
    model: endpoint.model,
    provider: endpoint.provider,
    region: endpoint.region,
    dialect: endpoint.dialect,
    retention: provider?.retention ?? "unlimited",
    trains_on_data: provider?.trainsOnData ?? true,
    capabilities: endpoint.capabilities,
    signature_family: table.models[endpoint.model]?.signatureFamily ?? "none",
    latency_class: endpoint.latencyClass ?? "unspecified",
    ...(endpoint.price === null
      ? {}
      : { price: { input: endpoint.price.input, output: endpoint.price.output } }),
  };
}
