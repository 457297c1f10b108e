import type { ModelRow } from "../../canon/table.ts";
import { quote } from "../authored/literal-secrets.ts";
import type { CompileContext } from "../compile-context.ts";
import { PLACEHOLDERS } from "./providers.ts";
import type { ResolvedEndpoint } from "../resolve/endpoints.ts";
import type { ResolvedContext } from "../resolve/routes.ts";

/**
 * Keys that an embedding model requires and others must not have: vector lengths, the default
 * length and the context window.
 */
function checkEmbeddingModel({ report }: CompileContext, model: ModelRow) {
  const { id, dimensions, defaultDimensions, contextWindow } = model;
  const path = ["models", id];
  if (!model.operations.includes("embed")) {
    if (dimensions.length === 0 && defaultDimensions === null) return;
    const [member, key] =
      dimensions.length > 0 ? ["dimensions", "them"] : ["default_dimensions", "it"];
    report.key(
      "DIMENSIONS_MISMATCH",
      [...path, member],
      `model ${quote(id)} lists \`${member}\` but does not embed`,
      `remove ${key}, or add \`embed\` to its operations`,
    );
    return;
  }
  if (dimensions.length === 0) {
    report.key(
      "DIMENSIONS_MISMATCH",
      path,
      `model ${quote(id)} embeds but lists no \`dimensions\``,
      "add `dimensions: [1536]` with the lengths it makes",
    );
  } else if (defaultDimensions !== null && !dimensions.includes(defaultDimensions)) {
    report.value(
      "DIMENSIONS_MISMATCH",
      [...path, "default_dimensions"],
      `the default of model ${quote(id)}, ${defaultDimensions}, is not one of its \`dimensions\`: ${dimensions.join(", ")}`,
      "add it to `dimensions`, or use one of them",
    );
  }
  if (contextWindow === null) {
    report.key(
      "CONTEXT_WINDOW_MISSING",
      path,
      `model ${quote(id)} embeds but has no \`context_window\`, which workspaces have to approve`,
      "add `context_window` with the tokens that one input may have",
    );
  }
}

/** Checks models and their endpoints for contradictions, and against their dialects. */
export function checkModels(context: ResolvedContext): void {
  const { normalised, report } = context;
  for (const model of normalised.models.values()) {
    const { id, maxOutputTokens: most, defaultMaxOutputTokens: usual } = model;
    const serving = [...context.endpoints.values()].filter(({ row }) => row.model === id);
    if (most !== null && usual !== null && usual > most)
      report.value(
        "OUTPUT_LIMIT_ORDER",
        ["models", id, "default_max_output_tokens"],
        `the default of model ${quote(id)}, ${usual} tokens, is above its max_output_tokens, ${most}`,
      );
    checkEmbeddingModel(context, model);
    // Moderation categories of a model that does not moderate have no effect.
    if (model.moderationCategories !== null && !model.operations.includes("moderate"))
      report.key(
        "CATEGORIES_UNUSED",
        ["models", id, "moderation_categories"],
        `model ${quote(id)} has \`moderation_categories\` but does not moderate`,
        "remove them, or add `moderate` to its operations",
      );
    if (serving.length > 0) checkServed(context, model, serving);
    for (const endpoint of serving) checkEndpoint(context, endpoint, model);
  }
}

/** A model's capabilities, features and signatures against the dialects of its endpoints. */
function checkServed(
  { file, report }: CompileContext,
  { id, capabilities, signatureFamily }: ModelRow,
  serving: readonly ResolvedEndpoint[],
) {
  const authored = file.models[id];
  const dialects = [...new Set(serving.map(({ row }) => row.dialect))].toSorted().join(", ");
  for (const [index, capability] of (authored?.capabilities ?? []).entries())
    if (!serving.some(({ facts }) => facts.expresses.includes(capability)))
      report.value(
        "CAPABILITY_UNREACHABLE",
        ["models", id, "capabilities", index],
        `model ${quote(id)} declares ${capability}, which no dialect of its endpoints carries (${dialects})`,
        "remove it, or serve the model over a dialect that carries it",
      );
  for (const [member, list, lacks] of [
    ["accepts", "optional", "leaves to its models"],
    ["refuses", "features", "has"],
  ] as const)
    for (const [index, feature] of (authored?.[member] ?? []).entries())
      if (!serving.some(({ facts }) => [...facts[list], ...facts.optional].includes(feature)))
        report.value(
          "FEATURE_UNREACHABLE",
          ["models", id, member, index],
          `model ${quote(id)} ${member} ${feature}, which no dialect of its endpoints ${lacks}`,
          "remove it",
        );
  const signing = serving.find(({ facts }) => facts.signs);
  if (signing !== undefined && capabilities.includes("reasoning") && signatureFamily === null)
    report.key(
      "SIGNATURE_FAMILY_MISSING",
      ["models", id],
      `model ${quote(id)} reasons over \`${signing.row.dialect}\`, whose reasoning is signed, but names no \`signature_family\`: its reasoning goes back to any model that names none`,
      "name the family; models that can read each other's reasoning share one",
    );
}

/** Rates of one operation only, as `price` has them. */
const RATES = {
  cached_input: "generate",
  cache_write: "generate",
  cache_write_1h: "generate",
  reasoning: "generate",
  search: "rerank",
} as const;

function checkEndpoint(
  { file, normalised, report }: CompileContext,
  { row, index, facts, operations }: ResolvedEndpoint,
  model: ModelRow,
) {
  const path = ["endpoints", index];
  const where = `endpoint ${quote(row.id)}`;
  if (PLACEHOLDERS.some((name) => name === row.upstreamModel))
    report.value(
      "PLACEHOLDER_LEFT",
      [...path, "upstream_model"],
      `the upstream_model of ${where} is still the placeholder ${quote(row.upstreamModel)}`,
      "write the name under which the provider serves the model to you",
    );
  const most = normalised.providers.get(row.provider)?.maxConcurrency ?? Infinity;
  if (row.maxConcurrency !== null && row.maxConcurrency > most)
    report.value(
      "CONCURRENCY_ORDER",
      [...path, "max_concurrency"],
      `${where} allows ${row.maxConcurrency} requests at once, its provider ${quote(row.provider)} only ${most}`,
      "lower it, or raise the provider's `max_concurrency`",
    );
  const price = file.endpoints[index]?.price ?? {};
  for (const [rate, operation] of Object.entries(RATES))
    if (Object.hasOwn(price, rate) && !model.operations.includes(operation))
      report.key(
        "PRICE_UNUSED",
        [...path, "price", rate],
        `${where} has a rate for ${rate}, which only \`${operation}\` is charged, and its model ${quote(model.id)} does not ${operation}`,
      );
  if (operations.length === 0)
    report.value(
      "ENDPOINT_OPERATIONS",
      [...path, "provider"],
      `${where} can serve no operation: its dialect \`${row.dialect}\` carries ${facts.operations.join(", ")}, its model ${quote(model.id)} does ${model.operations.join(", ")}`,
      "serve the model over a dialect that carries its operations",
    );
  if (
    facts.demandsOutputLimit &&
    model.operations.includes("generate") &&
    model.defaultMaxOutputTokens === null
  )
    report.value(
      "OUTPUT_LIMIT_MISSING",
      [...path, "model"],
      `${where}: the dialect \`${row.dialect}\` demands an output limit, and model ${quote(model.id)} has no default for callers that give none`,
    );
}
