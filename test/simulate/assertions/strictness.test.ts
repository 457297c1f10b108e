import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Assertion } from "../../../src/simulate/assertions/schema.ts";
import { judgeOf, type ClassDemand } from "../../../src/simulate/assertions/run.ts";
import { requestTest } from "../../../src/simulate/assertions/select.ts";
import { loosenedMembers } from "../../../src/simulate/assertions/strictness.ts";
import {
  type Outcome,
  type SampleRequest,
  PLAIN_SAMPLE,
} from "../../../src/simulate/sample-request.ts";
import { endpoint, provider, table, workspace } from "../../support/table.ts";
import { assertionsOf, fileWith } from "./samples.ts";

function loosened(was: string, is: string): readonly string[] {
  const [before] = assertionsOf(fileWith(was));
  const [after] = assertionsOf(fileWith(is));
  if (before === undefined || after === undefined) throw new Error("no assertion");
  return [...loosenedMembers(before, after)];
}

const IMPLIES =
  "kind: implies\nif: { outcome: route }\nthen: { every_endpoint: { retention: [none] } }";
const NOT_GRANTED = "kind: access_not_granted\nto: { regions: [us] }";
const CASES = (expected: string, more = ""): string => `kind: cases
cases:
  - request: { workspace: demo, model: chat-large, operation: chat.completions }
    expect: ${expected}${more}`;

describe("a changed assertion accepts more", () => {
  it.each([
    [
      "with a selection of fewer tiers",
      `${NOT_GRANTED}\nfor: { tiers: [standard, regulated] }`,
      `${NOT_GRANTED}\nfor: { tiers: [standard] }`,
      ["for"],
    ],
    [
      "with a condition that was not there",
      NOT_GRANTED,
      `${NOT_GRANTED}\nfor: { zdr: true }`,
      ["for"],
    ],
    [
      "with workspaces instead of a tier",
      `${NOT_GRANTED}\nfor: { tiers: [regulated] }`,
      `${NOT_GRANTED}\nfor: { workspaces: [demo] }`,
      ["for"],
    ],
    [
      "with an exception",
      NOT_GRANTED,
      `${NOT_GRANTED}\nexcept: { workspaces: [demo] }`,
      ["except"],
    ],
    [
      "with a wider exception",
      `${NOT_GRANTED}\nexcept: { zdr: true, stream: true }`,
      `${NOT_GRANTED}\nexcept: { zdr: true }`,
      ["except"],
    ],
    [
      "with fewer endpoints that must not be reached",
      "kind: access_not_granted\nto: { regions: [us, world] }",
      NOT_GRANTED,
      ["to"],
    ],
    [
      "with more endpoints that may be reached",
      IMPLIES,
      IMPLIES.replace("[none]", "[none, transient]"),
      ["then"],
    ],
    [
      "with a narrower condition",
      IMPLIES,
      IMPLIES.replace("outcome: route", "reaches: { regions: [us] }"),
      ["if"],
    ],
    [
      "with fewer endpoints that must be left",
      "kind: always_routable\nmin_endpoints: 2",
      "kind: always_routable",
      ["min_endpoints"],
    ],
    [
      "with a change that is ignored",
      "kind: equivalent",
      "kind: equivalent\nignoring: [reason_changed]",
      ["ignoring"],
    ],
    ["with one view", NOT_GRANTED, `${NOT_GRANTED}\nview: declared`, ["view"]],
    ["where it may be empty", NOT_GRANTED, `${NOT_GRANTED}\nmay_be_empty: true`, ["may_be_empty"]],
    [
      "with a waiver",
      NOT_GRANTED,
      `${NOT_GRANTED}\nwaiver: { until: "2026-12-31", reason: r, owner: o }`,
      ["waiver"],
    ],
    [
      "with a case that allows what it denied",
      CASES("{ outcome: deny }"),
      CASES("{ outcome: route }"),
      ["cases"],
    ],
    [
      "with a case that demands less",
      CASES("{ plan: [gpt-5-us] }"),
      CASES("{ primary: gpt-5-us }"),
      ["cases"],
    ],
    [
      "with a set that must have more",
      `${NOT_GRANTED}\nfor: { needs: [tools, mcp] }`,
      `${NOT_GRANTED}\nfor: { needs: { all: [tools, mcp] } }`,
      ["for"],
    ],
  ])("%s", (_, was, is, members) => {
    expect(loosened(was, is)).toEqual(members);
  });

  it("with another kind", () => {
    expect(loosened(NOT_GRANTED, "kind: no_new_access")).toContain("kind");
  });
});

describe("a changed assertion accepts no more", () => {
  it.each([
    ["as it is", IMPLIES, IMPLIES],
    [
      "with a selection of more tiers",
      `${NOT_GRANTED}\nfor: { tiers: [standard] }`,
      `${NOT_GRANTED}\nfor: { tiers: [regulated, standard] }`,
    ],
    [
      "without a condition",
      `${NOT_GRANTED}\nfor: { zdr: true, stream: true }`,
      `${NOT_GRANTED}\nfor: { stream: true }`,
    ],
    ["without its exception", `${NOT_GRANTED}\nexcept: { zdr: true }`, NOT_GRANTED],
    [
      "with a narrower exception",
      `${NOT_GRANTED}\nexcept: { zdr: true }`,
      `${NOT_GRANTED}\nexcept: { zdr: true, stream: true }`,
    ],
    [
      "with more endpoints that must not be reached",
      NOT_GRANTED,
      "kind: access_not_granted\nto: { regions: [us, world] }",
    ],
    [
      "with another demand besides",
      IMPLIES,
      IMPLIES.replace("{ every_endpoint", "{ outcome: route, every_endpoint"),
    ],
    [
      "with the first endpoint instead of some endpoint",
      IMPLIES.replace("every_endpoint", "some_endpoint"),
      IMPLIES.replace("every_endpoint", "primary"),
    ],
    [
      "with another case",
      CASES("{ plan: [gpt-5-us] }"),
      CASES(
        "{ plan: [gpt-5-us] }",
        "\n  - request: { workspace: demo, model: chat-large, operation: messages }\n    expect: { outcome: route }",
      ),
    ],
    [
      "with a plan instead of what it contains",
      CASES("{ contains: [gpt-5-us], lacks: [gpt-5-eu] }"),
      CASES("{ plan: [gpt-5-us] }"),
    ],
    [
      "with a shorter waiver",
      `${NOT_GRANTED}\nwaiver: { until: "2026-12-31", reason: r, owner: o }`,
      `${NOT_GRANTED}\nwaiver: { until: "2026-11-30", reason: r, owner: o }`,
    ],
    [
      "without its waiver",
      `${NOT_GRANTED}\nwaiver: { until: "2026-12-31", reason: r, owner: o }`,
      NOT_GRANTED,
    ],
    ["with both views", `${NOT_GRANTED}\nview: declared`, NOT_GRANTED],
  ])("%s", (_, was, is) => {
    expect(loosened(was, is)).toEqual([]);
  });
});

const TABLE = table({
  providers: [provider("p"), provider("q", { region: "us-east" })],
  endpoints: [endpoint("a"), endpoint("b", { provider: "q", region: "us-east" })],
  workspaces: [workspace("w"), workspace("v", {}, { tier: "regulated", labels: ["eu"] })],
});
const TABLES = { base: TABLE, head: TABLE };

const some = <Value>(values: readonly Value[]) => fc.subarray([...values], { minLength: 1 });
const set = <const Value extends string>(values: readonly Value[]) =>
  fc.oneof(
    some(values),
    fc.record(
      { all: some(values), any: some(values), none: some(values), only: fc.subarray([...values]) },
      { requiredKeys: [] },
    ),
  );
const requests = fc.record(
  {
    workspaces: some(["w", "v"]),
    tiers: some(["standard", "regulated"]),
    labels: set(["eu"]),
    needs: set(["tools", "mcp"]),
    zdr: fc.boolean(),
  },
  { requiredKeys: [] },
);
const endpoints = fc.record(
  { providers: some(["p", "q"]), endpoints: some(["a", "b"]) },
  { requiredKeys: [] },
);
const outcome = fc.constantFrom("route" as const, "deny" as const);
const denials = fc.record(
  { policy: fc.constantFrom("x", "y"), constraint: fc.constantFrom("c", "d") },
  { requiredKeys: [] },
);
const selection = { for: requests, except: fc.option(requests) };
const demands: fc.Arbitrary<ClassDemand> = fc.oneof(
  fc.record({ kind: fc.constant("access_not_granted" as const), to: endpoints, ...selection }),
  fc.record({
    kind: fc.constant("always_routable" as const),
    min_endpoints: fc.constantFrom(1, 2),
    ...selection,
  }),
  fc.record({
    kind: fc.constant("implies" as const),
    if: fc.record({ outcome, reaches: endpoints, denied_by: denials }, { requiredKeys: [] }),
    // oxlint-disable-next-line unicorn/no-thenable -- a key of the file
    then: fc.record(
      {
        outcome,
        every_endpoint: endpoints,
        some_endpoint: endpoints,
        primary: endpoints,
        denied_by: denials,
      },
      { requiredKeys: [] },
    ),
    ...selection,
  }),
);

/** The same demand with one part of another. */
const pairs = fc.tuple(demands, demands, fc.nat(5)).map(([was, other, at]) => {
  const names = Object.keys(was);
  const name = names[at % names.length] ?? "kind";
  const isPart = was.kind === other.kind && name !== "kind";
  return isPart
    ? ([was, { ...was, [name]: Object.entries(other).find(([key]) => key === name)?.[1] }] as const)
    : ([was, other] as const);
});

const assertion = (demand: ClassDemand): Assertion => ({
  ...demand,
  id: "guard",
  title: "",
  view: "both",
  waiver: null,
  may_be_empty: false,
  location: { file: "f", line: 1, column: 1 },
});

const planned = (id: string) => ({
  endpoint: id,
  model: "m",
  provider: id === "a" ? "p" : "q",
  region: id === "a" ? "eu-west" : "us-east",
  tier: 0,
  balance: "order" as const,
  weight: 1,
});
const outcomes: readonly Outcome[] = [
  ...[["a"], ["b"], ["a", "b"], ["b", "a"]].map((ids): Outcome => ({
    plan: ids.map(planned),
    maxCandidates: null,
    denial: null,
    edits: null,
    indeterminate: false,
  })),
  ...[
    ["x", "c"],
    ["x", "d"],
    ["y", "c"],
  ].map(([policy = "", constraint = ""]): Outcome => ({
    plan: [],
    maxCandidates: null,
    denial: { policy, constraint, reason: "R" },
    edits: null,
    indeterminate: false,
  })),
];
const samples: readonly SampleRequest[] = ["w", "v"].flatMap((id) =>
  [[], ["tools"], ["mcp", "tools"]].flatMap((needs) =>
    [false, true].map((zdr) => ({
      ...PLAIN_SAMPLE,
      workspace: id,
      model: "r",
      needs: needs as SampleRequest["needs"],
      preferences: { zdr },
    })),
  ),
);

function accepts(demand: ClassDemand, sample: SampleRequest, head: Outcome): boolean {
  if (!requestTest(demand, TABLES, ["head"])(sample)) return true;
  return (judgeOf(demand, TABLES)({ base: head, head, kinds: [] }) ?? null) === null;
}

it("a stricter expectation rejects every result that the earlier one rejected", () => {
  let compared = 0;
  fc.assert(
    fc.property(pairs, ([was, is]) => {
      if (loosenedMembers(assertion(was), assertion(is)).size > 0) return;
      compared += 1;
      for (const sample of samples) {
        for (const head of outcomes) {
          if (!accepts(was, sample, head)) expect(accepts(is, sample, head)).toBe(false);
        }
      }
    }),
    { numRuns: 6_000 },
  );
  expect(compared).toBeGreaterThan(200);
});
