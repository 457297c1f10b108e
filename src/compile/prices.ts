import { isJsonObject, parseJsonObject, type JsonObject } from "../canon/json.ts";
import type { EndpointRow, Price, RoutingTable } from "../canon/table.ts";
import { PRESETS } from "./presets.ts";
import builtIn from "./prices.json" with { type: "json" };

/** Rates of a price as routes.yaml has them → as the routing table has them. */
const RATES = {
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
  const { presets, model, price, source }: JsonObject = row;
  if (!Array.isArray(presets) || typeof model !== "string" || typeof source !== "string")
    return null;
  const names = presets.filter((name) => typeof name === "string");
  if (!isJsonObject(price) || names.length < presets.length) return null;
  const isPrice = Object.entries(price).every(
    ([rate, dollars]) => Object.hasOwn(RATES, rate) && typeof dollars === "number" && dollars >= 0,
  );
  return isPrice && "input" in price && "output" in price
    ? { presets: names, model, source, price: Object.fromEntries(ratesOf(price)) }
    : null;
}

function ratesOf(price: JsonObject): readonly (readonly [string, number])[] {
  return Object.entries(price).flatMap(([rate, dollars]) =>
    typeof dollars === "number" ? [[rate, dollars] as const] : [],
  );
}

/** The listed price of a provider's model; `null` where the list has none. */
export function listedPrice(
  { rows }: PriceList,
  preset: string,
  model: string,
): ListedPrice | null {
  return rows.find((row) => row.model === model && row.presets.includes(preset)) ?? null;
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
}

/**
 * Endpoints whose model the list has. A provider is found by its preset, or by an address that a
 * preset has too.
 *
 * @param presets provider id → preset.
 */
export function comparePrices(
  { endpoints, providers }: Pick<RoutingTable, "endpoints" | "providers">,
  presets: ReadonlyMap<string, string>,
  list: PriceList,
): readonly ComparedPrice[] {
  const presetOf = ({ provider }: EndpointRow): string | undefined =>
    presets.get(provider) ??
    Object.entries(PRESETS).find(([, { regions = {} }]) =>
      Object.values(regions).includes(providers[provider]?.baseUrl ?? ""),
    )?.[0];
  return Object.values(endpoints).flatMap((endpoint) => {
    const { id, upstreamModel: model, price } = endpoint;
    const listed = listedPrice(list, presetOf(endpoint) ?? "", model);
    if (listed === null) return [];
    const differing = ratesIn(listed).filter((rate) => price?.[RATES[rate]] !== listed.price[rate]);
    return [{ endpoint: id, model, price, listed, differing }];
  });
}

function ratesIn({ price }: ListedPrice): readonly Rate[] {
  return Object.keys(RATES).filter((name): name is Rate => Object.hasOwn(price, name));
}

/**
 * A note for each endpoint whose price differs from the list; endpoints without a price have none.
 */
export function priceNotes(compared: readonly ComparedPrice[], date: string): readonly string[] {
  return compared.flatMap(({ endpoint, price, listed, differing }) => {
    if (price === null || differing.length === 0) return [];
    const rates = differing.map(
      (rate) => `${rate} ${price[RATES[rate]] ?? "not set"}, listed ${listed.price[rate]}`,
    );
    return [`${endpoint}: price differs from the list of ${date} (${rates.join("; ")})\n`];
  });
}
