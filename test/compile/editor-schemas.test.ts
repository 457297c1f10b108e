import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { routesSchema } from "../../src/compile/routes-schema.ts";
import { overlaySchema, partSchema, ROUTES_FILE } from "../../tools/generate/further-schemas.ts";
import { DIALECTS } from "../../src/dialects/table.ts";
import { CLEAN, DEFAULT } from "./base.ts";
import { SPLIT } from "./files/samples.ts";

const schema = routesSchema(Object.keys(DIALECTS).toSorted());
const ajv = new Ajv2020({ strict: true, strictRequired: false, strictTypes: false });
ajv.addKeyword({ keyword: "patternErrorMessage", schemaType: "string" });
// As an editor finds it: beside the two that refer to it.
ajv.addSchema(schema, ROUTES_FILE);
const [whole, part, overlay] = [schema, partSchema(schema), overlaySchema(schema)].map((one) =>
  ajv.compile(one),
);

type Json = Readonly<Record<string, unknown>>;

function objectOf(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}

/** Every key with its own schema, references followed. */
function* keys(
  value: unknown,
  path = "",
): Generator<{ readonly path: string; readonly property: Json }> {
  if (typeof value !== "object" || value === null) return;
  for (const [name, property] of Object.entries(objectOf(objectOf(value).properties))) {
    const given = objectOf(property);
    const reference =
      typeof given["$ref"] === "string" ? given["$ref"].replace("#/$defs/", "") : "";
    yield {
      path: `${path}/${name}`,
      property: { ...objectOf(objectOf(schema["$defs"])[reference]), ...given },
    };
  }
  for (const [name, member] of Object.entries(value)) yield* keys(member, `${path}/${name}`);
}

describe("schemas for editors", () => {
  test("every key whose type does not show its values has an example, and every example is valid", () => {
    const silent: string[] = [];
    let examples = 0;
    for (const { path, property } of keys(schema)) {
      const items = objectOf(property.items);
      const showsValues =
        ["enum", "const", "default", "properties", "if", "oneOf"].some(
          (keyword) => keyword in property,
        ) ||
        ["boolean", "object"].includes(typeof property.type === "string" ? property.type : "") ||
        ["$ref", "enum", "properties", "if"].some((keyword) => keyword in items) ||
        Object.keys(property).join() === "description";
      const shown: readonly unknown[] = Array.isArray(property.examples) ? property.examples : [];
      if (shown.length === 0 && !showsValues) silent.push(path);
      const { $ref: _reference, ...rest } = property;
      const validate = ajv.compile({ ...rest, $defs: objectOf(schema["$defs"]) });
      for (const example of shown)
        expect(validate(example), `${path}: ${JSON.stringify(example)}`).toBe(true);
      examples += shown.length;
    }
    expect(silent).toEqual([]);
    expect(examples).toBeGreaterThan(40);
  });

  test("a row may omit the members of its preset, and a row without a known preset may not", () => {
    const file = objectOf(parse(CLEAN));
    const withRow = (row: unknown) => ({
      ...file,
      providers: { ...objectOf(file.providers), more: row },
    });
    expect(whole?.(file)).toBe(true);
    expect(whole?.(withRow({ preset: "openai", region: "eu-west" }))).toBe(true);
    expect(whole?.(withRow({ preset: "opnai", region: "eu-west" }))).toBe(false);
    expect(whole?.(withRow({ region: "eu-west" }))).toBe(false);
    expect(whole?.(parse(DEFAULT))).toBe(true);
  });

  test("an included file may have any section, and nothing else", () => {
    for (const name of ["providers.yaml", "teams/supply.yaml"])
      expect(part?.(parse(SPLIT[name] ?? ""))).toBe(true);
    expect(part?.({ include: ["a.yaml"] })).toBe(false);
    expect(part?.({ rotues: {} })).toBe(false);
  });

  test.each([
    [{ providers: { a: { base_url: "https://a.example" } } }, true],
    [{ providers: { a: null }, endpoints: { b: { price: { input: 1 } }, c: null } }, true],
    [{ workspaces: { w: { approve: { routes: ["chat"] }, limits: { budget: null } } } }, true],
    [
      { providers: { a: { auth: { bearer: null, header: "x-api-key", secret: { env: "A" } } } } },
      true,
    ],
    [{ providers: { a: { bse_url: "https://a.example" } } }, false],
    [{ providers: { a: { dialect: "opnai-chat" } } }, false],
    [{ endpoints: [{ id: "a" }] }, false],
    [{ include: ["a.yaml"] }, false],
  ])("the overlay %j is valid: %s", (value, valid) => {
    expect(overlay?.(value)).toBe(valid);
  });
});
