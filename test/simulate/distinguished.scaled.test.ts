import { describe, expect, it } from "vitest";
import type { Source } from "../../src/canon/diagnostic.ts";
import type { RoutingTable } from "../../src/canon/table.ts";
import type { Assertion, Demand } from "../../src/simulate/assertions/schema.ts";
import type { Universe } from "../../src/simulate/space/universe.ts";
import { policySource } from "../policy/samples.ts";
import { fewOrMany } from "../support/long.ts";
import { endpoint, model, provider, route, table, workspace } from "../support/table.ts";
import { decideBothWays } from "./every-request.ts";
import { sideOf } from "./small-sides.ts";

const VOCABULARY = {
  environments: ["production", "staging"],
  workloads: ["web", "batch"],
  labels: ["eu", "vip"],
};

function tableWith(
  rows: Parameters<typeof table>[0] = {},
  vocabulary: Partial<typeof VOCABULARY> = {},
): RoutingTable {
  return { ...table(rows), vocabulary: { ...VOCABULARY, ...vocabulary } };
}

/** Few enough requests to decide each of them, whatever the tables hold. */
function few(universe: Universe): Universe {
  const operations = new Map(
    [...universe.operations]
      .filter(([operation]) => operation === "chat.completions" || operation === "moderations")
      .map(([operation, own]) => [
        operation,
        {
          ...own,
          needs: own.needs.filter((need) => ["json_schema", "reasoning", "tools"].includes(need)),
          features: [],
          stream: [false],
          context: own.context.slice(0, 1),
          maxOutput: own.maxOutput.slice(0, 1),
          reasoningEffort: own.reasoningEffort.filter((effort) =>
            ["unspecified", "minimal"].includes(effort),
          ),
        },
      ]),
  );
  const preferences = {
    allowFallbacks: [true],
    dataCollection: ["deny"] as const,
    zdr: [false],
    narrowing: [],
    orders: false,
  };
  return { ...universe, operations, preferences, times: universe.times.slice(0, 1) };
}

const gate = (id: string, rules: string): Source =>
  policySource(id, { is_so: "{effect: gate, reasons: [NOT_SO]}" }, rules);

function asserting(demand: Demand): Assertion {
  return {
    ...demand,
    id: "sample",
    title: "Sample",
    view: "both",
    waiver: null,
    may_be_empty: true,
    location: { file: "policies/assertions.yaml", line: 1, column: 1 },
  };
}

/** What about a request is held against what, and the condition of the policy that does. */
const CONDITIONS: readonly (readonly [name: string, condition: string])[] = [
  [
    "environment and workload, where neither vocabulary has the value",
    "input.key.environment == input.key.workload",
  ],
  ["workload and label", "input.key.workload in input.key.labels"],
  ["owner and workspace", "input.key.owner == input.workspace.id"],
  [
    "label of the key and label of the workspace",
    "some label in input.key.labels\n\tlabel in input.workspace.labels",
  ],
  ["operation and label", "input.operation in input.key.labels"],
  ["budget and retention", "input.candidates[_].retention == input.budget.remaining"],
  ["hour and workload", "input.time.hour == input.key.workload"],
  ["effort and label", "input.request.reasoning_effort in input.key.labels"],
  ["context and effort", "input.request.context == input.request.reasoning_effort"],
  ["retention and environment", "input.candidates[_].retention == input.key.environment"],
  ["model and workload", "input.candidates[_].model == input.key.workload"],
  ["need and label", "some need in input.request.needs\n\tneed in input.key.labels"],
  ["need and route", "some need in input.request.needs\n\tneed == input.request.route"],
  [
    "data and label",
    "some label in input.key.labels\n\tlabel in data.approved.capabilities[input.workspace.id]",
  ],
  ["the first need", 'input.request.needs[0] == "tools"'],
  ["the last label", 'input.key.labels[count(input.key.labels) - 1] == "eu"'],
  ["the first label and another", "input.key.labels[0] == input.workspace.labels[0]"],
];

/** Those with few requests: a value with a list of approvals, and a position with another. */
const IN_SHORT: ReadonlySet<string> = new Set(["data and label", "the first label and another"]);

describe("policies that compare one value of a request with another", () => {
  it.for(
    fewOrMany(
      CONDITIONS.filter(([name]) => IN_SHORT.has(name)),
      CONDITIONS,
    ),
  )("are decided like each request alone: %s", async ([, condition]) => {
    const vocabulary = {
      environments: ["production", "none"],
      workloads: ["web", "night", "m"],
      owners: ["group:pay", "w"],
      labels: ["eu", "chat.completions", "minimal", "tools"],
    };
    const made = tableWith(
      {
        routes: [route("r", "a", ["b"]), route("tools", "a", [])],
        workspaces: [workspace("w", { routes: ["r", "tools"] }, { labels: ["eu"] })],
      },
      vocabulary,
    );
    const base = await sideOf(made);
    const head = await sideOf(made, [gate("holds", `pass.is_so if {\n\t${condition}\n}`)]);
    const { found, expected, changed } = await decideBothWays(base, head, (universe) => {
      const small = few(universe);
      const operations = new Map(
        [...small.operations].map(([name, own]) => [
          name,
          {
            ...own,
            needs: ["reasoning" as const, "tools" as const],
            context: ["unspecified" as const],
          },
        ]),
      );
      operations.delete("moderations");
      const times = universe.times.slice(0, 2);
      return { ...small, operations, times, workspaces: ["w"], models: ["tools"] };
    });
    expect(found).toEqual(expected);
    expect(changed).toBeGreaterThan(0);
  });

  it("each side reads undeclared values of a key by its own vocabulary", async () => {
    const rules =
      'pass.is_so if input.key.environment == "other"\n\npass.is_so if count(input.key.labels) == 1';
    const base = await sideOf(tableWith({}, { environments: ["production"], labels: ["eu"] }), [
      gate("outside", rules),
    ]);
    const head = await sideOf(tableWith({}, { environments: ["staging"], labels: ["vip"] }), [
      gate("outside", rules),
    ]);
    const { found, expected, changed } = await decideBothWays(base, head, few);
    expect(found).toEqual(expected);
    expect(changed).toBeGreaterThan(0);
  });
});

describe("a policy whose only effect is an obligation", () => {
  it.for(["{kind: max_output_tokens, value: 50}", "{kind: strip_field, value: user}"])(
    "is reported as effective: %s",
    async (obligation) => {
      const base = await sideOf(tableWith());
      const passing = { always: "{effect: gate, reasons: [NEVER]}" };
      const head = await sideOf(tableWith(), [
        policySource("obliges", passing, "pass.always if true", null, { own: obligation }),
      ]);
      const { found, expected } = await decideBothWays(base, head, few);
      expect(found).toEqual(expected);
      expect(found).toContain("head effective obliges");
    },
  );
});

/** A policy whose gate passes, and that limits the output but for production. */
const limiting = (id: string, value: number, rules: string): Source =>
  policySource(id, { always: "{effect: gate, reasons: [NEVER]}" }, rules, null, {
    cap: `{kind: max_output_tokens, value: ${value}}`,
  });

it("the lower of two output limits applies where it is not waived", async () => {
  const base = await sideOf(tableWith());
  const head = await sideOf(tableWith(), [
    limiting("higher", 80, "pass.always if true"),
    limiting(
      "lower",
      50,
      'pass.always if true\n\nwaive.cap if input.key.environment == "production"',
    ),
  ]);
  const { found, expected } = await decideBothWays(base, head, few);
  expect(found).toEqual(expected);
  expect(found.filter((line) => line.includes('"maxOutputTokens":80'))).not.toEqual([]);
  expect(found.filter((line) => line.includes('"maxOutputTokens":50'))).not.toEqual([]);
});

it("a rule with two values is counted as indeterminate, and not as failed", async () => {
  const base = await sideOf(tableWith());
  const rules =
    'pass.is_so := verdict\n\nverdict := true if input.operation\n\nverdict := false if input.key.environment == "production"';
  const head = await sideOf(tableWith(), [gate("conflicting", rules)]);
  const { found, expected } = await decideBothWays(base, head, few);
  expect(found).toEqual(expected);
  expect(found).toContain("head indeterminate conflicting/is_so");
});

describe("workspaces and routes that look alike", () => {
  const rows = {
    routes: [route("r", "a", ["b"]), route("t", "b", []), route("u", "a", ["b"])],
    workspaces: [workspace("w", { routes: ["r", "t", "u"] }), workspace("v", { routes: ["r"] })],
  };

  it("are distinguished by a policy that counts the workspace's approvals", async () => {
    const base = await sideOf(tableWith(rows));
    const head = await sideOf(tableWith(rows), [
      gate("many", "pass.is_so if count(data.approved.routes[input.workspace.id]) > 2"),
    ]);
    const { found, expected, changed } = await decideBothWays(base, head, few);
    expect(found).toEqual(expected);
    expect(changed).toBeGreaterThan(0);
  });

  it("are distinguished by a policy that reads the tier", async () => {
    const same = {
      ...rows,
      workspaces: [
        workspace("w", { routes: ["r"] }),
        workspace("v", { routes: ["r"] }, { tier: "regulated" }),
      ],
    };
    const base = await sideOf(tableWith(same));
    const head = await sideOf(tableWith(same), [
      gate("tiered", 'pass.is_so if input.workspace.tier == "regulated"'),
    ]);
    const { found, expected, changed } = await decideBothWays(base, head, few);
    expect(found).toEqual(expected);
    expect(changed).toBeGreaterThan(0);
  });

  it("are distinguished by whether an endpoint of another name is the same model at the same provider", async () => {
    const before = {
      routes: [route("r", "a", []), route("t", "b", [])],
      endpoints: [endpoint("a", { upstreamModel: "x" }), endpoint("b", { upstreamModel: "y" })],
      workspaces: [workspace("w", { routes: ["r", "t"] })],
    };
    const after = {
      ...before,
      routes: [route("r", "c", []), route("t", "d", [])],
      endpoints: [endpoint("c", { upstreamModel: "x" }), endpoint("d", { upstreamModel: "z" })],
    };
    const { found, expected } = await decideBothWays(
      await sideOf(tableWith(before)),
      await sideOf(tableWith(after)),
      few,
    );
    expect(found).toEqual(expected);
  });

  it("are one class where only their names differ", async () => {
    const same = {
      routes: [route("r", "a", ["b"]), route("t", "c", ["d"])],
      endpoints: ["a", "c"].flatMap((id, index) => [
        endpoint(id),
        endpoint(index === 0 ? "b" : "d", { provider: "q", region: "us-east" }),
      ]),
      workspaces: ["v", "w"].map((id) => workspace(id, { routes: ["r", "t"] })),
    };
    const changed = {
      ...same,
      workspaces: ["v", "w"].map((id) => workspace(id, { routes: ["r", "t"], providers: ["p"] })),
    };
    const both = await decideBothWays(
      await sideOf(tableWith(same)),
      await sideOf(tableWith(changed)),
      few,
    );
    expect(both.found).toEqual(both.expected);
    expect(both.shared).toBeGreaterThan(0);
  });
});

describe("assertions about attributes that no side reads", () => {
  const rows = {
    routes: [route("r", "a", ["b"]), route("t", "b", [])],
    workspaces: [
      workspace("a-plain", { routes: ["r"] }),
      workspace("b-regulated", { routes: ["r"] }, { tier: "regulated", labels: ["eu"] }),
    ],
  };
  const always = (selector: Extract<Demand, { kind: "always_routable" }>["for"]): Assertion =>
    asserting({ kind: "always_routable", min_endpoints: 1, for: selector, except: null });

  it.for([
    [
      "a tier, on a route that no workspace may use",
      always({ tiers: ["regulated"], routes: ["t"] }),
    ],
    [
      "a label, on a route that no workspace may use",
      always({ labels: { all: ["eu"] }, routes: ["t"] }),
    ],
    ["no label", always({ labels: { only: [] } })],
    ["a route that no workspace may use", always({ routes: ["t"] })],
    ["a workspace", always({ workspaces: ["b-regulated"] })],
    [
      "all routes but one",
      asserting({ kind: "always_routable", min_endpoints: 1, for: {}, except: { routes: ["r"] } }),
    ],
    ["a key from outside the vocabulary", always({ environments: ["other"], routes: ["t"] })],
    ["a key's labels", always({ key_labels: { only: [] }, routes: ["t"] })],
  ] as const)("are judged like each request alone: %s", async ([, assertion]) => {
    const base = await sideOf(
      tableWith(rows, { environments: ["production", "staging"], labels: ["eu", "vip"] }),
    );
    const head = await sideOf(tableWith(rows, { environments: ["production"], labels: ["vip"] }));
    const { found, expected, violating } = await decideBothWays(base, head, few, [assertion]);
    expect(found).toEqual(expected);
    expect(violating).toBeGreaterThan(0);
  });

  it("are judged like each request alone, for a workspace that head lacks", async () => {
    const base = await sideOf(tableWith(rows));
    const head = await sideOf(tableWith({ ...rows, workspaces: rows.workspaces.slice(1) }));
    const assertion = asserting({ kind: "equivalent", ignoring: [], for: {}, except: null });
    const { found, expected, violating } = await decideBothWays(base, head, few, [
      assertion,
      { ...always({}), id: "always" },
    ]);
    expect(found).toEqual(expected);
    expect(violating).toBeGreaterThan(0);
  });

  it("are judged like each request alone, for the route of a workspace's moderations", async () => {
    const screens = (id: string, name: string) =>
      workspace(id, { routes: [name] }, { defaultModerationRoute: name });
    const moderated = {
      models: [model("m", { operations: ["generate", "moderate"] })],
      routes: ["x", "y"].map((id) => route(id, "a", [], { operations: ["moderate"] })),
      workspaces: [screens("v", "x"), screens("w", "y"), workspace("z")],
      providers: [provider("p")],
      endpoints: [endpoint("a")],
    };
    const side = await sideOf(tableWith(moderated));
    const forbids = asserting({
      kind: "access_not_granted",
      to: { providers: ["p"] },
      for: { routes: ["y"] },
      except: null,
    });
    const { found, expected, violating } = await decideBothWays(side, side, few, [forbids]);
    expect(found).toEqual(expected);
    expect(violating).toBeGreaterThan(0);
  });
});
