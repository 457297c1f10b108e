import { describe, expect, test } from "vitest";
import { FORMATS } from "../../../../src/cli/simulate/formats/formats.ts";
import type { FormatContext } from "../../../../src/cli/simulate/formats/model.ts";
import type { CauseReport, SimulationReport } from "../../../../src/simulate/report/report.ts";
import {
  comparison,
  denied,
  EU,
  EXPLAIN,
  group,
  POINT,
  report,
  routed,
  side,
  US,
} from "./report-fixture.ts";

const CONTEXT: FormatContext = {
  colour: false,
  width: 100,
  reportDigest: null,
  verdict: null,
  all: false,
};
const PLAIN = { ...POINT, needs: [] };

/**
 * A fallback that is refused for one workspace and reached by another, with a variant and a changed
 * reason.
 */
const WIDER = group({
  id: "aaaaaaaaaaaa",
  workspaces: ["acme-dev"],
  head: routed(EU, US),
  base: routed(EU),
  example: PLAIN,
});
const BROKEN = group({
  id: "bbbbbbbbbbbb",
  kinds: ["newly_denied"],
  workspaces: ["clinic"],
  base: routed(EU),
  head: denied("retention", "kept", "KEPT"),
  example: PLAIN,
});
const VARIANT = group({
  id: "cccccccccccc",
  workspaces: ["acme-dev"],
  head: routed(EU, US),
  base: routed(EU),
});
const REASON = group({
  id: "dddddddddddd",
  kinds: ["reason_changed"],
  base: denied("a", "b", "C"),
  head: denied("a", "b", "D"),
});

function cause(changes: Partial<CauseReport> = {}): CauseReport {
  return {
    id: "0123456789ab",
    entries: [
      {
        path: "routes.chat-eu.fallbacks",
        kind: "route",
        subject: "chat-eu",
        change: "changed",
        before: "[]",
        after: "[openai-us-gpt5]",
        location: { file: "routes.yaml", line: 41, column: 7, side: "head" },
      },
    ],
    renames: [],
    groups: [WIDER, BROKEN, VARIANT, REASON].map(({ id }) => id),
    promoted_groups: [],
    renamed_groups: [],
    gains: [
      {
        endpoint: US.endpoint,
        model: US.model,
        provider: US.provider,
        region: US.region,
        host: "api.example",
        retention: "days_30",
        trains_on_data: true,
        price: null,
        context_window: null,
      },
    ],
    loses: [],
    routes: [{ id: "chat-eu", title: "chat-eu", primary: null }],
    exceptions: [],
    unaffected: [{ workspace: "hr", why: "us-east is not approved" }],
    without_routes: 2,
    ...changes,
  };
}

function withCauses(...causes: readonly CauseReport[]): SimulationReport {
  const compared = comparison("incomparable", [BROKEN, WIDER, VARIANT, REASON]);
  const workspaces = ["acme-dev", "clinic", "hr", "labs", "shop"];
  return report({
    declared: compared,
    promoted: compared,
    causes,
    head: side("us-fallback", { commit: "9f8e7d6", workspaces }),
  });
}

function firstScreen(one: SimulationReport): string {
  return FORMATS.terminal(one, CONTEXT).split("\n\nDetails\n")[0] ?? "";
}

const POLICY: Partial<CauseReport> = {
  entries: [
    {
      path: "policies/retention",
      kind: "policy",
      subject: "retention",
      change: "changed",
      before: "a",
      after: "b",
      location: null,
    },
  ],
  groups: [],
  gains: [],
};

describe("a policy to which no change is traced", () => {
  test.for<[string, SimulationReport, string]>([
    [
      "has no effect where no request changes",
      report({ causes: [cause(POLICY)] }),
      "no request is decided differently",
    ],
    [
      "may have one where requests change",
      withCauses(cause(), cause(POLICY)),
      "no change is traced to it",
    ],
    [
      "may have one where not every class was decided",
      report({ causes: [cause(POLICY)], complete: false }),
      "no class that was decided changes",
    ],
  ])("%s", ([, one, sentence]) => {
    const text = firstScreen(one).replaceAll(/\s+/g, " ");
    expect(text).toContain(`retention: a → b; ${sentence}`);
    expect(text.includes("no request is decided") || text.includes("every request")).toBe(
      one.complete && one.declared.groups.length === 0,
    );
  });
});

describe("a rename", () => {
  const rename = (renamed: readonly string[]): string =>
    firstScreen(
      withCauses(
        cause({
          renames: [{ kind: "endpoint", from: "old", to: "new" }],
          groups: [WIDER.id],
          promoted_groups: [BROKEN.id],
          renamed_groups: renamed,
        }),
      ),
    );

  test("is reported as the only change only where no promotion changes more", () => {
    expect(rename([WIDER.id, BROKEN.id])).toContain("which changes nothing else");
    expect(rename([WIDER.id])).toContain("requests that name old are refused from now on");
  });
});

describe("the first screen", () => {
  test("lists breaking changes before widening ones, by plain requests, and counts the others", () => {
    expect(firstScreen(withCauses(cause()))).toMatchInlineSnapshot(`
      "REVIEW  chat-eu may fall back to openai-us-gpt5: openai in us-east, kept 30 days, trains on data;
        clinic refused   routes.yaml:41
      main 1a2b3c4 → us-fallback 9f8e7d6   complete

      BREAKS  clinic    chat-eu refused: retention/kept (KEPT); only with needs tools; such as with
                        context to_4k
      WIDENS  acme-dev  chat-eu → openai-us-gpt5, 2nd in order; only with needs tools; such as with
                        context to_4k; no new data path
      SAME    hr (us-east is not approved)
      SAME    2 workspaces without chat-eu

      Decide: may requests of acme-dev for chat-eu go to openai-us-gpt5, and shall requests of clinic for
              chat-eu be refused?
      explain: signalbox explain --workspace acme-eu --model chat-eu --needs tools
      More: 1 variant of requests with conditions, 1 other reason or name   --all
      Facts: 1 breaks, 1 widens, 2 same"
    `);
  });

  test("several changes have a line each with their locations, and the file's order of importance", () => {
    const other = cause({
      id: "ba9876543210",
      groups: [],
      gains: [],
      entries: [
        {
          path: "endpoints.x.price",
          kind: "endpoint",
          subject: "x",
          change: "changed",
          before: "{ input: 1, output: 2 }",
          after: "{ input: 10, output: 20 }",
          location: { file: "routes.yaml", line: 9, column: 1, side: "head" },
        },
      ],
    });
    const text = firstScreen(withCauses(cause(), other));
    expect(text).toContain("REVIEW  chat-eu may fall back to");
    expect(text).toContain("and 1 more change   routes.yaml:41");
    expect(text).toContain(
      "CHANGE  price of x 1/2 → 10/20 USD per million tokens in/out (× 10)   routes.yaml:9",
    );
  });

  test("a changed rate of a part is named, where input and output cost the same as before", () => {
    const entry = {
      path: "endpoints.x.price",
      kind: "endpoint",
      subject: "x",
      change: "changed",
      before: "{ input: 3, output: 15, cached_input: 0.3 }",
      after: "{ input: 3, output: 15, cached_input: 1.5 }",
      location: { file: "routes.yaml", line: 9, column: 1, side: "head" },
    } as const;
    expect(
      firstScreen(
        withCauses(cause({ id: "ba9876543210", groups: [], gains: [], entries: [entry] })),
      ),
    ).toContain("price of x 3/15 → 3/15 USD per million tokens in/out, cached_input 0.3 → 1.5");
  });

  test("has at most 23 lines, and the number of facts that have no room", () => {
    const many = Array.from({ length: 40 }, (_, index) =>
      cause({
        id: `${index}`,
        groups: [],
        entries: cause().entries.map((entry) => ({
          ...entry,
          kind: "setting" as const,
          path: `limits.${index}`,
        })),
      }),
    );
    const text = firstScreen(withCauses(cause(), ...many));
    expect(text.split("\n").length).toBeLessThanOrEqual(23);
    expect(text).toMatch(/… \d+ more below: CHANGE/);
  });

  test("an unknown cause is reported as not found", () => {
    expect(firstScreen(withCauses(cause({ entries: [], gains: [] })))).toContain(
      "REVIEW  cause not found for 4 groups of changes",
    );
  });

  test("names the failing gates beside the exit code", () => {
    const verdict = {
      promoting: false,
      exitCode: 3,
      gates: [
        { name: "new_data_paths", passed: false },
        { name: "newly_denied", passed: true },
      ],
    };
    const text = FORMATS.terminal(withCauses(cause()), { ...CONTEXT, verdict });
    expect(text).toMatch(/^FAIL /);
    expect(text).toContain("exit 3, fails: new_data_paths");
  });
});

describe("machine-readable formats", () => {
  test("SARIF has one result for each cause, on the changed line", () => {
    const log: unknown = JSON.parse(FORMATS.sarif(withCauses(cause()), CONTEXT));
    expect(log).toMatchObject({
      runs: [
        {
          results: [
            {
              ruleId: "newly_denied",
              message: { text: expect.stringContaining("BREAKS clinic: chat-eu refused") },
              locations: [
                {
                  physicalLocation: {
                    artifactLocation: { uri: "routes.yaml" },
                    region: { startLine: 41 },
                  },
                },
              ],
              partialFingerprints: { "signalboxCause/v1": "0123456789ab" },
            },
          ],
        },
      ],
    });
  });

  test("GitHub's annotation of a cause is on the changed line", () => {
    expect(FORMATS.github(withCauses(cause()), CONTEXT)).toMatch(
      /^::warning file=routes\.yaml,line=41,/m,
    );
  });

  test("GitLab's report has the members that its schema requires of each issue", () => {
    const issues: unknown = JSON.parse(FORMATS.gitlab(withCauses(cause()), CONTEXT));
    expect(issues).toEqual([
      {
        description: expect.stringContaining("chat-eu may fall back"),
        check_name: "signalbox/newly_denied",
        fingerprint: expect.stringMatching(/^[0-9a-f]{32}$/),
        severity: "major",
        location: { path: "routes.yaml", lines: { begin: 41 } },
      },
    ]);
  });

  test("Bitbucket's report passes or fails, with an annotation on the changed line", () => {
    const made: unknown = JSON.parse(FORMATS.bitbucket(withCauses(cause()), CONTEXT));
    expect(made).toMatchObject({
      report: { title: "Signalbox simulation", report_type: "BUG", result: "PASSED" },
      annotations: [{ annotation_type: "BUG", path: "routes.yaml", line: 41, severity: "MEDIUM" }],
    });
    const failed = { ...CONTEXT, verdict: { promoting: false, exitCode: 3, gates: [] } };
    expect(JSON.parse(FORMATS.bitbucket(withCauses(cause()), failed))).toMatchObject({
      report: { result: "FAILED" },
    });
  });

  test("JUnit has a case for each gate", () => {
    const verdict = {
      promoting: false,
      exitCode: 3,
      gates: [
        { name: "new_data_paths", passed: false },
        { name: "newly_denied", passed: true },
      ],
    };
    const xml = FORMATS.junit(withCauses(cause()), { ...CONTEXT, verdict });
    expect(xml).toMatch(/<testcase name="new_data_paths" classname="gate"[^>]*>\s*<failure/);
    expect(xml).toMatch(/<testcase name="newly_denied" classname="gate"[^>]*\/>/);
  });

  test("HTML begins with the first screen and draws the route, escaped", () => {
    const page = FORMATS.html(withCauses(cause()), CONTEXT);
    expect(page).toContain("<svg");
    expect(page.indexOf("BREAKS")).toBeLessThan(page.indexOf('id="verdict"'));
    const hostile = { ...BROKEN, workspaces: ["<b>x"], explain: EXPLAIN };
    const compared = comparison("incomparable", [hostile]);
    const escaped = FORMATS.html(
      report({ declared: compared, promoted: compared, causes: [cause({ groups: [hostile.id] })] }),
      CONTEXT,
    );
    expect(escaped).not.toContain("<b>x");
  });
});

test("a removed setting of a workspace is named, instead of the workspace", () => {
  const entry = {
    path: "workspaces.acme-dev.approve.data_collection",
    kind: "workspace",
    subject: "acme-dev",
    change: "removed",
    before: "deny",
    after: null,
    location: { file: "routes.yaml", line: 41, column: 7, side: "base" },
  } as const;
  const screen = firstScreen(withCauses(cause({ entries: [entry] })));
  expect(screen).toContain("workspaces.acme-dev.approve.data_collection is removed, it was deny");
  expect(screen).not.toContain("workspace acme-dev is removed");
});
