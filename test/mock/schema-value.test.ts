import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { expect, test } from "vitest";
import { valueFor } from "../../mock/model/schema-value.ts";

const object = (properties: Record<string, unknown>, more: object = {}): object => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...more,
});

const described = { type: "object", properties: { a: { type: "string" }, b: {} }, required: ["a"] };
const recursive = object({ children: { type: "array", items: { $ref: "#" } } });
const beside = { type: "object", properties: { a: { const: 1 } }, anyOf: [{ required: ["a"] }] };
const merged = [
  object({ a: { const: 1 } }, { additionalProperties: true }),
  { properties: { b: { const: 2 } }, required: ["b"] },
];
const text = { type: "string" };
const two = { type: "array", items: text, minItems: 2, uniqueItems: true };

test.each<[object, unknown]>([
  [described, { a: "simulated" }],
  [{ type: "object", required: ["x"] }, { x: null }],
  [{ enum: ["u", "v"] }, "u"],
  [{ const: { deep: [1] } }, { deep: [1] }],
  [{ type: ["null", "integer"] }, 1],
  [object({ a: { $ref: "#/$defs/q" } }, { $defs: { q: { enum: [7] } } }), { a: 7 }],
  [{ $ref: "#/$defs/a~1b~0c", $defs: { "a/b~c": { const: 1 } } }, 1],
  [{ type: "object", properties: { child: { $ref: "#" } } }, {}],
  [recursive, { children: [] }],
  [{ anyOf: [false, { type: "boolean" }] }, true],
  [beside, { a: 1 }],
  [{ oneOf: [{ $ref: "#/$defs/a" }], $defs: { a: { type: "integer", minimum: 4 } } }, 4],
  [{ allOf: merged }, { a: 1, b: 2 }],
  [two, ["simulated", "simulated 2"]],
  [{ type: "array", prefixItems: [{ const: 1 }, { const: 2 }] }, [1, 2]],
  [{ type: "integer", minimum: 5, maximum: 9 }, 5],
  [{ type: "integer", exclusiveMinimum: 5, exclusiveMaximum: 7 }, 6],
  [{ type: "integer", maximum: -3 }, -3],
  [{ type: "number", multipleOf: 5, minimum: 11 }, 15],
  [{ type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1 }, 0.5],
  [{ ...text, minLength: 12 }, "simulated..."],
  [{ ...text, maxLength: 3 }, "sim"],
  [{ ...text, pattern: "^[0-9]{4}$" }, "0000"],
  [{ ...text, format: "date" }, "2026-01-01"],
])("the value of %j is %j", (schema, expected) => {
  const { json, satisfied } = valueFor(schema);
  expect([JSON.parse(json), satisfied]).toEqual([expected, true]);
});

const required = object({ child: { $ref: "#" } });
const costly = object({ a: { $ref: "#" }, b: { $ref: "#" } });

test.each<[string, unknown]>([
  ["a schema that requires itself", required],
  ["alternatives that all require themselves", { anyOf: Array.from({ length: 8 }, () => costly) }],
  ["a pattern beyond simple ones", { ...text, pattern: "^(foo|bar)baz[xyz]{3}$" }],
  ["a pattern that is none", { ...text, pattern: "(" }],
  ["false", false],
  ["bounds that exclude everything", { type: "integer", minimum: 3, maximum: 2 }],
  ["a reference to nowhere", { $ref: "#/$defs/x" }],
  ["a reference to another document", { $ref: "https://example.com/schema" }],
  ["a type that is none", { type: "text" }],
  ["a bound that is no number", { ...text, minLength: "1" }],
  ["an enormous list", { type: "array", items: {}, minItems: 1_000_000 }],
  ["not", { ...text, not: { minLength: 0 } }],
])("a schema without a simulated value is reported: %s", (_, schema) => {
  expect(valueFor(schema).satisfied).toBe(false);
});

test("a validator accepts the value of any schema of the usual keywords", () => {
  const ajv = new Ajv2020({ strict: false });
  const least = fc.integer({ min: -50, max: 50 });
  const most = fc.integer({ min: 60, max: 99 });
  const length = fc.integer({ min: 20, max: 40 });
  const { schema } = fc.letrec<{ schema: object }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.oneof(
        fc.constantFrom<object>(text, { type: "boolean" }, { type: "null" }, { const: 3 }),
        fc.constant({ enum: ["a", 1, null] }),
        fc.record({ type: fc.constant("integer"), minimum: least, maximum: most }),
        fc.record({ type: fc.constant("string"), minLength: fc.nat(20), maxLength: length }),
      ),
      fc.record({ type: fc.constant("array"), items: tie("schema"), minItems: fc.nat(3) }),
      fc.record({ anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
      fc
        .dictionary(fc.stringMatching(/^[a-z]{1,4}$/), tie("schema"), { maxKeys: 3 })
        .map((properties) => object(properties)),
    ),
  }));
  fc.assert(
    fc.property(schema, (candidate) => {
      const { json, satisfied } = valueFor(candidate);
      expect([satisfied, ajv.validate(candidate, JSON.parse(json))]).toEqual([true, true]);
    }),
    { numRuns: 60 },
  );
});
