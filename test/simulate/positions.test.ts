import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { compileConfiguration } from "../../src/compile/compile.ts";
import { loadConfiguration, type ConfigurationFiles } from "../../src/compile/load.ts";
import { locationsOf, ruleLocation } from "../../src/simulate/explain/positions.ts";
import type { SourceLocation } from "../../src/simulate/report/location.ts";
import { TEST_CACHE } from "../support/cache.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const files = await loadConfiguration(join(ROOT, "routes.yaml"), "routes.yaml");

/** What a reader finds at a place. */
function textAt({ routes, policies }: ConfigurationFiles, place: SourceLocation | null): string | null {
  if (place === null) return null;
  const source = [routes, ...policies].find(({ path }) => path === place.file);
  const line = source?.text.split("\n")[place.line - 1];
  return line?.slice(place.column - 1) ?? "nothing there";
}

describe("places in the repository's own files", () => {
  const places = locationsOf(files);

  it("every row of the table is found where its name stands", async () => {
    const { table, policies } = await compileConfiguration(files, {
      cache: TEST_CACHE,
    });
    if (table === null || policies === null) throw new Error("the repository's files do not compile");
    for (const [find, rows] of [
      [places.route, table.routes],
      [places.workspace, table.workspaces],
      [places.provider, table.providers],
      [places.model, table.models],
    ] as const) {
      for (const id of Object.keys(rows)) expect(textAt(files, find(id))).toMatch(new RegExp(`^${id}:`));
    }
    for (const id of Object.keys(table.endpoints)) {
      expect(textAt(files, places.endpoint(id))).toMatch(new RegExp(`^id: ${id},`));
    }
    for (const { contract } of policies.policies) {
      for (const { name } of contract.constraints) {
        const place = places.constraint(contract.id, name);
        expect(textAt(files, place)).toMatch(new RegExp(`^pass(\\.${name}|\\["${name}"\\]) `));
        expect(place?.file).toBe(`policies/${contract.id}.rego`);
      }
    }
  });

  it("what a workspace approves is found in its list, or in its row where it has none", () => {
    expect(textAt(files, places.approval("demo", "context_window"))).toMatch(/^context_window: /);
    expect(textAt(files, places.approval("acme-dev", "dimensions"))).toMatch(/^approve:/);
  });

  it.each(["nobody", "constructor", "__proto__", "", "0"])("a name that is not there has no place: %s", (name) => {
    for (const find of [places.route, places.workspace, places.provider, places.model, places.endpoint]) {
      expect(find(name)).toBeNull();
    }
    expect(places.approval(name, "routes")).toBeNull();
    expect(places.constraint(name, name)).toBeNull();
  });

  it("files that cannot be read have no places", () => {
    const broken = locationsOf({ routes: { path: "r.yaml", text: "routes: [" }, policies: [] });
    expect(broken.route("a")).toBeNull();
    expect(broken.endpoint("a")).toBeNull();
  });

  it("line ends and a byte order mark move nothing", () => {
    const text = `\uFEFF${files.routes.text.replaceAll("\n", "\r\n")}`;
    const others = locationsOf({ ...files, routes: { ...files.routes, text } });
    expect(others.route("chat-large")).toEqual(places.route("chat-large"));
    expect(others.endpoint("gpt-5-eu")).toEqual(places.endpoint("gpt-5-eu"));
  });
});

describe("the rule of a constraint", () => {
  it.each([
    ["the first of several", "pass.near if a\npass.near if b", [1, 1]],
    ["brackets", 'pass["near"] if a', [1, 1]],
    ["raw brackets", "pass[`near`] if a", [1, 1]],
    ["a set", "\tpass.near contains candidate.id if a", [1, 2]],
    ["not the default, where there is another", "default pass.near := false\n\npass.near if a", [3, 1]],
    ["the default, where there is no other", "x := 1\ndefault pass.near := false", [2, 1]],
    ["not a longer name", "pass.nearby if a\npass.near if b", [2, 1]],
    ["not a comment", "# pass.near is wanted\npass.near if b", [2, 1]],
    ["METADATA, where there is no rule", "# METADATA\n# custom:\n#   near: {effect: gate}", [3, 1]],
    ["carriage returns", "x := 1\r\npass.near if a", [2, 1]],
    ["nothing", "pass.far if a", null],
  ])("%s", (_, text, found) => {
    const place = ruleLocation([{ path: "policies/region.rego", text }], "region", "near");
    expect(place).toEqual(found === null ? null : { file: "policies/region.rego", line: found[0], column: found[1] });
  });

  it("is looked for in the policy's own file, and not in its tests or a library of the name", () => {
    const text = "pass.near if a";
    const sources = ["policies/lib/region.rego", "policies/region_test.rego", "policies/other.rego"];
    const found = ruleLocation(
      sources.map((path) => ({ path, text })),
      "region",
      "near",
    );
    expect(found).toBeNull();
  });
});
