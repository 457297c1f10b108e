import { describe, expect, it } from "vitest";
import { compileTable } from "../../../src/compile/compile-table.ts";
import { furtherSources, type ConfigurationFiles } from "../../../src/compile/load.ts";
import type { ReportedSide } from "../../../src/simulate/request.ts";
import { changedSettings } from "../../../src/simulate/settings/changed-settings.ts";
import { routesSchema } from "../../../src/compile/routes-schema.ts";
import { leavesOf } from "./schema-leaves.ts";
import { WHOLE_FILE } from "./whole-file.ts";

const key = (kid: string): string =>
  JSON.stringify({
    kty: "OKP",
    crv: "Ed25519",
    x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
    kid,
  });
const keys = (...kids: readonly string[]): string =>
  `{"keys": [\n${kids.map(key).join(",\n")}\n]}\n`;

function side(text: string, keySet: string = keys("a")): ReportedSide {
  const files: ConfigurationFiles = {
    routes: { path: "routes.yaml", text },
    policies: [],
    keySets: [
      { path: "keys/ci.json", text: keySet },
      { path: "keys/ci-2.json", text: keys("b") },
    ],
  };
  const { table, diagnostics } = compileTable(files.routes, {
    policies: [],
    ...furtherSources(files),
  });
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
    [
      'sub: "system:serviceaccount:shop:*"',
      'sub: "system:serviceaccount:*:*"',
      "weaker_obligation",
    ],
    ['sub: "system:serviceaccount:shop:*"', 'sub: "system:serviceaccount:shop:till"', null],
    ['sub: "system:serviceaccount:shop:*"', 'sub: "system:serviceaccount:shop:*", env: live', null],
    ["issuer: https://cluster.example\n", "issuer: https://other.example\n", "weaker_obligation"],
    [
      "jwks_uri: https://cluster.example/keys",
      "jwks_uri: https://cluster.example/others",
      "weaker_obligation",
    ],
    ["lifetime: 10m", "lifetime: 5m", null],
    ["lifetime: 10m", "lifetime: 15m", "weaker_obligation"],
    ["operations: [chat.completions, responses]", "operations: [responses]", null],
    ["      operations: [chat.completions, responses]\n", "", "weaker_obligation"],
    ["routes: [chat, embed]\n", "routes: [chat]\n", null],
    ["routes: [chat, embed]\n", "routes: [chat, embed, other]\n", "weaker_obligation"],
    ['scopes: [inference, "catalogue:read"]', "scopes: [inference]", null],
    ["      workload: batch\n", "      workload: web\n", "weaker_obligation"],
  ])("from %s to %s meets the gate %s", (from, to, gate) => {
    const items = changes(from, to);
    expect(items.length).toBeGreaterThan(0);
    for (const item of items) {
      expect(item.path).toMatch(/^workload_identity\./);
      expect([item.effect, item.gate]).toEqual(["workloads", gate]);
      expect(item.location).toMatchObject({ file: "routes.yaml" });
    }
  });

  const CLUSTER = "workload_identity.issuers.cluster";
  const SHOP = "workload_identity.rules.shop";
  /** Every member of an issuer and of a rule: a test below fails for one that is not here. */
  const MEMBERS: readonly [
    path: string,
    from: string,
    to: string,
    before: string | null,
    after: string | null,
  ][] = [
    [
      `${CLUSTER}.issuer`,
      "issuer: https://cluster.example\n",
      "issuer: https://new.example\n",
      "https://cluster.example",
      "https://new.example",
    ],
    [
      `${CLUSTER}.jwks_uri`,
      "https://cluster.example/keys",
      "https://cluster.example/new",
      "https://cluster.example/keys",
      "https://cluster.example/new",
    ],
    [
      `${CLUSTER}.jwks_uri`,
      "      jwks_uri: https://cluster.example/keys\n",
      "",
      "https://cluster.example/keys",
      null,
    ],
    [
      `${CLUSTER}.network`,
      "/keys\n      network: public",
      "/keys\n      network: private",
      "public",
      "private",
    ],
    [
      "workload_identity.issuers.ci.jwks_file",
      "jwks_file: keys/ci.json",
      "jwks_file: keys/ci-2.json",
      "keys/ci.json",
      "keys/ci-2.json",
    ],
    [
      `${SHOP}.issued_by`,
      "shop:\n      issued_by: cluster",
      "shop:\n      issued_by: ci",
      "cluster",
      "ci",
    ],
    [
      `${SHOP}.audience`,
      "issued_by: cluster\n      audience: signalbox",
      "issued_by: cluster\n      audience: any",
      "signalbox",
      "any",
    ],
    [
      `${SHOP}.claims.sub`,
      "serviceaccount:shop:*",
      "serviceaccount:*:*",
      '"system:serviceaccount:shop:*"',
      '"system:serviceaccount:*:*"',
    ],
    [`${SHOP}.claims.env`, 'shop:*" }', 'shop:*", env: live }', null, "live"],
    [
      "workload_identity.rules.ci.claims.run_attempt",
      "run_attempt: 1",
      "run_attempt: [1, 2]",
      "1",
      "[1, 2]",
    ],
    [
      "workload_identity.rules.ci.workspace",
      "run_attempt: 1 }\n      workspace: acme",
      "run_attempt: 1 }\n      workspace: retail",
      "acme",
      "retail",
    ],
    [
      `${SHOP}.scopes`,
      'scopes: [inference, "catalogue:read"]',
      'scopes: [inference, "route:simulate"]',
      "[inference, catalogue:read]",
      "[inference, route:simulate]",
    ],
    [
      `${SHOP}.operations`,
      "operations: [chat.completions, responses]",
      "operations: [embeddings]",
      "[chat.completions, responses]",
      "[embeddings]",
    ],
    [
      `${SHOP}.routes`,
      "routes: [chat, embed]\n",
      "routes: [chat, other]\n",
      "[chat, embed]",
      "[chat, other]",
    ],
    [`${SHOP}.lifetime`, "lifetime: 10m", "lifetime: 15m", "10m", "15m"],
    [
      `${SHOP}.environment`,
      "lifetime: 10m\n      environment: production",
      "lifetime: 10m\n      environment: development",
      "production",
      "development",
    ],
    [`${SHOP}.workload`, "      workload: batch\n", "      workload: web\n", "batch", "web"],
    [
      `${SHOP}.owner`,
      "owner: group:payments",
      "owner: group:search",
      "group:payments",
      "group:search",
    ],
    [
      `${SHOP}.labels`,
      "payments\n      labels: [eu]",
      "payments\n      labels: [eu, reviewer]",
      "[eu]",
      "[eu, reviewer]",
    ],
  ];

  it.each(MEMBERS)("%s is reported with both values: %s → %s", (path, from, to, before, after) => {
    const found = changes(from, to);
    expect(found).toMatchObject([{ path, before, after, effect: "workloads" }]);
    // Only a further claim admits fewer.
    expect(found[0]?.gate).toBe(path.endsWith(".claims.env") ? null : "weaker_obligation");
  });

  it("no member of the schema is missing above", () => {
    const members = leavesOf(routesSchema([]))
      .filter(({ pattern }) => pattern[0] === "workload_identity")
      .map(({ pattern }) => pattern[3]);
    expect(members.length).toBeGreaterThan(10);
    const tried = new Set(MEMBERS.map(([path]) => path.split(".")[3]));
    expect(members.filter((member) => member !== undefined && !tried.has(member))).toEqual([]);
  });

  it("that is new grants a token, and one that is removed does not", () => {
    const cut = WHOLE_FILE.indexOf("    ci:\n      issued_by");
    const without = WHOLE_FILE.slice(0, cut);
    const facts = { newPolicies: null, samePolicies: true };
    const added = changedSettings(side(without), side(WHOLE_FILE), facts);
    expect(added.map(({ gate }) => gate)).toContain("weaker_obligation");
    const removed = changedSettings(side(WHOLE_FILE), side(without), facts);
    expect(removed.length).toBeGreaterThan(0);
    expect(removed.every(({ gate }) => gate === null)).toBe(true);
  });

  it("with new keys in a file is reported with digests instead of the keys", () => {
    const facts = { newPolicies: null, samePolicies: true };
    const items = changedSettings(side(WHOLE_FILE), side(WHOLE_FILE, keys("a", "b")), facts);
    expect(items).toMatchObject([
      {
        path: "keys/ci.json",
        before: expect.stringMatching(/^[0-9a-f]{12}$/),
        after: expect.stringMatching(/^[0-9a-f]{12}$/),
        location: { file: "keys/ci.json", line: 2, side: "head" },
        effect: "workloads",
        gate: "weaker_obligation",
      },
    ]);
  });
});
