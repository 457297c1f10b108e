import type { JsonObject, JsonValue } from "../../../canon/json.ts";
import { hostEvidence } from "../../../compile/checks/region-evidence.ts";
import { presetOf } from "../../../compile/presets/presets.ts";
import { baseUrlOf, transportOf } from "../estate/addresses.ts";
import { keyedAuth, presetVariable } from "../estate/authentication.ts";
import type { Estate } from "../estate/estate.ts";
import { asWord } from "../estate/names.ts";
import { OWN, placeOf, UNSTATED } from "../estate/place.ts";
import type { PlannedProvider } from "../estate/rows.ts";
import { type Fields, isReference } from "../source/fields.ts";
import { cloudAuth } from "./cloud-auth.ts";
import { type LiteLlmProvider, PROVIDERS, splitModel } from "./provider-table.ts";
import { plainText, variableOf } from "./secret-fields.ts";

/** A model at a provider, as one row of `model_list` means it. */
export interface Connection {
  readonly provider: PlannedProvider;
  /** The provider's name of the model. */
  readonly upstream: string;
}

/** How the wire protocol differs by the kind of call. */
const RESPONSES: Readonly<Record<string, string>> = {
  openai: "openai-responses",
  "azure-openai": "azure-openai-responses",
};

/** Azure's versions from which its `v1` path is meant. */
const V1_VERSIONS = /^(?:v1|preview|latest|none)$/;

/** @returns why there is no row, for what nothing here speaks. */
export function connectionOf(params: Fields, mode: string, region: string | null, estate: Estate): Connection | string {
  const written = plainText(params, "model", estate, "the model");
  if (written === null) return "`litellm_params.model` does not say which model is called";
  const { provider: prefix, name } = splitModel(written, params.text("custom_llm_provider"));
  const row = prefix !== null && Object.hasOwn(PROVIDERS, prefix) ? PROVIDERS[prefix] : undefined;
  if (row === undefined || prefix === null)
    return "this provider of LiteLLM has no preset here; if it speaks OpenAI's protocol, write `openai/` before the model and set `api_base`";
  const form = row.models?.find((one) => one.form.test(name));
  if (form?.refused !== undefined) return form.refused;
  const bare = name.replace(/^(?:converse|converse_like|invoke|chat|rerank)\//, "");
  const isResponses = mode === "responses" || bare.startsWith("responses/");
  const upstream = bare.replace(/^responses\//, "");
  const base = addressOf(params, row, prefix, estate);
  const preset = presetFor({ row, form, isResponses, base, params });
  const bits = { params, row, prefix, preset, form, mode, base, region, estate };
  const provider = providerOf(bits);
  if (!/^[!-~]{1,256}$/.test(upstream)) return "the name of the model has spaces, or more than 256 characters";
  return { provider, upstream };
}

interface Bits {
  readonly params: Fields;
  readonly row: LiteLlmProvider;
  readonly prefix: string;
  readonly preset: string | null;
  readonly form: NonNullable<LiteLlmProvider["models"]>[number] | undefined;
  readonly mode: string;
  readonly base: string | null;
  readonly region: string | null;
  readonly estate: Estate;
}

function presetFor({
  row,
  form,
  isResponses,
  base,
  params,
}: Pick<Bits, "row" | "form" | "base" | "params"> & { readonly isResponses: boolean }): string | null {
  const own = form === undefined ? row.preset : form.preset;
  if (isResponses && own !== null && Object.hasOwn(RESPONSES, own)) return RESPONSES[own] ?? own;
  if (own === "azure-openai") {
    const version = params.text("api_version");
    return version === null || V1_VERSIONS.test(version) ? own : "azure-openai-deployments";
  }
  // OpenAI's protocol at another host: nothing of OpenAI's own members may be sent there.
  if (own === "openai" && base !== null && !/\.openai\.com(?:\/|$)/.test(base)) return null;
  return own;
}

/** Base URL without what the preset adds to it; `null` where the preset's is meant. */
function addressOf(params: Fields, row: LiteLlmProvider, prefix: string, estate: Estate): string | null {
  const name = params.has("api_base") ? "api_base" : "base_url";
  const item = params.item(name);
  params.item("base_url");
  if (item === null) return row.base ?? null;
  if (isReference(item.node)) {
    estate.report.add("decide", item, "the address is read from the environment there; write it into routes.yaml");
    return row.base ?? null;
  }
  const text = params.text(name);
  if (text === null) return null;
  const url = baseUrlOf(text, item, estate, row.path ?? "");
  if (url === null) return row.base ?? null;
  if (row.preset === "azure-openai") return url.replace(/\/openai(?:\/v1|\/deployments\/.*)?$/, "");
  if (prefix === "azure_ai") return `${new URL(url).origin}/openai/v1`;
  if (row.preset === "anthropic" || row.preset === "cohere") return url.replace(/\/v[12]$/, "");
  return url;
}

function providerOf(bits: Bits): PlannedProvider {
  const { params, row, preset, form, estate, prefix, region } = bits;
  const version = azureVersion(bits);
  const facts = preset === null ? null : (presetOf(preset) ?? null);
  const cloud = cloudAuth(params, prefix, form?.row, estate);
  const place = placeOf(facts, cloud?.baseUrl ?? azureBase(bits), cloud?.region ?? region);
  const base =
    cloud === null && place.baseUrl === null && preset === null ? "https://RESOURCE.example.com/v1" : place.baseUrl;
  const spot = params.has("api_base") ? params.spot("api_base") : params;
  const address = transportOf(base, place.isPrivate, spot, estate);
  if (place.doubt !== null) estate.report.add("decide", spot, place.doubt);
  const own = form === undefined || form.row !== undefined ? (form?.row ?? row.row) : undefined;
  const shape: JsonObject =
    preset === null ? (own ?? row.row ?? { dialect: "openai-chat", flags: ["no_store_field"] }) : (own ?? {});
  const suggested = row.variable ?? presetVariable(preset) ?? `${prefix.toUpperCase()}_API_KEY`;
  const auth = cloud?.auth ?? keyOf(bits, suggested, place.isPrivate || place.region === OWN);
  return estate.provider({
    preset,
    name: nameOf(preset ?? prefix, place.region, address.base_url ?? null),
    row: {
      ...address,
      ...shape,
      ...(version === null ? {} : { api_version: version }),
      ...auth,
    },
    region: place.region,
    spot: params,
  });
}

/** The version that the deployment paths are called with; `null` for the `v1` path, which has none. */
function azureVersion({ params, preset, estate }: Bits): string | null {
  const version = plainText(params, "api_version", estate, "the version");
  if (version === null) return null;
  const spot = params.spot("api_version");
  if (preset !== "azure-openai-deployments") {
    estate.report.add(
      preset?.startsWith("azure") === true ? "carried" : "left_out",
      spot,
      "the `v1` path needs no version",
    );
    return null;
  }
  if (/^[a-z0-9][a-z0-9.-]{0,63}$/.test(version)) {
    estate.report.add("carried", spot, "`api_version` of the provider");
    return version;
  }
  estate.findings.add("WRONG_VALUE", spot.at, "this is no version of Azure's interface", "such as `2024-10-21`");
  return null;
}

function azureBase({ base, preset }: Bits): string | null {
  if (base === null || preset?.startsWith("azure-openai") !== true) return base;
  return `${base}/openai${preset === "azure-openai-deployments" ? "" : "/v1"}`;
}

function keyOf(bits: Bits, suggested: string, isOwn: boolean): { readonly auth?: JsonValue } {
  const { params, preset, estate, row } = bits;
  const token = params.has("azure_ad_token") ? variableOf(params, "azure_ad_token", "AZURE_AD_TOKEN", estate) : null;
  if (token !== null && token !== "none") return { auth: { bearer: { env: token.variable } } };
  const key = variableOf(params, "api_key", suggested, estate);
  if (key === "none") return keyedAuth(preset, null);
  if (key !== null) return keyedAuth(preset, key.variable);
  const wantsKey = row.variable !== undefined || presetVariable(preset) !== null;
  if (!wantsKey || (preset === null && isOwn)) return keyedAuth(preset, null);
  return keyedAuth(preset, estate.secrets.named(suggested));
}

function nameOf(base: string, region: string, address: string | null): string {
  const label = address === null ? null : labelOf(new URL(address).hostname);
  if (label !== null) return asWord(`${base}-${label}`, base);
  const isPlain = region === "global" || region === OWN || region === UNSTATED;
  return asWord(isPlain ? base : `${base}-${region}`, base);
}

/** The word of a host that tells one account or server from another; `null` for addresses. */
function labelOf(hostname: string): string | null {
  if (hostEvidence(hostname) !== null) return null;
  if (/^[\d.]+$|^\[|^localhost$/.test(hostname)) return null;
  const [first = ""] = hostname.split(".");
  return /^(?:api|www|inference)$/.test(first) || first === first.toUpperCase() ? null : first;
}
