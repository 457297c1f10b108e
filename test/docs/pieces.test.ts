import { expect, it } from "vitest";
import { Ajv2020 } from "ajv/dist/2020.js";
import { parse } from "yaml";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canon/json.ts";
import { routesSchema } from "../../src/compile/routes-schema.ts";
import { DIALECTS } from "../../src/dialects/table.ts";
import { fencesOf, pages, locationOf } from "./commands/blocks.ts";

const schema = routesSchema(Object.keys(DIALECTS).toSorted());
const KEYS = Object.keys(schema.properties ?? {});
const validate = new Ajv2020({ allErrors: true, strict: false, validateFormats: false }).compile(
  schema,
);

const asRow = (row: JsonValue | undefined): JsonObject =>
  row !== undefined && isJsonObject(row) ? row : {};

/**
 * What is wrong in a piece of routes.yaml, other than that it is a piece; `null` where the text is
 * something else.
 */
function wrongIn(text: string): readonly string[] | null {
  const value: JsonValue = parse(text.replaceAll(/, … \}/g, " }"));
  if (!isJsonObject(value) || !Object.keys(value).every((key) => KEYS.includes(key))) return null;
  // An overlay has its endpoints by id.
  const endpoints = value.endpoints;
  const rows = isJsonObject(endpoints)
    ? Object.entries(endpoints).map(([id, row]) => ({ id, ...asRow(row) }))
    : endpoints;
  validate(rows === undefined ? value : { ...value, endpoints: rows });
  return (validate.errors ?? [])
    .filter(({ keyword }) => keyword !== "required" && keyword !== "if")
    .map(({ instancePath, message }) => `${instancePath} ${message}`);
}

it("pieces of routes.yaml on pages have keys and values that the schema accepts", () => {
  const pieces = pages().flatMap((page) =>
    fencesOf(page)
      .filter(({ language }) => language === "yaml")
      .flatMap((fence) => {
        const wrong = wrongIn(fence.text);
        return wrong === null
          ? []
          : [wrong.map((sentence) => `${locationOf(page, fence)}: ${sentence}`)];
      }),
  );
  expect(pieces.length).toBeGreaterThan(40);
  expect(pieces.flat()).toEqual([]);
});

it("a piece with an unknown key is reported", () => {
  expect(wrongIn("routes: { a: { primary: b, fallback: [c] } }\n")).toHaveLength(1);
  expect(wrongIn("services: {}\n")).toBeNull();
});
