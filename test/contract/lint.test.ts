import { createConfig, lintFromString } from "@redocly/openapi-core";
import { expect, it } from "vitest";
import type { JsonObject } from "../../src/canon/json.ts";
import { ENDPOINTS } from "../../src/http/contract/endpoints.ts";
import { openApiDocument } from "../../src/http/contract/openapi.ts";

/** Redocly's strict recommendation, and what is otherwise. */
const RULES = {
  extends: ["recommended-strict"],
  rules: {
    "parameter-description": "error",
    "array-parameter-serialization": "error",
    // Its default refuses members that a schema leaves open on purpose: providers of the same
    // protocol are relayed as they speak.
    "no-invalid-media-type-examples": { severity: "error", allowAdditionalProperties: true },
    // It does not look past `if`, `then` and `allOf`: members that one type of block needs are
    // described beside them.
    "no-required-schema-properties-undefined": "off",
  },
} as const;

async function problemsOf(document: JsonObject): Promise<readonly string[]> {
  const config = await createConfig({ ...RULES, extends: [...RULES.extends] });
  const found = await lintFromString({
    source: JSON.stringify(document),
    absoluteRef: "openapi.json",
    config,
  });
  return found.map(
    ({ ruleId, message, location: [position] }) =>
      `${ruleId}: ${message} ${position?.pointer ?? ""}`,
  );
}

it(
  "the contract has no error and no warning of Redocly's linter",
  { timeout: 60_000 },
  async () => {
    expect(await problemsOf(openApiDocument())).toEqual([]);
  },
);

it("the linter reports an operation without an error and a parameter without a description", async () => {
  const [first] = ENDPOINTS;
  if (first === undefined) throw new Error("no endpoint");
  const broken = openApiDocument([
    { ...first, id: "with space", query: { naked: { type: "string" } } },
  ]);
  const rules = (await problemsOf(broken)).map((problem) => problem.split(":", 1)[0]);
  expect(rules).toContain("parameter-description");
  expect(rules).toContain("operation-operationId-url-safe");
});

it("every component is referred to", () => {
  const document = openApiDocument();
  const text = JSON.stringify(document);
  const { components } = document as unknown as {
    components: Readonly<Record<string, JsonObject>>;
  };
  const unused = ["schemas", "headers", "responses"].flatMap((kind) =>
    Object.keys(components[kind] ?? {}).filter(
      (name) => !text.includes(`"#/components/${kind}/${name}"`),
    ),
  );
  expect(unused).toEqual([]);
});
