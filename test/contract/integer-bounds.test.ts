import { expect, it } from "vitest";
import { ENDPOINTS } from "../../src/http/contract/endpoints.ts";

/** Paths of integers without a largest value: 1e308 is an integer to JSON Schema. */
function unbounded(schema: unknown, path: string): readonly string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { type, maximum, parserRules }: Readonly<Record<string, unknown>> = { ...schema };
  const isInteger = type === "integer" || (Array.isArray(type) && type.includes("integer"));
  const isRefused = JSON.stringify(parserRules ?? "").includes("null");
  return [
    ...(isInteger && typeof maximum !== "number" && !isRefused ? [path] : []),
    ...Object.entries(schema).flatMap(([name, value]) => unbounded(value, `${path}.${name}`)),
  ];
}

it("every integer of an inference request has a largest value", () => {
  const found = ENDPOINTS.filter(({ kind }) => kind === "inference").flatMap(({ id, body }) =>
    unbounded(body, id),
  );
  expect(found).toEqual([]);
});
