import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { compileConfiguration } from "../../src/compile/compile.ts";
import { loadConfiguration, type ConfigurationFiles } from "../../src/compile/load.ts";
import { locationsOf, ruleLocation } from "../../src/simulate/explain/positions.ts";
import type { SourceLocation } from "../../src/simulate/report/report.ts";
import { TEST_CACHE } from "../support/cache.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const files = await loadConfiguration(join(ROOT, "routes.yaml"), "routes.yaml");

/** What a reader finds at a location. */
function textAt(
  { routes, policies }: ConfigurationFiles,
  location: SourceLocation | null,
): string | null {
  if (location === null) return null;
  const source = [routes, ...policies].find(({ path }) => path === location.file);
  const line = source?.text.split("\n")[location.line - 1];
  return line?.slice(location.column - 1) ?? "nothing there";
}

describe("locations in the repository's own files", () => {
  const locations = locationsOf(files);

  it("every row of the table is found at its name", async () => {
    const { table, policies } = await compileConfiguration(files, {
      cache: TEST_CACHE,
    });
    if (table === null || policies === null)
      throw new Error("the repository's files do not compile");
    for (const [find, rows] of [
      [locations.route, table.routes],
      [locations.workspace, table.workspaces],
      [locations.provider, table.providers],
      [locations.model, table.models],
    ] as const) {
      for (const id of Object.keys(rows))
        expect(textAt(files, find(id))).toMatch(new RegExp(`^${id}:`));
    }
    for (const id of Object.keys(table.endpoints)) {
      expect(textAt(files, locations.endpoint(id))).toMatch(new RegExp(`^id: ${id},`));
    }
    for (const { contract } of policies.policies) {
      for (const { name } of contract.constraints) {
        const location = locations.constraint(contract.id, name);
        expect(textAt(files, location)).toMatch(new RegExp(`^pass(\\.${name}|\\["${name}"\\]) `));
        expect(location?.file).toBe(`policies/${contract.id}.rego`);
      }
    }
  });

  it("an approval of a workspace is found in its list, or in its row where it has none", () => {
    expect(textAt(files, locations.approval("demo", "context_window"))).toMatch(
      /^context_window: /,
    );
    expect(textAt(files, locations.approval("acme-dev", "dimensions"))).toMatch(/^approve:/);
  });

  it.each(["nobody", "constructor", "__proto__", "", "0"])(
    "an unknown name has no location: %s",
    (name) => {
      for (const find of [
        locations.route,
        locations.workspace,
        locations.provider,
        locations.model,
        locations.endpoint,
      ]) {
        expect(find(name)).toBeNull();
      }
      expect(locations.approval(name, "routes")).toBeNull();
      expect(locations.constraint(name, name)).toBeNull();
    },
  );

  it("files that cannot be read have no locations", () => {
    const broken = locationsOf({ routes: { path: "r.yaml", text: "routes: [" }, policies: [] });
    expect(broken.route("a")).toBeNull();
    expect(broken.endpoint("a")).toBeNull();
  });

  it("line ends and a byte order mark shift no location", () => {
    const text = `\uFEFF${files.routes.text.replaceAll("\n", "\r\n")}`;
    const others = locationsOf({ ...files, routes: { ...files.routes, text } });
    expect(others.route("chat-large")).toEqual(locations.route("chat-large"));
    expect(others.endpoint("gpt-5-eu")).toEqual(locations.endpoint("gpt-5-eu"));
  });
});

describe("the rule of a constraint", () => {
  it.each([
    ["the first of several", "pass.near if a\npass.near if b", [1, 1]],
    ["brackets", 'pass["near"] if a', [1, 1]],
    ["raw brackets", "pass[`near`] if a", [1, 1]],
    ["a set", "\tpass.near contains candidate.id if a", [1, 2]],
    [
      "not the default, where there is another",
      "default pass.near := false\n\npass.near if a",
      [3, 1],
    ],
    ["the default, where there is no other", "x := 1\ndefault pass.near := false", [2, 1]],
    ["not a longer name", "pass.nearby if a\npass.near if b", [2, 1]],
    ["not a comment", "# pass.near is wanted\npass.near if b", [2, 1]],
    ["METADATA, where there is no rule", "# METADATA\n# custom:\n#   near: {effect: gate}", [3, 1]],
    ["carriage returns", "x := 1\r\npass.near if a", [2, 1]],
    ["nothing", "pass.far if a", null],
  ])("with %s: %j has the location %j", (_, text, found) => {
    const location = ruleLocation([{ path: "policies/region.rego", text }], "region", "near");
    expect(location).toEqual(
      found === null ? null : { file: "policies/region.rego", line: found[0], column: found[1] },
    );
  });

  it("is looked for in the policy's own file, and not in its tests or a library of the name", () => {
    const text = "pass.near if a";
    const sources = [
      "policies/lib/region.rego",
      "policies/region_test.rego",
      "policies/other.rego",
    ];
    const found = ruleLocation(
      sources.map((path) => ({ path, text })),
      "region",
      "near",
    );
    expect(found).toBeNull();
  });
});
