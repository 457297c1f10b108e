import { describe, expect, test } from "vitest";
import {
  comparisonOf,
  denied,
  pairOf,
  pointWith,
  resultOf,
  routed,
  TABLE,
  tableWith,
} from "./samples.ts";
import type { OutcomePair, SampleRequest } from "../../../src/simulate/sample-request.ts";

const US = routed(["gpt-5-us"]);
const EU = routed(["gpt-5-eu"]);
const BOTH = routed(["gpt-5-us", "gpt-5-eu"]);
const NONE = denied();
const RESIDENCY = denied("eu-residency", "processed_in_eu", "REGION_NOT_IN_EU");
const same = (outcome: OutcomePair["head"]): OutcomePair => pairOf(outcome, outcome);

interface Row {
  readonly name: string;
  readonly lines: string;
  readonly pair: OutcomePair;
  /** `null`: it passes. */
  readonly message: string | null;
  readonly point?: Partial<SampleRequest>;
}

const rows: readonly Row[] = [
  { name: "the same endpoint", lines: "kind: no_new_access", pair: same(US), message: null },
  { name: "fewer endpoints", lines: "kind: no_new_access", pair: pairOf(BOTH, US), message: null },
  {
    name: "one endpoint more",
    lines: "kind: no_new_access",
    pair: pairOf(US, BOTH),
    message: "gpt-5-eu (openai-eu, eu) is reached in head and not in base",
  },
  {
    name: "another endpoint at the same provider in the same region",
    lines: "kind: no_new_access",
    pair: pairOf(US, routed(["gpt-5-mini-us"])),
    message: null,
  },
  {
    name: "the same provider elsewhere",
    lines: "kind: no_new_access",
    pair: pairOf(routed(["gpt-5-eu"]), {
      ...EU,
      plan: EU.plan.map((candidate) => ({ ...candidate, region: "eu-west" })),
    }),
    message: "gpt-5-eu (openai-eu, eu-west) is reached in head and not in base",
  },
  {
    name: "newly allowed",
    lines: "kind: no_new_access",
    pair: pairOf(NONE, US),
    message: "gpt-5-us (openai-us, us) is reached in head and not in base",
  },
  { name: "newly denied", lines: "kind: no_new_access", pair: pairOf(US, NONE), message: null },
  {
    name: "one endpoint more that is not meant",
    lines: "kind: no_new_access\nto: { regions: [us] }",
    pair: pairOf(US, BOTH),
    message: null,
  },
  {
    name: "one endpoint more of a meant region group",
    lines: "kind: no_new_access\nto: { regions: [eu] }",
    pair: pairOf(US, routed(["gpt-5-us", "mistral-large-eu"])),
    message: "mistral-large-eu (mistral-eu, eu-west) is reached in head and not in base",
  },

  {
    name: "a provider in the plan",
    lines: "kind: access_not_granted\nto: { providers: [openai-us] }",
    pair: same(routed(["gpt-5-eu", "gpt-5-us"])),
    message: "the plan contains gpt-5-us (openai-us, us)",
  },
  {
    name: "a provider in base's plan only",
    lines: "kind: access_not_granted\nto: { providers: [openai-us] }",
    pair: pairOf(US, EU),
    message: null,
  },
  {
    name: "a denial",
    lines: "kind: access_not_granted\nto: { trains_on_data: false }",
    pair: same(NONE),
    message: null,
  },
  {
    name: "retention",
    lines: "kind: access_not_granted\nto: { retention: [days_30] }",
    pair: same(BOTH),
    message: "the plan contains gpt-5-us (openai-us, us)",
  },
  {
    name: "another retention",
    lines: "kind: access_not_granted\nto: { retention: [unlimited, transient] }",
    pair: same(BOTH),
    message: null,
  },
  {
    name: "training",
    lines: "kind: access_not_granted\nto: { trains_on_data: true }",
    pair: same(BOTH),
    message: null,
  },
  {
    name: "model and region together, neither endpoint is both",
    lines: "kind: access_not_granted\nto: { models: [mistral-large], regions: [us] }",
    pair: same(routed(["gpt-5-us", "mistral-large-eu"])),
    message: null,
  },
  {
    name: "an endpoint",
    lines: "kind: access_not_granted\nto: { endpoints: [gpt-5-us] }",
    pair: same(US),
    message: "the plan contains gpt-5-us (openai-us, us)",
  },

  { name: "an endpoint", lines: "kind: always_routable", pair: same(US), message: null },
  {
    name: "a denial",
    lines: "kind: always_routable",
    pair: pairOf(US, RESIDENCY),
    message: "the request is denied by eu-residency/processed_in_eu (REGION_NOT_IN_EU)",
  },
  {
    name: "a denial in base",
    lines: "kind: always_routable",
    pair: pairOf(NONE, US),
    message: null,
  },
  {
    name: "two endpoints of two",
    lines: "kind: always_routable\nmin_endpoints: 2",
    pair: same(BOTH),
    message: null,
  },
  {
    name: "one endpoint of two",
    lines: "kind: always_routable\nmin_endpoints: 2",
    pair: same(US),
    message: "the request can go to 1 of the 2 endpoints required",
  },
  {
    name: "two equals of which one is tried",
    lines: "kind: always_routable\nmin_endpoints: 2",
    pair: same(routed(["gpt-5-us", "gpt-5-eu"], TABLE, 1)),
    message: "the request can go to 1 of the 2 endpoints required",
  },

  {
    name: "condition and demand hold",
    lines:
      "kind: implies\nif: { reaches: { regions: [us] } }\nthen: { some_endpoint: { regions: [eu] } }",
    pair: same(BOTH),
    message: null,
  },
  {
    name: "no endpoint is wanted",
    lines:
      "kind: implies\nif: { reaches: { regions: [us] } }\nthen: { some_endpoint: { regions: [eu] } }",
    pair: same(US),
    message: "no endpoint of the plan is one that `some_endpoint` selects",
  },
  {
    name: "every endpoint, one is not",
    lines: "kind: implies\nif: { outcome: route }\nthen: { every_endpoint: { regions: [eu] } }",
    pair: same(BOTH),
    message: "the plan contains gpt-5-us (openai-us, us), which `every_endpoint` does not select",
  },
  {
    name: "every endpoint of a denial",
    lines: "kind: implies\nif: { outcome: deny }\nthen: { every_endpoint: { regions: [eu] } }",
    pair: same(NONE),
    message: null,
  },
  {
    name: "the primary",
    lines:
      "kind: implies\nif: { outcome: route }\nthen: { primary: { models: [gpt-5], regions: [us] } }",
    pair: same(BOTH),
    message: null,
  },
  {
    name: "another primary",
    lines: "kind: implies\nif: { outcome: route }\nthen: { primary: { regions: [eu] } }",
    pair: same(BOTH),
    message: "gpt-5-us (openai-us, us) comes first, which `primary` does not select",
  },
  {
    name: "the denial that is expected",
    lines:
      "kind: implies\nif: { outcome: deny }\nthen: { denied_by: { policy: eu-residency, reason: REGION_NOT_IN_EU } }",
    pair: same(RESIDENCY),
    message: null,
  },
  {
    name: "another denial",
    lines: "kind: implies\nif: { outcome: deny }\nthen: { denied_by: { policy: eu-residency } }",
    pair: same(NONE),
    message: "the request is denied by approvals/route_known (model_not_found) instead",
  },
  {
    name: "routed instead of denied",
    lines: "kind: implies\nif: { reaches: { models: [gpt-5] } }\nthen: { outcome: deny }",
    pair: same(US),
    message: "the request is routed",
  },
  {
    name: "denied instead of routed",
    lines:
      "kind: implies\nif: { denied_by: { constraint: processed_in_eu } }\nthen: { outcome: route }",
    pair: same(RESIDENCY),
    message: "the request is denied by eu-residency/processed_in_eu (REGION_NOT_IN_EU)",
  },

  { name: "no change", lines: "kind: equivalent", pair: same(US), message: null },
  {
    name: "two changes",
    lines: "kind: equivalent",
    pair: pairOf(US, EU, "primary_changed", "edits_changed"),
    message: "the outcome changes: primary_changed, edits_changed",
  },
  {
    name: "one change of two ignored",
    lines: "kind: equivalent\nignoring: [primary_changed]",
    pair: pairOf(US, EU, "primary_changed", "edits_changed"),
    message: "the outcome changes: edits_changed",
  },
  {
    name: "all changes ignored",
    lines: "kind: equivalent\nignoring: [reason_changed]",
    pair: pairOf(NONE, RESIDENCY, "reason_changed"),
    message: null,
  },
];

describe("every kind of assertion, kept and violated", () => {
  test.for(rows.map((row) => [`${row.lines.split("\n")[0]}: ${row.name}`, row] as const))(
    "%s",
    ([, row]) => {
      const result = resultOf(row.lines, [comparisonOf(row.pair, pointWith(row.point))]);
      expect(result.message).toBe(row.message === null ? null : `as declared, ${row.message}`);
      expect(result.status).toBe(row.message === null ? "PASS" : "FAIL");
      expect([result.classes, result.violations]).toEqual([1, row.message === null ? 0 : 1]);
      expect(result.example).toEqual(row.message === null ? null : pointWith(row.point));
    },
  );
});

describe("views", () => {
  const comparison = comparisonOf(same(US), pointWith(), same(NONE));

  test.for([
    ["declared", "PASS", null],
    [
      "promoted",
      "FAIL",
      "as if promoted, the request is denied by approvals/route_known (model_not_found)",
    ],
    [
      "both",
      "FAIL",
      "as if promoted, the request is denied by approvals/route_known (model_not_found)",
    ],
  ] as const)(
    "an assertion with the view %s is %s, with the message %j",
    ([view, status, message]) => {
      const result = resultOf(`kind: always_routable\nview: ${view}`, [comparison]);
      expect([result.status, result.message, result.view]).toEqual([status, message, view]);
    },
  );

  test("a class that violates both counts once", () => {
    const result = resultOf("kind: always_routable", [comparisonOf(same(NONE))]);
    expect([result.classes, result.violations]).toEqual([1, 1]);
  });

  test("an implication counts the classes that match its condition in one of its views", () => {
    const lines =
      "kind: implies\nif: { outcome: deny }\nthen: { denied_by: { policy: approvals } }";
    expect(resultOf(lines, [comparison]).classes).toBe(1);
    expect(resultOf(`${lines}\nview: declared\nmay_be_empty: true`, [comparison]).classes).toBe(0);
  });
});

describe("an assertion without matches", () => {
  test("fails, and names its selectors", () => {
    const result = resultOf("kind: always_routable\nfor: { workspaces: [acme-prod] }", [
      comparisonOf(same(US)),
    ]);
    expect([result.status, result.classes, result.example]).toEqual(["FAIL", 0, null]);
    expect(result.message).toBe(
      "it selects no request; correct its selectors, or write `may_be_empty: true`",
    );
  });

  test("passes with `may_be_empty: true`", () => {
    const lines = "kind: always_routable\nmay_be_empty: true\nfor: { workspaces: [acme-prod] }";
    expect(resultOf(lines, [comparisonOf(same(US))]).status).toBe("PASS");
  });

  test("an implication whose condition never holds fails", () => {
    const lines =
      "kind: implies\nif: { outcome: deny }\nthen: { denied_by: { policy: approvals } }";
    expect(resultOf(lines, [comparisonOf(same(US))]).status).toBe("FAIL");
  });
});

describe("workspaces that change with the tree", () => {
  const relaxed = tableWith([
    "  acme-prod:\n    tier: regulated\n    labels: [eu]",
    "  acme-prod:\n    tier: standard",
  ]);
  const without = tableWith([
    "  acme-prod:\n    tier: regulated",
    "  acme-stage:\n    tier: regulated",
  ]);
  const acme = pointWith({ workspace: "acme-prod", model: "chat-large-eu" });
  const wider = comparisonOf(pairOf(EU, BOTH, "fallbacks_widened"), acme);

  test.for(["for: { tiers: [regulated] }", "for: { labels: [eu] }"])(
    "a comparison still covers a workspace that head removes from %s",
    (selector) => {
      expect(resultOf(`kind: no_new_access\n${selector}`, [wider], TABLE, relaxed).status).toBe(
        "FAIL",
      );
      expect(resultOf(`kind: equivalent\n${selector}`, [wider], TABLE, relaxed).status).toBe(
        "FAIL",
      );
      expect(resultOf(`kind: no_new_access\n${selector}`, [wider], TABLE, TABLE).status).toBe(
        "FAIL",
      );
      expect(resultOf(`kind: no_new_access\n${selector}`, [wider], relaxed, TABLE).status).toBe(
        "FAIL",
      );
    },
  );

  test("an exception must match on every side that selects the request", () => {
    const lines = "kind: no_new_access\nexcept: { tiers: [standard] }";
    expect(resultOf(lines, [wider], TABLE, relaxed).status).toBe("FAIL");
    expect(resultOf(`${lines}\nmay_be_empty: true`, [wider], relaxed, relaxed)).toMatchObject({
      status: "PASS",
      classes: 0,
    });
  });

  test("a provider with another host is a destination that was not reached before", () => {
    const moved = tableWith(["https://us.api.openai.com/v1", "https://gateway.example.com/v1"]);
    const comparison = comparisonOf(same(US));
    expect(resultOf("kind: no_new_access", [comparison], TABLE, moved)).toMatchObject({
      status: "FAIL",
      message:
        "as declared, gpt-5-us (openai-us, us) is reached at gateway.example.com in head and at us.api.openai.com in base",
    });
    expect(resultOf("kind: no_new_access", [comparison], moved, moved).status).toBe("PASS");
  });

  test("an assertion about head reads only head's rows", () => {
    const lines =
      "kind: access_not_granted\nmay_be_empty: true\nfor: { labels: [eu] }\nto: { regions: [us] }";
    expect(resultOf(lines, [wider], TABLE, relaxed)).toMatchObject({ status: "PASS", classes: 0 });
    expect(resultOf(lines, [wider], relaxed, TABLE)).toMatchObject({ status: "FAIL", classes: 1 });
  });

  test("a workspace that head does not have sends no requests there", () => {
    const gone = comparisonOf(pairOf(EU, NONE, "newly_denied"), acme);
    const lines = "kind: always_routable\nmay_be_empty: true";
    expect(resultOf(lines, [gone], TABLE, without)).toMatchObject({ status: "PASS", classes: 0 });
    expect(resultOf("kind: equivalent", [gone], TABLE, without)).toMatchObject({
      status: "FAIL",
      classes: 1,
    });
  });
});
