import { looksLikeSecret, quote } from "../../../compile/authored/literal-secrets.ts";
import { presetOf } from "../../../compile/presets.ts";
import {
  type ImportedConfiguration,
  modeOf,
  operationOf,
} from "../configuration/imported-configuration.ts";
import {
  type Address,
  baseUrlOf,
  missingAddress,
  placeProvider,
  presetAt,
} from "../configuration/provider-location.ts";
import {
  asId,
  keyedAuth,
  literalKey,
  MISSING_KEY,
  type PlannedEndpoint,
  presetVariable,
  variableName,
} from "../configuration/rows.ts";
import { type Fields, rowOf } from "../source.ts";
import providers from "./providers.json" with { type: "json" };

/** Presets of Portkey's providers, by their names. */
const PROVIDERS: Readonly<Record<string, string>> = providers;

/** Azure with a version: the path of a deployment. */
const VERSIONED: Readonly<Record<string, { readonly preset: string; readonly path: string }>> = {
  "azure-openai": { preset: "azure-openai-deployments", path: "/openai" },
};

/** Paths that Portkey adds to `custom_host`, by preset. */
const HOST_PATHS: Readonly<Record<string, string>> = { ollama: "/v1" };

/** Members that hold parts of a key of a cloud. */
const CLOUD_KEYS = [
  "aws_access_key_id",
  "aws_secret_access_key",
  "aws_session_token",
  "vertex_service_account_json",
];

/**
 * One model at one provider.
 *
 * @param inherited timeout around the target, milliseconds.
 * @returns `null` for a target that cannot be converted, which is reported.
 */
export function endpointOf(
  fields: Fields,
  inherited: number | null,
  imported: ImportedConfiguration,
): PlannedEndpoint | null {
  const { report, findings, answers, secrets } = imported;
  const override = fields.fields("override_params");
  const modelText = override.text("model");
  override.noteRest([], {
    outcome: "left_out",
    text: "defaults are not added to requests; a policy can lower `max_output_tokens`",
  });
  const [, ofModel, modelName] = /^@([^/]+)\/(.+)$/.exec(modelText ?? "") ?? [];
  const vendorName = fields.text("provider")?.replace(/^@/, "") ?? ofModel ?? null;
  const slug = fields.text("virtual_key") ?? vendorName;
  // A slug of the catalogue that only contains a vendor's name is not guessed.
  const listed =
    answers.providers.get(slug ?? "") ??
    answers.providers.get(vendorName ?? "") ??
    rowOf(PROVIDERS, vendorName ?? slug) ??
    null;
  if (slug === null || (listed === null && looksLikeSecret(slug))) {
    findings.add(
      "MISSING_KEY",
      fields.at,
      "the target does not name its provider",
      "add `provider` or a model such as `@openai/gpt-5` to it, or give `--provider SLUG=PRESET`",
    );
    return null;
  }
  const deployment = fields.text("deployment_id") ?? fields.text("azure_deployment_id");
  const version = fields.text("api_version") ?? fields.text("azure_api_version");
  const { preset: vendor, path } = (version !== null && rowOf(VERSIONED, listed)) || {
    preset: listed,
    path: "/openai/v1",
  };
  const address = addressOf(fields, vendor, slug, path, imported);
  const { preset, row: shape } = presetAt(vendor, address?.base ?? null);
  const facts = presetOf(preset);
  const model =
    deployment ?? modelName ?? modelText ?? answers.models[0] ?? facts?.sample.upstream_model;
  if (modelText === null && deployment === null)
    report.add(
      "decide",
      fields,
      "any model that a request names is sent on there; here a route is one model: look at `upstream_model`",
    );
  const refuse = (why: string): null => {
    report.add("left_out", fields, why);
    return null;
  };
  if (model === undefined || !/^[!-~]{1,256}$/.test(model))
    return refuse("no model is given, and none is known: add `override_params.model`");
  // The operator names deployments; capabilities follow from the model.
  const base = deployment === null ? null : (modelName ?? modelText);
  const operation = operationOf(modeOf(null, base ?? model));
  if (operation === null)
    return refuse("this kind of call is not served; chat, vectors, rerank and moderations are");
  if (vendor === null)
    report.add(
      "decide",
      fields,
      `${quote(slug)}: the source does not name its vendor: a server of OpenAI's protocol is written; \`--provider SLUG=PRESET\` names another (docs/presets.md)`,
    );
  for (const name of CLOUD_KEYS) {
    const key = fields.text(name);
    if (key !== null) secrets.literal(key, name.toUpperCase(), fields.origin(name));
  }
  const missing = address?.missing ?? null;
  // The preset has a placeholder of its own, in the form of the provider's hosts.
  const baseUrl = missing !== null && facts?.address !== undefined ? null : (address?.base ?? null);
  const region = fields.text("aws_region") ?? fields.text("vertex_region");
  const location = placeProvider(facts, baseUrl, region, fields, imported);
  const variable = keyOf(fields, preset, slug, imported);
  if (variable === null && !location.isPrivate && facts?.provider.auth === "none")
    report.add("decide", fields, MISSING_KEY);
  const provider = imported.provider({
    preset,
    name: slug,
    row: {
      ...location.address,
      ...shape,
      ...(version !== null && { api_version: version }),
      ...(variable !== null && keyedAuth(preset, variable)),
    },
    region: location.region,
    missing,
    origin: fields,
  });
  const timeout = timeoutOf(fields, inherited);
  provider.totals.add(timeout === null ? null : timeout / 1000);
  const added = imported.endpoint(provider, { upstream: model, base, operation, origin: fields });
  if (typeof added === "string") return refuse(added);
  const carried = `endpoint ${quote(added.id)}`;
  report.add("carried", fields, carried);
  fields.note("carried", ["provider", "virtual_key"], `provider \`${provider.id}\``);
  override.note("carried", "model", carried);
  return added;
}

/** Milliseconds of the target, or of the configuration around it. */
export function timeoutOf(fields: Fields, inherited: number | null): number | null {
  const timeout = fields.number("request_timeout") ?? 0;
  if (timeout <= 0) return inherited;
  fields.note(
    "carried",
    "request_timeout",
    "`timeouts.total` of the provider; the longest of its targets, 10m for one without it",
  );
  return timeout;
}

/** Address of the calls; `null`: the preset's. */
function addressOf(
  fields: Fields,
  preset: string | null,
  slug: string,
  path: string,
  imported: ImportedConfiguration,
): Address | null {
  const host = fields.text("custom_host");
  if (host !== null) {
    const below = rowOf(HOST_PATHS, preset) ?? "";
    const bare = host.replace(/\/+$/, "");
    const base = bare.endsWith(below) ? bare : `${bare}${below}`;
    return baseUrlOf(base, fields.origin("custom_host"), imported);
  }
  const resource = fields.text("resource_name") ?? fields.text("azure_resource_name");
  if (resource !== null && /^[a-z0-9-]{1,63}$/i.test(resource))
    return baseUrlOf(`https://${resource}.openai.azure.com${path}`, fields, imported);
  // Portkey has no address for self-hosted servers; a secret of its vault may have one:
  // `secret_mappings: [{ target_field, … }]`.
  const isPrivate = preset === null || presetOf(preset)?.provider.network === "private";
  const isSecret = fields
    .rows("secret_mappings")
    .some((row) => row.text("target_field") === "custom_host");
  if (!isPrivate && !isSecret) return null;
  return missingAddress(
    slug,
    fields,
    "the address is not in the source: `custom_host` would have it",
    imported,
  );
}

/** The variable of a target's key; `null` for providers without one. */
function keyOf(
  fields: Fields,
  preset: string | null,
  slug: string,
  { report, secrets }: ImportedConfiguration,
): string | null {
  const vendorVariable = presetVariable(preset);
  const isVendor = Object.hasOwn(PROVIDERS, slug);
  // The vendor's own variable would send the vendor's key to another server.
  const label = isVendor && preset === null ? `${slug}-custom-host` : slug;
  const variable = `${variableName(asId(label, "provider"))}_API_KEY`;
  if (fields.has("api_key"))
    return literalKey(fields, "api_key", vendorVariable ?? variable, secrets);
  if (vendorVariable === null && preset !== null) return null;
  if (vendorVariable !== null && isVendor) return secrets.ofName(vendorVariable);
  report.add(
    "changed",
    fields.origin(fields.has("virtual_key") ? "virtual_key" : "provider"),
    `a provider row with its own credential: put the key into the environment as \`${variable}\``,
  );
  return secrets.ofName(variable);
}
