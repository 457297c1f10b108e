import type { JsonObject } from "../../../canon/json.ts";
import { hostEvidence, modelIdEvidence } from "../../../compile/checks/regions.ts";
import { presetOf } from "../../../compile/presets.ts";
import type { ImportedConfiguration } from "../configuration/imported-configuration.ts";
import {
  type Address,
  baseUrlOf,
  missingAddress,
  ON_PREMISES,
  placeProvider,
  presetAt,
  UNSTATED,
} from "../configuration/provider-location.ts";
import {
  asId,
  keyedAuth,
  literalKey,
  isKeyPlaceholder,
  MISSING_KEY,
  type PlannedProvider,
  presetVariable,
} from "../configuration/rows.ts";
import table from "./providers.json" with { type: "json" };
import { type Fields, isReference, type Item, REFERENCE, rowOf } from "../source.ts";

/** A provider of LiteLLM, as a row of routes.yaml. */
interface LiteLlmProvider {
  /** `null`: a server of OpenAI's protocol of which nothing more is known. */
  readonly preset: string | null;
  /** Variable that LiteLLM reads where `api_key` is absent. Default: the preset's. */
  readonly variable?: string;
  /** Base URL where `api_base` is absent and the preset has none. */
  readonly base?: string;
  /** LiteLLM has no address for these servers: without `api_base` it reads one from a variable. */
  readonly hasNoDefault?: boolean;
  /** End of `api_base` that is not part of `base_url`, as a regular expression. */
  readonly trim?: string;
  /** Path to append after that. */
  readonly path?: string;
  /** A gateway: its address does not show where requests are processed. */
  readonly forwards?: boolean;
  /** Preset for calls of the kind `responses`. */
  readonly responses?: string;
  /** Preset and path for calls with an `api_version` that names a day. */
  readonly versioned?: { readonly preset: string; readonly path: string };
  /** A key of {@link CLOUDS}: authenticated by cloud credentials instead of a key. */
  readonly cloud?: string;
  /** Keys of the provider row. */
  readonly row?: JsonObject;
  /** Rows for some of its models, or why they cannot be served; the first match wins. */
  readonly models?: readonly {
    /** A regular expression. */
    readonly form: string;
    readonly preset: string | null;
    readonly row?: JsonObject | undefined;
    readonly refused?: string | undefined;
  }[];
}

/** By the prefix of `litellm_params.model`. */
const PROVIDERS: Readonly<Record<string, LiteLlmProvider>> = table.providers;

const CLOUDS: Readonly<Record<string, typeof connectAmazon>> = {
  amazon: connectAmazon,
  google: connectGoogle,
};

/**
 * Provider and model of `litellm_params.model`. The prefix is empty where none is known.
 *
 * @param custom `custom_llm_provider`.
 */
export function splitModel(model: string, custom: string | null) {
  const [first = "", ...rest] = model.split("/");
  const isPrefixed =
    rest.length > 0 && (custom === null ? Object.hasOwn(PROVIDERS, first) : first === custom);
  const prefixName = isPrefixed
    ? first
    : (custom ?? table.unprefixed.find(({ form }) => new RegExp(form).test(model))?.prefix);
  const prefix = prefixName ?? (rest.length > 0 ? first : "");
  return {
    prefix,
    row: rowOf(PROVIDERS, prefix),
    name: rest.length > 0 && first === prefix ? rest.join("/") : model,
  };
}

/** Parts of the file that rows refer to. */
export interface Surroundings {
  /** `credential_list`, by name. */
  readonly credentials: ReadonlyMap<string, Fields>;
  /** `environment_variables`, which LiteLLM sets before it reads anything else. */
  readonly environment: Fields;
  /** `litellm_settings`; its `api_base` is the default of all rows. */
  readonly settings: Fields;
}

/** A model at a provider: one row of `model_list`. */
export interface Connection {
  readonly provider: PlannedProvider;
  /** The provider's name of the model. */
  readonly upstream: string;
}

/** Azure's versions that mean its `v1` path. */
const V1_VERSIONS = /^(?:v1|preview|latest|none)$/;

/** @returns the reason where no dialect fits the provider. */
export function connectionOf(
  params: Fields,
  mode: string,
  region: string | null,
  surroundings: Surroundings,
  imported: ImportedConfiguration,
): Connection | string {
  const modelText = params.plain("model", "the model");
  if (modelText === null) return "`litellm_params.model` does not name the model that is called";
  const { prefix, row, name } = splitModel(modelText, params.text("custom_llm_provider"));
  if (row === undefined)
    return "this provider of LiteLLM has no preset here; if it speaks OpenAI's protocol, write `openai/` before the model and set `api_base`";
  const form = row.models?.find((one) => new RegExp(one.form).test(name));
  if (form?.refused !== undefined) return form.refused;
  const bare = name.replace(/^(?:converse|converse_like|invoke|chat|rerank)\//, "");
  const isResponses = mode === "responses" || bare.startsWith("responses/");
  const upstream = bare.replace(/^responses\//, "");
  const address = addressOf(params, prefix, row, surroundings, imported);
  const missing = address?.missing ?? null;
  const { preset: presetName, path = "" } = presetFor(row, form?.preset, params, isResponses);
  const { preset, row: shape } = presetAt(presetName, address?.base ?? null);
  const facts = presetOf(preset);
  // The preset has a placeholder of its own, in the form of the provider's hosts.
  const connect = rowOf(CLOUDS, row.cloud);
  const hasPlaceholder = connect === undefined && facts?.address !== undefined;
  const base =
    address === null || (missing !== null && hasPlaceholder)
      ? null
      : `${address.base}${address.base.endsWith(path) ? "" : path}`;
  const version = versionOf(params, preset, row);
  const cloud = connect?.(params, form?.row, base, imported);
  const baseUrl = cloud?.baseUrl ?? base;
  const claimed = region ?? (row.forwards === true ? UNSTATED : null);
  const ignoresRegion =
    claimed !== null && cloud === undefined && baseUrl === null && facts?.regions !== undefined;
  // The region of the source does not change the host that is called.
  const location = placeProvider(
    facts,
    baseUrl,
    cloud?.region ?? (ignoresRegion ? null : claimed),
    params.origin("api_base"),
    imported,
  );
  if (ignoresRegion)
    imported.report.add(
      "decide",
      params.origin("region_name"),
      "the address does not pin the region: docs/presets.md has addresses that do",
    );
  const variable = row.variable ?? presetVariable(preset);
  const isKeyOptional =
    variable === null ||
    (preset === null && (location.isPrivate || location.region === ON_PREMISES));
  const provider = imported.provider({
    preset,
    name: nameOf(preset ?? prefix, location.region, missing, location.address.base_url),
    row: {
      ...location.address,
      ...((form === undefined ? row.row : form.row) ?? shape),
      ...(version !== null && { api_version: version }),
      ...(cloud?.auth ??
        keyOf(
          params,
          preset,
          variable ?? `${prefix.toUpperCase()}_API_KEY`,
          isKeyOptional,
          location.isPrivate,
          imported,
        )),
    },
    region: location.region,
    missing,
    origin: params,
  });
  if (!/^[!-~]{1,256}$/.test(upstream))
    return "the name of the model has spaces, or more than 256 characters";
  return { provider, upstream };
}

/**
 * The preset of a row, and the path at the end of its address.
 *
 * @param preset that the form of the model implies.
 */
function presetFor(
  row: LiteLlmProvider,
  preset: string | null | undefined,
  params: Fields,
  isResponses: boolean,
) {
  if (preset !== undefined) return { ...row, preset };
  if (isResponses && row.responses !== undefined) return { ...row, preset: row.responses };
  const version = params.text("api_version");
  return (version !== null && !V1_VERSIONS.test(version) ? row.versioned : undefined) ?? row;
}

/** Members of a row that hold the address. */
export const ADDRESSES = ["api_base", "base_url", "aws_bedrock_runtime_endpoint"];

/** The address before its path; `null`: the preset's. */
function addressOf(
  params: Fields,
  prefix: string,
  row: LiteLlmProvider,
  { environment, settings }: Surroundings,
  imported: ImportedConfiguration,
): Address | null {
  const variable = `${prefix.toUpperCase()}_API_BASE`;
  const source =
    params.first(ADDRESSES) ??
    settings.item("api_base") ??
    environment.first([variable, `${prefix.toUpperCase()}_BASE_URL`]);
  if (source === null) {
    if (row.base !== undefined) return { base: row.base, missing: null };
    if (row.preset !== null && row.hasNoDefault !== true) return null;
    return missingAddress(
      variable,
      params,
      `LiteLLM reads the address from \`${variable}\``,
      imported,
    );
  }
  const text = textOf(source);
  const set = text.startsWith(REFERENCE) ? environment.item(text.slice(REFERENCE.length)) : null;
  const address = baseUrlOf(textOf(set ?? source), source, imported);
  if (address.missing !== null) return address;
  for (const item of [source, set ?? []].flat())
    imported.report.add("carried", item, "`base_url` of the provider");
  return { ...address, base: address.base.replace(new RegExp(row.trim ?? "^"), "") };
}

/** Text of a scalar; other values are no address. */
function textOf({ node }: Item) {
  return node.kind === "scalar" ? String(node.value) : "";
}

/** The version in the path of a deployment; `null` for the `v1` path, which has none. */
function versionOf(
  params: Fields,
  preset: string | null,
  { versioned }: LiteLlmProvider,
): string | null {
  const version = params.plain("api_version", "the version");
  if (version === null) return null;
  if (versioned === undefined || preset !== versioned.preset) {
    const outcome = versioned === undefined ? "left_out" : "carried";
    params.note(outcome, "api_version", "the path that is called needs no version");
    return null;
  }
  if (!/^[a-z0-9][a-z0-9.-]{0,63}$/.test(version)) {
    params.wrong("api_version", "this is not a version of Azure's API", "such as `2024-10-21`");
    return null;
  }
  params.note("carried", "api_version", "`api_version` of the provider");
  return version;
}

/** @param isKeyOptional whether the server needs no key where the source has none. */
function keyOf(
  params: Fields,
  preset: string | null,
  suggested: string,
  isKeyOptional: boolean,
  isPrivate: boolean,
  imported: ImportedConfiguration,
) {
  const token = variableOf(params, "azure_ad_token", "AZURE_AD_TOKEN", imported);
  if (token !== null) return { auth: { bearer: { env: token } } };
  const variable = variableOf(params, "api_key", suggested, imported);
  if (variable !== null || params.has("api_key")) return keyedAuth(preset, variable);
  if (!isKeyOptional) return keyedAuth(preset, imported.secrets.ofName(suggested));
  if (preset === null || !isPrivate) imported.report.add("decide", params, MISSING_KEY);
  return keyedAuth(preset, null);
}

/**
 * The variable of a key of the source; `null` for an absent key and a placeholder.
 *
 * @param suggested name for a literal key.
 */
function variableOf(
  fields: Fields,
  name: string,
  suggested: string,
  { secrets }: ImportedConfiguration,
): string | null {
  const text = fields.text(name);
  if (text === null) return null;
  if (text.startsWith(REFERENCE)) {
    const variable = secrets.ofName(text.slice(REFERENCE.length));
    if (variable !== null) fields.note("carried", name, `environment variable \`${variable}\``);
    else fields.note("decide", name, `names no environment variable; \`${suggested}\` is written`);
    return variable ?? secrets.ofName(suggested) ?? suggested;
  }
  if (!isKeyPlaceholder(text)) return literalKey(fields, name, suggested, secrets);
  fields.note("carried", name, "no key: `auth: none`");
  return null;
}

function nameOf(
  base: string,
  region: string,
  missing: string | null,
  address: string | undefined,
): string {
  const label = missing ?? (address === undefined ? null : labelOf(new URL(address).hostname));
  if (label !== null) return asId(`${base}-${label}`, base);
  return asId(
    ["global", ON_PREMISES, UNSTATED].includes(region) ? base : `${base}-${region}`,
    base,
  );
}

/** The part of a host that distinguishes accounts or servers; `null` for IP addresses. */
function labelOf(hostname: string): string | null {
  if (hostEvidence(hostname) !== null || /^[\d.]+$|^\[|^localhost$/.test(hostname)) return null;
  const [first = ""] = hostname.split(".");
  return /^(?:api|www|inference)$/.test(first) || first === first.toUpperCase() ? null : first;
}

/** Parts of a key, which the row reads from the variables of AWS's own tools. */
const AWS_KEYS = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"];

/**
 * Address, region and credentials at a cloud.
 *
 * @param row keys that the row has instead of a preset.
 * @param base address of the source.
 */
function connectAmazon(
  params: Fields,
  row: JsonObject | undefined,
  base: string | null,
  { report, secrets }: ImportedConfiguration,
): {
  readonly auth: { readonly auth?: JsonObject };
  readonly region: string | null;
  readonly baseUrl: string | null;
} {
  const region = namedRegion(
    params,
    "aws_region_name",
    /^[a-z]{2}(?:-[a-z]+){1,3}-\d{1,2}$/,
    "eu-west-1",
  );
  if (region === null && base === null)
    report.add(
      "decide",
      params,
      "LiteLLM reads the region from AWS_REGION_NAME: write it into `base_url` and `region`",
    );
  const [model = ""] = (params.text("model") ?? "").split("/").slice(-1);
  const shown = region ?? modelIdEvidence(model)?.location.at(-1) ?? null;
  for (const name of AWS_KEYS) {
    const item = params.item(name);
    if (item === null) continue;
    const variable = name.toUpperCase();
    const text = params.text(name) ?? "";
    if (isReference(item.node)) secrets.ofName(variable);
    else secrets.literal(text, variable, item);
    if (text === `${REFERENCE}${variable}`)
      params.note("carried", name, `environment variable \`${variable}\``);
    else
      params.note(
        "decide",
        name,
        `calls are signed with the key in \`${variable}\`, one for all rows of AWS: put it there, or use a role`,
      );
  }
  const profile = params.plain("aws_profile_name", "the profile");
  const credentials =
    profile !== null ? "shared_file" : params.has("aws_role_name") ? "web_identity" : "env";
  // A private host does not show for which region calls are signed.
  const isOwnHost = base !== null && hostEvidence(new URL(base).hostname) === null;
  const signing = {
    service: "bedrock",
    credentials,
    ...(profile !== null && /^[A-Za-z0-9_@+.%:/-]{1,128}$/.test(profile) && { profile }),
    ...(isOwnHost && { region: region ?? "us-east-1" }),
  };
  const usesDefaultAuth = credentials === "env" && row === undefined && !isOwnHost;
  const host = row?.dialect === "bedrock-rerank" ? "bedrock-agent-runtime" : "bedrock-runtime";
  const hasPresetHost = row === undefined && shown !== null;
  return {
    auth: usesDefaultAuth ? {} : { auth: { aws_sigv4: signing } },
    region: shown,
    baseUrl: base ?? (hasPresetHost ? null : `https://${host}.${region ?? "REGION"}.amazonaws.com`),
  };
}

/** A region that becomes part of a host: any other text is a finding. */
function namedRegion(params: Fields, name: string, form: RegExp, example: string): string | null {
  const text = params.plain(name, "the region");
  if (text === null || form.test(text)) return text;
  params.wrong(name, "this is not a region of this cloud", `such as \`${example}\``);
  return null;
}

function connectGoogle(
  ...[params, , base, { report }]: Parameters<typeof connectAmazon>
): ReturnType<typeof connectAmazon> {
  const project = params.plain("vertex_project", "the project") ?? "PROJECT";
  const region = namedRegion(
    params,
    "vertex_location",
    /^(?:global|us|eu|[a-z]+-[a-z]+\d{1,2})$/,
    "europe-west4",
  );
  const hasLocation = params.has("vertex_location");
  if (!hasLocation)
    report.add(
      "decide",
      params,
      "no location is given: `us-central1`, LiteLLM's default, is written",
    );
  if (project === "PROJECT")
    report.add("decide", params, "no project is given: replace PROJECT with yours");
  // A location that the environment has is not LiteLLM's default.
  const location = region ?? (hasLocation ? "REGION" : "us-central1");
  const owner = /(?:^|\/)claude/.test(params.text("model") ?? "") ? "anthropic" : "google";
  const safe = /^[A-Za-z0-9:._-]{1,100}$/.test(project) ? project : "PROJECT";
  return {
    auth: googleCredentials(params),
    region: location === "REGION" ? null : location,
    // Calls meant for an address of the source must not reach Google's.
    baseUrl:
      base ??
      `https://${location === "global" ? "" : `${location}-`}aiplatform.googleapis.com/v1/projects/${safe}/locations/${location}/publishers/${owner}`,
  };
}

function googleCredentials(params: Fields) {
  const item = params.item("vertex_credentials");
  if (item === null) return {};
  const file = textOf(item);
  if (isReference(item.node) || !/^(?!\/|.*\.\.)[^\s{}]{1,1024}$/.test(file)) {
    params.note(
      "decide",
      "vertex_credentials",
      "`credentials: adc` reads the file that GOOGLE_APPLICATION_CREDENTIALS names: set it to the path of this account's file",
    );
    return {};
  }
  params.note(
    "carried",
    "vertex_credentials",
    "`google_oauth: { credentials: { file: … } }`; the path is relative to routes.yaml",
  );
  return { auth: { google_oauth: { credentials: { file } } } };
}
