import { describe, expect, test } from "vitest";
import { FORMATS, type Format } from "../../../../src/cli/simulate/formats/formats.ts";
import { cutText } from "../../../../src/cli/simulate/formats/model.ts";
import type { AssertionsReport, SimulationReport } from "../../../../src/simulate/report/report.ts";
import { textOf } from "../html/page-tokens.ts";
import { assertion, assertions, everything, HOSTILE, named, report } from "./report-fixture.ts";

/** The text of a report, without what a format puts around them. */
function shown(format: Format, one: SimulationReport): string {
  const text = FORMATS[format](one, { colour: false, width: 300, reportDigest: null });
  return format === "html" ? textOf(text) : text;
}

const waiver = { until: "2026-12-01", reason: "moving", owner: "platform", expired: false };
const NEEDLESS = assertion({
  id: "needless",
  message: "it passes, so its waiver can be removed",
  waiver,
});
const GATED: AssertionsReport["coverage"] = [
  {
    what: "routes",
    covered: 1,
    of: 2,
    required: 100,
    status: "FAIL",
    missing: ["old"],
    location: null,
  },
];
const UNGATED: AssertionsReport["coverage"] = [
  {
    what: "routes",
    covered: 1,
    of: 2,
    required: null,
    status: "PASS",
    missing: ["old"],
    location: null,
  },
];

describe.each(["terminal", "markdown", "html", "junit"] as const)(
  "%s of an incomplete run",
  (format) => {
    test("marks a pass of an incomplete report as one so far, of the decided classes only", () => {
      const one = report({ assertions: assertions([assertion()]) });
      expect(shown(format, one)).not.toContain("so far");
      const text = shown(format, { ...one, complete: false });
      expect(text).toContain("PASS so far");
      expect(text).toContain("only the classes that were decided were looked at");
    });

    test("does not judge coverage", () => {
      const one = report({ assertions: assertions([], { coverage: GATED }) });
      expect(shown(format, one)).not.toContain("ot judged");
      expect(shown(format, one)).toMatch(/FAIL|failure/);
      const text = shown(format, { ...one, complete: false });
      expect(text).toContain("ot judged: not every class of requests was decided");
      expect(text).not.toMatch(/FAIL|gates? fail/);
    });

    test("does not report a waiver as removable, which a complete run does", () => {
      const one = report({ assertions: assertions([NEEDLESS]) });
      expect(shown(format, one)).toMatch(/[Tt]he waiver can go/);
      expect(shown(format, one)).not.toContain("aived until");
      expect(shown(format, { ...one, complete: false })).not.toMatch(/waiver can/);
    });
  },
);

describe.each(["terminal", "markdown", "html"] as const)("%s", (format) => {
  test("qualifies access and findings of an incomplete run", () => {
    const whole = shown(format, { ...everything(), complete: true });
    expect(whole).not.toMatch(/among the classes that were decided|ot judged/);
    const text = shown(format, everything());
    expect(text).toMatch(/[Mm]ore permissive among the classes that were decided/);
    expect(text).toContain("ot judged: not every class of requests was decided");
  });

  test("a measure without a gate is listed without PASS", () => {
    const text = shown(format, report({ assertions: assertions([], { coverage: UNGATED }) }));
    expect(text).toContain("Coverage by all requests of head");
    expect(text).toContain("not gated");
    expect(text).not.toContain("PASS");
  });
});

test("the page of an incomplete run promises nothing of the classes that were omitted", () => {
  expect(shown("html", report())).toMatch(
    /No request is decided in another way|no workspace reaches/,
  );
  const text = shown("html", report({ complete: false }));
  expect(text).not.toMatch(
    /No request is decided in another way|no workspace reaches|gains or loses/,
  );
});

test("the verdict of an incomplete run is separated from the changes", () => {
  expect(shown("terminal", report({ complete: false }))).toMatch(/^(?:INCOMPLETE|FAIL) {2,}\S/);
});

test("JUnit skips a measure without a gate", () => {
  const text = shown("junit", report({ assertions: assertions([], { coverage: UNGATED }) }));
  expect(text).toContain(
    '<skipped message="not gated; Routes covered by all requests of head: 1 of 2',
  );
});

test("GitHub has a notice for a waiver that can go, of a whole run only", () => {
  const one = report({ assertions: assertions([NEEDLESS]) });
  expect(shown("github", one)).toMatch(/^::notice .*title=PASS needless::the waiver can go/m);
  expect(shown("github", { ...one, complete: false })).not.toContain("waiver");
});

test.each([
  ["context", 8, 1, "context: 1 of 8 values"],
  ["workspaces_and_routes", 8, 0, "workspaces_and_routes: 0 of 8 values"],
  ["constructor", 8, 0, "constructor: 0 of 8 values"],
])("the line of a cut dimension: %s, %i to %i", (dimension, values, kept, text) => {
  expect(cutText({ dimension, values, kept })).toBe(text);
});

test("the line of a cut simulation names the costliest policy, its dimension and the fix", () => {
  const costliest = {
    policy: "gate",
    evaluations: 1_048_576,
    dimension: "needs",
    distinguished: 1_048_576,
  };
  expect(cutText({ dimension: "workspaces_and_routes", values: 90, kept: 3, costliest })).toBe(
    "workspaces_and_routes: 3 of 90 values; policy gate was evaluated most, 1,048,576 times: it distinguishes about " +
      "1,048,576 values of needs. Raise --time-limit, or let the policy read less of needs",
  );
});

test("where callers' preferences took the time or the memory, the route with most providers is named", () => {
  const cut = { dimension: "workspaces_and_routes", values: 90, kept: 3 };
  const widest = { route: "wide", providers: 14, sets: 16_383 };
  expect(cutText({ ...cut, widest })).toBe(
    "workspaces_and_routes: 3 of 90 values; route wide has 14 providers, of which callers can leave 16,383 sets. " +
      "Raise --time-limit, or split the route",
  );
  expect(cutText({ ...cut, widest, ended_by: "memory" })).toMatch(
    /sets\. Give it more memory \(NODE_OPTIONS=--max-old-space-size=8192\), or split the route$/,
  );
});

test.each(["github", "sarif", "junit"] as const)("%s has no invisible character", (format) => {
  for (const name of HOSTILE) {
    for (const complete of [true, false]) {
      const text = shown(format, { ...named(name), complete });
      const strings = format === "sarif" ? JSON.stringify(JSON.parse(text)) : text;
      expect(strings.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    }
  }
});
