import { describe, expect, test } from "vitest";
import type { Diagnostic } from "../../src/canon/diagnostic.ts";
import { formatDiagnostics } from "../../src/cli/terminal/report.ts";
import { compileTable } from "../../src/compile/compile-table.ts";
import { CLEAN } from "./base.ts";

const finding: Diagnostic = {
  code: "UNKNOWN_KEY",
  severity: "error",
  file: "config/a b,c:d.yaml",
  line: 2,
  column: 5,
  message: "100% wrong\nsecond: line",
  hint: "did you mean `x`?",
};
const warning: Diagnostic = {
  ...finding,
  code: "POLICY_ODD",
  severity: "warning",
  line: 12,
  column: 1,
  message: "odd",
  hint: "",
};
const text = `first\n\ttx: [a]\n${"\n".repeat(9)}last line\n`;
const sources = [{ path: finding.file, text }];

describe("terminal", () => {
  test("shows the line with a caret under the location, and the totals", () => {
    expect(
      formatDiagnostics(
        "terminal",
        [
          { ...finding, message: "wrong", file: "a.yaml" },
          { ...warning, file: "a.yaml" },
        ],
        { sources: [{ path: "a.yaml", text }] },
      ),
    ).toBe(
      [
        "error UNKNOWN_KEY: wrong",
        " --> a.yaml:2:5",
        "2 |  tx: [a]",
        "  |     ^",
        "  = did you mean `x`?",
        "",
        "warning POLICY_ODD: odd",
        "  --> a.yaml:12:1",
        "12 | last line",
        "   | ^",
        "",
        "1 error, 1 warning",
        "",
      ].join("\n"),
    );
  });

  test("prints nothing for no findings", () => {
    expect(formatDiagnostics("terminal", [])).toBe("");
  });

  test("has colour only on request", () => {
    expect(formatDiagnostics("terminal", [finding], { sources, colour: true })).toContain(
      "\u001b[31merror",
    );
    expect(formatDiagnostics("terminal", [finding], { sources })).not.toContain("\u001b");
  });

  test("a file cannot write escape sequences to the reader's terminal", () => {
    const hostile = {
      ...finding,
      line: 1,
      message: "a\u001b[2Jb",
      hint: "\u202e",
      file: "x\u0007",
    };
    const output = formatDiagnostics("terminal", [hostile], {
      sources: [{ path: "x\u0007", text: "k: \u001b[31m\u0007" }],
    });
    expect(output.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  test("long lines are shown around the location", () => {
    const line = `${"x".repeat(500)}HERE${"y".repeat(500)}`;
    const output = formatDiagnostics("terminal", [{ ...finding, line: 1, column: 501 }], {
      sources: [{ path: finding.file, text: line }],
    }).split("\n");
    const shown = output.findIndex((row) => row.includes("HERE"));
    expect(output[shown]?.length).toBeLessThan(160);
    expect(output[shown]?.indexOf("HERE")).toBe(output[shown + 1]?.indexOf("^"));
  });

  test.each([
    ["a credential by its form", "auth: { bearer: sk-test0123456789abcdef }"],
    ["a credential by its location", "auth: { bearer: hunter2 }"],
    [
      "an unknown key beside a credential",
      "auth: { bearer: { env: ALPHA_KEY }, secret_key: hunter2, xyzzy: 1, api_key: hunter2 }",
    ],
    ["broken YAML beside a credential", "auth: { bearer: hunter2 ]"],
  ])("never prints %s", (_, auth) => {
    const source = {
      path: "routes.yaml",
      text: CLEAN.replace("auth: { bearer: { env: ALPHA_KEY } }", auth),
    };
    const { diagnostics } = compileTable(source);
    expect(diagnostics.length).toBeGreaterThan(0);
    for (const format of ["terminal", "json", "github", "sarif"] as const) {
      expect(formatDiagnostics(format, diagnostics, { sources: [source] })).not.toMatch(
        /hunter2|sk-test/,
      );
    }
  });
});

test("the JSON format has a version, the counts and the unchanged findings", () => {
  expect(JSON.parse(formatDiagnostics("json", [finding, warning], { revision: "abc" }))).toEqual({
    version: 1,
    revision: "abc",
    errors: 1,
    warnings: 1,
    diagnostics: [finding, warning],
  });
  expect(JSON.parse(formatDiagnostics("json", []))).toEqual({
    version: 1,
    revision: null,
    errors: 0,
    warnings: 0,
    diagnostics: [],
  });
});

test("a file cannot inject commands into GitHub annotations", () => {
  expect(formatDiagnostics("github", [finding, warning])).toBe(
    [
      "::error file=config/a b%2Cc%3Ad.yaml,line=2,col=5,title=UNKNOWN_KEY::100%25 wrong%0Asecond: line (did you mean `x`?)",
      "::warning file=config/a b%2Cc%3Ad.yaml,line=12,col=1,title=POLICY_ODD::odd",
      "",
    ].join("\n"),
  );
});

test("the SARIF format has a rule for every code and a result for every finding", () => {
  const again = { ...finding, line: 3 };
  const log: unknown = JSON.parse(formatDiagnostics("sarif", [finding, again, warning]));
  const location = (startLine: number, startColumn: number) => [
    {
      physicalLocation: {
        artifactLocation: { uri: "config/a%20b%2Cc%3Ad.yaml", uriBaseId: "%SRCROOT%" },
        region: { startLine, startColumn },
      },
    },
  ];
  expect(log).toMatchObject({
    version: "2.1.0",
    runs: [
      {
        columnKind: "utf16CodeUnits",
        tool: {
          driver: {
            name: "signalbox",
            rules: [
              { id: "POLICY_ODD", defaultConfiguration: { level: "warning" } },
              {
                id: "UNKNOWN_KEY",
                defaultConfiguration: { level: "error" },
                help: { text: expect.stringContaining("docs/configuration.md") as string },
              },
            ],
          },
        },
        results: [
          { ruleId: "UNKNOWN_KEY", ruleIndex: 1, level: "error", locations: location(2, 5) },
          { ruleId: "UNKNOWN_KEY", ruleIndex: 1, level: "error", locations: location(3, 5) },
          {
            ruleId: "POLICY_ODD",
            ruleIndex: 0,
            level: "warning",
            message: { text: "odd" },
            locations: location(12, 1),
          },
        ],
      },
    ],
  });
});
