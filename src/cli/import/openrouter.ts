import type { Capability } from "../../canon/capability.ts";
import type { JsonObject } from "../../canon/json.ts";
import { quote } from "../../compile/authored/literal-secrets.ts";
import { presetOf } from "../../compile/presets.ts";
import type { ImportedConfiguration } from "./configuration/imported-configuration.ts";
import { placeProvider } from "./configuration/provider-location.ts";
import { asName, priceRow } from "./configuration/rows.ts";
import {
  Fields,
  type ImportedText,
  type Item,
  itemsIn,
  modelLines,
  parseImported,
} from "./source.ts";

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

/**
 * A list of ids, one a line; or a list in YAML or JSON; or the answer of OpenRouter's list of
 * models.
 */
export function importOpenRouter(source: ImportedText, imported: ImportedConfiguration): void {
  const { findings, report, routes } = imported;
  const items = modelLines(source) ?? rowsOf(source, imported);
  if (items.length === 0 && !findings.failed) {
    findings.add(
      "MISSING_KEY",
      { line: 1, column: 1, file: source.shown },
      "there is no model id in the file",
      "write one id a line, such as `anthropic/claude-sonnet-4.5`",
    );
  }
  for (const item of items) addModel(item, imported);
  for (const { node, path } of items) report.addRest(node, path);
  imported.addOnlyWorkspace(routes.map(({ id }) => id));
}

function rowsOf(source: ImportedText, imported: ImportedConfiguration): readonly Item[] {
  const { findings } = imported;
  const tree = parseImported(source, findings);
  if (tree === null) return [];
  const list =
    tree.kind === "map" ? new Fields(tree, [], imported).item("data") : { path: [], node: tree };
  if (list?.node.kind === "list") return itemsIn(list.path, list.node);
  findings.add(
    "WRONG_TYPE",
    tree.at,
    "the file must be a list of model ids",
    "write one id a line",
  );
  return [];
}

function addModel(item: Item, imported: ImportedConfiguration) {
  const { findings, report, routes } = imported;
  const { node, ...origin } = item;
  const fields = new Fields(
    node.kind === "map" ? node : { at: node.at, members: new Map() },
    item.path,
    imported,
  );
  const id = node.kind === "scalar" ? String(node.value) : fields.text("id");
  if (id === null || !ID.test(id)) {
    findings.add(
      "WRONG_VALUE",
      item.at,
      "this is not a model id",
      "write it as OpenRouter does, `maker/model`",
    );
    return;
  }
  if (routes.some((route) => route.id === id)) {
    report.add("changed", item, `${quote(id)} is listed twice; it becomes one route`);
    return;
  }
  const { region } = placeProvider(presetOf(PRESET), null, null, origin, imported);
  const provider = imported.provider({
    preset: PRESET,
    name: PRESET,
    row: {},
    region,
    missing: null,
    origin,
  });
  imported.secrets.ofName("OPENROUTER_API_KEY");
  const architecture = fields.fields("architecture");
  const top = fields.fields("top_provider");
  const endpoint = imported.endpoint(provider, {
    upstream: id,
    operation: "generate",
    stated: capabilitiesOf(fields, architecture),
    contextWindow: fields.number("context_length"),
    maxOutput: top.number("max_completion_tokens"),
    origin,
  });
  if (typeof endpoint === "string") {
    report.add("left_out", item, endpoint);
    return;
  }
  const pricing = fields.fields("pricing");
  endpoint.price = priceOf(pricing);
  const route = imported.routeNames.take(asName(id, "model"));
  routes.push({ id: route, endpoints: [endpoint], origins: [origin] });
  report.add("carried", item, `route ${quote(route)}, at provider \`${provider.id}\``);
  fields.note("carried", "id", "`upstream_model` of the endpoint");
  fields.note("carried", "context_length", "`context_window` of the model");
  top.note("carried", "max_completion_tokens", "`max_output_tokens` of the model");
  for (const part of [fields, architecture, top, pricing])
    part.noteRest([], { outcome: "left_out", text: "has no counterpart in routes.yaml" });
}

/** Further rates → members of `price`; a rate of 0: no separate price. */
const RATES = {
  request: "request",
  input_cache_read: "cached_input",
  input_cache_write: "cache_write",
  internal_reasoning: "reasoning",
} as const;

/**
 * `price` of an endpoint; `null` where the list has none, or a negative one, which means that the
 * price varies.
 */
function priceOf(pricing: Fields): JsonObject | null {
  const [input, output] = [pricing.number("prompt") ?? -1, pricing.number("completion") ?? -1];
  const names = ["prompt", "completion"];
  if (input < 0 || output < 0) {
    pricing.note(
      "decide",
      names,
      "no fixed price: write `price` of the endpoint, or no cost is counted",
    );
    return null;
  }
  pricing.note("carried", names, "`price` of the endpoint, a million tokens");
  const further = Object.entries(RATES).map(([name, rate]) => {
    const usd = pricing.number(name) ?? 0;
    if (usd > 0) pricing.note("carried", name, "`price` of the endpoint, a million tokens");
    else pricing.note("left_out", name, "no price of its own");
    return [rate, usd > 0 ? usd : null] as const;
  });
  const { request = null, ...rates } = Object.fromEntries<number | null>(further);
  return priceRow({ input, output, ...rates, request });
}

function capabilitiesOf(fields: Fields, architecture: Fields) {
  const stated = new Map<Capability, boolean>();
  const read = (from: Fields, name: string, capabilities: Readonly<Record<string, Capability>>) => {
    if (!from.has(name)) return;
    from.note("carried", name, "`capabilities` of the model, as far as there are such");
    const values = from.texts(name).map(({ text }) => text);
    for (const [value, capability] of Object.entries(capabilities))
      stated.set(capability, values.includes(value));
  };
  read(fields, "supported_parameters", PARAMETERS);
  read(architecture, "input_modalities", MODALITIES);
  return stated;
}
