import type { ModelRow, ProviderRow } from "../../canon/table.ts";
import { quote } from "../authored/literal-secrets.ts";
import type { ResolvedEndpoint } from "../resolve/endpoints.ts";
import type { ResolvedContext } from "../resolve/routes.ts";
import type { CompileContext } from "../compile-context.ts";

/** What model and provider rows say about wire protocols, against the protocols that serve them. */
export function checkFeatures(context: ResolvedContext): void {
  for (const model of context.normalised.models.values()) {
    const serving = [...context.endpoints.values()].filter(({ row }) => row.model === model.id);
    if (serving.length > 0) checkModel(context, model, serving);
  }
  for (const provider of context.normalised.providers.values()) {
    checkApiVersion(context, provider);
    if (provider.betas.length === 0 || context.dialect(provider.dialect)?.takesBetas !== false)
      continue;
    const message = `provider ${quote(provider.id)} lists beta flags, which its dialect \`${provider.dialect}\` does not have`;
    context.report.value(
      "BETA_FLAGS_UNUSED",
      ["providers", provider.id, "beta_flags"],
      message,
      "remove them",
    );
  }
}

/** An unused version misleads, and a flag without the version that it needs fails at every call. */
function checkApiVersion(
  context: CompileContext,
  { id, dialect, apiVersion, flags }: ProviderRow,
): void {
  const facts = context.dialect(dialect);
  if (facts === undefined) return;
  if (apiVersion !== null && facts.takesApiVersion !== true) {
    const message = `provider ${quote(id)} has an \`api_version\`, which requests of its dialect \`${dialect}\` do not carry`;
    context.report.value(
      "API_VERSION_UNUSED",
      ["providers", id, "api_version"],
      message,
      "remove it",
    );
  }
  const demanding = flags.find((flag) => facts.flags[flag]?.demandsApiVersion === true);
  if (apiVersion !== null || demanding === undefined) return;
  const message = `provider ${quote(id)} has the flag \`${demanding}\`, but no \`api_version\``;
  const hint = "add `api_version`, such as `2024-10-21`";
  context.report.value("API_VERSION_MISSING", ["providers", id, "flags"], message, hint);
}

function checkModel(
  context: CompileContext,
  model: ModelRow,
  serving: readonly ResolvedEndpoint[],
): void {
  for (const [member, list] of [
    ["accepts", "optional"],
    ["refuses", "features"],
  ] as const) {
    for (const [index, feature] of (context.file.models[model.id]?.[member] ?? []).entries()) {
      const known = serving.some(
        ({ facts }) => facts[list].includes(feature) || facts.optional.includes(feature),
      );
      if (known) continue;
      const message = `model ${quote(model.id)} ${member} ${feature}, which no dialect of its endpoints ${member === "accepts" ? "leaves to its models" : "has"}`;
      context.report.value(
        "FEATURE_UNREACHABLE",
        ["models", model.id, member, index],
        message,
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
    const message = `model ${quote(model.id)} reasons over \`${signing.row.dialect}\`, whose reasoning is signed, but names no \`signature_family\`: its reasoning goes back to any model that names none`;
    const hint = "name the family; models that can read each other's reasoning share one";
    context.report.key("SIGNATURE_FAMILY_MISSING", ["models", model.id], message, hint);
  }
}
