import { Ajv2020 } from "ajv/dist/2020.js";
import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { withDefinitions } from "../../../tools/generate/definitions.ts";
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

test("the JSON report has every member of the report and no other", () => {
  expect(JSON.parse(text)).toEqual(FULL);
});

test("equal reports have equal bytes for every order of their members, without foreign members", () => {
  expect(formatJson(shuffled(FULL) as SimulationReport)).toBe(text);
});

test("the JSON report begins with its format, is indented by two spaces and ends with a line feed", () => {
  expect(
    text.startsWith(
      '{\n  "format": "signalbox.simulation.v4",\n  "base": {\n    "name": "origin/main",\n',
    ),
  ).toBe(true);
  expect(text.endsWith("\n}\n")).toBe(true);
  expect(text).toBe(`${JSON.stringify(JSON.parse(text), null, 2)}\n`);
});

const FILE = new URL("../../../schemas/simulation.schema.json", import.meta.url);

// When this fails: `UPDATE_DOCS=1 npm exec -- vitest run test/cli/simulate/json.test.ts`.
test("schemas/simulation.schema.json is the schema of the report, with definitions", () => {
  const own = `${JSON.stringify(withDefinitions(REPORT_SCHEMA), null, 2)}\n`;
  if (process.env.UPDATE_DOCS === "1") writeFileSync(FILE, own);
  expect(JSON.parse(readFileSync(FILE, "utf8"))).toEqual(JSON.parse(own));
});

test("every definition of the schema equals the part that it replaces", () => {
  const read: unknown = JSON.parse(readFileSync(FILE, "utf8"));
  expect(expanded(read, read)).toEqual(JSON.parse(JSON.stringify(REPORT_SCHEMA)));
});

/** A schema without its definitions, each reference replaced by what it names. */
function expanded(value: unknown, root: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => expanded(item, root));
  if (typeof value !== "object" || value === null) return value;
  const [, name] = /^#\/\$defs\/(.+)$/.exec(String(Reflect.get(value, "$ref"))) ?? [];
  if (name !== undefined) {
    const definitions = Object(Reflect.get(Object(root), "$defs"));
    return expanded(Reflect.get(definitions, name), root);
  }
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, part]) =>
      key === "$defs" ? [] : [[key, expanded(part, root)]],
    ),
  );
}

test("a report with every member is valid by the schema", () => {
  const schema = JSON.parse(readFileSync(FILE, "utf8"));
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
  validate(JSON.parse(text));
  expect(validate.errors).toBeNull();
});

test("text from files cannot end a string or begin a member", () => {
  const odd = { ...FULL, promoted_policies: ['"},\n"x": \u2028\u0000\u001b[31m', "__proto__"] };
  expect(JSON.parse(formatJson(odd))).toEqual(odd);
});
