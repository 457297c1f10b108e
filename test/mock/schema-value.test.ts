import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { valueFor } from "../../mock/model/schema-value.ts";

const object = (properties: Record<string, unknown>, more: object = {}): object => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...more,
});

const made: [string, unknown, unknown][] = [
  [
    "required members only",
    { type: "object", properties: { a: { type: "string" }, b: {} }, required: ["a"] },
    { a: "simulated" },
  ],
  ["a required member that is not described", { type: "object", required: ["x"] }, { x: null }],
  ["enum", { enum: ["u", "v"] }, "u"],
  ["const", { const: { deep: [1] } }, { deep: [1] }],
  ["a type that may be null", { type: ["null", "integer"] }, 1],
  [
    "$ref into $defs",
    object({ a: { $ref: "#/$defs/q" } }, { $defs: { q: { enum: [7] } } }),
    { a: 7 },
  ],
  ["$ref with escapes", { $ref: "#/$defs/a~1b~0c", $defs: { "a/b~c": { const: 1 } } }, 1],
  ["$ref to the root, not required", { type: "object", properties: { child: { $ref: "#" } } }, {}],
  [
    "a recursive list",
    object({ children: { type: "array", items: { $ref: "#" } } }),
    { children: [] },
  ],
  ["anyOf, first that works", { anyOf: [false, { type: "boolean" }] }, true],
  [
    "anyOf beside properties",
    { type: "object", properties: { a: { const: 1 } }, anyOf: [{ required: ["a"] }] },
    { a: 1 },
  ],
  [
    "oneOf with references",
    { oneOf: [{ $ref: "#/$defs/a" }], $defs: { a: { type: "integer", minimum: 4 } } },
    4,
  ],
  [
    "allOf merges",
    {
      allOf: [
        object({ a: { const: 1 } }, { additionalProperties: true }),
        { properties: { b: { const: 2 } }, required: ["b"] },
      ],
    },
    { a: 1, b: 2 },
  ],
  [
    "minItems, members differ",
    { type: "array", items: { type: "string" }, minItems: 2, uniqueItems: true },
    ["simulated", "simulated 2"],
  ],
  ["prefixItems", { type: "array", prefixItems: [{ const: 1 }, { const: 2 }] }, [1, 2]],
  ["bounds of integers", { type: "integer", minimum: 5, maximum: 9 }, 5],
  ["excluded bounds", { type: "integer", exclusiveMinimum: 5, exclusiveMaximum: 7 }, 6],
  ["upper bound below zero", { type: "integer", maximum: -3 }, -3],
  ["multipleOf", { type: "number", multipleOf: 5, minimum: 11 }, 15],
  ["a narrow number", { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1 }, 0.5],
  ["minLength", { type: "string", minLength: 12 }, "simulated..."],
  ["maxLength", { type: "string", maxLength: 3 }, "sim"],
  ["pattern", { type: "string", pattern: "^[0-9]{4}$" }, "0000"],
  ["format", { type: "string", format: "date" }, "2026-01-01"],
];

test.each(made)("%s", (_, schema, expected) => {
  const value = valueFor(schema);
  expect(JSON.parse(value.json)).toEqual(expected);
  expect(value.satisfied).toBe(true);
});

const impossible: [string, unknown][] = [
  ["a schema that requires itself", object({ child: { $ref: "#" } })],
  [
    "alternatives that all require themselves",
    { anyOf: Array.from({ length: 8 }, () => object({ a: { $ref: "#" }, b: { $ref: "#" } })) },
  ],
  ["a pattern beyond simple ones", { type: "string", pattern: "^(foo|bar)baz[xyz]{3}$" }],
  ["a pattern that is none", { type: "string", pattern: "(" }],
  ["false", false],
  ["bounds that exclude everything", { type: "integer", minimum: 3, maximum: 2 }],
  ["a reference to nowhere", { $ref: "#/$defs/x" }],
  ["a reference to another document", { $ref: "https://example.com/schema" }],
  ["a type that is none", { type: "text" }],
  ["a bound that is no number", { type: "string", minLength: "1" }],
  ["an enormous list", { type: "array", items: {}, minItems: 1_000_000 }],
  ["not", { type: "string", not: { minLength: 0 } }],
];

const ajv = new Ajv2020({ strict: false });

test.each(impossible)("a schema without a simulated value is reported: %s", (_, schema) => {
  expect(valueFor(schema).satisfied).toBe(false);
});

describe("any schema of the usual keywords", () => {
  const { schema } = fc.letrec<{ schema: object }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.oneof(
        fc.constantFrom<object>(
          { type: "string" },
          { type: "boolean" },
          { type: "null" },
          { enum: ["a", 1, null] },
          { const: 3 },
        ),
        fc.record({
          type: fc.constant("integer"),
          minimum: fc.integer({ min: -50, max: 50 }),
          maximum: fc.integer({ min: 60, max: 99 }),
        }),
        fc.record({
          type: fc.constant("string"),
          minLength: fc.nat(20),
          maxLength: fc.integer({ min: 20, max: 40 }),
        }),
      ),
      fc.record({ type: fc.constant("array"), items: tie("schema"), minItems: fc.nat(3) }),
      fc.record({ anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
      fc
        .dictionary(fc.stringMatching(/^[a-z]{1,4}$/), tie("schema"), { maxKeys: 3 })
        .map((properties) => object(properties)),
    ),
  }));

  test("gets a value that a validator accepts", () => {
    fc.assert(
      fc.property(schema, (candidate) => {
        const { json, satisfied } = valueFor(candidate);
        expect(satisfied).toBe(true);
        expect(ajv.validate(candidate, JSON.parse(json))).toBe(true);
      }),
      { numRuns: 60 },
    );
  });
});
