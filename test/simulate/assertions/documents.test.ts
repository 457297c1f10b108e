import { describe, expect, test } from "vitest";
import { ASSERTION_KINDS, ASSERTIONS_SCHEMA } from "../../../src/simulate/assertions/schema.ts";
import { CONTRACT, parse, readText, TABLE } from "./samples.ts";

const document = readText("docs/assertions.md");
const sections = document
  .split(/^## /m)
  .map((text) => ({ heading: text.split("\n")[0] ?? "", text }));
const examples = sections.flatMap(({ heading, text }) =>
  [...text.matchAll(/^```yaml\n([^]*?)^```$/gm)].map(([, yaml = ""], index) => ({
    name: `${heading}, example ${index + 1}`,
    heading,
    // An example of one row stands without its dash.
    yaml: yaml.startsWith("version:")
      ? yaml
      : `version: 1\nassertions:\n  - ${yaml.trimEnd().replaceAll("\n", "\n    ")}\n`,
  })),
);

describe("docs/assertions.md", () => {
  const reasons = ["REGION_NOT_IN_EU", "EU_REGIONS_NOT_DECLARED"] as const;
  const contract = {
    ...CONTRACT,
    constraints: [{ name: "processed_in_eu", effect: "require_all", reasons }],
  } as const;
  const side = { table: TABLE, contracts: [contract] };

  test.for(examples)("$name is without a finding", ({ yaml }) => {
    expect(parse(yaml, side, side).diagnostics).toEqual([]);
  });

  test.for([...ASSERTION_KINDS])("has a section with an example of %s", (kind) => {
    const example = examples.find(({ heading }) => heading === kind);
    expect(example && parse(example.yaml, side, side).assertions?.assertions[0]?.kind).toBe(kind);
  });

  test("names every key of the schema", () => {
    const keys = new Set<string>();
    const visit = (value: unknown): void => {
      if (typeof value !== "object" || value === null) return;
      if (
        "properties" in value &&
        typeof value.properties === "object" &&
        value.properties !== null
      ) {
        for (const key of Object.keys(value.properties)) keys.add(key);
      }
      for (const member of Object.values(value)) visit(member);
    };
    visit(ASSERTIONS_SCHEMA);
    expect([...keys].filter((key) => !new RegExp(`\\b${key}\\b`).test(document))).toEqual([]);
  });
});
