import { describe, expect, it } from "vitest";
import { questionOf } from "../../../src/cli/simulate/formats/screen/headline.ts";
import type { Effect } from "../../../src/cli/simulate/formats/screen/effects.ts";
import type {
  CandidateReport,
  CauseReport,
  DestinationReport,
  RoutePath,
  SettingChange,
} from "../../../src/simulate/report/report.ts";
import {
  comparison,
  denied,
  EU,
  group,
  POINT,
  report,
  routed,
  US,
} from "./formats/report-fixture.ts";

const GAIN: DestinationReport = {
  endpoint: US.endpoint,
  model: US.model,
  provider: US.provider,
  region: US.region,
  host: US.host,
  retention: "days_30",
  trains_on_data: false,
  price: null,
  context_window: null,
};
const REFUSED = denied("retention", "kept", "KEPT");

function cause(path: string, changes: Partial<CauseReport> = {}): CauseReport {
  const kind = path.startsWith("routes.")
    ? "route"
    : path.startsWith("providers.")
      ? "provider"
      : "setting";
  return {
    id: "0123456789ab",
    entries: [
      {
        path,
        kind,
        subject: path.split(".")[1] ?? "",
        change: "changed",
        before: null,
        after: null,
        location: null,
      },
    ],
    renames: [],
    groups: ["aaaaaaaaaaaa"],
    promoted_groups: [],
    renamed_groups: [],
    exceptions: [],
    gains: [],
    loses: [],
    routes: [],
    unaffected: [],
    without_routes: 0,
    ...changes,
  };
}

function effect(
  tag: Effect["tag"],
  who: string,
  changes: Parameters<typeof group>[0],
  detail = "",
): Effect {
  const own = group(changes);
  return {
    tag,
    workspaces: [who],
    routes: own.routes,
    text: "",
    detail,
    promoted: false,
    gates: [],
    seen: null,
    group: own,
    groups: [own],
  };
}

const ask = (
  about: CauseReport,
  effects: readonly Effect[],
  settings: readonly SettingChange[] = [],
  newRoutePaths: readonly RoutePath[] = [],
): string =>
  questionOf(
    about,
    effects,
    report({
      changed_settings: settings,
      declared: comparison("incomparable", [], { new_route_paths: newRoutePaths }),
    }),
  );

const PATH: RoutePath = {
  workspace: "beta",
  route: group({}).routes[0] ?? "",
  operations: ["chat.completions"],
  provider: US.provider,
  region: US.region,
  host: US.host,
  other_host: null,
  location: null,
  example: POINT,
  explain: [],
};

const version = (path: string): CauseReport => {
  const about = cause(path);
  return { ...about, entries: about.entries.map((entry) => ({ ...entry, after: "gpt-5-2026" })) };
};
const POLICY: Pick<CauseReport, "entries"> = {
  entries: cause("policies/short").entries.map((entry) => ({
    ...entry,
    kind: "policy",
    subject: "short",
  })),
};
const breaks = (who: string): Effect => effect("BREAKS", who, { base: routed(EU), head: REFUSED });
const moved = (changes: Partial<CandidateReport>): Effect =>
  effect("MOVES", "acme", {
    kinds: ["destination_changed"],
    base: routed(EU),
    head: routed({ ...EU, ...changes }),
  });

describe("the question", () => {
  it.each([
    [
      "about data names the workspaces that reach the new endpoint",
      ask(
        cause("routes.chat.fallbacks", { gains: [GAIN] }),
        [breaks("acme"), effect("WIDENS", "beta", { base: routed(EU), head: routed(EU, US) })],
        [],
        [PATH],
      ),
      `may data of beta go to ${US.provider} in ${US.region}, kept 30 days, and shall requests of acme for chat-eu be refused?`,
    ],
    [
      "about requests that were refused is no question about another endpoint",
      ask(cause("endpoints.a.price", { gains: [GAIN] }), [
        effect("WIDENS", "beta", { base: REFUSED, head: routed(US) }, "no new data path"),
      ]),
      "shall requests of beta for chat-eu be served that are refused today?",
    ],
    [
      "about another endpoint in a known region names the endpoint",
      ask(cause("routes.chat.fallbacks", { gains: [GAIN] }), [
        effect("WIDENS", "beta", { base: routed(EU), head: routed(EU, US) }, "no new data path"),
      ]),
      `may requests of beta for chat-eu go to ${US.endpoint}?`,
    ],
    [
      "about what policies do to requests speaks of protection",
      ask(cause("policies/short"), [
        effect("WIDENS", "beta", { base: routed(EU), head: routed(EU) }),
      ]),
      "may requests of beta for chat-eu lose this protection (policies/short)?",
    ],
    [
      "about another host names it",
      ask(cause(`providers.${EU.provider}.base_url`), [moved({ host: "other.example" })]),
      "may data of acme go to other.example?",
    ],
    [
      "about another dialect is whether answers stay as they are",
      ask(cause(`providers.${EU.provider}.dialect`), [moved({})]),
      `does ${EU.endpoint} still answer as chat-eu needs it?`,
    ],
    [
      "about another version names it, the endpoint and the routes",
      ask(version("endpoints.gpt-5-eu.upstream_model"), [moved({})]),
      "has gpt-5-2026 (gpt-5-eu) been tried for chat-eu?",
    ],
    [
      "about a policy that waits names the policy",
      ask({ ...cause("policies/short", { groups: [] }), ...POLICY }, [breaks("acme")]),
      "shall requests of acme for chat-eu be refused once short is promoted?",
    ],
    [
      "about another order names the endpoints that change positions",
      ask(cause("routes.chat.fallbacks"), [
        effect("MOVES", "acme", {
          kinds: ["primary_changed"],
          base: routed(EU, US),
          head: routed(US, EU),
        }),
      ]),
      `is ${US.endpoint} (${US.model}) the better choice before ${EU.endpoint} for chat-eu?`,
    ],
  ])("%s", (_, question, expected) => {
    expect(question).toBe(expected);
  });

  it.each([
    ["higher_ceiling", "limit", "who pays for the additional use that limits.b allows?"],
    [null, "limit", ""],
    [
      null,
      "credential",
      "is the account of b one with the region and the contract that its row states?",
    ],
    [
      null,
      "price",
      "does the provider of b charge 2.5/20? preferences by price and budgets use it",
    ],
    [
      "weaker_obligation",
      "promotion",
      "are the weaker requirements of limits.b enough for promotions?",
    ],
    [null, "description", ""],
  ] as const)("about a setting with gate %s and effect %s is %s", (gate, effectName, expected) => {
    const setting: SettingChange = {
      path: "limits.b",
      before: "1",
      after: "2",
      location: null,
      effect: effectName,
      gate,
    };
    const about = cause("limits.b", { groups: [] });
    const entries = about.entries.map((entry) => ({
      ...entry,
      after: "{ input: 2.5, output: 20 }",
    }));
    expect(ask({ ...about, entries }, [], [setting])).toBe(expected);
  });
});
