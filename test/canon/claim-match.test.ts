import fc from "fast-check";
import { expect, test } from "vitest";
import { coversClaims, matchesClaims } from "../../src/canon/workload-identity.ts";
import { cpuTimeOf } from "../support/cpu-time.ts";

const matchesPattern = (text: string, pattern: string): boolean =>
  matchesClaims({ claim: text }, [{ claim: "claim", values: [pattern] }]);

test.each<[string, string, boolean]>([
  ["a", "a", true],
  ["a", "A", false],
  ["a*c", "abc", true],
  ["a*c", "ac", false],
  ["*", "a", true],
  ["*", "", false],
  ["a*", "a/b", false],
  ["a*", "a:b", false],
  ["repo:shop/*:ref:refs/heads/main", "repo:shop/app:ref:refs/heads/main", true],
  ["repo:shop/*:ref:refs/heads/main", "repo:shop/app:ref:refs/heads/x:ref:refs/heads/main", false],
  ["system:serviceaccount:*:web", "system:serviceaccount:shop:web", true],
  ["system:serviceaccount:*:web", "system:serviceaccount:shop:web:web", false],
  ["a*b*c", "aXbXbXc", true],
  ["a*b*c", "abXc", false],
  ["a*b*c", "aXbc", false],
  ["a**", "ab", false],
  ["a**", "abc", true],
  ["*b", "bb", true],
  ["*b", "b", false],
  ["a.c", "abc", false],
  ["(", "(", true],
])("the pattern %s matches the text %s: %s", (pattern, text, matches) => {
  expect(matchesPattern(text, pattern)).toBe(matches);
});

/** What a pattern means, by a way that may take long. */
const byExpression = (text: string, pattern: string): boolean =>
  new RegExp(
    `^${pattern.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll(String.raw`\*`, "[^/:]+")}$`,
    "su",
  ).test(text);

const characters = (alphabet: string) =>
  fc.array(fc.constantFrom(...alphabet.split("")), { maxLength: 12 }).map((list) => list.join(""));

test("pattern matching agrees with the equivalent regular expression", () => {
  fc.assert(
    fc.property(characters("ab:/*"), characters("ab:/"), (pattern, text) => {
      expect(matchesPattern(text, pattern)).toBe(byExpression(text, pattern));
    }),
    { numRuns: 2_000 },
  );
});

test("a rule that covers a narrower one matches every token that the narrower one matches", () => {
  const rule = fc.dictionary(
    fc.constantFrom("sub", "ns"),
    fc.array(characters("ab:*"), { minLength: 1, maxLength: 3 }),
    {
      minKeys: 1,
    },
  );
  const rules = rule.map((claims) =>
    Object.entries(claims).map(([claim, values]) => ({ claim, values })),
  );
  const claims = fc.record({ sub: characters("ab:"), ns: characters("ab:") });
  fc.assert(
    fc.property(rules, rules, claims, (wide, narrow, token) => {
      const isNarrow = coversClaims(wide, narrow) && matchesClaims(token, narrow);
      expect(!isNarrow || matchesClaims(token, wide)).toBe(true);
    }),
    { numRuns: 5_000 },
  );
});

test("a pattern with many stars is matched in linear time against a long near miss", () => {
  const time = cpuTimeOf(() => {
    expect(matchesPattern("a".repeat(2_048), `${"a*".repeat(200)}b`)).toBe(false);
  });
  expect(time).toBeLessThan(500);
});

const TOKEN = {
  sub: "a",
  groups: ["dev", "ops"],
  attempt: 1,
  trusted: true,
  "kubernetes.io": { namespace: "shop", "a/b": { "~": "deep" } },
  "/odd": "x",
};

test.each<[string, string, readonly (string | number | boolean)[], boolean]>([
  ["a text", "sub", ["a"], true],
  ["one of several", "sub", ["b", "a"], true],
  ["an item of a list", "groups", ["ops"], true],
  ["no item of a list", "groups", ["ops2"], false],
  ["a number", "attempt", [1], true],
  ["a text for a number", "attempt", ["1"], false],
  ["a flag", "trusted", [true], true],
  ["a text for a flag", "trusted", ["true"], false],
  ["a claim that is not there", "aud", ["a"], false],
  ["a name of every object", "constructor", ["a"], false],
  ["a deeper claim", "/kubernetes.io/namespace", ["shop"], true],
  ["a deeper claim with escapes", "/kubernetes.io/a~1b/~0", ["deep"], true],
  ["a pointer into a list", "/groups/0", ["dev"], false],
  ["a pointer into a text", "/sub/length", [1], false],
  ["a pointer to an object", "/kubernetes.io", ["shop"], false],
  ["a claim that begins with a slash, by its pointer", "/~1odd", ["x"], true],
])("%s (claim %s, values %j) matches: %s", (_, claim, values, matches) => {
  expect(matchesClaims(TOKEN, [{ claim, values }])).toBe(matches);
});

test("all rules have to match, and an empty set matches nothing", () => {
  const sub = { claim: "sub", values: ["a"] };
  expect(matchesClaims(TOKEN, [sub, { claim: "groups", values: ["ops"] }])).toBe(true);
  expect(matchesClaims(TOKEN, [sub, { claim: "groups", values: ["other"] }])).toBe(false);
  expect(matchesClaims(TOKEN, [])).toBe(false);
});
