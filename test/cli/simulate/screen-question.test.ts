import { describe, expect, it } from "vitest";
import { questionOf } from "../../../src/cli/simulate/formats/screen/decide.ts";
import type { Effect } from "../../../src/cli/simulate/formats/screen/effects.ts";
import type {
  CandidateReport,
  CauseReport,
  DestinationReport,
  RoutePath,
  SettingChange,
} from "../../../src/simulate/report/report.ts";
import { denied, EU, group, POINT, routed, US } from "./formats/report-fixture.ts";

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
): string => questionOf(about, { effects, latent: [], settings, newDataPaths: [], newRoutePaths });

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
      `may data of beta go to ${US.provider} in ${US.region}, kept 30 days, and shall acme be refused?`,
    ],
    [
      "about requests that were refused is no question about another endpoint",
      ask(cause("endpoints.a.price", { gains: [GAIN] }), [
        effect("WIDENS", "beta", { base: REFUSED, head: routed(US) }, "no new data path"),
      ]),
      "shall requests of beta be served that are refused today?",
    ],
    [
      "about what policies do to requests speaks of protection",
      ask(cause("policies/short"), [
        effect("WIDENS", "beta", { base: routed(EU), head: routed(EU) }),
      ]),
      "may requests of beta lose this protection?",
    ],
    [
      "about another host names it",
      ask(cause(`providers.${EU.provider}.base_url`), [moved({ host: "other.example" })]),
      "may data of acme go to other.example?",
    ],
    [
      "about another dialect is whether answers stay as they are",
      ask(cause(`providers.${EU.provider}.dialect`), [moved({})]),
      `does ${EU.endpoint} still answer as these routes need it?`,
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
      `is ${US.endpoint} (${US.model}) the better choice before ${EU.endpoint}?`,
    ],
  ])("%s", (_, question, expected) => {
    expect(question).toBe(expected);
  });

  it.each([
    ["higher_ceiling", "limit", "who pays for the additional use?"],
    [null, "limit", ""],
    [null, "credential", "is it an account with the region and the contract that the row states?"],
    ["weaker_obligation", "promotion", "are these weaker requirements enough for promotions?"],
    [null, "description", ""],
  ] as const)("about a setting with gate %s and effect %s is %s", (gate, effectName, expected) => {
    const setting: SettingChange = {
      path: "a.b",
      before: "1",
      after: "2",
      location: null,
      effect: effectName,
      gate,
    };
    expect(ask(cause("a.b", { groups: [] }), [], [setting])).toBe(expected);
  });
});
