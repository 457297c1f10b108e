import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { formatJson } from "../../../src/simulate/report/format-json.ts";
import type { SimulationReport } from "../../../src/simulate/report/report.ts";
import { FULL } from "./report.ts";

/** The same value with the members of every object the other way round, and one more. */
function shuffled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shuffled);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, inner]) => [name, shuffled(inner)] as const);
  return Object.fromEntries([...members.toReversed(), ["stray", 1]]);
}

const text = formatJson(FULL);

test("loses nothing and adds nothing", () => {
  expect(JSON.parse(text)).toEqual(FULL);
});

test("the same bytes whatever the order in which the value was made, and whatever else stands in it", () => {
  expect(formatJson(shuffled(FULL) as SimulationReport)).toBe(text);
});

test("two spaces, one line feed at the end, the format first", () => {
  expect(
    text.startsWith(
      '{\n  "format": "signalbox.simulation.v3",\n  "base": {\n    "name": "origin/main",\n',
    ),
  ).toBe(true);
  expect(text.endsWith("\n}\n")).toBe(true);
  expect(text).toBe(`${JSON.stringify(JSON.parse(text), null, 2)}\n`);
});

test("members stand in the order of the types", () => {
  const source = readFileSync(
    new URL("../../../src/simulate/report/report.ts", import.meta.url),
    "utf8",
  );
  const found: Record<string, unknown> = JSON.parse(text);
  const group = (found["declared"] as SimulationReport["declared"]).groups[0] ?? {};
  const values: Readonly<Record<string, object>> = {
    SimulationReport: found,
    SideReport: found["base"] as object,
    SpaceReport: found["space"] as object,
    ComparisonReport: found["declared"] as object,
    ChangeGroup: group,
    EvidenceReport: found["evidence"] as object,
    AssertionsReport: found["assertions"] as object,
    AssertionResult: (found["assertions"] as { results: object[] }).results[0] ?? {},
    CoverageResult: (found["assertions"] as { coverage: object[] }).coverage[0] ?? {},
  };
  for (const [name, value] of Object.entries(values)) {
    const body = new RegExp(`interface ${name} {\n([\\s\\S]*?)\n}`).exec(source)?.[1] ?? "";
    const declared = [...body.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, member]) => member);
    expect(Object.keys(value), name).toEqual(declared);
  }
});

test("text from files cannot end a string or begin a member", () => {
  const odd = { ...FULL, promoted_policies: ['"},\n"x": \u2028\u0000\u001b[31m', "__proto__"] };
  expect(JSON.parse(formatJson(odd))).toEqual(odd);
});
