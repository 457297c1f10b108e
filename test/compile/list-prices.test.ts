import { describe, expect, test } from "vitest";
import { compileTable } from "../../src/compile/compile-table.ts";
import { parsePriceList, PRICE_LIST } from "../../src/compile/prices.ts";

/** A file with one route over these endpoints; all providers are in `eu` unless they have a key. */
function fileOf(
  providers: Readonly<Record<string, object>>,
  endpoints: readonly { readonly id: string; readonly provider: string; readonly price?: object }[],
  budget?: object,
): string {
  const [primary, ...peers] = endpoints.map(({ id }) => id);
  const rows = endpoints.map((row) => ({ model: "large", upstream_model: "gpt-5", ...row }));
  return JSON.stringify({
    version: 1,
    regions: { eu: ["eu"], world: ["global"] },
    providers: Object.fromEntries(
      Object.entries(providers).map(([id, row]) => [
        id,
        { preset: "openai", region: "eu", trains_on_data: false, ...row },
      ]),
    ),
    models: { large: { operations: ["generate"], capabilities: ["tools"] } },
    endpoints: rows,
    routes: { chat: { primary, ...(peers.length > 0 && { fallbacks: peers }) } },
    workspaces: {
      shop: {
        tier: "standard",
        approve: {
          routes: ["chat"],
          regions: ["eu", "global"],
          providers: Object.keys(providers),
          capabilities: ["tools"],
        },
        ...(budget !== undefined && { limits: { budget } }),
      },
    },
  });
}

function compiled(text: string, options: Parameters<typeof compileTable>[1] = {}) {
  const { table, diagnostics } = compileTable({ path: "routes.yaml", text }, options);
  return { endpoints: table?.endpoints ?? {}, codes: diagnostics.map(({ code }) => code) };
}

const GPT_5 = { input: 1.25, output: 10, request: 0, cachedInput: 0.125 };

describe("an endpoint without a price", () => {
  test("has the list price of its provider's preset, so that budgets count it", () => {
    const text = fileOf({ a: {} }, [{ id: "a", provider: "a" }], { usd: 20, per: "day" });
    expect(compiled(text)).toMatchObject({ endpoints: { a: { price: GPT_5 } }, codes: [] });
  });

  test("an endpoint with a price keeps it", () => {
    const price = { input: 1, output: 2 };
    const text = fileOf({ a: {} }, [{ id: "a", provider: "a", price }]);
    expect(compiled(text).endpoints.a?.price).toEqual({ ...price, request: 0 });
  });

  test.each([
    ["whose provider has an address of its own", { base_url: "https://proxy.example/v1" }],
    [
      "whose provider has no preset",
      {
        preset: undefined,
        dialect: "openai-chat",
        auth: "none",
        base_url: "https://eu.api.openai.com/v1",
      },
    ],
  ])("%s has no price", (_, row) => {
    const { endpoints } = compiled(fileOf({ a: row }, [{ id: "a", provider: "a" }]));
    expect(endpoints.a?.price).toBeNull();
  });

  test("of a model that is dearer in a region has the price of its region", () => {
    const rows = ["eu", "global"].map((id) => ({
      id,
      provider: id,
      upstream_model: "gpt-5.4-mini",
    }));
    const { endpoints } = compiled(fileOf({ eu: {}, global: { region: "global" } }, rows));
    expect([endpoints.eu?.price?.input, endpoints.global?.price?.input]).toEqual([0.825, 0.75]);
  });

  test("has the price of the operator's list where there is one", () => {
    const row = {
      presets: ["openai"],
      model: "gpt-5",
      source: "x",
      price: { input: 7, output: 8 },
    };
    const prices = parsePriceList(JSON.stringify({ date: "2027-01-02", rows: [row] }));
    if (typeof prices === "string") throw new Error(prices);
    const text = fileOf({ a: {} }, [{ id: "a", provider: "a" }]);
    expect(compiled(text, { prices }).endpoints.a?.price).toMatchObject({ input: 7, output: 8 });
  });
});

describe("a route with a price gap", () => {
  const unpriced = { id: "b", provider: "a", upstream_model: "own-model" };

  test("is not reported where the only prices are those of the list", () => {
    const text = fileOf({ a: {} }, [{ id: "a", provider: "a" }, unpriced]);
    expect(compiled(text)).toMatchObject({ endpoints: { a: { price: GPT_5 } }, codes: [] });
  });

  test("is reported where the file has a price", () => {
    const price = PRICE_LIST.rows[0]?.price;
    const text = fileOf({ a: {} }, [{ id: "a", provider: "a", ...(price && { price }) }, unpriced]);
    expect(compiled(text).codes).toEqual(["PRICE_GAP"]);
  });

  test("is reported where endpoints are chosen by their price", () => {
    const text = fileOf({ a: {} }, [{ id: "a", provider: "a" }, unpriced]).replace(
      '"fallbacks":["b"]',
      '"peers":["b"],"balance":"price"',
    );
    expect(compiled(text).codes).toEqual(["PRICE_GAP"]);
  });
});
