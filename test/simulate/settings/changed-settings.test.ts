import { describe, expect, it } from "vitest";
import { compileTable } from "../../../src/compile/compile-table.ts";
import { furtherSources, type ConfigurationFiles } from "../../../src/compile/load.ts";
import { parseAssertions } from "../../../src/simulate/assertions/parse.ts";
import type { ReportedSide } from "../../../src/simulate/request.ts";
import {
  changedAssertions,
  changedSettings,
} from "../../../src/simulate/settings/changed-settings.ts";
import { effectOf } from "../../../src/simulate/settings/setting-effect.ts";
import { WHOLE_FILE } from "./whole-file.ts";

const INCLUDED = {
  path: "teams/supply.yaml",
  text: "providers:\n  more:\n    dialect: openai-chat\n    base_url: https://more.example/v1\n    region: eu-west\n    auth: { bearer: { env: MORE_KEY } }\n",
};

function side(text: string, further: Partial<ConfigurationFiles> = {}): ReportedSide {
  const files: ConfigurationFiles = {
    routes: { path: "routes.yaml", text },
    policies: [],
    ...further,
  };
  const { table, diagnostics } = compileTable(files.routes, {
    policies: ["gate"],
    ...furtherSources(files),
  });
  if (table === null) throw new Error(JSON.stringify(diagnostics));
  return { name: ".", commit: null, table, files, warnings: [] };
}

function changes(from: string, to: string, newPolicies: readonly string[] | null = null) {
  expect(WHOLE_FILE).toContain(from);
  return changedSettings(side(WHOLE_FILE), side(WHOLE_FILE.replace(from, to)), {
    newPolicies,
    samePolicies: true,
  });
}

function lineOf(content: string, text = WHOLE_FILE): number {
  return text.split("\n").findIndex((line) => line.includes(content)) + 1;
}

describe("a changed setting", () => {
  it("has both hosts and the line of the provider", () => {
    expect(changes("https://alpha.example/v1", "https://other.example/v1")).toEqual([
      {
        path: "providers.alpha.base_url",
        before: "https://alpha.example/v1",
        after: "https://other.example/v1",
        location: {
          file: "routes.yaml",
          line: lineOf("base_url: https://alpha"),
          column: 5,
          side: "head",
        },
        effect: "decides",
        gate: null,
      },
    ]);
  });

  it("names a credential, and has no secret", () => {
    expect(changes("env: ALPHA_KEY", "env: ACME_KEY")).toMatchObject([
      {
        path: "providers.alpha.auth.bearer.env",
        before: "ALPHA_KEY",
        after: "ACME_KEY",
        effect: "credential",
      },
    ]);
  });

  it.each([
    [
      "budget: { usd: 50, per: day }",
      "budget: { usd: 5000, per: day }",
      "limits.budget.usd",
      "50",
      "5000",
      "higher_ceiling",
    ],
    [
      "budget: { usd: 50, per: day }",
      "budget: { usd: 5, per: day }",
      "limits.budget.usd",
      "50",
      "5",
      null,
    ],
    [
      "budget: { usd: 50, per: day }",
      "budget: { usd: 50, per: hour }",
      "limits.budget.per",
      "day",
      "hour",
      "higher_ceiling",
    ],
    ["      concurrency: 20\n", "", "limits.concurrency", "20", null, "higher_ceiling"],
  ])(
    "of a limit meets higher_ceiling where it allows more: %s, %s",
    (from, to, path, before, after, gate) => {
      expect(changes(from, to)).toMatchObject([
        { path: `workspaces.acme.${path}`, before, after, effect: "limit", gate },
      ]);
    },
  );

  it.each([
    ["data_collection: allow", "data_collection: deny", null],
    ["data_collection: deny", "data_collection: allow", "weaker_obligation"],
    ["retention: unlimited", "retention: days_30", null],
    ["retention: days_30", "retention: unlimited", "weaker_obligation"],
    ["      retention: transient\n", "", "weaker_obligation"],
  ])(
    "of a workspace's ceiling meets weaker_obligation where it approves more: %s, %s",
    (from, to, gate) => {
      const name = from.trim().split(":")[0] ?? "";
      const strict = WHOLE_FILE.replace(
        `      ${name}: ${name === "retention" ? "unlimited" : "allow"}\n`,
        () => (from.endsWith("\n") ? from : `      ${from}\n`),
      );
      const items = changedSettings(side(strict), side(strict.replace(from, to)), {
        newPolicies: null,
        samePolicies: true,
      });
      expect(items).toMatchObject([
        { path: `workspaces.retail.approve.${name}`, effect: "decides", gate },
      ]);
    },
  );

  it.each([
    ["approvals: 2", "approvals: 1", "weaker_obligation"],
    ["approvals: 2", "approvals: 3", null],
    ["roles: [reviewer]", "roles: []", "weaker_obligation"],
    ["self_approval: false", "self_approval: true", "weaker_obligation"],
    ["soak: 24h", "soak: 12h", "weaker_obligation"],
    ["no_indeterminate: true", "no_indeterminate: false", "weaker_obligation"],
    [
      "report: true\n      assertions: true",
      "report: true\n      assertions: false",
      "weaker_obligation",
    ],
    ["managed_by: [acme]", "managed_by: [acme, retail]", "weaker_obligation"],
    ["managed_by: [acme]", "managed_by: [retail]", "weaker_obligation"],
    ["retention: none", "retention: days_30", "weaker_obligation"],
    ["trains_on_data: false", "trains_on_data: true", "weaker_obligation"],
    ["role: approver", "role: operator", "weaker_obligation"],
    ["workspaces: [acme]", "workspaces: [acme, retail]", "weaker_obligation"],
    ["workspaces: all", "workspaces: [acme]", null],
    ["idle: 30m", "idle: 1h", null],
  ])("meets weaker_obligation where it requires less: %s, %s", (from, to, gate) => {
    expect(changes(from, to).map((item) => item.gate)).toEqual([gate]);
  });

  it("of a policy's own row meets the gate of the setting that it replaces", () => {
    const own = 'promotion:\n    gate: { approvals: 1 }\n    "*":';
    expect(changes('promotion:\n    "*":', own)).toMatchObject([
      {
        path: "policies.promotion.gate.approvals",
        before: null,
        after: "1",
        gate: "weaker_obligation",
      },
    ]);
  });

  it("has base's location where it was removed, and head's where it was added", () => {
    const [gone] = changes(
      "  - { id: spare, model: large, provider: beta, upstream_model: large-2 }\n",
      "",
    );
    expect(gone).toMatchObject({
      path: "endpoints.spare",
      before: "{ id: spare, model: large, provider: beta, upstream_model: large-2 }",
      after: null,
      location: { line: lineOf("id: spare,"), side: "base" },
    });
    const [added] = changes(
      "fallbacks: [large-g, route: other]",
      "fallbacks:\n      - large-g\n      - claude-c\n      - route: other",
    );
    expect(added).toMatchObject({
      before: "[large-g, { route: other }]",
      after: "[large-g, claude-c, { route: other }]",
    });
    expect(added?.location?.line).toBe(lineOf("fallbacks: [large-g") + 2);
  });

  it.each([
    ["connect: 5s", "connect: 5000ms"],
    ["regions: [eu, us, world, north]", "regions: [world, eu, us, north]"],
    [
      "retention: none\n    trains_on_data: false\n    trace_context: false\n",
      "retention: none\n    trains_on_data: false\n",
    ],
  ])("that means the same is named as equivalent: %s, %s", (from, to) => {
    expect(changes(from, to)).toMatchObject([{ effect: "equivalent", gate: null }]);
  });

  it("that only moved is not reported", () => {
    const row =
      "  - { id: judge-a, model: judge, provider: alpha, upstream_model: j-1, price: { input: 0, output: 0 } }\n";
    const moved = WHOLE_FILE.replace(row, "").replace("endpoints:\n", `endpoints:\n${row}`);
    const facts = { newPolicies: null, samePolicies: true };
    expect(changedSettings(side(WHOLE_FILE), side(`# moved\n${moved}`), facts)).toEqual([]);
  });

  it("of initial_mode is without effect on policies that a store has", () => {
    const [from, to] = ['initial_mode: { "*": enforce }', 'initial_mode: { "*": shadow }'];
    expect(changes(from, to, [])).toMatchObject([
      { path: "policies.initial_mode.*", effect: "known_policies" },
    ]);
    expect(changes(from, to, ["gate"])).toMatchObject([{ effect: "decides" }]);
    expect(changes(from, to)).toMatchObject([{ effect: "decides" }]);
  });

  it("of an included file or an overlay has its location in that file", () => {
    const facts = { newPolicies: null, samePolicies: true };
    const host = INCLUDED.text.replace("more.example", "else.example");
    const parts = (text: string) => side(WHOLE_FILE, { parts: [{ ...INCLUDED, text }] });
    expect(changedSettings(parts(INCLUDED.text), parts(host), facts)).toMatchObject([
      {
        path: "providers.more.base_url",
        location: { file: "teams/supply.yaml", line: 4, side: "head" },
      },
    ]);
    const overlay = {
      path: "routes.production.yaml",
      text: "workspaces:\n  acme:\n    tier: regulated\n",
    };
    expect(changedSettings(side(WHOLE_FILE), side(WHOLE_FILE, { overlay }), facts)).toMatchObject([
      {
        path: "workspaces.acme.tier",
        before: "standard",
        after: "regulated",
        location: { file: overlay.path, line: 3 },
      },
    ]);
  });

  it("that has no rule is an error", () => {
    expect(() => effectOf(["providers", "alpha", "invented"])).toThrow(
      "no effect is known for a change of",
    );
    expect(() => effectOf(["invented"])).toThrow("no effect is known for a change of");
    expect(() => effectOf(["policies", "constructor"])).toThrow(
      "no effect is known for a change of",
    );
  });
});

describe("a changed assertion", () => {
  const GUARD =
    "version: 1\nassertions:\n  - id: guard\n    title: Guard\n    kind: no_new_access\n    to: { regions: [us-east] }\ncoverage: { routes: 50 }\n";

  function read(text: string) {
    const table = side(WHOLE_FILE).table;
    const source = { path: "policies/assertions.yaml", text };
    const { assertions, diagnostics } = parseAssertions(source, {
      base: { table, contracts: [] },
      head: { table, contracts: [] },
    });
    if (assertions === null) throw new Error(JSON.stringify(diagnostics));
    return { source, assertions };
  }

  it.each([
    ["title: Guard", "title: Keeper", "assertions.guard.title", null],
    ["kind: no_new_access", "kind: access_not_granted", "assertions.guard.kind", "assertions"],
    [
      "    title: Guard\n",
      "    title: Guard\n    may_be_empty: true\n",
      "assertions.guard.may_be_empty",
      "assertions",
    ],
    ["routes: 50", "routes: 40", "coverage.routes", "assertions"],
    ["routes: 50", "routes: 60", "coverage.routes", null],
    ["[us-east]", "[us-east, eu-west]", "assertions.guard.to", null],
    [
      "    to: { regions: [us-east] }\n",
      "    to: { regions: [us-east], retention: [none] }\n",
      "assertions.guard.to",
      "assertions",
    ],
  ])("%j → %j is reported at %s with the gate %s", (from, to, path, gate) => {
    expect(changedAssertions(read(GUARD), read(GUARD.replace(from, to)))).toMatchObject([
      { path, gate },
    ]);
  });

  it("that was removed meets the gate, as does a removed file", () => {
    const empty = "version: 1\nassertions: []\ncoverage: { routes: 50 }\n";
    expect(changedAssertions(read(GUARD), read(empty))).toMatchObject([
      { path: "assertions.guard", after: null, gate: "assertions" },
    ]);
    expect(changedAssertions(read(GUARD), null)).toMatchObject([
      { after: null, gate: "assertions" },
    ]);
    expect(changedAssertions(read(empty), read(GUARD))).toMatchObject([
      { before: null, gate: null },
    ]);
  });

  it("that follows a new name is equally strict, and one that also selects less is not", () => {
    const text = GUARD.replace("    to: ", "    for: { routes: [chat] }\n    to: ").replace(
      "coverage: { routes: 50 }",
      'coverage: { routes: 50, except: ["chat"] }',
    );
    const base = read(text);
    const following = (from: string, to: string): typeof base =>
      JSON.parse(JSON.stringify(base).replaceAll('"chat"', '"talk"').replace(from, to));
    const renames = [{ kind: "route", from: "chat", to: "talk" }] as const;
    expect(changedAssertions(base, following("", ""), renames)).toMatchObject([
      { path: "assertions.guard.for", effect: "renamed", gate: null },
      { path: "coverage.except", gate: null },
    ]);
    expect(changedAssertions(base, following("", ""))).toMatchObject([
      { gate: "assertions" },
      { gate: "assertions" },
    ]);
    expect(
      changedAssertions(base, following('["talk"]}', '["talk"],"stream":true}'), renames),
    ).toMatchObject([
      { path: "assertions.guard.for", effect: "assertion", gate: "assertions" },
      { path: "coverage.except", gate: null },
    ]);
  });

  it("that has another id and demands the same is renamed", () => {
    const items = changedAssertions(read(GUARD), read(GUARD.replace("id: guard", "id: keeper")));
    expect(items).toMatchObject([
      { path: "assertions.keeper.id", before: "guard", after: "keeper", gate: null },
    ]);
    const weaker = GUARD.replace("id: guard", "id: keeper").replace("[us-east]", "[eu-west]");
    expect(changedAssertions(read(GUARD), read(weaker)).map(({ gate }) => gate)).toContain(
      "assertions",
    );
  });

  it("is not reported where the file expresses the same in another way", () => {
    expect(changedAssertions(read(GUARD), read(`# moved\n${GUARD}`))).toEqual([]);
  });
});
