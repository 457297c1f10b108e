import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { check } from "../../src/cli/check.ts";
import { prices } from "../../src/cli/prices.ts";
import { PRESET_NAMES, PRESETS } from "../../src/compile/presets.ts";
import { parsePriceList, PRICE_LIST } from "../../src/compile/prices.ts";
import { CLEAN } from "../compile/base.ts";
import { TEST_CACHE_FOLDER } from "../support/cache.ts";

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-prices-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** CLEAN with a provider of a listed model at this price. */
function withPrice(price: string): string {
  return CLEAN.replace(
    "providers:\n",
    "providers:\n  listed: { preset: openai, region: us-east, preset_region: us, auth: { bearer: { env: LISTED } } }\n",
  ).replace(
    "endpoints:\n",
    `endpoints:\n  - { id: listed, model: large, provider: listed, upstream_model: gpt-5${price} }\n`,
  );
}

async function run(command: typeof check, text: string, ...argv: readonly string[]) {
  writeFileSync(join(folder, "routes.yaml"), text);
  let stdout = "";
  let stderr = "";
  const code = await command([...argv], {
    stdout: (written) => void (stdout += written),
    stderr: (written) => void (stderr += written),
    environment: {},
    cwd: folder,
  });
  return { code, stdout, stderr };
}

const CACHE = ["--cache", TEST_CACHE_FOLDER];
const GPT_5 = ", price: { input: 1.25, output: 10, cached_input: 0.125 }";

describe("signalbox prices", () => {
  test("prints the price of an endpoint beside the listed one", async () => {
    const { code, stdout } = await run(prices, withPrice(", price: { input: 1, output: 10 }"));
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^listed +gpt-5 +1\/10 +1\.25\/10 +differs: input 1, listed 1\.25; .* +https:\/\/\S+$/m,
    );
    expect(stdout).toContain(`LIST ${PRICE_LIST.date}`);
  });

  test("marks a price from the list", async () => {
    const { stdout } = await run(prices, withPrice(""));
    expect(stdout).toMatch(/^listed +gpt-5 +1\.25\/10 +1\.25\/10 +from the list /m);
  });

  test("names the cache rate that differs, which the columns of prices do not have", async () => {
    const price = GPT_5.replace("0.125", "0.5");
    const { stdout } = await run(prices, withPrice(price));
    expect(stdout).toMatch(
      /^listed +gpt-5 +1\.25\/10 +1\.25\/10 +differs: cached_input 0\.5, listed 0\.125 +https:\/\/\S+$/m,
    );
  });

  test("prints JSON lines with the rates that differ", async () => {
    const { stdout } = await run(prices, withPrice(GPT_5), "--format", "json");
    expect(JSON.parse(stdout)).toMatchObject({ endpoint: "listed", differing: [] });
  });

  test("--update checks a list, stores it beside routes.yaml and uses it", async () => {
    const row = {
      presets: ["openai"],
      model: "gpt-5",
      price: { input: 9, output: 90 },
      source: "x",
    };
    const list = JSON.stringify({ date: "2027-01-02", rows: [row] });
    writeFileSync(join(folder, "new.json"), list);
    for (const _ of ["made", "replaced"]) {
      const { code, stdout } = await run(prices, withPrice(GPT_5), "--update", "new.json");
      expect([code, stdout]).toEqual([0, expect.stringContaining("LIST 2027-01-02")]);
    }
    expect(readFileSync(join(folder, "prices.json"), "utf8")).toBe(list);
    const { code, stdout } = await run(check, withPrice(GPT_5), ...CACHE);
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining(
        "listed: price differs from the list of 2027-01-02 (input 1.25, listed 9; output 10, listed 90)",
      ),
    ]);
  });

  test("--update keeps the old list where the new one is damaged", async () => {
    writeFileSync(join(folder, "new.json"), '{"date": "2027-01-02", "rows": [{}]}');
    const { code, stderr } = await run(prices, withPrice(""), "--update", "new.json");
    expect([code, stderr]).toEqual([1, expect.stringContaining("--update: rows[0] must have")]);
    expect(() => readFileSync(join(folder, "prices.json"))).toThrow("ENOENT");
  });
});

describe("signalbox check", () => {
  test("has no note about a price that is the listed one", async () => {
    const { stdout } = await run(check, withPrice(GPT_5), ...CACHE);
    expect(stdout).not.toMatch(/price differs|list price/);
  });

  test("prints the list price that an endpoint without a price gets", async () => {
    const { stdout } = await run(check, withPrice(""), ...CACHE);
    expect(stdout).toContain(
      `listed: list price of ${PRICE_LIST.date} (input 1.25, output 10, cached_input 0.125)\n`,
    );
  });

  test("reports a damaged prices.json beside routes.yaml", async () => {
    writeFileSync(join(folder, "prices.json"), "{}");
    const { code, stdout } = await run(check, withPrice(""), ...CACHE);
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(/`date` must be a day.*\n.*prices\.json:1:1/),
    ]);
    expect(stdout).toContain("signalbox prices --update FILE");
  });
});

describe("the price list of this release", () => {
  test("names presets that exist, and a page for each price", () => {
    expect(parsePriceList(JSON.stringify(PRICE_LIST))).toEqual(PRICE_LIST);
    for (const { presets, regions = [], source, model } of PRICE_LIST.rows) {
      expect([model, presets.filter((name) => !PRESET_NAMES.includes(name))]).toEqual([model, []]);
      for (const region of regions)
        for (const name of presets) expect(PRESETS[name]?.regions).toHaveProperty(region);
      expect(source).toMatch(/^https:\/\//);
    }
  });
});

describe("a price list of an operator", () => {
  test.each([
    ["[]", "`date`"],
    ['{"date": "today", "rows": []}', "`date`"],
    ['{"date": "2027-01-02"}', "`rows`"],
    [
      '{"date": "2027-01-02", "rows": [{"presets": ["a"], "model": "m", "source": "s", "price": {"input": -1, "output": 1}}]}',
      "rows[0]",
    ],
    [
      '{"date": "2027-01-02", "rows": [{"presets": ["a"], "model": "m", "source": "s", "price": {"input": 1}}]}',
      "rows[0]",
    ],
    [
      '{"date": "2027-01-02", "rows": [{"presets": ["a"], "regions": "eu", "model": "m", "source": "s", "price": {"input": 1, "output": 1}}]}',
      "rows[0]",
    ],
  ])("%s is refused", (text, fault) => {
    expect(parsePriceList(text)).toContain(fault);
  });
});
