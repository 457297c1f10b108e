import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canon/json.ts";
import { compileTable } from "../../src/compile/compile-table.ts";
import { PLACEHOLDERS } from "../../src/compile/checks/providers.ts";
import { PRESETS } from "../../src/compile/presets.ts";
import { readSections } from "../policy/documents/document.ts";

/** The provider rows of docs/providers.md, by id. */
const rows = new Map<string, JsonObject>(
  readSections("docs/providers.md").flatMap(({ blocks }) => {
    const written: JsonValue = parse(
      blocks.find(({ language }) => language === "yaml")?.text ?? "",
    );
    const providers =
      isJsonObject(written) && isJsonObject(written.providers) ? written.providers : {};
    return Object.entries(providers).flatMap(([id, row]) =>
      isJsonObject(row) ? [[id, row] as const] : [],
    );
  }),
);

/** Providers as the table has them, with every region declared. */
function providersOf(written: Readonly<Record<string, unknown>>, regions: readonly string[]) {
  const text = JSON.stringify({
    version: 1,
    regions: { own: [...new Set(regions)] },
    providers: written,
    models: {},
    endpoints: [],
    routes: {},
    workspaces: {},
  });
  const { table, diagnostics } = compileTable({ path: "routes.yaml", text });
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  return table?.providers ?? {};
}

describe("presets", () => {
  test("include those of the major providers", () => {
    expect(Object.keys(PRESETS).length).toBeGreaterThanOrEqual(30);
    expect(Object.keys(PRESETS)).toEqual(
      expect.arrayContaining([
        "openai",
        "anthropic",
        "azure-openai",
        "bedrock",
        "vertex",
        "gemini",
        "mistral",
        "cohere",
      ]),
    );
  });

  test("leave only placeholders that `check` knows", () => {
    // An address is written small but for them; of the models' names only what is in capitals
    // throughout.
    const placeholders = Object.values(PRESETS).flatMap(
      ({ regions = {}, address = "", sample }) => [
        ...[...Object.values(regions), address].flatMap((url) => url.match(/[A-Z][A-Z_]*/g) ?? []),
        ...[sample.upstream_model ?? "", ...Object.values(sample.profiles ?? {})].filter((id) =>
          /^[A-Z_]+$/.test(id),
        ),
      ],
    );
    expect(PLACEHOLDERS).toEqual(expect.arrayContaining([...new Set(placeholders)]));
    expect(placeholders.length).toBeGreaterThan(5);
  });

  test.each(Object.entries(PRESETS))("%s matches docs/providers.md", (name, preset) => {
    const row = rows.get(preset.row);
    if (row === undefined) throw new Error(`docs/providers.md has no row ${preset.row}`);
    const { region, ...documented } = row;
    const location = typeof region === "string" ? region : "";
    const own = preset.regions === undefined ? { base_url: preset.address } : {};
    const resolved = providersOf(
      // The page has a variable of its own for each region; what the variable is called is no fact
      // of the provider.
      {
        a: { preset: name, region: location, ...own, auth: row.auth },
        b: { region: location, ...documented },
      },
      [location],
    );
    expect({ ...resolved.a, id: "b" }).toEqual(resolved.b);
    expect(preset.source).toMatch(/https:\/\/|recorded exchanges/);
    expect(preset.checked).toMatch(/^20\d\d-\d\d$/);
  });

  test.each(Object.entries(PRESETS))(
    "%s compiles in each of its regions, each with its own address",
    (name, preset) => {
      const regions = Object.keys(preset.regions ?? { own: "" });
      const own = preset.regions === undefined ? { base_url: preset.address } : {};
      const written = Object.fromEntries(
        regions.map((region) => [`p-${region}`, { preset: name, region, ...own }]),
      );
      const providers = Object.values(providersOf(written, regions));
      expect(new Set(providers.map(({ baseUrl }) => baseUrl)).size).toBe(regions.length);
      for (const { auth } of providers)
        expect(auth.kind === "none" || auth.onMissing === "fail").toBe(true);
    },
  );
});
