import { describe, expect, test } from "vitest";
import { FORMATS } from "../../../../src/cli/simulate/formats/formats.ts";
import { FRESH } from "../../../../src/cli/simulate/formats/wording/comparison.ts";
import type { SimulationReport } from "../../../../src/simulate/report/report.ts";
import { everything, side } from "./report-fixture.ts";

const shown = (format: keyof typeof FORMATS, report: SimulationReport): string =>
  FORMATS[format](report, { colour: false, width: 400, reportDigest: null });

/** A report with a group whose rule acts from base's files. */
function keptReport(): SimulationReport {
  const report = everything();
  const location = { file: "policies/kept.rego", line: 15, column: 1, side: "base" } as const;
  const groups = report.declared.groups.map((group) => ({ ...group, location }));
  return {
    ...report,
    declared: { ...report.declared, groups },
    promoted: { ...report.promoted, groups: [] },
  };
}

describe.each(["terminal", "markdown", "html"] as const)("%s", (format) => {
  test("marks a line of base's file as base's", () => {
    const [kept, own] = [shown(format, keptReport()), shown(format, everything())];
    expect(kept.replaceAll(/<\/?code[^>]*>|`/g, "")).toMatch(
      /policies\/kept\.rego:15(:1)?\s+in base/,
    );
    expect(own).not.toContain("in base\n");
  });
});

describe.each(["terminal", "markdown", "html", "github"] as const)("%s", (format) => {
  test("notes that both sides are simulated as new, only if they are", () => {
    expect(shown(format, { ...everything(), fresh: true })).toContain(FRESH);
    expect(shown(format, everything())).not.toContain(FRESH);
  });

  test("names a change and a removal that wait to be promoted", () => {
    const row = {
      id: "eu-residency",
      digest: "1".repeat(64),
      slot: "enforced",
      content: "rules",
      from: "base",
    } as const;
    const gone = { ...row, id: "gone" };
    const base = side("main", { policies: [row, gone] });
    const changed = { ...row, digest: "2".repeat(64), slot: "candidate", from: "head" } as const;
    const removal = {
      ...gone,
      digest: "3".repeat(64),
      slot: "candidate",
      content: "removal",
      from: "head",
    } as const;
    const text = shown(format, {
      ...everything(),
      base,
      head: side("branch", { policies: [row, changed, gone, removal] }),
    });
    if (format === "html") expect(text).toMatch(/kept from base[^]*its removal/);
    else {
      expect(text).toContain("its change waits to be promoted");
      expect(text).toContain("its removal waits to be promoted");
    }
  });
});
