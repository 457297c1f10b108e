import type { ModelRow, ProviderRow, WorkspaceRow } from "../../canon/table.ts";
import { quote } from "../authored/literal-secrets.ts";
import type { Path } from "../authored/tree.ts";
import type { CompileContext } from "../compile-context.ts";
import type { ResolvedEndpoint } from "../resolve/endpoints.ts";
import type { ResolvedContext, ResolvedRoute } from "../resolve/routes.ts";

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

/**
 * A route that embeds against the vector lengths and the context window that a workspace approves.
 */
export function checkEmbedding(
  context: CompileContext,
  { id, approve }: WorkspaceRow,
  route: ResolvedRoute,
  path: Path,
): void {
  if (!route.row.operations.includes("embed")) return;
  const model = context.normalised.models.get(route.primary.row.model);
  if (model === undefined) return;
  const approves = `workspace ${quote(id)} approves route ${quote(route.row.id)}`;
  const { dimensions, contextWindow } = model;
  if (dimensions.length > 0 && !dimensions.some((length) => approve.dimensions.includes(length))) {
    context.report.value(
      "DIMENSIONS_NOT_APPROVED",
      path,
      `${approves} but none of its vector lengths: ${dimensions.join(", ")}`,
      "add one to `approve.dimensions`",
    );
  }
  if (
    contextWindow !== null &&
    (approve.contextWindow === null || approve.contextWindow < contextWindow)
  ) {
    context.report.value(
      "CONTEXT_NOT_APPROVED",
      path,
      `${approves} but not the context window of its model, ${contextWindow} tokens: every embedding would be denied`,
      `set \`approve.context_window\` to ${contextWindow} or more`,
    );
  }
}

/** Approved vector lengths that no model produces. */
export function checkApprovedLengths(
  { file, normalised, report }: CompileContext,
  { id }: WorkspaceRow,
): void {
  const made = new Set([...normalised.models.values()].flatMap(({ dimensions }) => dimensions));
  for (const [index, length] of (file.workspaces[id]?.approve.dimensions ?? []).entries()) {
    if (made.has(length)) continue;
    const hint =
      made.size === 0
        ? "no model embeds: remove it"
        : `models make: ${[...made].toSorted((left, right) => left - right).join(", ")}`;
    report.value(
      "UNKNOWN_DIMENSION",
      ["workspaces", id, "approve", "dimensions", index],
      `workspace ${quote(id)} approves vectors of length ${length}, which no model makes`,
      hint,
    );
  }
}

/** Checks protocol settings of model and provider rows against the protocols that serve them. */
export function checkFeatures(context: ResolvedContext): void {
  for (const model of context.normalised.models.values()) {
    const serving = [...context.endpoints.values()].filter(({ row }) => row.model === model.id);
    if (serving.length > 0) checkModel(context, model, serving);
  }
  for (const provider of context.normalised.providers.values()) {
    checkApiVersion(context, provider);
    if (provider.betas.length === 0 || context.dialect(provider.dialect)?.takesBetas !== false)
      continue;
    context.report.value(
      "BETA_FLAGS_UNUSED",
      ["providers", provider.id, "beta_flags"],
      `provider ${quote(provider.id)} lists beta flags, which its dialect \`${provider.dialect}\` does not have`,
      "remove them",
    );
  }
}

/** An unused version misleads, and a flag without the version that it needs fails at every call. */
function checkApiVersion(context: CompileContext, { id, dialect, apiVersion, flags }: ProviderRow) {
  const facts = context.dialect(dialect);
  if (facts === undefined) return;
  if (apiVersion !== null && facts.takesApiVersion !== true) {
    context.report.value(
      "API_VERSION_UNUSED",
      ["providers", id, "api_version"],
      `provider ${quote(id)} has an \`api_version\`, which requests of its dialect \`${dialect}\` do not carry`,
      "remove it",
    );
  }
  const demanding = flags.find((flag) => facts.flags[flag]?.demandsApiVersion === true);
  if (apiVersion !== null || demanding === undefined) return;
  context.report.value(
    "API_VERSION_MISSING",
    ["providers", id, "flags"],
    `provider ${quote(id)} has the flag \`${demanding}\`, but no \`api_version\``,
    "add `api_version`, such as `2024-10-21`",
  );
}

function checkModel(
  context: CompileContext,
  model: ModelRow,
  serving: readonly ResolvedEndpoint[],
) {
  for (const [member, list] of [
    ["accepts", "optional"],
    ["refuses", "features"],
  ] as const) {
    for (const [index, feature] of (context.file.models[model.id]?.[member] ?? []).entries()) {
      const known = serving.some(
        ({ facts }) => facts[list].includes(feature) || facts.optional.includes(feature),
      );
      if (known) continue;
      context.report.value(
        "FEATURE_UNREACHABLE",
        ["models", model.id, member, index],
        `model ${quote(model.id)} ${member} ${feature}, which no dialect of its endpoints ${member === "accepts" ? "leaves to its models" : "has"}`,
        "remove it",
      );
    }
  }
  const signing = serving.find(({ facts }) => facts.signs);
  if (
    signing !== undefined &&
    model.capabilities.includes("reasoning") &&
    model.signatureFamily === null
  ) {
    context.report.key(
      "SIGNATURE_FAMILY_MISSING",
      ["models", model.id],
      `model ${quote(model.id)} reasons over \`${signing.row.dialect}\`, whose reasoning is signed, but names no \`signature_family\`: its reasoning goes back to any model that names none`,
      "name the family; models that can read each other's reasoning share one",
    );
  }
}

/** Checks models for contradictions and against their dialects. */
export function checkModels(context: ResolvedContext): void {
  const { normalised, report } = context;
  for (const model of normalised.models.values()) {
    const { maxOutputTokens: most, defaultMaxOutputTokens: usual } = model;
    if (most !== null && usual !== null && usual > most) {
      report.value(
        "OUTPUT_LIMIT_ORDER",
        ["models", model.id, "default_max_output_tokens"],
        `the default of model ${quote(model.id)}, ${usual} tokens, is above its max_output_tokens, ${most}`,
      );
    }
    checkEmbeddingModel(context, model);
    checkCategories(context, model);
    reportUnreachable(context, model.id);
  }
  for (const [id, endpoint] of context.endpoints) checkEndpoint(context, id, endpoint);
}

/** Moderation categories of a model that does not moderate have no effect. */
function checkCategories({ report }: CompileContext, model: ModelRow) {
  if (model.moderationCategories === null || model.operations.includes("moderate")) return;
  report.key(
    "CATEGORIES_UNUSED",
    ["models", model.id, "moderation_categories"],
    `model ${quote(model.id)} has \`moderation_categories\` but does not moderate`,
    "remove them, or add `moderate` to its operations",
  );
}

function reportUnreachable({ endpoints, file, normalised, report }: ResolvedContext, id: string) {
  const serving = [...endpoints.values()].filter(({ row }) => row.model === id);
  if (serving.length === 0) return;
  for (const [index, capability] of (file.models[id]?.capabilities ?? []).entries()) {
    if (serving.some(({ facts }) => facts.expresses.includes(capability))) continue;
    const dialects = [...new Set(serving.map(({ row }) => row.dialect))].toSorted().join(", ");
    report.value(
      "CAPABILITY_UNREACHABLE",
      ["models", id, "capabilities", index],
      `model ${quote(normalised.models.get(id)?.id ?? id)} declares ${capability}, which no dialect of its endpoints carries (${dialects})`,
      "remove it, or serve the model over a dialect that carries it",
    );
  }
}

function checkEndpoint(context: CompileContext, id: string, endpoint: ResolvedEndpoint) {
  const { normalised, report } = context;
  const model = normalised.models.get(endpoint.row.model);
  const provider = normalised.providers.get(endpoint.row.provider);
  if (model === undefined || provider === undefined) return;
  checkConcurrency(context, endpoint, provider);
  checkRates(context, endpoint, model);
  if (endpoint.operations.length === 0) {
    report.value(
      "ENDPOINT_OPERATIONS",
      ["endpoints", endpoint.index, "provider"],
      `endpoint ${quote(id)} can serve no operation: its dialect \`${endpoint.row.dialect}\` carries ${endpoint.facts.operations.join(", ")}, its model ${quote(model.id)} does ${model.operations.join(", ")}`,
      "serve the model over a dialect that carries its operations",
    );
  }
  if (
    endpoint.facts.demandsOutputLimit &&
    model.operations.includes("generate") &&
    model.defaultMaxOutputTokens === null
  ) {
    report.value(
      "OUTPUT_LIMIT_MISSING",
      ["endpoints", endpoint.index, "model"],
      `endpoint ${quote(id)}: the dialect \`${endpoint.row.dialect}\` demands an output limit, and model ${quote(model.id)} has no default for callers that give none`,
    );
  }
}

function checkConcurrency(
  { report }: CompileContext,
  { row, index }: ResolvedEndpoint,
  provider: ProviderRow,
) {
  if (row.maxConcurrency === null || row.maxConcurrency <= provider.maxConcurrency) return;
  report.value(
    "CONCURRENCY_ORDER",
    ["endpoints", index, "max_concurrency"],
    `endpoint ${quote(row.id)} allows ${row.maxConcurrency} requests at once, its provider ${quote(provider.id)} only ${provider.maxConcurrency}`,
    "lower it, or raise the provider's `max_concurrency`",
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

function checkRates(
  { file, report }: CompileContext,
  { row, index }: ResolvedEndpoint,
  model: ModelRow,
) {
  const price = file.endpoints[index]?.price;
  for (const [rate, operation] of Object.entries(RATES)) {
    if (price === undefined || !Object.hasOwn(price, rate) || model.operations.includes(operation))
      continue;
    report.key(
      "PRICE_UNUSED",
      ["endpoints", index, "price", rate],
      `endpoint ${quote(row.id)} has a rate for ${rate}, which only \`${operation}\` is charged, and its model ${quote(model.id)} does not ${operation}`,
    );
  }
}
