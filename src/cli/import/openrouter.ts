import type { Capability } from "../../canon/capability.ts";
import type { JsonObject } from "../../canon/json.ts";
import { quote } from "../../compile/authored/literal-secrets.ts";
import type { ImportedConfiguration } from "./configuration/imported-configuration.ts";
import { asName } from "./configuration/names.ts";
import { providerLocation } from "./configuration/provider-location.ts";
import { perMillion } from "./configuration/rows.ts";
import { presetOf } from "../../compile/presets.ts";
import { Fields, type Item, itemsIn, type Spot } from "./fields.ts";
import type { ImportReport } from "./import-report.ts";
import { modelLines, type ImportedText, parseImported } from "./read-source.ts";

const PRESET = "openrouter";
const ID = /^[A-Za-z0-9~@][\w.~@-]*\/[\w.:~@/-]+$/;

/** Values of `supported_parameters` that are capabilities here. */
const PARAMETERS: Readonly<Record<string, Capability>> = {
  tools: "tools",
  structured_outputs: "json_schema",
  response_format: "json_object",
  reasoning: "reasoning",
  logprobs: "logprobs",
};
const MODALITIES: Readonly<Record<string, Capability>> = {
  image: "image_input",
  file: "file_input",
  audio: "audio_input",
  video: "video_input",
};
/** A list of ids, one a line; or a list in YAML or JSON; or the answer of OpenRouter's list of models. */
export function importOpenRouter(source: ImportedText, imported: ImportedConfiguration): void {
  const lines = modelLines(source);
  const items = lines ?? rowsOf(source, imported);
  if (items.length === 0 && !imported.findings.failed) {
    const hint = "write one id a line, such as `anthropic/claude-sonnet-4.5`";
    const at = { line: 1, column: 1, file: source.shown };
    imported.findings.add("MISSING_KEY", at, "there is no model id in the file", hint);
  }
  for (const item of items) addModel(item, imported);
  for (const { node, path } of items) imported.report.addRest(node, path);
  imported.addOnlyWorkspace(imported.routes.map(({ id }) => id));
}

function rowsOf(source: ImportedText, imported: ImportedConfiguration): readonly Item[] {
  const tree = parseImported(source, imported.findings);
  if (tree === null) return [];
  const list =
    tree.kind === "map" ? new Fields(tree, [], imported.findings).item("data") : { ...tree, path: [], node: tree };
  if (list?.node.kind === "list") return itemsIn(list.path, list.node);
  imported.findings.add("WRONG_TYPE", tree.at, "the file must be a list of model ids", "write one id a line");
  return [];
}

function addModel(item: Item, imported: ImportedConfiguration): void {
  const fields = item.node.kind === "map" ? new Fields(item.node, item.path, imported.findings) : null;
  const id = fields === null ? (item.node.kind === "scalar" ? String(item.node.value) : null) : fields.text("id");
  if (id === null || !ID.test(id)) {
    imported.findings.add(
      "WRONG_VALUE",
      item.at,
      "this is not a model id",
      "write it as OpenRouter does, `maker/model`",
    );
    return;
  }
  if (imported.routes.some((route) => route.id === id)) {
    imported.report.add("changed", item, `${quote(id)} is listed twice; it becomes one route`);
    return;
  }
  const spot: Spot = item;
  const location = providerLocation(presetOf(PRESET) ?? null, null, null);
  const { region } = location;
  const provider = imported.provider({ preset: PRESET, name: PRESET, row: {}, region, missing: null, spot });
  imported.secrets.named("OPENROUTER_API_KEY");
  const architecture = fields?.fields("architecture") ?? null;
  const top = fields?.fields("top_provider") ?? null;
  const endpoint = imported.endpoint(provider, {
    upstream: id,
    operation: "generate",
    stated: capabilitiesOf(fields, architecture, imported.report),
    contextWindow: fields?.number("context_length") ?? null,
    maxOutput: top?.number("max_completion_tokens") ?? null,
    spot,
  });
  if (typeof endpoint === "string") {
    imported.report.add("left_out", item, endpoint);
    return;
  }
  const pricing = fields?.fields("pricing") ?? null;
  endpoint.price = priceOf(pricing, imported);
  const route = imported.routeNames.take(asName(id, "model"));
  imported.routes.push({
    id: route,
    primary: endpoint,
    peers: [],
    balance: "order",
    weights: new Map(),
    fallbacks: [],
    maxAttempts: null,
    internal: false,
    spot,
  });
  imported.report.add("carried", item, `route ${quote(route)}, at provider \`${provider.id}\``);
  imported.report.addMembers("carried", fields, ["id"], "`upstream_model` of the endpoint");
  imported.report.addMembers("carried", fields, ["context_length"], "`context_window` of the model");
  imported.report.addMembers("carried", top, ["max_completion_tokens"], "`max_output_tokens` of the model");
  for (const part of [fields, architecture, top, pricing])
    for (const [, rest] of part?.unread() ?? [])
      imported.report.add("left_out", rest, "has no counterpart in routes.yaml");
}

/** Rates of a token, by their names there; a rate of 0 means that there is no price of its own. */
const RATES = {
  input_cache_read: "cached_input",
  input_cache_write: "cache_write",
  internal_reasoning: "reasoning",
} as const;

/** `price` of an endpoint; `null` where the list has none, or a negative one, which stands for a price that varies. */
function priceOf(pricing: Fields | null, { report }: ImportedConfiguration): JsonObject | null {
  if (pricing === null) return null;
  const read = (name: string): number => pricing.number(name) ?? -1;
  const input = read("prompt");
  const output = read("completion");
  const names = ["prompt", "completion"];
  if (input < 0 || output < 0) {
    report.addMembers("decide", pricing, names, "no fixed price: write `price` of the endpoint, or no cost is counted");
    return null;
  }
  const rates = Object.entries(RATES).flatMap(([name, rate]) => {
    const value = read(name);
    if (value > 0) names.push(name);
    return value > 0 ? [[rate, perMillion(value)] as const] : [];
  });
  const request = read("request");
  if (request > 0) names.push("request");
  report.addMembers("carried", pricing, names, "`price` of the endpoint, a million tokens");
  const others = ["request", ...Object.keys(RATES)].filter((name) => !names.includes(name));
  report.addMembers("left_out", pricing, others, "no price of its own");
  return {
    input: perMillion(input),
    output: perMillion(output),
    ...Object.fromEntries(rates),
    ...(request > 0 && { request: Math.min(1_000_000, request) }),
  };
}

function capabilitiesOf(
  fields: Fields | null,
  architecture: Fields | null,
  report: ImportReport,
): ReadonlyMap<Capability, boolean> {
  const stated = new Map<Capability, boolean>();
  const read = (from: Fields | null, name: string, capabilities: Readonly<Record<string, Capability>>): void => {
    if (from?.has(name) !== true) return;
    report.addMembers("carried", from, [name], "`capabilities` of the model, as far as there are such");
    const listed = new Set(from.texts(name).map(({ text }) => text));
    for (const [value, capability] of Object.entries(capabilities)) stated.set(capability, listed.has(value));
  };
  read(fields, "supported_parameters", PARAMETERS);
  read(architecture, "input_modalities", MODALITIES);
  return stated;
}
