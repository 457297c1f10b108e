import type { ModelRow, ProviderRow } from "../../canon/table.ts";
import { quote } from "../authored/literal-secrets.ts";
import type { ResolvedEndpoint } from "../resolve/endpoints.ts";
import type { ResolvedContext } from "../resolve/routes.ts";
import type { CompileContext } from "../compile-context.ts";
import { checkEmbeddingModel } from "./embeddings.ts";

/** Models against themselves and against the dialects that carry them. */
export function checkModels(context: ResolvedContext): void {
  const { normalised, report } = context;
  for (const model of normalised.models.values()) {
    const { maxOutputTokens: most, defaultMaxOutputTokens: usual } = model;
    if (most !== null && usual !== null && usual > most) {
      const message = `the default of model ${quote(model.id)}, ${usual} tokens, is above its max_output_tokens, ${most}`;
      report.value(
        "OUTPUT_LIMIT_ORDER",
        ["models", model.id, "default_max_output_tokens"],
        message,
      );
    }
    checkEmbeddingModel(context, model);
    checkCategories(context, model);
    reportUnreachable(context, model.id);
  }
  for (const [id, endpoint] of context.endpoints) checkEndpoint(context, id, endpoint);
}

/** Categories of a model that does not moderate have no effect. */
function checkCategories({ report }: CompileContext, model: ModelRow): void {
  if (model.moderationCategories === null || model.operations.includes("moderate")) return;
  const message = `model ${quote(model.id)} has \`moderation_categories\` but does not moderate`;
  const hint = "remove them, or add `moderate` to its operations";
  report.key("CATEGORIES_UNUSED", ["models", model.id, "moderation_categories"], message, hint);
}

function reportUnreachable(
  { endpoints, file, normalised, report }: ResolvedContext,
  id: string,
): void {
  const serving = [...endpoints.values()].filter(({ row }) => row.model === id);
  if (serving.length === 0) return;
  for (const [index, capability] of (file.models[id]?.capabilities ?? []).entries()) {
    if (serving.some(({ facts }) => facts.expresses.includes(capability))) continue;
    const dialects = [...new Set(serving.map(({ row }) => row.dialect))].toSorted().join(", ");
    const message = `model ${quote(normalised.models.get(id)?.id ?? id)} declares ${capability}, which no dialect of its endpoints carries (${dialects})`;
    const hint = "remove it, or serve the model over a dialect that carries it";
    report.value("CAPABILITY_UNREACHABLE", ["models", id, "capabilities", index], message, hint);
  }
}

function checkEndpoint(context: CompileContext, id: string, endpoint: ResolvedEndpoint): void {
  const { normalised, report } = context;
  const model = normalised.models.get(endpoint.row.model);
  const provider = normalised.providers.get(endpoint.row.provider);
  if (model === undefined || provider === undefined) return;
  checkConcurrency(context, endpoint, provider);
  checkRates(context, endpoint, model);
  if (endpoint.operations.length === 0) {
    const message = `endpoint ${quote(id)} can serve no operation: its dialect \`${endpoint.row.dialect}\` carries ${endpoint.facts.operations.join(", ")}, its model ${quote(model.id)} does ${model.operations.join(", ")}`;
    const hint = "serve the model over a dialect that carries its operations";
    report.value("ENDPOINT_OPERATIONS", ["endpoints", endpoint.index, "provider"], message, hint);
  }
  if (
    endpoint.facts.demandsOutputLimit &&
    model.operations.includes("generate") &&
    model.defaultMaxOutputTokens === null
  ) {
    const message = `endpoint ${quote(id)}: the dialect \`${endpoint.row.dialect}\` demands an output limit, and model ${quote(model.id)} has no default for callers that give none`;
    report.value("OUTPUT_LIMIT_MISSING", ["endpoints", endpoint.index, "model"], message);
  }
}

function checkConcurrency(
  { report }: CompileContext,
  { row, index }: ResolvedEndpoint,
  provider: ProviderRow,
): void {
  if (row.maxConcurrency === null || row.maxConcurrency <= provider.maxConcurrency) return;
  const message = `endpoint ${quote(row.id)} allows ${row.maxConcurrency} requests at once, its provider ${quote(provider.id)} only ${provider.maxConcurrency}`;
  const hint = "lower it, or raise the provider's `max_concurrency`";
  report.value("CONCURRENCY_ORDER", ["endpoints", index, "max_concurrency"], message, hint);
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
): void {
  const price = file.endpoints[index]?.price;
  for (const [rate, operation] of Object.entries(RATES)) {
    if (price === undefined || !Object.hasOwn(price, rate) || model.operations.includes(operation))
      continue;
    const message = `endpoint ${quote(row.id)} has a rate for ${rate}, which only \`${operation}\` is charged, and its model ${quote(model.id)} does not ${operation}`;
    report.key("PRICE_UNUSED", ["endpoints", index, "price", rate], message);
  }
}
