import { describe, expect, test } from "vitest";
import { FORMATS, type Format } from "../../../../src/cli/simulate/formats/formats.ts";
import { compareResults } from "../../../../src/cli/simulate/formats/wording/results.ts";
import type { ChangeKind } from "../../../../src/simulate/change-kind.ts";
import type { CandidateReport, SimulationReport } from "../../../../src/simulate/report/report.ts";
import { comparison, EU, EU2, group, report, routed, withCauses } from "./report-fixture.ts";

const weighted = (candidate: CandidateReport, weight: number, tier = 0): CandidateReport => ({
  ...candidate,
  tier,
  balance: "weighted",
  weight,
});

function shared(kinds: readonly ChangeKind[]): SimulationReport {
  const base = routed(weighted(EU, 9), weighted(EU2, 1));
  const head = routed(weighted(EU, 1), weighted(EU2, 9));
  const compared = comparison("equivalent", [group({ kinds: kinds, base, head })]);
  return report({ declared: compared, promoted: compared });
}

const shown = (format: Format, one: SimulationReport): string =>
  FORMATS[format](one, { colour: false, width: 120, reportDigest: null });

describe("candidates that are shared in another way", () => {
  test.each([
    ["terminal", ["(weighted 9 → weighted 1)", "(weighted 1 → weighted 9)"]],
    ["markdown", ["(weighted 9 → weighted 1)", "(weighted 1 → weighted 9)"]],
    ["html", ["(weighted 9 → weighted 1)", "(weighted 1 → weighted 9)"]],
    ["json", ['"tier": 0,', '"balance": "weighted",', '"weight": 9']],
  ] as const)("%s shows how the candidates are shared", (format, parts) => {
    const text = shown(format, shared(["sharing_changed"]));
    for (const part of parts) expect(text).toContain(part);
  });

  test.each(["terminal", "markdown", "github", "sarif", "html"] as const)(
    "%s does not show shares in other groups",
    (format) => {
      expect(shown(format, shared(["edits_changed"]))).not.toMatch(/weighted|tier 1/);
    },
  );

  test("have their own rule in SARIF", () => {
    const log: {
      runs: { results: { ruleId: string }[]; tool: { driver: { rules: { id: string }[] } } }[];
    } = JSON.parse(shown("sarif", withCauses(shared(["sharing_changed"]))));
    expect(log.runs[0]?.results.map(({ ruleId }) => ruleId)).toEqual(["sharing_changed"]);
    expect(log.runs[0]?.tool.driver.rules.map(({ id }) => id)).toEqual(["sharing_changed"]);
  });

  test.each<[string, CandidateReport, CandidateReport, string]>([
    ["another weight", weighted(EU, 9), weighted(EU, 1), "weighted 9 → weighted 1"],
    [
      "an equal no more",
      weighted(EU, 1),
      weighted(EU, 1, 1),
      "tier 1, weighted 1 → tier 2, weighted 1",
    ],
    [
      "another balance",
      EU,
      { ...EU, balance: "least_in_flight" },
      "order, weight 1 → least in flight, weight 1",
    ],
    [
      "a weight that its balance does not look at",
      EU,
      { ...EU, weight: 3 },
      "order, weight 1 → order, weight 3",
    ],
  ])("are noted in the candidate's line: %s", (_what, was, is, note) => {
    const lines = compareResults(
      group({ kinds: ["sharing_changed"], base: routed(was), head: routed(is) }),
    );
    expect(lines.map(({ mark, note: said }) => [mark, said])).toEqual([["~", note]]);
  });

  test("are printed with their weight on both sides where the endpoint moves", () => {
    const moved = weighted({ ...EU, region: "us-east" }, 1);
    const kinds = ["sharing_changed", "destination_changed"] as const;
    const lines = compareResults(
      group({ kinds: kinds, base: routed(weighted(EU, 9)), head: routed(moved) }),
    );
    expect(lines.map(({ mark, note }) => `${mark} ${note}`).toSorted()).toEqual([
      "+ tier 1, weighted 1",
      "- tier 1, weighted 9",
    ]);
  });
});
