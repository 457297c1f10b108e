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
const beside = { type: "object", properties: { a: { const: 1 } }, anyOf: [{ required: ["a"] }] };
const merged = [
  object({ a: { const: 1 } }, { additionalProperties: true }),
  { properties: { b: { const: 2 } }, required: ["b"] },
];
const text = { type: "string" };
const two = { type: "array", items: text, minItems: 2, uniqueItems: true };
const costly = object({ a: { $ref: "#" }, b: { $ref: "#" } });

const VALUES: readonly (readonly [schema: unknown, value: unknown])[] = [
  [described, { a: "simulated" }],
  [{ type: "object", required: ["x"] }, { x: null }],
  [{ const: { deep: [1] } }, { deep: [1] }],
  [{ enum: ["u", "v"] }, "u"],
  [{ type: ["null", "integer"] }, 1],
  [object({ a: { $ref: "#/$defs/q" } }, { $defs: { q: { enum: [7] } } }), { a: 7 }],
  [{ $ref: "#/$defs/a~1b~0c", $defs: { "a/b~c": { const: 1 } } }, 1],
  [object({ children: { type: "array", items: { $ref: "#" } } }), { children: [] }],
  [{ anyOf: [false, { type: "boolean" }] }, true],
  [beside, { a: 1 }],
  [{ oneOf: [{ $ref: "#/$defs/a" }], $defs: { a: { type: "integer", minimum: 4 } } }, 4],
  [{ allOf: merged }, { a: 1, b: 2 }],
  [two, ["simulated", "simulated 2"]],
  [{ type: "array", prefixItems: [{ const: 1 }, { const: 2 }] }, [1, 2]],
  [{ type: "integer", exclusiveMinimum: 5, exclusiveMaximum: 7 }, 6],
  [{ type: "integer", minimum: 5, maximum: 9 }, 5],
  [{ type: "integer", maximum: -3 }, -3],
  [{ type: "number", multipleOf: 5, minimum: 11 }, 15],
  [{ type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1 }, 0.5],
  [{ ...text, minLength: 12 }, "simulated..."],
  [{ ...text, maxLength: 3 }, "sim"],
  [{ ...text, pattern: "^[0-9]{4}$" }, "0000"],
  [{ ...text, format: "date" }, "2026-01-01"],
];

const IMPOSSIBLE: readonly (readonly [unknown, undefined])[] = [
  [object({ child: { $ref: "#" } }), undefined],
  [{ anyOf: Array.from({ length: 8 }, () => costly) }, undefined],
  [{ ...text, pattern: "^(foo|bar)baz[xyz]{3}$" }, undefined],
  [{ ...text, pattern: "(" }, undefined],
  [false, undefined],
  [{ type: "integer", minimum: 3, maximum: 2 }, undefined],
  [{ $ref: "#/$defs/x" }, undefined],
  [{ $ref: "https://example.com/schema" }, undefined],
  [{ type: "text" }, undefined],
  [{ ...text, minLength: "1" }, undefined],
  [{ type: "array", items: {}, minItems: 1_000_000 }, undefined],
  [{ ...text, not: { minLength: 0 } }, undefined],
];

test.each([...VALUES, ...IMPOSSIBLE])("the value of %j is %j", (schema, expected) => {
  const { json, satisfied } = valueFor(schema);
  expect(satisfied ? JSON.parse(json) : undefined).toEqual(expected);
});

test("a validator accepts the value of any schema that is composed of these", () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const simple = VALUES.map(([schema]) => Object(schema)).filter(
    (schema) => !JSON.stringify(schema).includes("$ref"),
  );
  const { schema } = fc.letrec<{ schema: object }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.constantFrom<object>(...simple),
      fc.record({ type: fc.constant("array"), items: tie("schema"), minItems: fc.nat(3) }),
      fc.record({ anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
      fc.dictionary(fc.stringMatching(/^[a-z]{1,4}$/), tie("schema"), { maxKeys: 3 }).map(object),
    ),
  }));
  fc.assert(
    fc.property(schema, (candidate) => {
      const { json, satisfied } = valueFor(candidate);
      expect([satisfied, ajv.validate(candidate, JSON.parse(json))]).toEqual([true, true]);
    }),
    { numRuns: 40 },
  );
});
