import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  compareAreas,
  areaOf,
  hostEvidence,
  modelIdEvidence,
} from "../../src/compile/checks/regions.ts";
import { milliseconds } from "../../src/compile/normalised/defaults.ts";
import { editDistance } from "../../src/canon/nearest-name.ts";
import {
  looksLikeSecret,
  quote,
  redactLine,
  suggest,
} from "../../src/compile/authored/literal-secrets.ts";

describe("suggest", () => {
  const known = ["fallbacks", "primary", "title", "on_gap"];

  test.each([
    ["fallback", "did you mean `fallbacks`?"],
    ["falbacks", "did you mean `fallbacks`?"],
    ["titel", "did you mean `title`?"],
    ["onGap", "did you mean `on_gap`?"],
    ["zebra", "known here: `fallbacks`, `on_gap`, `primary`, `title`"],
  ])("%s gets the hint: %s", (name, hint) => {
    expect(suggest(name, known)).toBe(hint);
  });

  test("suggests nothing where no name is known", () => {
    expect(suggest("x", [])).toBe("");
  });

  test("never suggests a name that looks like a credential", () => {
    expect(suggest("sk-abcdefghijklmnop0124", ["sk-abcdefghijklmnop0123"])).toBe("");
  });

  test("the distance is a metric that counts a swap as one", () => {
    expect([
      editDistance("ab", "ba"),
      editDistance("", "abc"),
      editDistance("kitten", "sitting"),
    ]).toEqual([1, 3, 3]);
    const name = fc.string({ maxLength: 8 });
    fc.assert(
      fc.property(name, name, (left, right) => {
        expect(editDistance(left, right)).toBe(editDistance(right, left));
        expect(editDistance(left, right) === 0).toBe(left === right);
        expect(editDistance(left, right)).toBeLessThanOrEqual(Math.max(left.length, right.length));
      }),
    );
  });
});

describe("locations", () => {
  test.each([
    ["eu", "eu-central-1", "same"],
    ["eu-west", "europe-west4", "same"],
    ["eu-west", "eu-central-1", "elsewhere"],
    ["eu-west", "eu", "wider"],
    ["eu", "eu-west-2", "elsewhere"],
    ["eu", "europe-west6", "elsewhere"],
    ["uk", "eu-west-2", "same"],
    ["apac", "jp", "same"],
    ["jp", "apac", "wider"],
    ["jp", "ap-northeast-1", "same"],
    ["apac", "ap-southeast-1", "same"],
    ["us", "us-gov-west-1", "same"],
    ["global", "us", "same"],
    ["us", "global", "wider"],
  ])("a row of %s with evidence of %s is %s", (claim, evidence, outcome) => {
    expect(compareAreas(areaOf(claim) ?? ["?"], areaOf(evidence) ?? ["?"])).toBe(outcome);
  });

  test.each(["frankfurt", "on-premises", "", "EU", "eu_west"])(
    "%j is not a known convention",
    (name) => {
      expect(areaOf(name)).toBeNull();
    },
  );

  test.each([
    ["bedrock-runtime.eu-central-1.amazonaws.com", "`eu-central-1`"],
    ["bedrock-runtime-fips.us-gov-west-1.amazonaws.com", "`us-gov-west-1`"],
    ["bedrock-mantle.us-east-1.api.aws", "`us-east-1`"],
    ["europe-west4-aiplatform.googleapis.com", "`europe-west4`"],
    ["EU.api.openai.com", "`eu`"],
    ["api.openai.com", "the whole world"],
    ["api.openai.com.evil.example", null],
    ["alpha.example", null],
  ])("the host %s shows %s", (host, evidence) => {
    expect(hostEvidence(host)?.shown ?? null).toBe(evidence);
  });

  test.each([
    ["eu.anthropic.claude-x-v1:0", "`eu`"],
    ["apac.amazon.nova-x-v1:0", "`apac`"],
    ["global.anthropic.claude-x-v1:0", "the whole world"],
    ["arn:aws:bedrock:eu-west-1:1:inference-profile/global.anthropic.claude-x", "the whole world"],
    ["arn:aws:bedrock:eu-west-1:1:application-inference-profile/x", "`eu-west-1`"],
    ["projects/p/locations/europe-west4/publishers/google/models/m", "`europe-west4`"],
    ["gpt-5", null],
    ["anthropic.claude-x-v1:0", null],
    ["eu.", null],
  ])("the model id %s shows %s", (id, evidence) => {
    expect(modelIdEvidence(id)?.shown ?? null).toBe(evidence);
  });
});

describe("credentials in messages", () => {
  const random = "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5";

  test.each([
    "claude-sonnet-4-20250514-v1:0",
    "large-eu",
    "OPENAI_API_KEY",
    "mistral-large-latest",
    "x".repeat(40),
    "europe-west4",
  ])("%s is shown as a name", (name) => {
    expect(quote(name)).toBe(`\`${name}\``);
  });

  test.each(["sk-abcdefghijklmnop0123", "AKIAIOSFODNN7EXAMPLE", random, `Bearer ${random}`])(
    "%s is not shown",
    (value) => {
      expect(quote(value)).toBe("(a value not shown here)");
    },
  );

  test("names are cut and cleaned", () => {
    expect(quote("a\u001b[31mb`c")).toBe("`a�[31mb�c`");
    expect(quote("long name ".repeat(20)).length).toBe(62);
  });

  test.each([
    ["    auth: { bearer: hunter2hunter2 }", "    auth: { bearer: ************** }"],
    ["  api_key: hunter2", "  api_key: *******"],
    ["  auth: hunter2", "  auth: *******"],
    [
      "    auth: { bearer: { env: OPENAI_API_KEY } }",
      "    auth: { bearer: { env: OPENAI_API_KEY } }",
    ],
    [
      "    timeouts: { first_token: 30s, idle: 5s }",
      "    timeouts: { first_token: 30s, idle: 5s }",
    ],
    ["    timeouts: { first_token: hunter2 }", "    timeouts: { first_token: ******* }"],
    ["    timeouts: { first_token: 30sk }", "    timeouts: { first_token: **** }"],
    ["    other_first_token: 30s", "    other_first_token: ***"],
    [`  x: ${random}`, `  x: ${"*".repeat(random.length)}`],
    ["  region: eu-west", "  region: eu-west"],
  ])("the line %j is shown as %j", (line, shown) => {
    expect(redactLine(line)).toBe(shown);
    expect(redactLine(line)).toHaveLength(line.length);
  });

  test("a key of Signalbox is recognised by its form", () => {
    expect(looksLikeSecret("sbx_production_ab12cd_0123456789abcdefghijABCDEFGHIJ")).toBe(true);
  });
});

test.each([
  ["500ms", 500],
  ["30s", 30_000],
  ["10m", 600_000],
  ["1h", 3_600_000],
])("the duration %s is %d ms", (text, expected) => {
  expect(milliseconds(text)).toBe(expected);
});
