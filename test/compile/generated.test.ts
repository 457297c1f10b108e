import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ROUTE_CODES } from "../../src/compile/findings/codes.ts";
import { POLICY_CODES } from "../../src/policy/codes.ts";
import { ASSERTION_CODES } from "../../src/simulate/assertions/codes.ts";
import { withNavigationOf } from "../../tools/generate/navigation.ts";
import { presetsPage } from "../../tools/generate/presets-page.ts";
import { configurationReference, diagnosticsReference } from "../../tools/generate/reference.ts";
import { overlaySchema, partSchema } from "../../tools/generate/further-schemas.ts";
import { routesSchema } from "../../src/compile/routes-schema.ts";
import { DIALECTS } from "../../src/dialects/table.ts";

const schema = routesSchema(Object.keys(DIALECTS).toSorted());

function committed(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
}

// When one of these fails: `npm run generate`.
test("schemas/routes.schema.json is the schema that the compiler checks", () => {
  expect(committed("schemas/routes.schema.json")).toBe(`${JSON.stringify(schema, null, 2)}\n`);
});

test("the schemas of included files and of overlays are written from it", () => {
  expect(committed("schemas/routes-part.schema.json")).toBe(
    `${JSON.stringify(partSchema(schema), null, 2)}\n`,
  );
  expect(committed("schemas/routes-overlay.schema.json")).toBe(
    `${JSON.stringify(overlaySchema(schema), null, 2)}\n`,
  );
});

test("docs/configuration.md is written from the schema", () => {
  const text = committed("docs/configuration.md");
  expect(text).toBe(withNavigationOf(text, configurationReference(schema, DIALECTS)));
});

test("docs/diagnostics.md is written from the tables of codes and lists every code once", () => {
  const text = committed("docs/diagnostics.md");
  expect(text).toBe(withNavigationOf(text, diagnosticsReference()));
  for (const code of new Set(
    [ROUTE_CODES, POLICY_CODES, ASSERTION_CODES].flatMap((codes) => Object.keys(codes)),
  ))
    expect(text.split(`| \`${code}\``)).toHaveLength(2);
});

test("every key of the schema has a description", () => {
  const silent: string[] = [];
  const visit = (value: unknown, path: string): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [name, member] of Object.entries(value)) visit(member, `${path}/${name}`);
    if (
      !("properties" in value) ||
      typeof value.properties !== "object" ||
      value.properties === null
    )
      return;
    for (const [name, property] of Object.entries(value.properties)) {
      // A section of the schema of routes.yaml, which is visited by itself.
      if ("$ref" in property && property.$ref === `routes.schema.json#/properties/${name}`)
        continue;
      if (!("description" in property) || property.description === "")
        silent.push(`${path}/${name}`);
    }
  };
  for (const one of [schema, partSchema(schema), overlaySchema(schema)]) visit(one, "");
  expect(silent).toEqual([]);
});

test("docs/presets.md is written from the presets", () => {
  const text = committed("docs/presets.md");
  expect(text).toBe(withNavigationOf(text, presetsPage()));
});
