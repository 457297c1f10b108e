import type { JsonObject, JsonValue } from "../../../canon/json.ts";
import { hostEvidence } from "../../../compile/checks/regions.ts";
import { presetOf } from "../../../compile/presets.ts";
import {
  type Address,
  baseUrlOf,
  missingAddress,
  OWN,
  presetAt,
  providerLocation,
  transportOf,
  UNSTATED,
} from "../configuration/provider-location.ts";
import { keyedAuth, presetVariable } from "../configuration/secrets.ts";
import type { ImportedConfiguration } from "../configuration/imported-configuration.ts";
import { asId } from "../configuration/names.ts";
import type { PlannedProvider } from "../configuration/rows.ts";
import type { Fields, Item } from "../fields.ts";
import { cloudAuth } from "./cloud-auth.ts";
import { type LiteLlmProvider, PROVIDERS, splitModel } from "./provider-table.ts";
import { plainText, REFERENCE, variableOf } from "./secret-fields.ts";

/** A model at a provider, as one row of `model_list` means it. */
export interface Connection {
  readonly provider: PlannedProvider;
  /** The provider's name of the model. */
  readonly upstream: string;
}

/** Parts of the file that rows refer to. */
export interface Surroundings {
  /** `credential_list`, by name. */
  readonly credentials: ReadonlyMap<string, Fields>;
  /** `environment_variables`, which LiteLLM sets before it reads anything else. */
  readonly environment: Fields | null;
  /** `litellm_settings`; its `api_base` is of all rows that have none. */
  readonly settings: Fields | null;
}

/** Azure's versions from which its `v1` path is meant. */
const V1_VERSIONS = /^(?:v1|preview|latest|none)$/;

/** @returns why there is no row, for what nothing here speaks. */
export function connectionOf(
  params: Fields,
  mode: string,
  region: string | null,
  surroundings: Surroundings,
  imported: ImportedConfiguration,
): Connection | string {
  const written = plainText(params, "model", imported, "the model");
  if (written === null) return "`litellm_params.model` does not name the model that is called";
  const { provider: prefix, name } = splitModel(written, params.text("custom_llm_provider"));
  imported.report.addMembers("carried", params, ["custom_llm_provider"], "provider of the endpoint");
  const row = prefix !== null && Object.hasOwn(PROVIDERS, prefix) ? PROVIDERS[prefix] : undefined;
  if (row === undefined || prefix === null)
    return "this provider of LiteLLM has no preset here; if it speaks OpenAI's protocol, write `openai/` before the model and set `api_base`";
  const form = row.models?.find((one) => one.form.test(name));
  if (form?.refused !== undefined) return form.refused;
  const bare = name.replace(/^(?:converse|converse_like|invoke|chat|rerank)\//, "");
  const isResponses = mode === "responses" || bare.startsWith("responses/");
  const upstream = bare.replace(/^responses\//, "");
  const address = addressOf(params, prefix, row, surroundings, imported);
  const missing = address?.missing ?? null;
  const { preset: named, path } = presetFor({ row, form, params }, isResponses);
  const { preset, row: shape } = presetAt(named, address?.base ?? null);
  // The preset has a placeholder of its own, in the form of the provider's hosts.
  const hasForm = row.cloud === undefined && preset !== null && presetOf(preset)?.address !== undefined;
  const base = address === null || (missing !== null && hasForm) ? null : withPath(address.base, path);
  const provider = providerOf({ params, row, prefix, preset, shape, form, base, missing, region, imported });
  if (!/^[!-~]{1,256}$/.test(upstream)) return "the name of the model has spaces, or more than 256 characters";
  return { provider, upstream };
}

interface Bits {
  readonly params: Fields;
  readonly row: LiteLlmProvider;
  readonly prefix: string;
  readonly preset: string | null;
  /** Keys of the row instead of a preset. */
  readonly shape: JsonObject;
  readonly form: NonNullable<LiteLlmProvider["models"]>[number] | undefined;
  readonly base: string | null;
  readonly missing: string | null;
  readonly region: string | null;
  readonly imported: ImportedConfiguration;
}

/** The preset of a row, and the path that its address ends with. */
function presetFor(
  { row, form, params }: Pick<Bits, "row" | "form" | "params">,
  isResponses: boolean,
): { readonly preset: string | null; readonly path: string } {
  const path = row.path ?? "";
  if (form !== undefined) return { preset: form.preset, path };
  if (isResponses && row.responses !== undefined) return { preset: row.responses, path };
  const version = params.text("api_version");
  if (row.versioned !== undefined && version !== null && !V1_VERSIONS.test(version)) return row.versioned;
  return { preset: row.preset, path };
}

function withPath(base: string, path: string): string {
  return base.endsWith(path) ? base : `${base}${path}`;
}

/** Members of a row that hold the address. */
export const ADDRESSES = ["api_base", "base_url", "aws_bedrock_runtime_endpoint"];

/** Address before its path; `null` where the preset's is meant. */
function addressOf(
  params: Fields,
  prefix: string,
  row: LiteLlmProvider,
  { environment, settings }: Surroundings,
  imported: ImportedConfiguration,
): Address | null {
  const usual = [`${prefix.toUpperCase()}_API_BASE`, `${prefix.toUpperCase()}_BASE_URL`];
  const first = (fields: Fields | null, names: readonly string[]): Item | null => {
    const name = names.find((one) => fields?.has(one) === true);
    return name === undefined ? null : (fields?.item(name) ?? null);
  };
  const given = first(params, ADDRESSES) ?? first(settings, ["api_base"]) ?? first(environment, usual);
  if (given === null) {
    if (row.base !== undefined) return { base: row.base, missing: null };
    if (row.preset !== null && row.hasNoDefault !== true) return null;
    const why = `LiteLLM reads the address from \`${usual[0]}\``;
    return missingAddress(usual[0] ?? null, params, why, imported.report);
  }
  const written = textOf(given);
  const set = written.startsWith(REFERENCE) ? environment?.item(written.slice(REFERENCE.length)) : null;
  const { base, missing } = baseUrlOf(set === null || set === undefined ? written : textOf(set), given, imported);
  if (missing === null)
    for (const item of [given, set ?? []].flat()) imported.report.add("carried", item, "`base_url` of the provider");
  return { base: missing !== null || row.trim === undefined ? base : base.replace(row.trim, ""), missing };
}

/** Text of a scalar; other values are no address. */
function textOf({ node }: Item): string {
  return node.kind === "scalar" ? String(node.value) : "";
}

function providerOf(bits: Bits): PlannedProvider {
  const { params, row, preset, shape, form, imported, prefix, missing, base: written } = bits;
  const region = bits.region ?? (row.forwards === true ? UNSTATED : null);
  const version = versionOf(bits);
  const facts = preset === null ? null : (presetOf(preset) ?? null);
  const cloud = cloudAuth(params, row.cloud, form?.row, written, imported);
  const given = cloud?.baseUrl ?? written;
  const isNamed = region !== null && cloud === null && given === null && facts?.regions !== undefined;
  // A claim about the region does not change the host that is called.
  const location = providerLocation(facts, given, cloud?.region ?? (isNamed ? null : region));
  const unpinned = "the address does not pin the region: docs/presets.md has addresses that do";
  if (isNamed) imported.report.add("decide", params.spot("region_name"), unpinned);
  const spot = params.has("api_base") ? params.spot("api_base") : params;
  const address = transportOf(location.baseUrl, location.isPrivate, spot, imported);
  if (location.doubt !== null) imported.report.add("decide", spot, location.doubt);
  const own = form === undefined || form.row !== undefined ? (form?.row ?? row.row) : undefined;
  const suggested = row.variable ?? presetVariable(preset) ?? `${prefix.toUpperCase()}_API_KEY`;
  const auth = cloud?.auth ?? keyOf(bits, suggested, location.isPrivate || location.region === OWN);
  return imported.provider({
    preset,
    name: nameOf(preset ?? prefix, location.region, missing, address.base_url ?? null),
    row: {
      ...address,
      ...(own ?? shape),
      ...(version === null ? {} : { api_version: version }),
      ...auth,
    },
    region: location.region,
    missing,
    spot: params,
  });
}

/** The version that the deployment paths are called with; `null` for the `v1` path, which has none. */
function versionOf({ params, preset, row, imported }: Bits): string | null {
  const version = plainText(params, "api_version", imported, "the version");
  if (version === null) return null;
  const spot = params.spot("api_version");
  if (row.versioned === undefined || preset !== row.versioned.preset) {
    const outcome = row.versioned === undefined ? "left_out" : "carried";
    imported.report.add(outcome, spot, "the path that is called needs no version");
    return null;
  }
  if (/^[a-z0-9][a-z0-9.-]{0,63}$/.test(version)) {
    imported.report.add("carried", spot, "`api_version` of the provider");
    return version;
  }
  imported.findings.add("WRONG_VALUE", spot.at, "this is not a version of Azure's API", "such as `2024-10-21`");
  return null;
}

function keyOf(bits: Bits, suggested: string, isOwn: boolean): { readonly auth?: JsonValue } {
  const { params, preset, imported, row } = bits;
  const token = params.has("azure_ad_token") ? variableOf(params, "azure_ad_token", "AZURE_AD_TOKEN", imported) : null;
  if (token !== null && token !== "none") return { auth: { bearer: { env: token.variable } } };
  const key = variableOf(params, "api_key", suggested, imported);
  if (key === "none") return keyedAuth(preset, null);
  if (key !== null) return keyedAuth(preset, key.variable);
  const wantsKey = row.variable !== undefined || presetVariable(preset) !== null;
  if (!wantsKey || (preset === null && isOwn)) return keyedAuth(preset, null);
  return keyedAuth(preset, imported.secrets.named(suggested));
}

function nameOf(base: string, region: string, missing: string | null, address: string | null): string {
  const label = missing ?? (address === null ? null : labelOf(new URL(address).hostname));
  if (label !== null) return asId(`${base}-${label}`, base);
  const isPlain = region === "global" || region === OWN || region === UNSTATED;
  return asId(isPlain ? base : `${base}-${region}`, base);
}

/** The part of a host that distinguishes accounts or servers; `null` for addresses. */
function labelOf(hostname: string): string | null {
  if (hostEvidence(hostname) !== null) return null;
  if (/^[\d.]+$|^\[|^localhost$/.test(hostname)) return null;
  const [first = ""] = hostname.split(".");
  return /^(?:api|www|inference)$/.test(first) || first === first.toUpperCase() ? null : first;
}
