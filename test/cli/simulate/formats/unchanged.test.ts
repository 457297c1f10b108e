import { describe, expect, test } from "vitest";
import { FORMATS, type Format } from "../../../../src/cli/simulate/formats/formats.ts";
import type { SimulationReport } from "../../../../src/simulate/report/report.ts";
import { textOf } from "../html/page-tokens.ts";
import {
  assertion,
  assertions,
  comparison,
  FAILED,
  report,
  setting,
  side,
  WIDENED,
} from "./report-fixture.ts";

const READ = ["terminal", "markdown", "github", "html"] as const;

/** The text of a report, without what a format puts around them. */
function shown(format: Format, one: SimulationReport): string {
  const text = FORMATS[format](one, { colour: false, width: 200, reportDigest: null });
  return format === "html" ? textOf(text) : text;
}

const PROMISE = "No changes. Head allows exactly what base allows.";
const changed = side("head", {
  policies: [
    {
      id: "eu-residency",
      digest: `sha256:${"9".repeat(64)}`,
      slot: "enforced",
      content: "rules",
      from: "head",
    },
  ],
});
const edits = comparison("equivalent", [{ ...WIDENED, kinds: ["edits_changed"] }]);

describe.each(READ)("%s promises that nothing changes", (format) => {
  test("the sentence is printed where nothing differs", () => {
    expect(shown(format, report())).toContain(PROMISE);
  });

  test.each<[string, Partial<SimulationReport>, readonly string[]]>([
    [
      "a policy's text",
      { head: changed },
      ["No request is treated differently. 1 policy differs.", "d1 → 999999999999"],
    ],
    [
      "a setting",
      { changed_settings: [setting("workspaces.acme.limits")] },
      ["No request is treated differently. 1 changed setting."],
    ],
    [
      "both",
      { head: changed, changed_settings: [setting("a"), setting("b")] },
      ["No request is treated differently. 1 policy differs; 2 changed settings."],
    ],
    ["a class as declared", { declared: edits }, []],
    ["a class as if promoted", { promoted: edits, promoted_policies: ["a"] }, []],
    ["not every class decided", { complete: false }, []],
  ])("the sentence is omitted where the sides differ in %s", (_what, changes, parts) => {
    const text = shown(format, report(changes));
    expect(text).not.toContain("exactly what base allows");
    for (const part of parts) expect(text).toContain(part);
    if (parts.length === 0) expect(text).not.toContain("No request is treated differently");
  });
});

test.each([...READ, "sarif", "junit"] as const)(
  "%s distinguishes violations and views",
  (format) => {
    const failed = assertion({
      ...FAILED,
      message: "as declared, acme-eu reaches openai",
      violations: 4,
      classes: 8,
    });
    const text = shown(format, report({ assertions: assertions([failed]) }));
    expect(text).toContain("ooked at as declared and as if promoted");
    expect(text).not.toMatch(/(?:classes|by 4), as declared and/);
    expect(text).toMatch(/iolated by 4|violated`?:? *by 4 of 8 classes;/);
  },
);
