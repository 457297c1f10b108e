import { isJsonObject, parseJsonObject, type JsonObject } from "../canon/json.ts";
import type { EndpointRow, Price, RoutingTable } from "../canon/table.ts";
import { type ConfigNode, nodeAt, textAt } from "./authored/tree.ts";
import { memberOf, PRESETS, presetOf } from "./presets.ts";
import builtIn from "./prices.json" with { type: "json" };

/** Rates of a price as routes.yaml has them → as the routing table has them. */
export const RATES = {
  input: "input",
  output: "output",
  request: "request",
  cached_input: "cachedInput",
  cache_write: "cacheWrite",
  cache_write_1h: "cacheWriteHour",
  reasoning: "reasoning",
  search: "search",
} as const satisfies Readonly<Record<string, keyof Price>>;

type Rate = keyof typeof RATES;

interface ListedPrice {
  /** Presets of the providers that charge it. */
  readonly presets: readonly string[];
  /** Regions of the presets where it is charged; all unless given. */
  readonly regions?: readonly string[];
  /** The provider's name of the model. */
  readonly model: string;
  /** As `price` of an endpoint in routes.yaml; US dollars. */
  readonly price: Readonly<Partial<Record<Rate, number>>>;
  /** Page that the price is from. */
  readonly source: string;
}

/** List prices of providers, standard tier, at a date. */
export interface PriceList {
  /** Year, month and day. */
  readonly date: string;
  readonly rows: readonly ListedPrice[];
}

/** The list of this release, from the providers' pages. */
export const PRICE_LIST: PriceList = builtIn;

/** Presets and list prices that a configuration uses. */
export interface ExpandedPresets {
  /** Provider id → the preset that its row names. */
  readonly presets: ReadonlyMap<string, string>;
  /** Ids of endpoints that have their price from the list. */
  readonly listPriced: ReadonlySet<string>;
  readonly list: PriceList;
}

/** Of a configuration that could not be read. */
export const NOTHING_EXPANDED: ExpandedPresets = {
  presets: new Map(),
  listPriced: new Set(),
  list: PRICE_LIST,
};

/** File beside routes.yaml that replaces {@link PRICE_LIST}. */
export const PRICE_FILE = "prices.json";

/**
 * Reads a price list in the form of `prices.json`.
 *
 * @returns a sentence that names the first fault and repeats nothing of the text.
 * @example parsePriceList('{"date": "2026-12-01", "rows": []}')
 */
export function parsePriceList(text: string): PriceList | string {
  const list = parseJsonObject(text);
  const date = list?.date;
  const rows = list?.rows;
  if (typeof date !== "string" || !/^\d{4}-\d{2}-\d{2}$/.test(date))
    return "`date` must be a day such as 2026-11-28";
  if (!Array.isArray(rows)) return "`rows` must be a list";
  const read: ListedPrice[] = [];
  for (const [index, row] of rows.entries()) {
    const price = readRow(row);
    if (price === null)
      return `rows[${index}] must have \`presets\`, \`model\`, \`source\`, and \`price\` with input and output in US dollars per million tokens`;
    read.push(price);
  }
  return { date, rows: read };
}

function readRow(row: unknown): ListedPrice | null {
  if (!isJsonObject(row)) return null;
  const { presets, regions, model, price, source }: JsonObject = row;
  if (!isTexts(presets) || typeof model !== "string" || typeof source !== "string") return null;
  if (!isPrice(price) || (regions !== undefined && !isTexts(regions))) return null;
  return { presets, ...(regions !== undefined && { regions }), model, source, price };
}

function isPrice(value: unknown): value is ListedPrice["price"] {
  return (
    isJsonObject(value) &&
    "input" in value &&
    "output" in value &&
    Object.entries(value).every(
      ([rate, dollars]) =>
        Object.hasOwn(RATES, rate) && typeof dollars === "number" && dollars >= 0,
    )
  );
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

/**
 * The listed price of a model; `null` where the list has none.
 *
 * @param address of the provider: some prices depend on the region of the preset that has it.
 */
export function listedPrice(
  { rows }: PriceList,
  preset: string,
  address: string,
  model: string,
): ListedPrice | null {
  const region = regionAt(preset, address);
  const isApplicable = ({ presets, regions }: ListedPrice) =>
    presets.includes(preset) &&
    (regions === undefined || (region !== undefined && regions.includes(region)));
  return rows.find((row) => row.model === model && isApplicable(row)) ?? null;
}

/** The region of a preset that has this address. */
function regionAt(preset: string, address: string): string | undefined {
  const regions = Object.entries(presetOf(preset)?.regions ?? {});
  return regions.find(([, url]) => url === address)?.[0];
}

/**
 * Gives the listed price to endpoints that have none and whose provider has a preset and its
 * address. At another address, such as a proxy's, only the operator knows the price.
 *
 * @param tree is changed; its presets are expanded. @param presets provider id → preset.
 * @returns ids of those endpoints.
 */
export function expandPrices(
  tree: ConfigNode,
  presets: ReadonlyMap<string, string>,
  list: PriceList,
): ReadonlySet<string> {
  const endpoints = nodeAt(tree, ["endpoints"]);
  const expanded = new Set<string>();
  for (const row of endpoints?.kind === "list" ? endpoints.items : []) {
    if (row.kind !== "map" || row.members.has("price")) continue;
    const provider = textAt(row, "provider") ?? "";
    const preset = presets.get(provider) ?? "";
    const address = textAt(tree, "providers", provider, "base_url") ?? "";
    const listPrice = listedPrice(list, preset, address, textAt(row, "upstream_model") ?? "");
    if (listPrice === null || regionAt(preset, address) === undefined) continue;
    row.members.set("price", memberOf({ ...listPrice.price }, row.at));
    expanded.add(textAt(row, "id") ?? "");
  }
  return expanded;
}

/** The price of an endpoint in routes.yaml beside the listed one. */
export interface ComparedPrice {
  readonly endpoint: string;
  readonly model: string;
  /** `null`: routes.yaml has none. */
  readonly price: Price | null;
  readonly listed: ListedPrice;
  /** Rates that differ: those of the list that routes.yaml has otherwise or not at all. */
  readonly differing: readonly Rate[];
  /** Whether the endpoint has no price of its own, but the listed one. */
  readonly fromList: boolean;
}

/**
 * Endpoints whose model the list has. A provider is found by its preset, or by an address that a
 * preset has too.
 *
 * @param expanded of the same configuration.
 */
export function comparePrices(
  { endpoints, providers }: Pick<RoutingTable, "endpoints" | "providers">,
  { presets, listPriced: fromList, list }: ExpandedPresets,
): readonly ComparedPrice[] {
  const listedFor = ({ provider, upstreamModel }: EndpointRow): ListedPrice | null => {
    const address = providers[provider]?.baseUrl ?? "";
    const preset =
      presets.get(provider) ??
      Object.keys(PRESETS).find((name) => regionAt(name, address) !== undefined);
    return listedPrice(list, preset ?? "", address, upstreamModel);
  };
  return Object.values(endpoints).flatMap((endpoint) => {
    const { id, upstreamModel: model, price } = endpoint;
    const listed = listedFor(endpoint);
    if (listed === null) return [];
    const differing = ratesIn(listed.price).filter(
      (rate) => price?.[RATES[rate]] !== listed.price[rate],
    );
    return [{ endpoint: id, model, price, listed, differing, fromList: fromList.has(id) }];
  });
}

/** Rates that a price has, in the order of {@link RATES}. */
export function ratesIn(price: object): readonly Rate[] {
  return Object.keys(RATES).filter((name): name is Rate => Object.hasOwn(price, name));
}

/**
 * A note for each endpoint whose price is that of the list or differs from it; endpoints without a
 * price have none.
 */
export function priceNotes(compared: readonly ComparedPrice[], date: string): readonly string[] {
  return compared.flatMap((row) => {
    if (row.fromList) {
      const { price } = row.listed;
      const rates = ratesIn(price).map((rate) => `${rate} ${price[rate]}`);
      return [`${row.endpoint}: list price of ${date} (${rates.join(", ")})\n`];
    }
    if (row.price === null || row.differing.length === 0) return [];
    return [`${row.endpoint}: price differs from the list of ${date} (${differenceText(row)})\n`];
  });
}

/** `input 1.25, listed 9; output 10, listed 90`. */
export function differenceText({ price, listed, differing }: ComparedPrice): string {
  return differing
    .map((rate) => `${rate} ${price?.[RATES[rate]] ?? "not set"}, listed ${listed.price[rate]}`)
    .join("; ");
}
