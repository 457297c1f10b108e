import type { Capability } from "../../../canon/capability.ts";
import type { ModelOperation } from "../../../canon/operation.ts";
import { quote } from "../../../compile/authored/literal-secrets.ts";
import type { ImportedConfiguration } from "../configuration/imported-configuration.ts";
import { modeOf, operationOf } from "../configuration/models.ts";
import type { PlannedEndpoint } from "../configuration/rows.ts";
import type { Fields, Spot } from "../fields.ts";
import { ADDRESSES, connectionOf, type Connection, type Surroundings } from "./connection.ts";
import { knownKeys } from "./known-keys.ts";
import { priceOf } from "./prices.ts";
import { plainText } from "./secret-fields.ts";

/** One row of `model_list` that is an endpoint here. */
export interface Deployment {
  readonly endpoint: PlannedEndpoint;
  readonly operation: ModelOperation;
  /** Lower ones are tried first. */
  readonly order: number;
  readonly weight: number | null;
  readonly rpm: number | null;
  readonly tpm: number | null;
  readonly tags: readonly string[];
  readonly guardrails: readonly Spot[];
  readonly groups: readonly string[];
  /** `litellm_params`. */
  readonly spot: Fields;
}

/** A row whose name ends in `*`: any model of a provider. */
export interface Wildcard {
  /** `model_name`. */
  readonly pattern: string;
  /** `litellm_params.model`. */
  readonly model: string;
  /** The row for one model, by what the star matched. @returns nothing where there can be none, which has been reported. */
  readonly row: (model: string) => Deployment | null;
  readonly spot: Spot;
}

interface ReadRow {
  readonly name: string;
  /** Reports unread members, once every model of a wildcard has been. */
  readonly finish: () => void;
  readonly deployment: Deployment | null;
  readonly wildcard: Wildcard | null;
}

/** Flags of `model_info` and the capabilities that they grant or deny. */
const SUPPORTS: Readonly<Record<string, Capability>> = {
  supports_function_calling: "tools",
  supports_response_schema: "json_schema",
  supports_vision: "image_input",
  supports_pdf_input: "file_input",
  supports_audio_input: "audio_input",
  supports_audio_output: "audio_output",
  supports_reasoning: "reasoning",
  supports_web_search: "web_search",
  supports_computer_use: "computer_use",
  supports_code_execution: "code_execution",
  supports_assistant_prefill: "prefill",
};

/** Flags that no capability is. */
const NO_CAPABILITY = [
  "supports_parallel_function_calling",
  "supports_prompt_caching",
  "supports_system_messages",
  "supports_tool_choice",
  "supports_native_streaming",
  "supports_url_context",
  "supports_embedding_image_input",
];

/** Reads a row. */
export function readRow(row: Fields, surroundings: Surroundings, imported: ImportedConfiguration): ReadRow | null {
  const name = plainText(row, "model_name", imported, "the name");
  const own = row.fields("litellm_params");
  if (name === null && !row.has("model_name")) row.missing("model_name", "write the name that callers send as `model`");
  if (own === null && !row.has("litellm_params"))
    row.missing("litellm_params", "write `model` and its settings below it");
  if (name === null || own === null) return null;
  if (!own.has("model")) {
    own.missing("model", "write `PROVIDER/MODEL`");
    return null;
  }
  const info = row.fields("model_info");
  const params = withCredential(own, surroundings, imported);
  const isWild = name.includes("*") || (own.text("model") ?? "").includes("*");
  const finish = (): void => {
    if (imported.endpoints.every(({ spot }) => spot.at !== params.at)) {
      imported.report.add("left_out", row, "no route has this row: the line of its `model` has the reason");
      return;
    }
    imported.report.addMembers("carried", row, ["model_name"], "name of the route");
    imported.report.addUnread(params, knownKeys("litellm_params"));
    imported.report.addUnread(info, knownKeys("model_info"));
    imported.report.addUnread(row, { tpm: ["left_out", LIMIT], rpm: ["left_out", LIMIT] });
  };
  return isWild
    ? { name, finish, deployment: null, wildcard: wildcardOf(name, params, info, surroundings, imported) }
    : { name, finish, deployment: deploymentOf(name, params, info, surroundings, imported), wildcard: null };
}

const RATE =
  "an endpoint has no such limit here: at the provider's own limit the answer is 429, and the next endpoint is tried; the share of the route where no deployment of the name has `weight`";
const LIMIT =
  "an endpoint has no such limit here: at the provider's own limit the answer is 429, and the next endpoint is tried";

/** The parameters with those that their credential has. */
function withCredential(own: Fields, { credentials }: Surroundings, { report }: ImportedConfiguration): Fields {
  const item = own.item("litellm_credential_name");
  if (item === null) return own;
  const name = own.text("litellm_credential_name") ?? "";
  const found = credentials.get(name);
  if (found === undefined) {
    report.add("decide", item, "`credential_list` has no such credential: write `auth` of the provider");
    // A stored credential may have an address besides its key.
    return ADDRESSES.some((one) => own.has(one)) ? own : own.with("api_base", `os.environ/${name}`);
  }
  report.add("carried", item, "provider with this credential");
  return own.over(found);
}

function wildcardOf(
  name: string,
  params: Fields,
  info: Fields | null,
  surroundings: Surroundings,
  imported: ImportedConfiguration,
): Wildcard {
  const written = params.text("model") ?? "";
  // Without a star of its own the row has one model, whatever callers write.
  const of = (star: string): string => (written.includes("*") ? written.replace("*", () => star) : written);
  return {
    pattern: name,
    model: written,
    spot: params,
    row: (star) =>
      deploymentOf(
        name.replace("*", () => star),
        params.with("model", of(star)),
        info,
        surroundings,
        imported,
      ),
  };
}

function deploymentOf(
  name: string,
  params: Fields,
  info: Fields | null,
  surroundings: Surroundings,
  imported: ImportedConfiguration,
): Deployment | null {
  const { report } = imported;
  const model = params.text("model") ?? "";
  const mode = modeOf(info?.text("mode") ?? null, model);
  const operation = operationOf(mode);
  if (operation === null) {
    const what = `calls of the kind ${quote(mode)} are not served; chat, vectors, rerank and moderations are`;
    report.add("left_out", params.spot("model"), what);
    return null;
  }
  if (mode === "completion" && !/^(?:text-completion|azure_text)/.test(model))
    report.add("changed", params.spot("model"), "served as chat: plain completions are translated");
  const region = plainText(params, "region_name", imported, "the region");
  const connection = connectionOf(params, mode, region, surroundings, imported);
  if (typeof connection === "string") {
    report.add("left_out", params.spot("model"), connection);
    return null;
  }
  const endpoint = endpointOf(connection, operation, params, info, imported);
  if (endpoint === null) return null;
  report.add("carried", params.spot("model"), `endpoint ${quote(endpoint.id)} of route ${quote(name)}`);
  if (region !== null) report.add("carried", params.spot("region_name"), "region of the provider");
  readTimes(params, connection, imported);
  report.addMembers("changed", params, ["rpm", "tpm"], RATE);
  const tags = params.texts("tags").map(({ text }) => text);
  const guardrails = params.texts("guardrails").map(({ spot }) => spot);
  return {
    endpoint,
    operation,
    order: params.number("order") ?? 0,
    weight: params.number("weight"),
    rpm: params.number("rpm"),
    tpm: params.number("tpm"),
    tags,
    guardrails,
    // Names of teams and keys stand for the routes of a group.
    groups: info?.texts("access_groups").map(({ text }) => text) ?? [],
    spot: params,
  };
}

function endpointOf(
  { provider, upstream }: Connection,
  operation: ModelOperation,
  params: Fields,
  info: Fields | null,
  imported: ImportedConfiguration,
): PlannedEndpoint | null {
  const stated = new Map<Capability, boolean>();
  for (const [key, capability] of Object.entries(SUPPORTS)) {
    const value = info?.flag(key) ?? null;
    if (value === null || info === null) continue;
    stated.set(capability, value);
    imported.report.add("carried", info.spot(key), `capability \`${capability}\``);
  }
  const { report } = imported;
  report.addMembers("left_out", info, NO_CAPABILITY, "not a capability here: protocols and presets define it");
  const base = info === null ? null : plainText(info, "base_model", imported, "the model");
  const input = info?.number("max_input_tokens") ?? null;
  const most = info?.number("max_output_tokens") ?? info?.number("max_tokens") ?? null;
  info?.number("max_tokens");
  const made = imported.endpoint(provider, {
    upstream,
    base: base?.split("/").at(-1) ?? null,
    operation,
    stated,
    contextWindow: input ?? (operation === "embed" ? most : null),
    maxOutput: operation === "generate" ? most : null,
    dimensions: info?.number("output_vector_size") ?? null,
    spot: params,
  });
  if (typeof made === "string") {
    imported.report.add("left_out", params.spot("model"), made);
    return null;
  }
  for (const [key, what] of INFO_KEYS) report.addMembers("carried", info, [key], what);
  made.price = priceOf(params, info, operation, imported);
  const concurrency = params.number("max_parallel_requests");
  if (concurrency !== null) {
    made.maxConcurrency = Math.min(100_000, Math.max(1, Math.floor(concurrency)));
    const what = "`max_concurrency` of the endpoint, in each process";
    report.add("carried", params.spot("max_parallel_requests"), what);
  }
  return made;
}

const INFO_KEYS = [
  ["mode", "`operations` of the model"],
  ["base_model", "id of the model"],
  ["max_input_tokens", "`context_window` of the model"],
  ["max_output_tokens", "`max_output_tokens` of the model"],
  ["max_tokens", "`max_output_tokens` of the model, or `context_window` of one that embeds"],
  ["output_vector_size", "`dimensions` of the model"],
  ["access_groups", "`approve.routes` of teams and keys that name the group"],
] as const;

function readTimes(params: Fields, { provider }: Connection, { report }: ImportedConfiguration): void {
  const total = params.number("timeout");
  const first = params.number("stream_timeout");
  provider.totals.add(total !== null && total > 0 ? total : null);
  if (total !== null && total > 0) {
    const what = `\`timeouts.total\` of provider \`${provider.id}\`; the longest of its rows, 10m for one without it`;
    report.add("carried", params.spot("timeout"), what);
  }
  if (first !== null && first > 0) {
    provider.firstTokens.add(first);
    const what = `\`timeouts.first_token\` of provider \`${provider.id}\`: until the first output, not until the end`;
    report.add("changed", params.spot("stream_timeout"), what);
  }
}
