import { presetOf } from "../../../compile/presets.ts";
import type { JsonObject } from "../../../canon/json.ts";
import { looksLikeSecret, quote } from "../../../compile/authored/literal-secrets.ts";
import {
  type Address,
  baseUrlOf,
  missingAddress,
  presetAt,
  providerLocation,
  transportOf,
} from "../configuration/provider-location.ts";
import { keyedAuth, presetVariable } from "../configuration/secrets.ts";
import type { ImportedConfiguration } from "../configuration/imported-configuration.ts";
import { modeOf, operationOf } from "../configuration/models.ts";
import { asId } from "../configuration/names.ts";
import type { PlannedEndpoint, PlannedProvider } from "../configuration/rows.ts";
import type { KnownKeys } from "../import-report.ts";
import type { Fields } from "../fields.ts";
import { HOST_PATHS, PROVIDERS, VERSIONED } from "./provider-table.ts";

/** What a target takes from the configuration around it. */
export interface Inherited {
  readonly timeout: number | null;
}

/** Of settings about status codes. */
export const FIXED_BY_KIND = "what a failure leads to is fixed by its kind (docs/dispatch.md)";

const CALLER = ["left_out", "defaults are not added to requests; a policy can lower `max_output_tokens`"] as const;

/** Keys of targets that no code reads. */
export const TARGET_KEYS: KnownKeys = {
  cache: ["left_out", "answers are not stored; prompt caches of providers work"],
  forward_headers: ["left_out", "only the headers that a protocol needs are sent"],
  on_status_codes: ["left_out", FIXED_BY_KIND],
  metadata: ["left_out", "labels and workload belong to keys (docs/keys.md)"],
  prompt_id: CALLER,
  passthrough: ["left_out", "only the endpoints of docs/api.md are served"],
  openai_organization: ["left_out", "the key determines the organisation"],
  openai_project: ["left_out", "the key determines the project"],
  id: ["left_out", "names a target for conditions; routes have names of their own"],
};

/** One model at one provider. @returns nothing where there can be none, which has been reported. */
export function endpointOf(
  fields: Fields,
  inherited: Inherited,
  imported: ImportedConfiguration,
): PlannedEndpoint | null {
  const { report, findings } = imported;
  const override = fields.fields("override_params");
  const written = override?.text("model") ?? null;
  for (const [, item] of override?.unread() ?? []) report.add("left_out", item, CALLER[1]);
  const slugged = /^@([^/]+)\/(.+)$/.exec(written ?? "");
  const provider = (fields.text("provider") ?? (slugged === null ? null : `@${slugged[1]}`))?.replace(/^@/, "") ?? null;
  const key = fields.text("virtual_key");
  const slug = key ?? provider;
  const known = presetFor(provider, slug, imported);
  if (slug === null || (known === null && looksLikeSecret(slug))) {
    const hint = "add `provider` or a model such as `@openai/gpt-5` to it, or give `--provider SLUG=PRESET`";
    findings.add("MISSING_KEY", fields.at, "the target does not name its provider", hint);
    return null;
  }
  const deployment = fields.text("deployment_id") ?? fields.text("azure_deployment_id");
  const version = fields.text("api_version") ?? fields.text("azure_api_version");
  const versioned =
    known !== null && version !== null && Object.hasOwn(VERSIONED, known) ? VERSIONED[known] : undefined;
  const vendor = versioned?.preset ?? known;
  const address = addressOf(fields, vendor, slug, versioned?.path ?? "/openai/v1", imported);
  const { preset, row: shape } = presetAt(vendor, address?.base ?? null);
  report.addMembers("carried", fields, ["deployment_id", "azure_deployment_id"], "`upstream_model` of the endpoint");
  const model =
    deployment ??
    slugged?.[2] ??
    written ??
    imported.answers.models[0] ??
    (preset === null ? null : (presetOf(preset)?.sample.upstream_model ?? null));
  if (written === null && deployment === null)
    report.add(
      "decide",
      fields,
      "any model that a request names is sent on there; here a route is one model: look at `upstream_model`",
    );
  if (model === null || !/^[!-~]{1,256}$/.test(model)) {
    report.add("left_out", fields, "no model is given, and none is known: add `override_params.model`");
    return null;
  }
  // A deployment has a name of its own; the model says what it can do.
  const base = deployment === null ? null : (slugged?.[2] ?? written);
  const operation = operationOf(modeOf(null, base ?? model));
  if (operation === null) {
    report.add("left_out", fields, "this kind of call is not served; chat, vectors, rerank and moderations are");
    return null;
  }
  if (vendor === null) {
    const what = "the source does not name its vendor: a server of OpenAI's protocol is written";
    report.add("decide", fields, `${quote(slug)}: ${what}; \`--provider SLUG=PRESET\` names another (docs/presets.md)`);
  }
  const row = providerOf({ fields, preset, shape, slug, version, address }, imported);
  const timeout = timeoutOf(fields, inherited, imported);
  row.totals.add(timeout === null ? null : timeout / 1000);
  const made = imported.endpoint(row, { upstream: model, base, operation, spot: fields });
  if (typeof made === "string") {
    report.add("left_out", fields, made);
    return null;
  }
  report.add("carried", fields, `endpoint ${quote(made.id)}`);
  report.addMembers("carried", fields, ["provider", "virtual_key"], `provider \`${row.id}\``);
  report.addMembers("carried", override, ["model"], `endpoint ${quote(made.id)}`);
  return made;
}

/** Milliseconds of the target, or of what is around it. */
export function timeoutOf(fields: Fields, { timeout }: Inherited, { report }: ImportedConfiguration): number | null {
  const own = fields.number("request_timeout");
  if (own === null || own <= 0) return timeout;
  report.add(
    "carried",
    fields.spot("request_timeout"),
    "`timeouts.total` of the provider; the longest of its targets, 10m for one without it",
  );
  return own;
}

/** The preset that the command line or the file names: a slug of the catalogue that only contains a vendor's name is not guessed. */
function presetFor(provider: string | null, slug: string | null, { answers }: ImportedConfiguration): string | null {
  for (const name of [slug, provider]) {
    const given = name === null ? undefined : answers.providers.get(name);
    if (given !== undefined) return given;
  }
  const name = provider ?? slug ?? "";
  return Object.hasOwn(PROVIDERS, name) ? (PROVIDERS[name] ?? null) : null;
}

/** Members that hold parts of a key of a cloud. */
const CLOUD_KEYS = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token", "vertex_service_account_json"];

/** Where calls go; `null` where the preset's address is meant. */
function addressOf(
  fields: Fields,
  preset: string | null,
  slug: string,
  path: string,
  imported: ImportedConfiguration,
): Address | null {
  const named = fields.text("custom_host");
  if (named !== null) {
    const below = preset !== null && Object.hasOwn(HOST_PATHS, preset) ? (HOST_PATHS[preset] ?? "") : "";
    const bare = named.replace(/\/+$/, "");
    return baseUrlOf(bare.endsWith(below) ? bare : `${bare}${below}`, fields.spot("custom_host"), imported);
  }
  const resource = fields.text("resource_name") ?? fields.text("azure_resource_name");
  if (resource !== null && /^[a-z0-9-]{1,63}$/i.test(resource))
    return baseUrlOf(`https://${resource}.openai.azure.com${path}`, fields, imported);
  // Portkey has no address for servers of one's own.
  const isOwn = preset === null || presetOf(preset)?.provider["network"] === "private";
  if (!isOwn && !isSecretly(fields, "custom_host")) return null;
  return missingAddress(slug, fields, "the address is not in the source: `custom_host` would have it", imported.report);
}

interface Connection {
  readonly fields: Fields;
  readonly preset: string | null;
  /** Keys of the row instead of a preset. */
  readonly shape: JsonObject;
  readonly slug: string;
  readonly version: string | null;
  readonly address: Address | null;
}

function providerOf(
  { fields, preset, shape, slug, version, address }: Connection,
  imported: ImportedConfiguration,
): PlannedProvider {
  const { report, secrets } = imported;
  const facts = preset === null ? null : (presetOf(preset) ?? null);
  report.addMembers("carried", fields, ["api_version", "azure_api_version"], "`api_version` of the provider");
  const vault = "values of Portkey's vault: put keys into the environment, and write addresses into routes.yaml";
  report.addMembers("decide", fields, ["secret_mappings"], vault);
  const missing = address?.missing ?? null;
  // The preset has a placeholder of its own, in the form of the provider's hosts.
  const base = missing !== null && facts?.address !== undefined ? null : (address?.base ?? null);
  const names = ["resource_name", "azure_resource_name", "custom_host"];
  report.addMembers("carried", fields, names, "`base_url` of the provider");
  const region = fields.text("aws_region") ?? fields.text("vertex_region");
  report.addMembers("carried", fields, ["aws_region", "vertex_region"], "region of the provider");
  for (const name of CLOUD_KEYS) {
    const item = fields.item(name);
    if (item === null) continue;
    secrets.literal(fields.text(name) ?? "", name.toUpperCase(), item);
    report.add("decide", item, "this line holds a key: the cloud's own variables replace it (docs/configuration.md)");
  }
  const location = providerLocation(facts, base, region);
  if (location.doubt !== null) report.add("decide", fields, location.doubt);
  const transport = transportOf(location.baseUrl, location.isPrivate, fields, imported);
  const variable = keyOf(fields, preset, slug, imported);
  const auth: JsonObject = variable === null ? {} : { ...keyedAuth(preset, variable) };
  return imported.provider({
    preset,
    name: asId(slug, "provider"),
    row: { ...transport, ...shape, ...(version !== null && { api_version: version }), ...auth },
    region: location.region,
    missing,
    spot: fields,
  });
}

/** Whether a secret of Portkey's vault has the value: `secret_mappings: [{ target_field, … }]`. */
function isSecretly(fields: Fields, name: string): boolean {
  return fields.rows("secret_mappings").some((row) => row.text("target_field") === name);
}

/** The variable of a target's key; `null` for providers without one. */
function keyOf(
  fields: Fields,
  preset: string | null,
  slug: string,
  { report, secrets }: ImportedConfiguration,
): string | null {
  const usual = presetVariable(preset);
  const isVendor = Object.hasOwn(PROVIDERS, slug);
  // The vendor's own variable would send the vendor's key to another server.
  const label = isVendor && preset === null ? `${slug}-custom-host` : slug;
  const name = asId(label, "provider").toUpperCase().replaceAll("-", "_");
  const own = `${name.replace(/^(?=\d)/, "_")}_API_KEY`;
  const key = fields.text("api_key");
  if (key !== null) {
    const spot = fields.spot("api_key");
    const variable = secrets.literal(key, usual ?? own, spot);
    report.add("decide", spot, `this line holds a key: put it into the environment as \`${variable}\``);
    return variable;
  }
  if (usual === null && preset !== null) return null;
  if (usual !== null && isVendor) return secrets.named(usual);
  const spot = fields.spot(fields.has("virtual_key") ? "virtual_key" : "provider");
  const changed = `a provider row with its own credential: put the key into the environment as \`${own}\``;
  report.add("changed", spot, changed);
  return secrets.named(own);
}
