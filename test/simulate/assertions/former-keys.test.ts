import { expect, test } from "vitest";
import { FORMER_KEYS } from "../../../src/simulate/assertions/parse.ts";
import { changedAssertions } from "../../../src/simulate/settings/changed-settings.ts";
import { fileWith, parse } from "./samples.ts";

const TODAY = `version: 1
assertions:
  - kind: always_routable
    id: two
    title: Two
    min_endpoints: 2
  - kind: implies
    id: union
    title: Union
    if: { reaches: { regions: [us] } }
    then: { every_endpoint: { retention: [none] }, some_endpoint: { regions: [eu] } }
`;

const KEYS = Object.entries(FORMER_KEYS);

function sideOf(text: string) {
  const { assertions } = parse(text);
  if (assertions === null) throw new Error(JSON.stringify(parse(text).diagnostics));
  return { source: { path: "policies/assertions.yaml", text }, assertions };
}

function findings(text: string) {
  return parse(text).diagnostics.map(
    ({ code, line, column, message }) => `${code} ${line}:${column} ${message}`,
  );
}

test.for(KEYS)("a file with %s has the assertions of one with %s", ([former, name]) => {
  expect(TODAY).toContain(name);
  const [before, today] = [sideOf(TODAY.replace(name, former)), sideOf(TODAY)];
  expect(before.assertions).toEqual(today.assertions);
  expect(changedAssertions(before, today)).toEqual([]);
});

test.for(KEYS)("a mapping with %s and %s is an error", ([former, name]) => {
  const value = new RegExp(`${name}: ([^{},\\n]+|\\{[^}]*\\})`);
  for (const order of [`${former}: $1, ${name}: $1`, `${name}: $1, ${former}: $1`]) {
    const text = TODAY.replace(
      value,
      name === "min_endpoints" ? order.replace(", ", "\n    ") : order,
    );
    const lines = text.split("\n");
    const line = lines.findIndex((each) => each.includes(former));
    expect(findings(text)).toEqual([
      `YAML_DUPLICATE_KEY ${line + 1}:${(lines[line] ?? "").indexOf(former) + 1} \`${former}\` is the former name of \`${name}\`, which this mapping has too`,
    ]);
  }
});

test.for([
  [
    "kind: always_routable\nmin_places: 0",
    "WRONG_VALUE 6:17 assertions[0].min_places must be at least 1",
  ],
  ["kind: equivalent\nmin_places: 2", "UNKNOWN_KEY 6:5 assertions[0] has no key `min_places`"],
  [
    "kind: implies\nif: { outcome: route }\nthen: { every_place: { region: [eu] } }",
    "UNKNOWN_KEY 7:28 assertions[0].then.every_place has no key `region`",
  ],
  [
    "kind: implies\nif: { outcome: route }\nthen: { some_place: {} }",
    "WRONG_VALUE 7:13 assertions[0].then.some_place is empty",
  ],
  [
    "kind: implies\nif: { outcome: route }\nthen: { some_place: { models: [gpt] } }",
    "ASSERTION_UNKNOWN_WORD 7:36 there is no model `gpt`",
  ],
] as const)("a finding names a former key as the file has it: %s", ([lines, expected]) => {
  expect(findings(fileWith(lines))).toEqual([expected]);
});
