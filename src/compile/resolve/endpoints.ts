import type { ModelOperation } from "../../canon/operation.ts";
import {
  isPlaintext,
  type EndpointRow,
  type ModelRow,
  type ProviderRow,
} from "../../canon/table.ts";
import type { DialectFacts } from "../../dialects/dialect.ts";
import { quote } from "../authored/literal-secrets.ts";
import type { NormalisedEndpoint } from "../normalised/normalise.ts";
import { checkName, type CompileContext } from "../compile-context.ts";
import { isFeature, type Feature } from "../../canon/capability.ts";

/** An endpoint whose model and provider exist, with its position in the file. */
export interface ResolvedEndpoint {
  readonly row: EndpointRow;
  /** Index in the authored list. */
  readonly index: number;
  readonly facts: DialectFacts;
  /** Operations it serves. */
  readonly operations: readonly ModelOperation[];
}

/**
 * Endpoints by id. A second endpoint with an id and an endpoint that points nowhere are reported
 * and left out.
 */
export function resolveEndpoints(context: CompileContext): ReadonlyMap<string, ResolvedEndpoint> {
  const resolved = new Map<string, ResolvedEndpoint>();
  const indexById = new Map<string, number>();
  for (const [index, endpoint] of context.normalised.endpoints.entries()) {
    const first = indexById.get(endpoint.id);
    if (first === undefined) {
      indexById.set(endpoint.id, index);
      const row = resolveEndpoint(context, endpoint, index);
      if (row !== null) resolved.set(endpoint.id, row);
    } else {
      context.report.value(
        "DUPLICATE_ID",
        ["endpoints", index, "id"],
        `endpoints[${first}] has the id ${quote(endpoint.id)} already`,
      );
    }
  }
  return resolved;
}

function resolveEndpoint(
  context: CompileContext,
  endpoint: NormalisedEndpoint,
  index: number,
): ResolvedEndpoint | null {
  const names = `endpoint ${quote(endpoint.id)} names`;
  checkName(context, "models", endpoint.model, ["endpoints", index, "model"], `${names} the model`);
  checkName(
    context,
    "providers",
    endpoint.provider,
    ["endpoints", index, "provider"],
    `${names} the provider`,
  );
  const model = context.normalised.models.get(endpoint.model);
  const provider = context.normalised.providers.get(endpoint.provider);
  const facts = provider === undefined ? undefined : context.dialect(provider.dialect);
  if (model === undefined || provider === undefined || facts === undefined) return null;
  const allowed = endpoint.capabilities ?? model.capabilities;
  const wider = allowed.filter((capability) => !model.capabilities.includes(capability));
  if (wider.length > 0) {
    context.report.value(
      "CAPABILITY_WIDENED",
      ["endpoints", index, "capabilities"],
      `endpoint ${quote(endpoint.id)} lists ${wider.join(", ")}, which its model ${quote(model.id)} does not have`,
      "an endpoint narrows its model's capabilities, it never widens them",
    );
  }
  const features = endpointFeatures(facts, model, provider);
  const row = {
    id: endpoint.id,
    model: model.id,
    provider: provider.id,
    region: endpoint.region ?? provider.region,
    ...(isPlaintext(provider) && { plaintext: true as const }),
    dialect: provider.dialect,
    upstreamModel: endpoint.upstreamModel,
    price: endpoint.price,
    // Omitted if unset: tables without it keep their revision.
    ...(endpoint.latencyClass !== null && { latencyClass: endpoint.latencyClass }),
    maxConcurrency: endpoint.maxConcurrency,
    batch: {
      inputs: batchInputs(context, endpoint, index, facts, provider),
      tokens: endpoint.batch.tokens,
    },
    capabilities: model.capabilities.filter(
      (capability) => allowed.includes(capability) && facts.expresses.includes(capability),
    ),
    features: features.translated,
    nativeFeatures: features.native,
  };
  return { row, index, facts, operations: servedOperations(facts, model, provider) };
}

/**
 * Most inputs of one call. A protocol that takes one input cannot carry two; any other number is
 * checked by the provider.
 */
function batchInputs(
  { report }: CompileContext,
  { id, batch }: NormalisedEndpoint,
  index: number,
  facts: DialectFacts,
  provider: ProviderRow,
): number | null {
  const ofFlags = flagsOf(facts, provider).flatMap(({ maxBatch = [] }) => maxBatch);
  const limits = [...ofFlags, ...(facts.maxBatch === undefined ? [] : [facts.maxBatch])];
  const most = limits.length === 0 ? null : Math.min(...limits);
  if (most === 1 && (batch.inputs ?? 1) > 1) {
    report.value(
      "BATCH_TOO_LARGE",
      ["endpoints", index, "batch", "inputs"],
      `endpoint ${quote(id)} allows ${batch.inputs} inputs a call, and its protocol takes one`,
      "remove it",
    );
  }
  return batch.inputs ?? most;
}

/**
 * Operations of an endpoint: its model's operations as far as its dialect carries them and its
 * provider's flags leave them.
 */
function servedOperations(
  facts: DialectFacts,
  { operations }: ModelRow,
  provider: ProviderRow,
): readonly ModelOperation[] {
  const remaining = flagsOf(facts, provider).flatMap(({ leaves = [] }) => leaves);
  return operations.filter(
    (operation) =>
      facts.operations.includes(operation) &&
      (remaining.length === 0 || remaining.includes(operation)),
  );
}

/**
 * Protocol features that requests may use at an endpoint: those of the dialect, less those that the
 * provider's flags and the model take away. Features that only some models of a dialect support are
 * offered to other protocols only if the model row lists them; requests in the endpoint's own
 * protocol are left to the provider.
 */
export function endpointFeatures(
  facts: DialectFacts,
  model: ModelRow,
  provider: ProviderRow,
): { readonly translated: readonly Feature[]; readonly native: readonly Feature[] } {
  const withdrawn = new Set<Feature>(model.refuses);
  const flags = flagsOf(facts, provider);
  for (const { withdraws = [] } of flags) for (const feature of withdraws) withdrawn.add(feature);
  const features = new Set<Feature>([
    ...facts.features,
    ...flags.flatMap(({ grants = [] }) => grants),
  ]);
  const efforts = model.reasoning?.efforts ?? null;
  if (efforts !== null) {
    for (const feature of facts.features)
      if (feature.startsWith("effort_")) features.delete(feature);
    for (const effort of efforts) addEffort(features, effort);
  }
  const budgets = Object.keys(model.reasoning?.budgets ?? {});
  if (budgets.length > 0) {
    features.add("reasoning_budget");
    if (facts.supportsBudgets) for (const effort of budgets) addEffort(features, effort);
  }
  const without = (names: Iterable<Feature>): readonly Feature[] =>
    [...new Set(names)].filter((feature) => !withdrawn.has(feature)).toSorted();
  // A model accepts its own signatures.
  const accepts =
    model.signatureFamily === null ? model.accepts : [...model.accepts, "signed_reasoning"];
  const accepted = facts.optional.filter((feature) => accepts.includes(feature));
  return {
    translated: without([...features, ...accepted]),
    // Enum values and budgets of the protocol itself are relayed unchanged, whatever the table
    // allows for translations.
    native: without([...facts.features, ...features, ...facts.optional]),
  };
}

function addEffort(features: Set<Feature>, effort: string) {
  const feature = `effort_${effort}`;
  if (isFeature(feature)) features.add(feature);
}

/**
 * Effects of a provider row's flags; flags that its dialect lacks are reported elsewhere.
 */
function flagsOf({ flags: dialectFlags }: DialectFacts, { flags }: ProviderRow) {
  return flags.flatMap((name) =>
    Object.hasOwn(dialectFlags, name) ? (dialectFlags[name] ?? []) : [],
  );
}
