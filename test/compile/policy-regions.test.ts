import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { compileConfiguration } from "../../src/compile/compile.ts";
import { testCache } from "../support/cache.ts";

const routes = {
  path: "routes.yaml",
  text: readFileSync(new URL("../../routes.yaml", import.meta.url), "utf8"),
};

function policy(region: string): string {
  return `# METADATA
# scope: package
# title: Near
# custom:
#   signalbox:
#     contract: 1
#     id: eu-residency
#     owners: [group:test]
#     obligations:
#       near: {kind: prefer_region, value: ${region}}
package signalbox.policy.eu_residency
`;
}

async function codes(region: string): Promise<readonly string[]> {
  // The file's other policy is named by initial_mode; a copy under its name keeps the table quiet.
  const other = policy("eu")
    .replaceAll("eu-residency", "data-retention")
    .replaceAll("eu_residency", "data_retention");
  const policies = [
    { path: "policies/eu-residency.rego", text: policy(region) },
    { path: "policies/data-retention.rego", text: other },
  ];
  const { diagnostics } = await compileConfiguration(
    { routes, policies },
    { cache: testCache("compile") },
  );
  return diagnostics.map(({ code, file, line }) => `${code} ${file}:${line}`);
}

describe("a region that an obligation prefers", () => {
  it.each(["eu", "eu-west", "us"])("%s has no finding", async (region) => {
    expect(await codes(region)).toEqual([]);
  });

  it("is a warning where routes.yaml does not have it, at its line", async () => {
    expect(await codes("mars")).toEqual(["POLICY_REGION_UNKNOWN policies/eu-residency.rego:10"]);
  });
});
