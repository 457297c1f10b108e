import { describe, expect, it } from "vitest";
import {
  changeKinds,
  destinationsOf,
  type Destination,
} from "../../../src/simulate/compare/change-kinds.ts";
import { CHANGE_KINDS } from "../../../src/simulate/change-kind.ts";
import type { Outcome, PlannedEndpoint } from "../../../src/simulate/sample-request.ts";
import { endpoint, provider, table } from "../../support/table.ts";

const NOWHERE = { base: new Map<string, Destination>(), head: new Map<string, Destination>() };

function planned(name: string, changes: Partial<PlannedEndpoint> = {}): PlannedEndpoint {
  return {
    endpoint: name,
    model: "m",
    provider: "p",
    region: "eu-west",
    tier: 0,
    balance: "order",
    weight: 1,
    ...changes,
  };
}

/** A plan of endpoints, each a tier of its own. */
function to(names: string, changes: Partial<Outcome> = {}): Outcome {
  const plan = names.split("").map((name, tier) => planned(name, { tier }));
  const edits = { maxOutputTokens: null, stripFields: [] };
  return { plan, maxCandidates: null, denial: null, edits, indeterminate: false, ...changes };
}

function denied(reason = "NO", constraint = "c", policy = "p", indeterminate = false): Outcome {
  return {
    plan: [],
    maxCandidates: null,
    denial: { policy, constraint, reason },
    edits: null,
    indeterminate,
  };
}

const kinds = (base: Outcome, head: Outcome): string => changeKinds(base, head, NOWHERE).join(" ");

describe("plans", () => {
  it.for([
    ["ab", "ab", "", ""],
    ["ab", "ba", "primary_changed", "primary_changed"],
    ["a", "b", "primary_changed", "primary_changed"],
    ["a", "ab", "fallbacks_widened", "fallbacks_narrowed"],
    ["abc", "acb", "fallbacks_reordered", "fallbacks_reordered"],
    ["ab", "ac", "fallbacks_widened fallbacks_narrowed", "fallbacks_widened fallbacks_narrowed"],
    ["a", "ba", "primary_changed", "primary_changed"],
    ["a", "bc", "primary_changed fallbacks_widened", "primary_changed fallbacks_narrowed"],
    [
      "ab",
      "cd",
      "primary_changed fallbacks_widened fallbacks_narrowed",
      "primary_changed fallbacks_widened fallbacks_narrowed",
    ],
    [
      "abc",
      "bad",
      "primary_changed fallbacks_widened fallbacks_narrowed",
      "primary_changed fallbacks_widened fallbacks_narrowed",
    ],
  ] as const)("%s → %s is %j, and the reverse is %j", ([base, head, there, back]) => {
    expect(kinds(to(base), to(head))).toBe(there);
    expect(kinds(to(head), to(base))).toBe(back);
  });

  it.for([
    ["a tier", { tier: 5 }],
    ["a balance", { balance: "weighted" }],
    ["a weight", { weight: 0 }],
  ] as const)("%s of an endpoint shares requests in another way", ([, changes]) => {
    const other = to("", { plan: [planned("a"), planned("b", { tier: 1, ...changes })] });
    expect(kinds(to("ab"), other)).toBe("sharing_changed");
    expect(kinds(other, to("ab"))).toBe("sharing_changed");
  });

  it("a changed sharing is not reported beside other kinds of change", () => {
    expect(kinds(to("ab"), to("", { plan: [planned("b"), planned("a", { weight: 3 })] }))).toBe(
      "primary_changed",
    );
  });
});

describe("denials", () => {
  it.for([
    [to("a"), denied(), "newly_denied", "newly_allowed"],
    [denied(), denied(), "", ""],
    [denied("NO"), denied("NEVER"), "reason_changed", "reason_changed"],
    [denied("NO", "c"), denied("NO", "d"), "reason_changed", "reason_changed"],
    [denied("NO", "c", "p"), denied("NO", "c", "q"), "reason_changed", "reason_changed"],
    [to("a"), denied("X", "c", "p", true), "newly_denied indeterminate_new", "newly_allowed"],
    [denied(), denied("X", "c", "p", true), "reason_changed indeterminate_new", "reason_changed"],
    [denied("X", "c", "p", true), denied("X", "c", "p", true), "", ""],
    [to("a"), to("a", { indeterminate: true }), "indeterminate_new", ""],
    [
      to("a"),
      to("b", { indeterminate: true }),
      "primary_changed indeterminate_new",
      "primary_changed",
    ],
  ] as const)(
    "%#: the change and its reverse have the listed kinds",
    ([base, head, there, back]) => {
      expect(kinds(base, head)).toBe(there);
      expect(kinds(head, base)).toBe(back);
    },
  );
});

describe("edits", () => {
  it.for([
    [{ maxOutputTokens: 10, stripFields: [] }, "edits_changed", "higher_ceiling edits_changed"],
    [
      { maxOutputTokens: null, stripFields: ["user"] },
      "edits_changed",
      "weaker_obligation edits_changed",
    ],
    [{ maxOutputTokens: null, stripFields: [] }, "", ""],
  ] as const)("added edits %j are %j, and their removal is %j", ([edits, stricter, weaker]) => {
    expect(kinds(to("a"), to("a", { edits }))).toBe(stricter);
    expect(kinds(to("a", { edits }), to("a"))).toBe(weaker);
  });
});

describe("destinations", () => {
  const rows = (row: object, at: object = {}) =>
    destinationsOf(
      table({
        providers: [provider("p", row), provider("q")],
        endpoints: [endpoint("a", at), endpoint("b", { provider: "q" })],
      }),
    );

  it.for([
    ["region", {}, { region: "us-east" }, true],
    ["model", {}, { model: "n" }, true],
    ["provider", {}, { provider: "q" }, true],
    ["dialect", {}, { dialect: "anthropic-messages" }, true],
    ["upstream model", {}, { upstreamModel: "other" }, true],
    ["address", { baseUrl: "https://other.example/v1" }, {}, true],
    ["network", { network: "private" }, {}, true],
    ["version", { apiVersion: "2026-01-01" }, {}, true],
    ["retention", { retention: "unlimited" }, {}, true],
    ["training", { trainsOnData: true }, {}, true],
    ["price", {}, { price: null }, false],
    ["concurrency", { maxConcurrency: 1 }, { maxConcurrency: 1 }, false],
    ["queue", { queue: { size: 5, wait: 5 } }, {}, false],
  ] as const)("a changed %s (%j, %j) is another destination: %s", ([, row, at, isElsewhere]) => {
    const [before, after] = [rows({}), rows(row, at)];
    const kind = isElsewhere ? "destination_changed" : "";
    for (const sides of [
      { base: before, head: after },
      { base: after, head: before },
    ]) {
      expect(changeKinds(to("a"), to("a"), sides).join(" ")).toBe(kind);
      // A candidate that only one side has comes or goes.
      expect(changeKinds(to("b"), to("ba"), sides)).not.toContain("destination_changed");
    }
  });

  it("any number of kinds is in their fixed order", () => {
    const sides = { base: rows({}), head: rows({ trainsOnData: true }) };
    const head = to("cda", { edits: { maxOutputTokens: 1, stripFields: [] }, indeterminate: true });
    const found = changeKinds(to("ab"), head, sides);
    expect(found).toEqual([
      "primary_changed",
      "fallbacks_widened",
      "fallbacks_narrowed",
      "destination_changed",
      "edits_changed",
      "indeterminate_new",
    ]);
    expect(found).toEqual(CHANGE_KINDS.filter((kind) => found.includes(kind)));
  });
});
