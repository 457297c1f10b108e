import { describe, expect, it } from "vitest";
import type { CauseReport, SimulationReport } from "../../../src/simulate/report/report.ts";
import { promotedGroups } from "../../../src/simulate/report/cause-parts.ts";
import { simulated, type Edit } from "./fixture.ts";

const FALLBACK: Edit = [
  "routes.yaml",
  "fallbacks: [mistral-large-eu]",
  "fallbacks: [mistral-large-eu, gpt-5-us]",
];
const VERSION: Edit = [
  "routes.yaml",
  "upstream_model: gpt-5-mini-2025-08-07",
  "upstream_model: gpt-5-mini-2026",
];
const PRICE: Edit = ["routes.yaml", "{ input: 2, output: 6 }", "{ input: 20, output: 60 }"];
const TIGHTER: Edit = [
  "data-retention",
  'tier != "regulated"\n',
  'tier != "regulated"\n\tinput.workspace.id != "support"\n',
];

function pathsOf({ entries }: CauseReport): readonly string[] {
  return entries.map(({ path }) => path);
}

/** Every group has exactly one cause; what promotion adds to a group may have its own beside it. */
function checkGroups(report: SimulationReport): void {
  const { causes, declared } = report;
  const ids = declared.groups.map(({ id }) => id);
  expect(causes.flatMap(({ groups }) => groups).toSorted()).toEqual(ids.toSorted());
  const more = promotedGroups(report).map(({ id }) => id);
  const later = causes.flatMap(({ promoted_groups: own }) => own);
  expect([...new Set(later)].toSorted()).toEqual(more.toSorted());
  expect(later.length > more.length).toBe(more.some((id) => ids.includes(id)));
}

describe("causes", () => {
  it("one changed line is one cause with all of its groups, its line and its values", async () => {
    const report = await simulated(FALLBACK);
    expect(report.causes).toHaveLength(1);
    expect(report.causes[0]).toMatchObject({
      entries: [
        {
          path: "routes.chat-eu.fallbacks",
          kind: "route",
          subject: "chat-eu",
          change: "changed",
          before: "[mistral-large-eu]",
          after: "[mistral-large-eu, gpt-5-us]",
          location: { file: "routes.yaml", side: "head" },
        },
      ],
      gains: [
        {
          endpoint: "gpt-5-us",
          provider: "openai-us",
          region: "us",
          host: "us.api.openai.com",
          retention: "days_30",
        },
      ],
      unaffected: [
        { workspace: "finance", why: "us is not approved" },
        { workspace: "hr", why: "us is not approved" },
        // A policy excludes the endpoint.
        { workspace: "legal", why: null },
      ],
    });
    checkGroups(report);
  });

  it("a refused plain request has the preferences with which it is served still", async () => {
    const { causes, declared } = await simulated(FALLBACK);
    const refused = declared.groups.filter(
      ({ base, head }) => base.denial === null && head.denial !== null,
    );
    const exceptions = causes.flatMap((cause) => cause.exceptions);
    expect(exceptions.map(({ preferences }) => preferences)).toContainEqual([
      { zdr: true },
      { allow_fallbacks: false },
      { only: ["openai-eu"] },
      { only: ["mistral-eu"] },
    ]);
    expect(exceptions.every(({ group }) => refused.some(({ id }) => id === group))).toBe(true);
  });

  it("unrelated changes are separate causes, each with its own groups", async () => {
    const report = await simulated(FALLBACK, VERSION, TIGHTER);
    checkGroups(report);
    expect(report.causes.map(pathsOf)).toEqual([
      ["policies/data-retention"],
      ["routes.chat-eu.fallbacks"],
      ["endpoints.gpt-5-mini-us.upstream_model"],
    ]);
    const [policy, fallback, version] = report.causes;
    const routesOf = (ids: readonly string[] = []) =>
      new Set(
        [...report.declared.groups, ...report.promoted.groups]
          .filter(({ id }) => ids.includes(id))
          .flatMap(({ routes }) => routes),
      );
    expect(routesOf(fallback?.groups)).toEqual(new Set(["chat-eu"]));
    expect(routesOf(version?.groups)).toEqual(new Set(["fast"]));
    expect(policy?.groups).toEqual([]);
    expect(policy?.promoted_groups.length).toBeGreaterThan(0);
  });

  it("a changed price is the cause of changes for callers who name a price or sort by it", async () => {
    const report = await simulated(PRICE);
    checkGroups(report);
    expect(report.causes.map(pathsOf)).toEqual([["endpoints.mistral-large-eu.price"]]);
    expect(report.declared.kinds.map(({ kind }) => kind)).toContain("newly_denied");
    for (const { example } of report.declared.groups) {
      expect(example.preferences?.max_price ?? example.preferences?.sort).toBeDefined();
    }
  });

  it("entries that change something only together are one cause", async () => {
    const report = await simulated(
      [
        "routes.yaml",
        "primary: gpt-5-mini-us\n",
        "primary: gpt-5-mini-us\n    fallbacks: [mistral-large-eu]\n",
      ],
      [
        "routes.yaml",
        "[chat, fast]\n      regions: [eu, us]\n      providers: [openai-eu, openai-us]",
        "[chat, fast]\n      regions: [eu, us]\n      providers: [openai-eu, openai-us, mistral-eu]",
      ],
    );
    checkGroups(report);
    expect(report.causes.map(pathsOf)).toEqual([
      ["routes.fast.fallbacks", "workspaces.website.approve.providers"],
    ]);
  });

  it("a primary and a fallback that change positions are one cause", async () => {
    const report = await simulated([
      "routes.yaml",
      "primary: gpt-5-eu\n    fallbacks: [mistral-large-eu]",
      "primary: mistral-large-eu\n    fallbacks: [gpt-5-eu]",
    ]);
    checkGroups(report);
    expect(report.causes.map(pathsOf)).toEqual([
      ["routes.chat-eu.primary", "routes.chat-eu.fallbacks"],
    ]);
  });

  it("a renamed endpoint is a rename, and no request is decided otherwise", async () => {
    const report = await simulated(["routes.yaml", "gpt-5-mini-us", "mini"]);
    checkGroups(report);
    expect(report.causes).toHaveLength(1);
    const [cause] = report.causes;
    expect(cause?.renames).toEqual([{ kind: "endpoint", from: "gpt-5-mini-us", to: "mini" }]);
    expect(cause?.groups).toEqual([]);
  });

  it("another host of a provider is the cause of its requests' other destination, with both hosts", async () => {
    const report = await simulated([
      "routes.yaml",
      "https://us.api.openai.com/v1",
      "https://relay.example.net/v1",
    ]);
    checkGroups(report);
    expect(report.causes).toMatchObject([
      {
        entries: [
          {
            path: "providers.openai-us.base_url",
            before: "https://us.api.openai.com/v1",
            after: "https://relay.example.net/v1",
          },
        ],
      },
    ]);
    expect(report.declared.groups.every(({ kinds }) => kinds.includes("destination_changed"))).toBe(
      true,
    );
  });

  it("a region group is the cause of exclusions by its approvals and policies", async () => {
    const report = await simulated(["routes.yaml", "eu: [eu, eu-west]", "eu: [eu]"]);
    checkGroups(report);
    expect(report.causes.map(pathsOf)).toEqual([["regions.eu"]]);
    expect(report.causes[0]?.loses.map(({ endpoint }) => endpoint)).toEqual(["mistral-large-eu"]);
  });

  it("comments and other lines without a meaning are no entries", async () => {
    expect(
      (await simulated(["routes.yaml", "\nmodels:", "\n# The models.\nmodels:"])).causes,
    ).toEqual([]);
  });
});
