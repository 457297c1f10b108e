import { Ajv2020 } from "ajv/dist/2020.js";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { formatJson } from "../../../src/simulate/report/format-json.ts";
import { REPORT_SCHEMA, type SimulationReport } from "../../../src/simulate/report/report.ts";
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
      '{\n  "format": "signalbox.simulation.v4",\n  "base": {\n    "name": "origin/main",\n',
    ),
  ).toBe(true);
  expect(text.endsWith("\n}\n")).toBe(true);
  expect(text).toBe(`${JSON.stringify(JSON.parse(text), null, 2)}\n`);
});

// When this fails: `npm run generate`.
test("schemas/simulation.schema.json is the schema of the report", () => {
  const file = new URL("../../../schemas/simulation.schema.json", import.meta.url);
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(JSON.parse(JSON.stringify(REPORT_SCHEMA)));
});

test("a report with every member is valid by the schema", () => {
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(REPORT_SCHEMA);
  validate(JSON.parse(text));
  expect(validate.errors).toBeNull();
});

test("text from files cannot end a string or begin a member", () => {
  const odd = { ...FULL, promoted_policies: ['"},\n"x": \u2028\u0000\u001b[31m', "__proto__"] };
  expect(JSON.parse(formatJson(odd))).toEqual(odd);
});
