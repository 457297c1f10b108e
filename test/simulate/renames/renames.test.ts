import { describe, expect, it } from "vitest";
import { FAIL_ON_VALUES, meetsGate } from "../../../src/cli/simulate/exit-code.ts";
import { decideSample, outcomeOf } from "../../../src/simulate/decide-sample.ts";
import { renamedSides, renamesOf } from "../../../src/simulate/renamed-table.ts";
import type { SimulationReport } from "../../../src/simulate/report/report.ts";
import { PLAIN_SAMPLE, type SampleRequest } from "../../../src/simulate/sample-request.ts";
import { compiledSides } from "../../../src/simulate/side-contents.ts";
import { sideViews } from "../../../src/simulate/views.ts";
import type { Assertion } from "../../../src/simulate/assertions/schema.ts";
import { fixtureWith, type Edit } from "../causes/fixture.ts";
import { simulate, withAssertions } from "../small-sides.ts";

const ROUTE: readonly Edit[] = [
  ["routes.yaml", "\n  fast:\n", "\n  quick:\n"],
  ["routes.yaml", "chat-eu, fast]", "chat-eu, quick]"],
  ["routes.yaml", "[chat, fast]", "[chat, quick]"],
];
const ENDPOINT: Edit = ["routes.yaml", "gpt-5-mini-us", "mini"];
const MODEL: Edit = ["routes.yaml", "mistral-large\n", "mistral-2\n"];
const MODEL_ROW: Edit = ["routes.yaml", "  mistral-large:\n", "  mistral-2:\n"];
const WORKSPACE: Edit = ["routes.yaml", "\n  support:\n", "\n  helpdesk:\n"];
const GROUP: Edit = ["routes.yaml", "  france: [", "  fr: ["];
/** In every position: the row, the endpoints, the approvals. */
const PROVIDER: readonly Edit[] = [
  ["routes.yaml", "\n  mistral-eu:\n", "\n  mistral:\n"],
  ["routes.yaml", "provider: mistral-eu", "provider: mistral"],
  ["routes.yaml", "mistral-eu]", "mistral]"],
];

const REACHES_NOTHING_NEW: Assertion = {
  kind: "no_new_access",
  id: "nothing-new",
  title: "Nothing new",
  for: {},
  except: null,
  to: {},
  view: "both",
  waiver: null,
  may_be_empty: false,
  location: { file: "policies/assertions.yaml", line: 1, column: 1 },
};

async function simulated(...edits: readonly Edit[]): Promise<SimulationReport> {
  const assertions = withAssertions([REACHES_NOTHING_NEW]);
  return simulate(await fixtureWith(), await fixtureWith(...edits), { assertions });
}

/** Gates that fail as declared, and the failed assertions. */
function failing(report: SimulationReport): readonly string[] {
  const flags = { detailedExitcode: false, failOn: [], promoting: false };
  const gates = FAIL_ON_VALUES.filter((value) => meetsGate(report, value, flags));
  const failed =
    report.assertions?.results.filter(({ status }) => status === "FAIL").map(({ kind }) => kind) ??
    [];
  return [...gates, ...failed];
}

describe("a row with another name and the same content", () => {
  it.each<[string, readonly Edit[], string, readonly string[]]>([
    ["endpoint", [ENDPOINT], "endpoint gpt-5-mini-us mini", []],
    ["model", [MODEL, MODEL_ROW], "model mistral-large mistral-2", []],
    ["route", ROUTE, "route fast quick", ["newly_denied"]],
    ["workspace", [WORKSPACE], "workspace support helpdesk", ["newly_denied"]],
    ["provider", PROVIDER, "provider mistral-eu mistral", ["newly_denied"]],
    ["region group", [GROUP], "region_group france fr", ["newly_denied"]],
  ])(
    "%s: reaches nothing new, and requests that write the former name are counted as denied",
    async (_kind, edits, renamed, kinds) => {
      const report = await simulated(...edits);
      const { declared, causes } = report;
      expect(
        causes.flatMap(({ renames }) =>
          renames.map(({ kind, from, to }) => `${kind} ${from} ${to}`),
        ),
      ).toEqual([renamed]);
      expect([declared.new_data_paths, declared.new_route_paths]).toEqual([[], []]);
      expect(declared.access).toBe(kinds.length === 0 ? "equivalent" : "less_permissive");
      const met = new Set(declared.groups.flatMap((group) => group.kinds));
      met.delete("reason_changed");
      expect([...met]).toEqual(kinds);
      const expected =
        kinds.length === 0 ? [] : ["newly_denied", "reason_changed", "less_permissive"];
      expect(failing(report)).toEqual([...expected, "any"]);
      expect(causes).toHaveLength(1);
      const ids = declared.groups.map(({ id }) => id);
      expect(causes[0]?.groups.toSorted()).toEqual(ids.toSorted());
    },
  );

  it("six renames at once are reported as exactly six renames", async () => {
    const report = await simulated(
      ENDPOINT,
      MODEL,
      MODEL_ROW,
      ...ROUTE,
      WORKSPACE,
      ...PROVIDER,
      GROUP,
    );
    expect(report.causes.every(({ renames }) => renames.length > 0)).toBe(true);
    expect(report.causes.flatMap(({ renames }) => renames)).toHaveLength(6);
    expect(failing(report)).toEqual(["newly_denied", "reason_changed", "less_permissive", "any"]);
  });

  it("base decides a request with the new names as it decided it with the former ones", async () => {
    const [base, head] = [
      await fixtureWith(),
      await fixtureWith(ENDPOINT, ...ROUTE, WORKSPACE, ...PROVIDER),
    ];
    const written = compiledSides(base, head, false);
    const { sides } = renamedSides(written);
    const [before, named] = [
      await sideViews(written.base, () => false),
      await sideViews(sides.base, () => false),
    ];
    const former: Readonly<Record<string, string>> = {
      mini: "gpt-5-mini-us",
      quick: "fast",
      helpdesk: "support",
      mistral: "mistral-eu",
    };
    const formerOf = <Value>(value: Value): Value =>
      JSON.parse(JSON.stringify(value), (_key, text: unknown) =>
        typeof text === "string" && Object.hasOwn(former, text) ? former[text] : text,
      );
    let served = 0;
    for (const workspace of Object.keys(head.table.workspaces)) {
      for (const model of [...Object.keys(head.table.routes), "unknown"]) {
        for (const names of [
          null,
          ["mistral"],
          ["openai-us", "mistral"],
          ["mistral", "openai-eu"],
        ]) {
          for (const member of ["only", "ignore", "order"] as const) {
            const preferences = names === null ? null : { [member]: names };
            const sample: SampleRequest = { ...PLAIN_SAMPLE, workspace, model, preferences };
            const is = outcomeOf(decideSample(sides.base.table, named.declared, sample));
            const was = outcomeOf(decideSample(base.table, before.declared, formerOf(sample)));
            expect(formerOf(is), JSON.stringify(sample)).toEqual(was);
            // The former names are decided alike, but for the names in the answer.
            const old = outcomeOf(decideSample(sides.base.table, named.declared, formerOf(sample)));
            expect(formerOf(old)).toEqual(was);
            if (is.denial === null) served += 1;
          }
        }
      }
    }
    expect(served).toBeGreaterThan(50);
  });
});

describe("a rename that hides something", () => {
  const NEW = ["new_destination", "new_region_for_route", "more_permissive"];
  it.each<[string, readonly Edit[], readonly string[]]>([
    [
      "another host",
      [...PROVIDER, ["routes.yaml", "https://api.eu.mistral.ai", "https://mistral.example"]],
      [...NEW, "no_new_access"],
    ],
    [
      "an endpoint with another model of the provider",
      [ENDPOINT, ["routes.yaml", "gpt-5-mini-2025-08-07", "gpt-6"]],
      ["more_permissive"],
    ],
    [
      "a route with a further fallback",
      [
        ...ROUTE,
        [
          "routes.yaml",
          "primary: gpt-5-mini-us",
          "primary: gpt-5-mini-us\n    fallbacks: [gpt-5-eu]",
        ],
      ],
      NEW.slice(1),
    ],
    [
      "a workspace with a further region",
      [
        [
          "routes.yaml",
          "\n  hr:\n    tier: standard\n    approve:\n      routes: [chat-eu]\n      regions: [eu]",
          "\n  people:\n    tier: standard\n    approve:\n      routes: [chat-eu]\n      regions: [eu, us]",
        ],
      ],
      NEW,
    ],
    [
      "two providers that swap their names",
      [
        [
          "routes.yaml",
          "https://eu.api.openai.com/v1\n    region: eu",
          "https://us.api.openai.com/v1\n    region: SWAP",
        ],
        [
          "routes.yaml",
          "https://us.api.openai.com/v1\n    region: us\n",
          "https://eu.api.openai.com/v1\n    region: eu\n",
        ],
        ["routes.yaml", "region: SWAP", "region: us"],
        // Where the primary would be out of reach, the compiler refuses the file.
        ["routes.yaml", "regions: [eu]", "regions: [eu, us]"],
      ],
      [...NEW, "no_new_access"],
    ],
    [
      "a route while another takes its former name",
      [
        ...ROUTE.slice(0, 1),
        ["routes.yaml", "fast]", "fast, quick]"],
        [
          "routes.yaml",
          "\nworkspaces:",
          "\n  fast:\n    primary: gpt-5-us\n    on_gap: narrow\n\nworkspaces:",
        ],
      ],
      NEW.slice(1),
    ],
  ])("%s is reported as a change, and not as a rename", async (_title, edits, gates) => {
    const report = await simulated(...edits);
    expect(failing(report)).toEqual(expect.arrayContaining([...gates]));
    expect(report.causes.flatMap(({ renames }) => renames)).toEqual([]);
  });

  // What each of them gates is judged in `test/simulate/compare`.
  it.each([
    ["region", "region: eu-west", "region: us"],
    ["credential", "env: MISTRAL_API_KEY", "env: OTHER_API_KEY"],
    [
      "retention",
      "env: MISTRAL_API_KEY } }\n    retention: none",
      "env: MISTRAL_API_KEY } }\n    retention: days_30",
    ],
  ])("a provider with another %s is no rename", async (_member, from, to) => {
    const [base, renamed, changed] = await Promise.all([
      fixtureWith(),
      fixtureWith(...PROVIDER),
      fixtureWith(...PROVIDER, ["routes.yaml", from, to]),
    ]);
    expect(renamesOf(base.table, renamed.table)).toHaveLength(1);
    expect(renamesOf(base.table, changed.table)).toEqual([]);
  });

  it("a policy that has the former name in its text distinguishes the two, and the rename is a change", async () => {
    const guard: Edit = [
      "eu-residency",
      'not "eu" in input.workspace.labels',
      'input.request.route == "fast"',
    ];
    const base = await fixtureWith(guard);
    const report = await simulate(base, await fixtureWith(guard, ...ROUTE));
    expect(report.causes.flatMap(({ renames }) => renames)).toEqual([
      { kind: "route", from: "fast", to: "quick", distinguished_by: ["eu-residency"] },
    ]);
    // The policy let `fast` leave the region; it does not let `quick`.
    expect(report.declared.new_route_paths).toEqual([]);
    const reversed = await simulate(await fixtureWith(guard, ...ROUTE), base);
    expect(reversed.declared.new_route_paths.map(({ route }) => route)).toContain("fast");
  });

  it("a provider that is renamed and changed is one change, with its differences", async () => {
    const { causes } = await simulated(...PROVIDER, [
      "routes.yaml",
      "region: eu-west",
      "region: us",
    ]);
    expect(causes).toHaveLength(1);
    expect(causes[0]?.entries.slice(0, 2)).toMatchObject([
      {
        path: "providers.mistral",
        change: "added",
        before: "{ region: eu-west }",
        after: "{ region: us }",
      },
      { path: "providers.mistral-eu", change: "removed" },
    ]);
  });
});

it("a change beside a rename has its own cause", async () => {
  const { causes, declared } = await simulated(...ROUTE.slice(0, 2), [
    "routes.yaml",
    "[chat, fast]",
    "[chat, chat-eu, quick]",
  ]);
  expect(causes.map(({ entries, renames }) => [renames.length, entries[0]?.path])).toEqual([
    [1, "routes.quick"],
    [0, "workspaces.website.approve.routes"],
  ]);
  const served = declared.groups
    .filter(({ kinds }) => kinds.includes("newly_allowed"))
    .map(({ id }) => id);
  expect(causes[1]?.groups).toEqual(expect.arrayContaining(served));
});
