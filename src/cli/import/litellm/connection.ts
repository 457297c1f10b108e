import type { JsonObject, JsonValue } from "../../../canon/json.ts";
import { type ConfigNode, scalars } from "../../../compile/authored/tree.ts";
import { hostEvidence, modelIdEvidence } from "../../../compile/checks/regions.ts";
import { presetOf } from "../../../compile/presets.ts";
import type { Findings } from "../../../compile/findings/findings.ts";
import type { ImportedConfiguration } from "../configuration/imported-configuration.ts";
import {
  type Address,
  baseUrlOf,
  missingAddress,
  OWN,
  placeProvider,
  presetAt,
  UNSTATED,
} from "../configuration/provider-location.ts";
import {
  asId,
  keyedAuth,
  meansNoKey,
  MISSING_KEY,
  type PlannedProvider,
  presetVariable,
  type Secrets,
} from "../configuration/rows.ts";
import { type Fields, isReference, type Item, REFERENCE } from "../source.ts";
import { type LiteLlmProvider, splitModel } from "./provider-table.ts";

/** A model at a provider: one row of `model_list`. */
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
  readonly environment: Fields;
  /** `litellm_settings`; its `api_base` is of all rows that have none. */
  readonly settings: Fields;
}

/** Azure's versions from which its `v1` path is meant. */
const V1_VERSIONS = /^(?:v1|preview|latest|none)$/;

/** @returns the reason where no dialect speaks with the provider. */
export function connectionOf(
  params: Fields,
  mode: string,
  region: string | null,
  surroundings: Surroundings,
  imported: ImportedConfiguration,
): Connection | string {
  const { report } = imported;
  const written = params.plain("model", "the model");
  if (written === null) return "`litellm_params.model` does not name the model that is called";
  const { prefix, row, name } = splitModel(written, params.text("custom_llm_provider"));
  params.note("carried", "custom_llm_provider", "provider of the endpoint");
  if (row === undefined)
    return "this provider of LiteLLM has no preset here; if it speaks OpenAI's protocol, write `openai/` before the model and set `api_base`";
  const form = row.models?.find((one) => one.form.test(name));
  if (form?.refused !== undefined) return form.refused;
  const bare = name.replace(/^(?:converse|converse_like|invoke|chat|rerank)\//, "");
  const isResponses = mode === "responses" || bare.startsWith("responses/");
  const upstream = bare.replace(/^responses\//, "");
  const address = addressOf(params, prefix, row, surroundings, imported);
  const missing = address?.missing ?? null;
  const { preset: named, path = "" } = presetFor(row, form?.preset, params, isResponses);
  const { preset, row: shape } = presetAt(named, address?.base ?? null);
  const facts = presetOf(preset);
  // The preset has a placeholder of its own, in the form of the provider's hosts.
  const hasForm = row.cloud === undefined && facts?.address !== undefined;
  const base =
    address === null || (missing !== null && hasForm) ? null : withPath(address.base, path);
  const version = versionOf(params, preset, row, imported);
  const cloud =
    row.cloud === undefined ? null : CLOUDS[row.cloud](params, form?.row, base, imported);
  const given = cloud?.baseUrl ?? base;
  const claimed = region ?? (row.forwards === true ? UNSTATED : null);
  const isNamed =
    claimed !== null && cloud === null && given === null && facts?.regions !== undefined;
  const spot = params.spot("api_base");
  // A claim about the region does not change the host that is called.
  const location = placeProvider(
    facts,
    given,
    cloud?.region ?? (isNamed ? null : claimed),
    spot,
    imported,
  );
  const unpinned = "the address does not pin the region: docs/presets.md has addresses that do";
  if (isNamed) report.add("decide", params.spot("region_name"), unpinned);
  const suggested = row.variable ?? presetVariable(preset) ?? `${prefix.toUpperCase()}_API_KEY`;
  const wantsKey = row.variable !== undefined || presetVariable(preset) !== null;
  const isOpen = !wantsKey || (preset === null && (location.isPrivate || location.region === OWN));
  const provider = imported.provider({
    preset,
    name: nameOf(preset ?? prefix, location.region, missing, location.address.base_url),
    row: {
      ...location.address,
      ...((form === undefined ? row.row : form.row) ?? shape),
      ...(version !== null && { api_version: version }),
      ...(cloud?.auth ?? keyOf(params, preset, suggested, isOpen, location.isPrivate, imported)),
    },
    region: location.region,
    missing,
    spot: params,
  });
  if (!/^[!-~]{1,256}$/.test(upstream))
    return "the name of the model has spaces, or more than 256 characters";
  return { provider, upstream };
}

/**
 * The preset of a row, and the path that its address ends with. @param preset for models of this
 * form.
 */
function presetFor(
  row: LiteLlmProvider,
  preset: string | null | undefined,
  params: Fields,
  isResponses: boolean,
): Pick<LiteLlmProvider, "preset" | "path"> {
  if (preset !== undefined) return { ...row, preset };
  if (isResponses && row.responses !== undefined) return { ...row, preset: row.responses };
  const version = params.text("api_version");
  return row.versioned !== undefined && version !== null && !V1_VERSIONS.test(version)
    ? row.versioned
    : row;
}

function withPath(base: string, path: string): string {
  return base.endsWith(path) ? base : `${base}${path}`;
}

/** Members of a row that hold the address. */
export const ADDRESSES = ["api_base", "base_url", "aws_bedrock_runtime_endpoint"];

/** Address before its path; `null`: the preset's. */
function addressOf(
  params: Fields,
  prefix: string,
  row: LiteLlmProvider,
  { environment, settings }: Surroundings,
  imported: ImportedConfiguration,
): Address | null {
  const usual = `${prefix.toUpperCase()}_API_BASE`;
  const first = (fields: Fields, names: readonly string[]): Item | null => {
    const name = names.find((one) => fields.has(one));
    return name === undefined ? null : fields.item(name);
  };
  const given =
    first(params, ADDRESSES) ??
    settings.item("api_base") ??
    first(environment, [usual, `${prefix.toUpperCase()}_BASE_URL`]);
  if (given === null) {
    if (row.base !== undefined) return { base: row.base, missing: null };
    if (row.preset !== null && row.hasNoDefault !== true) return null;
    return missingAddress(usual, params, `LiteLLM reads the address from \`${usual}\``, imported);
  }
  const written = textOf(given);
  const set = written.startsWith(REFERENCE)
    ? environment.item(written.slice(REFERENCE.length))
    : null;
  const { base, missing } = baseUrlOf(textOf(set ?? given), given, imported);
  if (missing !== null) return { base, missing };
  for (const item of [given, set ?? []].flat())
    imported.report.add("carried", item, "`base_url` of the provider");
  return { base: row.trim === undefined ? base : base.replace(row.trim, ""), missing };
}

/** Text of a scalar; other values are no address. */
function textOf({ node }: Item): string {
  return node.kind === "scalar" ? String(node.value) : "";
}

/**
 * The version that the deployment paths are called with; `null` for the `v1` path, which has none.
 */
function versionOf(
  params: Fields,
  preset: string | null,
  { versioned }: LiteLlmProvider,
  { findings }: ImportedConfiguration,
): string | null {
  const version = params.plain("api_version", "the version");
  if (version === null) return null;
  if (versioned === undefined || preset !== versioned.preset) {
    const outcome = versioned === undefined ? "left_out" : "carried";
    params.note(outcome, "api_version", "the path that is called needs no version");
    return null;
  }
  if (/^[a-z0-9][a-z0-9.-]{0,63}$/.test(version)) {
    params.note("carried", "api_version", "`api_version` of the provider");
    return version;
  }
  const { at } = params.spot("api_version");
  findings.add("WRONG_VALUE", at, "this is not a version of Azure's API", "such as `2024-10-21`");
  return null;
}

/** @param isOpen whether the server needs no key where the source has none. */
function keyOf(
  params: Fields,
  preset: string | null,
  suggested: string,
  isOpen: boolean,
  isPrivate: boolean,
  { report, secrets }: ImportedConfiguration,
): { readonly auth?: JsonValue } {
  const token = params.has("azure_ad_token")
    ? variableOf(params, "azure_ad_token", "AZURE_AD_TOKEN", secrets)
    : null;
  if (token !== null) return { auth: { bearer: { env: token } } };
  const variable = variableOf(params, "api_key", suggested, secrets);
  if (variable !== null || params.has("api_key")) return keyedAuth(preset, variable);
  if (!isOpen) return keyedAuth(preset, secrets.named(suggested));
  if (preset === null || !isPrivate) report.add("decide", params, MISSING_KEY);
  return keyedAuth(preset, null);
}

/** Keeps literal keys away from the variables that the source names. */
export function reserveVariables(tree: ConfigNode, secrets: Secrets): void {
  for (const { node } of scalars(tree)) {
    if (isReference(node)) secrets.reserve(String(node.value).slice(REFERENCE.length));
  }
}

/**
 * The variable of a key of the source; `null` where it is absent, and where the source states that
 * the server wants no key.
 *
 * @param suggested name for a literal key.
 */
function variableOf(
  fields: Fields,
  name: string,
  suggested: string,
  secrets: Secrets,
): string | null {
  const text = fields.text(name);
  if (text === null) return null;
  if (text.startsWith(REFERENCE)) {
    const variable = secrets.named(text.slice(REFERENCE.length));
    if (variable !== null) fields.note("carried", name, `environment variable \`${variable}\``);
    else fields.note("decide", name, `names no environment variable; \`${suggested}\` is written`);
    return variable ?? secrets.named(suggested) ?? suggested;
  }
  if (meansNoKey(text)) {
    fields.note("carried", name, "no key: `auth: none`");
    return null;
  }
  const variable = secrets.literal(text, suggested, fields.spot(name));
  fields.note(
    "decide",
    name,
    `this line holds a key: put it into the environment as \`${variable}\``,
  );
  return variable;
}

function nameOf(
  base: string,
  region: string,
  missing: string | null,
  address: string | undefined,
): string {
  const label = missing ?? (address === undefined ? null : labelOf(new URL(address).hostname));
  if (label !== null) return asId(`${base}-${label}`, base);
  return asId(["global", OWN, UNSTATED].includes(region) ? base : `${base}-${region}`, base);
}

/** The part of a host that distinguishes accounts or servers; `null` for addresses. */
function labelOf(hostname: string): string | null {
  if (hostEvidence(hostname) !== null || /^[\d.]+$|^\[|^localhost$/.test(hostname)) return null;
  const [first = ""] = hostname.split(".");
  return /^(?:api|www|inference)$/.test(first) || first === first.toUpperCase() ? null : first;
}

/** A provider of a cloud with credentials of its own. */
interface CloudConnection {
  readonly auth: { readonly auth?: JsonObject };
  readonly region: string | null;
  readonly baseUrl: string | null;
}

/** @param row keys that the row has instead of a preset. @param base address of the source. */
type ConnectCloud = (
  params: Fields,
  row: JsonObject | undefined,
  base: string | null,
  imported: ImportedConfiguration,
) => CloudConnection;

const CLOUDS: Readonly<Record<NonNullable<LiteLlmProvider["cloud"]>, ConnectCloud>> = {
  sigv4: connectAmazon,
  oauth: connectGoogle,
};

/** Parts of a key, which the row reads from the variables of AWS's own tools. */
const AWS_KEYS = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"];

const ROLE_KEYS = [
  "aws_session_name",
  "aws_web_identity_token",
  "aws_sts_endpoint",
  "aws_external_id",
];

function connectAmazon(
  ...[params, row, base, { findings, report, secrets }]: Parameters<ConnectCloud>
): CloudConnection {
  const region = namedRegion(params, "aws_region_name", AWS_REGION, "eu-west-1", findings);
  if (region !== null)
    params.note("carried", "aws_region_name", "region of the provider, and of its host");
  const shown =
    modelIdEvidence((params.text("model") ?? "").split("/").at(-1) ?? "")?.location.at(-1) ?? null;
  if (region === null && base === null)
    report.add(
      "decide",
      params,
      "LiteLLM reads the region from AWS_REGION_NAME: write it into `base_url` and `region`",
    );
  for (const name of AWS_KEYS) {
    const item = params.item(name);
    if (item === null) continue;
    const variable = name.toUpperCase();
    const text = params.text(name) ?? "";
    if (isReference(item.node)) secrets.named(variable);
    else secrets.literal(text, variable, item);
    const signed = `calls are signed with the key in \`${variable}\`, one for all rows of AWS: put it there, or use a role`;
    if (text === `${REFERENCE}${variable}`)
      params.note("carried", name, `environment variable \`${variable}\``);
    else params.note("decide", name, signed);
  }
  const profile = params.plain("aws_profile_name", "the profile");
  if (profile !== null)
    params.note("carried", "aws_profile_name", "`credentials: shared_file` with the profile");
  const identity =
    "`credentials: web_identity` takes the role of AWS_ROLE_ARN with the token in AWS_WEB_IDENTITY_TOKEN_FILE; set both";
  params.note("changed", "aws_role_name", identity);
  params.note("decide", ROLE_KEYS, "belongs to the role: the platform's own variables have it");
  const credentials =
    profile !== null ? "shared_file" : params.has("aws_role_name") ? "web_identity" : "env";
  // A private host does not show for which region calls are signed.
  const isOwnHost = base !== null && hostEvidence(new URL(base).hostname) === null;
  const isPlain = credentials === "env" && row === undefined && !isOwnHost;
  const signing = {
    service: "bedrock",
    credentials,
    ...(profile !== null && /^[A-Za-z0-9_@+.%:/-]{1,128}$/.test(profile) && { profile }),
    ...(isOwnHost && { region: region ?? "us-east-1" }),
  };
  const host = row?.dialect === "bedrock-rerank" ? "bedrock-agent-runtime" : "bedrock-runtime";
  const isPreset = row === undefined && (region ?? shown) !== null;
  return {
    auth: isPlain ? {} : { auth: { aws_sigv4: signing } },
    region: region ?? shown,
    baseUrl: base ?? (isPreset ? null : `https://${host}.${region ?? "REGION"}.amazonaws.com`),
  };
}

const AWS_REGION = /^[a-z]{2}(?:-[a-z]+){1,3}-\d{1,2}$/;
const GOOGLE_LOCATION = /^(?:global|us|eu|[a-z]+-[a-z]+\d{1,2})$/;

/** A region that becomes part of a host: anything else is a finding. */
function namedRegion(
  params: Fields,
  name: string,
  form: RegExp,
  example: string,
  findings: Findings,
): string | null {
  const text = params.plain(name, "the region");
  if (text === null || form.test(text)) return text;
  findings.add(
    "WRONG_VALUE",
    params.spot(name).at,
    "this is not a region of this cloud",
    `such as \`${example}\``,
  );
  return null;
}

function connectGoogle(
  ...[params, , base, { findings, report }]: Parameters<ConnectCloud>
): CloudConnection {
  const project = params.plain("vertex_project", "the project") ?? "PROJECT";
  const named = namedRegion(params, "vertex_location", GOOGLE_LOCATION, "europe-west4", findings);
  for (const name of ["vertex_project", "vertex_location"]) {
    const item = params.item(name);
    if (item !== null && !isReference(item.node))
      params.note("carried", name, "`base_url` and `region` of the provider");
  }
  if (!params.has("vertex_location"))
    report.add(
      "decide",
      params,
      "no location is given: `us-central1`, LiteLLM's default, is written",
    );
  if (project === "PROJECT")
    report.add("decide", params, "no project is given: replace PROJECT with yours");
  // A location of the environment is not LiteLLM's default.
  const location = named ?? (params.has("vertex_location") ? "REGION" : "us-central1");
  const host =
    location === "global" ? "aiplatform.googleapis.com" : `${location}-aiplatform.googleapis.com`;
  const owner = /(?:^|\/)claude/.test(params.text("model") ?? "") ? "anthropic" : "google";
  const safe = /^[A-Za-z0-9:._-]{1,100}$/.test(project) ? project : "PROJECT";
  return {
    auth: googleCredentials(params),
    region: location === "REGION" ? null : location,
    // Calls meant for an address of the source must not reach Google's.
    baseUrl:
      base ?? `https://${host}/v1/projects/${safe}/locations/${location}/publishers/${owner}`,
  };
}

function googleCredentials(params: Fields): CloudConnection["auth"] {
  const item = params.item("vertex_credentials");
  if (item === null) return {};
  const file = textOf(item);
  if (
    isReference(item.node) ||
    !/^[^\s{}]{1,1024}$/.test(file) ||
    file.startsWith("/") ||
    file.includes("..")
  ) {
    const what =
      "`credentials: adc` reads the file that GOOGLE_APPLICATION_CREDENTIALS names: set it to the path of this account's file";
    params.note("decide", "vertex_credentials", what);
    return {};
  }
  const what = "`google_oauth: { credentials: { file: … } }`; the path is relative to routes.yaml";
  params.note("carried", "vertex_credentials", what);
  return { auth: { google_oauth: { credentials: { file } } } };
}
