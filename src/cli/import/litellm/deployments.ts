import type { Capability } from "../../../canon/capability.ts";
import type { JsonObject } from "../../../canon/json.ts";
import type { ModelOperation } from "../../../canon/operation.ts";
import { quote } from "../../../compile/authored/literal-secrets.ts";
import {
  type ImportedConfiguration,
  modeOf,
  operationOf,
} from "../configuration/imported-configuration.ts";
import { priceRow } from "../configuration/rows.ts";
import { type Fields, REFERENCE } from "../source.ts";
import knownKeys from "./known-keys.json" with { type: "json" };
import { ADDRESSES, connectionOf, type Connection, type Surroundings } from "./providers.ts";

/** Reads a row of `model_list`; `*` stands for any model of a provider. `null` after an error. */
export function readRow(row: Fields, surroundings: Surroundings, imported: ImportedConfiguration) {
  const name = row.plain("model_name", "the name");
  const written = row.fields("litellm_params");
  if (!row.has("model_name"))
    row.missing("model_name", "write the name that callers send as `model`");
  if (!row.has("litellm_params"))
    row.missing("litellm_params", "write `model` and its settings below it");
  else if (!written.has("model")) written.missing("model", "write `PROVIDER/MODEL`");
  if (name === null || !written.has("model")) return null;
  const info = row.fields("model_info");
  const params = withCredential(written, surroundings, imported);
  const model = params.text("model") ?? "";
  return {
    name,
    model,
    params,
    isWildcard: name.includes("*") || model.includes("*"),
    /**
     * A model without a star is one model, whatever callers write.
     *
     * @param star text that the star matched.
     * @returns `null` for a row that cannot be converted, which is reported.
     */
    deploy: (star: string | null): Deployment | null => {
      if (star === null) return deploymentOf(name, params, info, surroundings, imported);
      const [route, one] = [name, model].map((text) => text.replace("*", () => star));
      const fields = params.with("model", one ?? "");
      return deploymentOf(route ?? "", fields, info, surroundings, imported);
    },
    /** Reports unread members, after the last model of a wildcard. */
    finish: () => {
      if (imported.endpoints.every(({ origin }) => origin.at !== params.at)) {
        imported.report.add(
          "left_out",
          row,
          "no route has this row: the line of its `model` has the reason",
        );
        return;
      }
      params.noteRest(knownKeys.litellm_params);
      info.noteRest(knownKeys.model_info);
      row.noteRest(knownKeys.model_list);
    },
  };
}

export type Row = NonNullable<ReturnType<typeof readRow>>;

/** The parameters with those of their credential. */
function withCredential(
  params: Fields,
  { credentials }: Surroundings,
  { report }: ImportedConfiguration,
): Fields {
  const item = params.item("litellm_credential_name");
  if (item === null) return params;
  const name = params.text("litellm_credential_name") ?? "";
  const found = credentials.get(name);
  if (found !== undefined) {
    report.add("carried", item, "provider with this credential");
    return params.over(found);
  }
  report.add(
    "decide",
    item,
    "`credential_list` has no such credential: write `auth` of the provider",
  );
  // A stored credential may have an address besides its key.
  return params.first(ADDRESSES) === null ? params.with("api_base", `${REFERENCE}${name}`) : params;
}

/** Adds an endpoint; `null` for a row that cannot be converted, which is reported. */
function deploymentOf(
  name: string,
  params: Fields,
  info: Fields,
  surroundings: Surroundings,
  imported: ImportedConfiguration,
) {
  const model = params.text("model") ?? "";
  const mode = modeOf(info.text("mode"), model);
  const operation = operationOf(mode);
  const refuse = (why: string): null => {
    params.note("left_out", "model", why);
    return null;
  };
  if (operation === null)
    return refuse(
      `calls of the kind ${quote(mode)} are not served; chat, vectors, rerank and moderations are`,
    );
  if (mode === "completion" && !/^(?:text-completion|azure_text)/.test(model))
    params.note("changed", "model", "served as chat: plain completions are translated");
  const region = params.plain("region_name", "the region");
  const connection = connectionOf(params, mode, region, surroundings, imported);
  if (typeof connection === "string") return refuse(connection);
  const endpoint = endpointOf(connection, operation, params, info, imported);
  if (typeof endpoint === "string") return refuse(endpoint);
  params.note("carried", "model", `endpoint ${quote(endpoint.id)} of route ${quote(name)}`);
  readTimes(params, connection);
  return {
    endpoint,
    operation,
    /** Lower ones are tried first. */
    order: params.number("order") ?? 0,
    weight: params.number("weight"),
    rpm: params.number("rpm"),
    tpm: params.number("tpm"),
    tags: params.texts("tags").map(({ text }) => text),
    guardrails: params.texts("guardrails").map(({ origin }) => origin),
    /** Teams and keys name them instead of routes. */
    groups: info.texts("access_groups").map(({ text }) => text),
    /** `litellm_params`. */
    params,
  };
}

/** One row of `model_list` that became an endpoint. */
export type Deployment = NonNullable<ReturnType<typeof deploymentOf>>;

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

/** @returns the reason for a row that cannot be converted. */
function endpointOf(
  { provider, upstream }: Connection,
  operation: ModelOperation,
  params: Fields,
  info: Fields,
  imported: ImportedConfiguration,
) {
  const stated = new Map<Capability, boolean>();
  for (const [key, capability] of Object.entries(SUPPORTS)) {
    const value = info.flag(key);
    if (value === null) continue;
    stated.set(capability, value);
    info.note("carried", key, `capability \`${capability}\``);
  }
  const most = info.number("max_tokens");
  const output = info.number("max_output_tokens") ?? most;
  const added = imported.endpoint(provider, {
    upstream,
    base: info.plain("base_model", "the model")?.split("/").at(-1) ?? null,
    operation,
    stated,
    contextWindow: info.number("max_input_tokens") ?? (operation === "embed" ? output : null),
    maxOutput: operation === "generate" ? output : null,
    dimensions: info.number("output_vector_size"),
    origin: params,
  });
  if (typeof added === "string") return added;
  added.price = priceOf(params, info, operation, imported);
  const concurrency = params.number("max_parallel_requests");
  if (concurrency !== null)
    added.maxConcurrency = Math.min(100_000, Math.max(1, Math.floor(concurrency)));
  return added;
}

function readTimes(params: Fields, { provider }: Connection) {
  const total = params.number("timeout") ?? 0;
  const first = params.number("stream_timeout") ?? 0;
  provider.totals.add(total > 0 ? total : null);
  if (total > 0)
    params.note(
      "carried",
      "timeout",
      `\`timeouts.total\` of provider \`${provider.id}\`; the longest of its rows, 10m for one without it`,
    );
  if (first <= 0) return;
  provider.firstTokens.add(first);
  params.note(
    "changed",
    "stream_timeout",
    `\`timeouts.first_token\` of provider \`${provider.id}\`: until the first output, not until the end`,
  );
}

/** Prices of LiteLLM → members of `price`, and the only operation that has them. */
const RATES: readonly (readonly [name: string, rate: string, only?: ModelOperation])[] = [
  ["input_cost_per_token", "input"],
  ["output_cost_per_token", "output"],
  ["input_cost_per_request", "request"],
  ["cache_read_input_token_cost", "cached_input", "generate"],
  ["cache_creation_input_token_cost", "cache_write", "generate"],
  ["cache_creation_input_token_cost_above_1hr", "cache_write_1h", "generate"],
  ["output_cost_per_reasoning_token", "reasoning", "generate"],
  ["input_cost_per_query", "search", "rerank"],
];

/**
 * `price` of an endpoint; `null` where the source has none. Custom prices are in either mapping.
 */
function priceOf(
  params: Fields,
  info: Fields,
  operation: ModelOperation,
  { report }: ImportedConfiguration,
): JsonObject | null {
  const usd: Record<string, number | null> = {};
  const carried: (() => void)[] = [];
  for (const [name, rate, only = operation] of RATES) {
    const from = [params, info].find((fields) => (fields.number(name) ?? -1) >= 0);
    if (from === undefined) continue;
    usd[rate] = only === operation ? from.number(name) : null;
    carried.push(() => from.note("carried", name, "`price` of the endpoint, a million tokens"));
  }
  if (["input", "search", "request"].every((rate) => !Object.hasOwn(usd, rate))) return null;
  const { input = null, output = null, ...further } = usd;
  if (operation === "generate" && (input === null || output === null)) {
    const from = info.has("input_cost_per_token") ? info : params;
    report.add(
      "decide",
      from.origin("input_cost_per_token"),
      "only one of the two prices is given: `price` needs `input` and `output`",
    );
    return null;
  }
  for (const note of carried) note();
  return priceRow({ input: input ?? 0, output: output ?? 0, ...further });
}
