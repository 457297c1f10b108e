import { describe, expect, test } from "vitest";
import { FORMATS } from "../../../../src/cli/simulate/formats/formats.ts";
import type { FormatContext } from "../../../../src/cli/simulate/formats/model.ts";
import { latentText } from "../../../../src/cli/simulate/formats/wording/latent.ts";
import type { CauseReport, LatentChange } from "../../../../src/simulate/report/report.ts";
import { latentChange, latentReport } from "../latent-report.ts";
import { report } from "./report-fixture.ts";

const CONTEXT: FormatContext = {
  colour: false,
  width: 200,
  reportDigest: null,
  verdict: null,
  all: false,
};

const CAUSE: CauseReport = {
  id: "0123456789ab",
  entries: [
    {
      path: "policies/data-retention",
      kind: "policy",
      subject: "data-retention",
      change: "changed",
      before: 'candidate.retention == "none"',
      after: 'candidate.retention != "unlimited"',
      location: { file: "policies/data-retention.rego", line: 20, column: 1, side: "head" },
    },
  ],
  renames: [],
  groups: [],
  promoted_groups: [],
  renamed_groups: [],
  exceptions: [],
  gains: [],
  loses: [],
  routes: [],
  unaffected: [],
  without_routes: 0,
};
const REPORT = report({ causes: [CAUSE], future_rows: latentReport({ view: "promoted" }) });
const SENTENCE =
  "would no longer refuse endpoints with retention transient or days_30 for workspaces of tier regulated";

describe("a latent change", () => {
  const texts = ["terminal", "markdown", "html", "sarif", "gitlab", "bitbucket", "github"] as const;

  test.for(texts)("is in %s", (format) => {
    expect(FORMATS[format](REPORT, CONTEXT).replaceAll("`", "")).toContain(SENTENCE);
  });

  test("is unchanged in the JSON report", () => {
    expect(JSON.parse(FORMATS.json(REPORT))).toMatchObject({ future_rows: REPORT.future_rows });
  });

  test("is on the first screen with its question, beside the line that no request of today changes", () => {
    const screen = FORMATS.terminal(REPORT, CONTEXT).split("\nDetails\n")[0];
    expect(screen).toContain(
      `LATENT  data-retention ${SENTENCE}; no request of today uses it; once promoted`,
    );
    expect(screen).toContain("no request of today is decided differently");
    expect(screen).toContain(
      "Decide: may a later change add such a row? data-retention will not refuse it",
    );
  });

  test("that is stricter is a note", () => {
    const stricter = report({
      causes: [CAUSE],
      future_rows: latentReport({ direction: "stricter" }),
    });
    const screen = FORMATS.terminal(stricter, CONTEXT).split("\nDetails\n")[0];
    expect(screen).toContain(
      "NOTE    latent: data-retention would refuse endpoints with retention",
    );
    expect(screen).not.toContain("LATENT ");
  });

  test("is a warning beside the changed line", () => {
    expect(FORMATS.github(REPORT, CONTEXT)).toContain(
      "::warning file=policies/data-retention.rego,line=20",
    );
    const { runs } = JSON.parse(FORMATS.sarif(REPORT, CONTEXT));
    expect(runs[0].results).toMatchObject([{ ruleId: "future_row_change", level: "warning" }]);
  });

  test("has a note where not every combination was tried", () => {
    const cut = report({
      causes: [CAUSE],
      future_rows: { ...latentReport(), complete: false, tried: 20_000, of: "5000000" },
    });
    expect(FORMATS.terminal(cut, CONTEXT).split("\nDetails\n")[0]).toContain(
      "NOTE    latent changes: 20,000 of 5,000,000 combinations of values were tried",
    );
  });

  test("of a policy that looks into names, no report claims that every later row is tried", () => {
    const named = report({
      causes: [CAUSE],
      future_rows: {
        ...latentReport(),
        changes: [],
        looks_into_names: [{ policy: "data-retention", calls: ["split", "startswith"] }],
      },
    });
    const text = FORMATS.terminal(named, CONTEXT);
    expect(text).toContain("SAME    every request is decided as before\n");
    expect(text).toContain(
      "NOTE    data-retention looks into names (split, startswith): names that no file has yet may be decided differently",
    );
    expect(text).not.toContain("A changed policy decides differently");
  });

  test.for<[string, Partial<LatentChange>]>([
    [
      "would no longer refuse endpoints in a region that no file declares",
      { where: [{ path: "candidates.region", values: ["(not declared)"] }] },
    ],
    [
      "would no longer refuse endpoints in region us or one that no file declares",
      { where: [{ path: "candidates.region", values: ["us", "(not declared)"] }] },
    ],
    [
      "would no longer refuse endpoints that train on data for workspaces labelled eu, in some of these cases",
      {
        every: false,
        where: [
          { path: "candidates.trains_on_data", values: ["true"] },
          { path: "workspace.labels.eu", values: ["true"] },
        ],
      },
    ],
    [
      "would no longer refuse endpoints with tools and at output price 5 or 9",
      {
        where: [
          { path: "candidates.capabilities.tools", values: ["true"] },
          { path: "candidates.price.output", values: ["5", "9"] },
        ],
      },
    ],
    [
      "would no longer refuse endpoints for requests that do not need tools, key environment test, max output over_32k",
      {
        where: [
          { path: "request.needs.tools", values: ["false"] },
          { path: "key.environment", values: ["test"] },
          { path: "request.max_output", values: ["over_32k"] },
        ],
      },
    ],
    [
      "would no longer refuse endpoints with provider a, b, c or 3 more",
      { where: [{ path: "candidates.provider", values: ["a", "b", "c", "d", "e", "f"] }] },
    ],
    [
      "would no longer refuse endpoints for workspaces of tier standard and labelled eu, requests that need mcp",
      {
        where: [
          { path: "workspace.tier", values: ["standard"] },
          { path: "workspace.labels.eu", values: ["true"] },
          { path: "request.needs.mcp", values: ["true"] },
        ],
      },
    ],
    ["would no longer apply short at endpoints", { kind: "obligation", rule: "short", where: [] }],
    [
      "would apply short at endpoints for keys labelled agents",
      {
        kind: "obligation",
        rule: "short",
        direction: "stricter",
        where: [{ path: "key.labels.agents", values: ["true"] }],
      },
    ],
  ])("%s", ([text, changes]) => {
    expect(latentText(latentChange(changes))).toBe(text);
  });
});
