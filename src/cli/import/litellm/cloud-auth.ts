import type { JsonObject } from "../../../canon/json.ts";
import { hostEvidence, modelIdEvidence } from "../../../compile/checks/regions.ts";
import type { ImportedConfiguration } from "../configuration/imported-configuration.ts";
import { type Fields, isReference } from "../fields.ts";
import type { ImportReport } from "../import-report.ts";
import { plainText } from "./secret-fields.ts";

/** What clouds with credentials of their own say of a provider. */
interface CloudConnection {
  readonly auth: { readonly auth?: JsonObject };
  readonly region: string | null;
  readonly baseUrl: string | null;
}

/**
 * `null` for providers that take a key.
 *
 * @param row keys that the row has instead of a preset.
 * @param base address that the source writes out.
 */
export function cloudAuth(
  params: Fields,
  cloud: "sigv4" | "oauth" | undefined,
  row: JsonObject | undefined,
  base: string | null,
  imported: ImportedConfiguration,
): CloudConnection | null {
  if (cloud === "sigv4") return amazon(params, row, base, imported);
  return cloud === "oauth" ? google(params, base, imported) : null;
}

/** Parts of a key, which the row reads from the variables that AWS's own tools have. */
const AWS_KEYS = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"] as const;

const ROLE_KEYS = ["aws_session_name", "aws_web_identity_token", "aws_sts_endpoint", "aws_external_id"];

function amazon(
  params: Fields,
  row: JsonObject | undefined,
  base: string | null,
  imported: ImportedConfiguration,
): CloudConnection {
  const { report } = imported;
  const region = namedRegion(params, "aws_region_name", AWS_REGION, "eu-west-1", imported);
  if (region !== null)
    report.addMembers("carried", params, ["aws_region_name"], "region of the provider, and of its host");
  const shown = modelIdEvidence((params.text("model") ?? "").split("/").at(-1) ?? "")?.location.at(-1) ?? null;
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
    const isSame = isReference(item.node) && params.text(name) === `os.environ/${variable}`;
    if (isReference(item.node)) imported.secrets.named(variable);
    else imported.secrets.literal(params.text(name) ?? "", variable, item);
    const signed = `calls are signed with the key in \`${variable}\`, one for all rows of AWS: put it there, or use a role`;
    if (isSame) report.add("carried", item, `environment variable \`${variable}\``);
    else report.add("decide", item, signed);
  }
  const profile = plainText(params, "aws_profile_name", imported, "the profile");
  const identity =
    "`credentials: web_identity` takes the role of AWS_ROLE_ARN with the token in AWS_WEB_IDENTITY_TOKEN_FILE; set both";
  report.addMembers("changed", params, ["aws_role_name"], identity);
  report.addMembers("decide", params, ROLE_KEYS, "belongs to the role: the platform's own variables have it");
  const credentials = profile !== null ? "shared_file" : params.has("aws_role_name") ? "web_identity" : "env";
  const usesProfile = profile !== null && /^[A-Za-z0-9_@+.%:/-]{1,128}$/.test(profile);
  if (profile !== null)
    report.addMembers("carried", params, ["aws_profile_name"], "`credentials: shared_file` with the profile");
  const awsRegion = region ?? "us-east-1";
  const hostRegion = region ?? "REGION";
  const isKnown = region !== null || shown !== null;
  // A host of one's own does not say for which region calls are signed.
  const isOwnHost = base !== null && hostEvidence(new URL(base).hostname) === null;
  const isPlain = credentials === "env" && row === undefined && !isOwnHost;
  const signing = {
    service: "bedrock",
    credentials,
    ...(usesProfile ? { profile } : {}),
    ...(isOwnHost ? { region: awsRegion } : {}),
  };
  const host = row?.["dialect"] === "bedrock-rerank" ? "bedrock-agent-runtime" : "bedrock-runtime";
  return {
    auth: isPlain ? {} : { auth: { aws_sigv4: signing } },
    region: region ?? shown,
    baseUrl: base ?? (row === undefined && isKnown ? null : `https://${host}.${hostRegion}.amazonaws.com`),
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
  imported: ImportedConfiguration,
): string | null {
  const text = plainText(params, name, imported, "the region");
  if (text === null || form.test(text)) return text;
  const { at } = params.spot(name);
  imported.findings.add("WRONG_VALUE", at, "this is not a region of this cloud", `such as \`${example}\``);
  return null;
}

function google(params: Fields, base: string | null, imported: ImportedConfiguration): CloudConnection {
  const { report } = imported;
  const project = plainText(params, "vertex_project", imported, "the project") ?? "PROJECT";
  const location = namedRegion(params, "vertex_location", GOOGLE_LOCATION, "europe-west4", imported);
  for (const name of ["vertex_project", "vertex_location"]) {
    const item = params.item(name);
    if (item !== null && !isReference(item.node))
      report.add("carried", item, "`base_url` and `region` of the provider");
  }
  if (!params.has("vertex_location"))
    report.add("decide", params, "no location is given: `us-central1`, LiteLLM's default, is written");
  if (project === "PROJECT") report.add("decide", params, "no project is given: replace PROJECT with yours");
  // A location of the environment is not LiteLLM's default.
  const googleLocation = location ?? (params.has("vertex_location") ? "REGION" : "us-central1");
  const host =
    googleLocation === "global" ? "aiplatform.googleapis.com" : `${googleLocation}-aiplatform.googleapis.com`;
  const isClaude = /(?:^|\/)claude/.test(params.text("model") ?? "");
  const owner = isClaude ? "anthropic" : "google";
  const safe = /^[A-Za-z0-9:._-]{1,100}$/.test(project) ? project : "PROJECT";
  return {
    auth: credentialsOf(params, report),
    region: googleLocation === "REGION" ? null : googleLocation,
    // Calls meant for an address of the source must not reach Google's.
    baseUrl: base ?? `https://${host}/v1/projects/${safe}/locations/${googleLocation}/publishers/${owner}`,
  };
}

function credentialsOf(params: Fields, report: ImportReport): CloudConnection["auth"] {
  const item = params.item("vertex_credentials");
  if (item === null) return {};
  const text = item.node.kind === "scalar" ? String(item.node.value) : "";
  if (isReference(item.node) || !/^[^\s{}]{1,1024}$/.test(text) || text.startsWith("/") || text.includes("..")) {
    const what =
      "`credentials: adc` reads the file that GOOGLE_APPLICATION_CREDENTIALS names: set it to the path of this account's file";
    report.add("decide", item, what);
    return {};
  }
  report.add("carried", item, "`google_oauth: { credentials: { file: … } }`; the path is relative to routes.yaml");
  return { auth: { google_oauth: { credentials: { file: text } } } };
}
