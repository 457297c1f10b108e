import type { ModelRow, ProviderRow } from "../../canon/table.ts";
import { quote } from "../authored/literal-secrets.ts";
import type { ResolvedEndpoint } from "../resolve/endpoints.ts";
import type { Scene } from "../scene.ts";

/** What model and provider rows say about wire protocols, against the protocols that serve them. */
export function checkFeatures(scene: Scene, endpoints: ReadonlyMap<string, ResolvedEndpoint>): void {
  for (const model of scene.normalised.models.values()) {
    const serving = [...endpoints.values()].filter(({ row }) => row.model === model.id);
    if (serving.length > 0) checkModel(scene, model, serving);
  }
  for (const provider of scene.normalised.providers.values()) {
    checkApiVersion(scene, provider);
    if (provider.betas.length === 0 || scene.dialect(provider.dialect)?.takesBetas !== false) continue;
    scene.report.value(
      "BETA_FLAGS_UNUSED",
      ["providers", provider.id, "beta_flags"],
      `provider ${quote(provider.id)} lists beta flags, which its dialect \`${provider.dialect}\` does not have`,
      "remove them",
    );
  }
}

/** A version that nobody reads misleads, and a flag without the one that it needs fails at every call. */
function checkApiVersion(scene: Scene, { id, dialect, apiVersion, flags }: ProviderRow): void {
  const facts = scene.dialect(dialect);
  if (facts === undefined) return;
  if (apiVersion !== null && facts.takesApiVersion !== true) {
    const message = `provider ${quote(id)} has an \`api_version\`, which requests of its dialect \`${dialect}\` do not carry`;
    scene.report.value("API_VERSION_UNUSED", ["providers", id, "api_version"], message, "remove it");
  }
  const demanding = flags.find((flag) => facts.flags[flag]?.demandsApiVersion === true);
  if (apiVersion !== null || demanding === undefined) return;
  scene.report.value(
    "API_VERSION_MISSING",
    ["providers", id, "flags"],
    `provider ${quote(id)} has the flag \`${demanding}\`, but no \`api_version\``,
    "add `api_version`, such as `2024-10-21`",
  );
}

function checkModel(scene: Scene, model: ModelRow, serving: readonly ResolvedEndpoint[]): void {
  for (const [member, list] of [
    ["accepts", "optional"],
    ["refuses", "features"],
  ] as const) {
    for (const [index, feature] of (scene.file.models[model.id]?.[member] ?? []).entries()) {
      const known = serving.some(({ facts }) => facts[list].includes(feature) || facts.optional.includes(feature));
      if (known) continue;
      const message = `model ${quote(model.id)} ${member} ${feature}, which no dialect of its endpoints ${member === "accepts" ? "leaves to its models" : "has"}`;
      scene.report.value("FEATURE_UNREACHABLE", ["models", model.id, member, index], message, "remove it");
    }
  }
  const signing = serving.find(({ facts }) => facts.signs);
  if (signing !== undefined && model.capabilities.includes("reasoning") && model.signatureFamily === null) {
    scene.report.key(
      "SIGNATURE_FAMILY_MISSING",
      ["models", model.id],
      `model ${quote(model.id)} reasons over \`${signing.row.dialect}\`, whose reasoning is signed, but names no \`signature_family\`: its reasoning goes back to any model that names none`,
      "name the family; models that can read each other's reasoning share one",
    );
  }
}
