import { isFeature, type Feature } from "../../canon/generate/feature.ts";
import type { ModelRow, ProviderRow } from "../../canon/table.ts";
import type { DialectFacts } from "../../dialects/dialect-facts.ts";

/**
 * What requests may ask of the wire protocol at an endpoint: what the dialect has, less what the provider's flags and the model take
 * away. What only some models of a dialect take is not promised to other protocols' requests unless the model row says so; a request in the
 * endpoint's own protocol is for the provider to judge.
 */
export function endpointFeatures(
  facts: DialectFacts,
  model: ModelRow,
  provider: ProviderRow,
): { readonly translated: readonly Feature[]; readonly native: readonly Feature[] } {
  const withdrawn = new Set<Feature>(model.refuses);
  const flags = provider.flags.flatMap((name) => (Object.hasOwn(facts.flags, name) ? (facts.flags[name] ?? []) : []));
  for (const { withdraws } of flags) for (const feature of withdraws) withdrawn.add(feature);
  const features = new Set<Feature>([...facts.features, ...flags.flatMap(({ grants = [] }) => grants)]);
  const efforts = model.reasoning?.efforts ?? null;
  if (efforts !== null) {
    for (const feature of facts.features) if (feature.startsWith("effort_")) features.delete(feature);
    for (const effort of efforts) addEffort(features, effort);
  }
  const budgets = Object.keys(model.reasoning?.budgets ?? {});
  if (budgets.length > 0) {
    features.add("reasoning_budget");
    if (facts.takesBudgets) for (const effort of budgets) addEffort(features, effort);
  }
  const without = (names: Iterable<Feature>): readonly Feature[] =>
    [...new Set(names)].filter((feature) => !withdrawn.has(feature)).toSorted();
  // What a model signs, it also takes back.
  const accepts = model.signatureFamily === null ? model.accepts : [...model.accepts, "signed_reasoning"];
  const accepted = facts.optional.filter((feature) => accepts.includes(feature));
  return {
    translated: without([...features, ...accepted]),
    // Enum values and budgets of the protocol itself travel as they are, whatever the table says for translations.
    native: without([...facts.features, ...features, ...facts.optional]),
  };
}

function addEffort(features: Set<Feature>, effort: string): void {
  const feature = `effort_${effort}`;
  if (isFeature(feature)) features.add(feature);
}
