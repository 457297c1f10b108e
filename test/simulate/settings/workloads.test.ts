import { describe, expect, it } from "vitest";
import { compileTable } from "../../../src/compile/compile-table.ts";
import { furtherSources, type ConfigurationFiles } from "../../../src/compile/load.ts";
import type { ReportedSide } from "../../../src/simulate/request.ts";
import { changedSettings } from "../../../src/simulate/settings/changed-settings.ts";
import { WHOLE_FILE } from "./whole-file.ts";

const key = (kid: string): string =>
  JSON.stringify({ kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", kid });
const keys = (...kids: readonly string[]): string => `{"keys": [\n${kids.map(key).join(",\n")}\n]}\n`;

function side(text: string, keySet: string = keys("a")): ReportedSide {
  const files: ConfigurationFiles = {
    routes: { path: "routes.yaml", text },
    policies: [],
    keySets: [{ path: "keys/ci.json", text: keySet }],
  };
  const { table, diagnostics } = compileTable(files.routes, { policies: [], ...furtherSources(files) });
  if (table === null) throw new Error(JSON.stringify(diagnostics));
  return { name: ".", commit: null, table, files, warnings: [] };
}

function changes(from: string, to: string) {
  expect(WHOLE_FILE).toContain(from);
  const [base, head] = [side(WHOLE_FILE), side(WHOLE_FILE.replace(from, to))];
  return changedSettings(base, head, { newPolicies: null, samePolicies: true });
}

describe("a changed rule for workloads", () => {
  it.each<[string, string, string | null]>([
    ['sub: "system:serviceaccount:shop:*"', 'sub: "system:serviceaccount:*:*"', "weaker_obligation"],
    ['sub: "system:serviceaccount:shop:*"', 'sub: "system:serviceaccount:shop:till"', null],
    ['sub: "system:serviceaccount:shop:*"', 'sub: "system:serviceaccount:shop:*", env: live', null],
    ["issuer: https://cluster.example\n", "issuer: https://other.example\n", "weaker_obligation"],
    ["jwks_uri: https://cluster.example/keys", "jwks_uri: https://cluster.example/others", "weaker_obligation"],
    ["lifetime: 10m", "lifetime: 5m", null],
    ["lifetime: 10m", "lifetime: 15m", "weaker_obligation"],
    ["operations: [chat.completions, responses]", "operations: [responses]", null],
    ["      operations: [chat.completions, responses]\n", "", "weaker_obligation"],
    ["routes: [chat, embed]\n", "routes: [chat]\n", null],
    ["routes: [chat, embed]\n", "routes: [chat, embed, other]\n", "weaker_obligation"],
    ['scopes: [inference, "catalogue:read"]', "scopes: [inference]", null],
    ["      workload: batch\n", "      workload: web\n", "weaker_obligation"],
  ])("from %s to %s", (from, to, gate) => {
    const items = changes(from, to);
    expect(items.length).toBeGreaterThan(0);
    for (const item of items) {
      expect(item.path).toMatch(/^workload_identity\./);
      expect([item.effect, item.gate]).toEqual(["workloads", gate]);
      expect(item.where).toMatchObject({ file: "routes.yaml" });
    }
  });

  it("that is new gives somebody a token, and one that is removed does not", () => {
    const cut = WHOLE_FILE.indexOf("    ci:\n      issued_by");
    const without = WHOLE_FILE.slice(0, cut);
    const facts = { newPolicies: null, samePolicies: true };
    const added = changedSettings(side(without), side(WHOLE_FILE), facts);
    expect(added.map(({ gate }) => gate)).toContain("weaker_obligation");
    const removed = changedSettings(side(WHOLE_FILE), side(without), facts);
    expect(removed.length).toBeGreaterThan(0);
    expect(removed.every(({ gate }) => gate === null)).toBe(true);
  });

  it("has new keys in a file: digests stand for their texts", () => {
    const facts = { newPolicies: null, samePolicies: true };
    const items = changedSettings(side(WHOLE_FILE), side(WHOLE_FILE, keys("a", "b")), facts);
    expect(items).toMatchObject([
      {
        path: "keys/ci.json",
        before: expect.stringMatching(/^[0-9a-f]{12}$/),
        after: expect.stringMatching(/^[0-9a-f]{12}$/),
        where: { file: "keys/ci.json", line: 2, side: "head" },
        effect: "workloads",
        gate: "weaker_obligation",
      },
    ]);
  });
});
