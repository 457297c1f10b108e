import { describe, expect, it } from "vitest";
import type { Decision } from "../../src/canon/decision.ts";
import type { ProviderPreferences } from "../../src/canon/request.ts";
import type { PolicySet, PolicySlot } from "../../src/canon/policy.ts";
import { decide, type Question } from "../../src/decide/decide.ts";
import {
  endpoint,
  fakePolicies,
  identity,
  model,
  provider,
  route,
  shape,
  table,
  workspace,
} from "../support/table.ts";

const NOW = Date.UTC(2026, 0, 7, 10);

function question(more: Partial<Question> = {}): Question {
  return { model: "r", shape: shape(), preferences: null, ...more };
}

/** The set says that it holds the policy in these slots. */
function withSlots(policies: PolicySet, id: string, slots: readonly PolicySlot[]): PolicySet {
  const [first] = policies.policies;
  if (first === undefined) throw new Error("the set is empty");
  const { identity: known, contract } = first;
  return {
    ...policies,
    policies: slots.map((slot) => ({ identity: { ...known, id, slot }, contract })),
  };
}

function plan(decision: Decision): readonly string[] {
  return decision.outcome === "route"
    ? decision.plan.map((candidate) => candidate.endpoint.id)
    : [];
}

function reason(decision: Decision): string | null {
  return decision.outcome === "deny" ? decision.denial.reason : null;
}

it.each([
  [null, 0],
  [256, 256],
  [512, 0],
])("policies read vectors of length %s as %i", (dimensions, expected) => {
  const policies = fakePolicies();
  const rows = table({ models: [model("m", { dimensions: [256] })] });
  decide(rows, policies, identity, question({ shape: shape({ dimensions }) }), NOW);
  expect(policies.requested[0]).toMatchObject({ request: { dimensions: expected } });
});

it("policies read price and latency class of a candidate, and no price where there is none", () => {
  let read: readonly unknown[] = [];
  const policies: PolicySet = {
    ...fakePolicies(),
    evaluate: (input) => {
      read = input.candidates.map(({ id, price, latency_class }) => ({ id, price, latency_class }));
      return { verdicts: [], obligations: [] };
    },
  };
  const price = { input: 1, output: 2, request: 3, cachedInput: 0.5 };
  const rows = table({
    endpoints: [endpoint("a", { price, latencyClass: "batch" }), endpoint("b", { price: null })],
  });
  decide(rows, policies, identity, question(), NOW);
  expect(read).toEqual([
    { id: "a", price: { input: 1, output: 2 }, latency_class: "batch" },
    { id: "b", price: undefined, latency_class: "unspecified" },
  ]);
});

describe("ceilings of the workspace", () => {
  const rows = (approve: Parameters<typeof workspace>[1], more: { only?: boolean } = {}) =>
    table({
      providers: [
        provider("p", { trainsOnData: true, retention: "unlimited" }),
        provider("q", { retention: "days_30" }),
        provider("s", { retention: "none" }),
      ],
      endpoints: [
        endpoint("a"),
        endpoint("b", { provider: "q" }),
        endpoint("c", { provider: "s" }),
      ],
      routes: [route("r", "a", more.only === true ? [] : ["b", "c"])],
      workspaces: [workspace("w", { providers: ["p", "q", "s"], ...approve })],
    });
  const preferring = (preferences: ProviderPreferences): Question => question({ preferences });
  const decided = (of: ReturnType<typeof rows>, requested: Question) =>
    decide(of, fakePolicies(), identity, requested, NOW);

  it("a workspace without ceilings reaches a provider that trains on data", () => {
    expect(plan(decided(rows({}), preferring({ data_collection: "allow" })))).toEqual([
      "a",
      "b",
      "c",
    ]);
  });

  it.each([
    { data_collection: "allow" },
    { data_collection: "allow", order: ["p"] },
    { data_collection: "allow", sort: { by: "price", partition: "none" } },
    { data_collection: "allow", allow_fallbacks: false },
    { data_collection: "allow", ignore: ["q"], zdr: false },
  ] as const satisfies readonly ProviderPreferences[])(
    "no preference reaches a provider above them: %j",
    (preferences) => {
      const trains = decided(rows({ dataCollection: "deny" }), preferring(preferences));
      expect(plan(trains)).not.toContain("a");
      expect(plan(trains).length).toBeGreaterThan(0);
      expect(trains.trace[0]).toMatchObject({
        policy: "approvals",
        constraint: "data_collection_approved",
        reason: "DATA_COLLECTION_NOT_APPROVED",
        failing: ["a"],
        effect: "narrowed",
      });
      expect(trains.trace.find(({ verdict }) => verdict === "pass")).toMatchObject({
        reason: null,
        effect: "none",
      });
      expect(plan(decided(rows({ retention: "none" }), preferring(preferences)))).toEqual(["c"]);
    },
  );

  it("leave the same candidates to callers who allow training and to callers without a preference", () => {
    const of = rows({ dataCollection: "deny" });
    expect(plan(decided(of, preferring({ data_collection: "allow" })))).toEqual(
      plan(decided(of, question())),
    );
  });

  it.each([
    ["none", ["c"]],
    ["transient", ["c"]],
    ["days_30", ["b", "c"]],
  ] as const)("exclude candidates that keep data for longer than %s", (retention, expected) => {
    const decision = decided(rows({ retention }), preferring({ data_collection: "allow" }));
    expect(plan(decision)).toEqual(expected);
    expect(decision.trace[0]).toMatchObject({
      constraint: "retention_approved",
      reason: "RETENTION_NOT_APPROVED",
    });
  });

  it.each([
    [{ dataCollection: "deny" }, "data_collection_approved", "DATA_COLLECTION_NOT_APPROVED"],
    [{ retention: "days_30" }, "retention_approved", "RETENTION_NOT_APPROVED"],
  ] as const)(
    "deny with their own reason where no candidate is left: %j",
    (approve, constraint, code) => {
      for (const preferences of [null, { data_collection: "allow" }, { only: ["p"] }] as const) {
        const decision = decided(rows(approve, { only: true }), question({ preferences }));
        expect(decision).toMatchObject({
          outcome: "deny",
          denial: { constraint, reason: code, failing: ["a"] },
        });
      }
    },
  );

  it("require no approval of excluded providers and regions", () => {
    const of = rows({ dataCollection: "deny", providers: ["q", "s"] });
    expect(plan(decided(of, preferring({ data_collection: "allow" })))).toEqual(["b", "c"]);
  });
});

describe("limits of an endpoint's wire protocol", () => {
  const features = ["conversation", "logit_bias"] as const;
  const mixed = (onGap: "deny" | "narrow") =>
    table({
      endpoints: [endpoint("a"), endpoint("b", { dialect: "openai-responses" })],
      routes: [route("r", "a", ["b"], { onGap })],
    });

  it("deny a request that one fallback cannot express, and name the feature and the fallback", () => {
    const decision = decide(
      mixed("deny"),
      fakePolicies(),
      identity,
      question({ shape: shape({ features }) }),
      NOW,
    );
    expect(decision).toMatchObject({
      outcome: "deny",
      denial: {
        constraint: "feature_expressed:logit_bias",
        reason: "feature_not_supported",
        subject: "logit_bias",
        failing: ["b"],
      },
    });
    expect(decision.trace).toContainEqual(
      expect.objectContaining({ constraint: "feature_expressed:logit_bias", effect: "denied" }),
    );
  });

  it.each(["seed", "stop_sequences", "stop_sequences_blank"] as const)(
    "admit %s everywhere",
    (feature) => {
      const decision = decide(
        mixed("deny"),
        fakePolicies(),
        identity,
        question({ shape: shape({ features: [feature] }) }),
        NOW,
      );
      expect(plan(decision)).toEqual(["a", "b"]);
    },
  );

  it("exclude a fallback without the feature where the route has on_gap: narrow, and record it", () => {
    const decision = decide(
      mixed("narrow"),
      fakePolicies(),
      identity,
      question({ shape: shape({ features }) }),
      NOW,
    );
    expect(plan(decision)).toEqual(["a"]);
    expect(decision.trace).toContainEqual(
      expect.objectContaining({
        constraint: "feature_expressed:logit_bias",
        verdict: "fail",
        failing: ["b"],
        effect: "narrowed",
      }),
    );
  });

  it("leave features of only some models to the provider, for a caller of its protocol", () => {
    const rows = table({
      endpoints: [endpoint("a", { dialect: "anthropic-messages" })],
      routes: [route("r", "a", [])],
    });
    const requested = ["mid_conversation_system"] as const;
    const native = question({ shape: shape({ operation: "messages", features: requested }) });
    const foreign = question({ shape: shape({ operation: "responses", features: requested }) });
    expect(plan(decide(rows, fakePolicies(), identity, native, NOW))).toEqual(["a"]);
    expect(reason(decide(rows, fakePolicies(), identity, foreign, NOW))).toBe(
      "feature_not_supported",
    );
  });
});

describe("a response schema where an endpoint has none", () => {
  const requested = shape({
    operation: "chat.completions",
    needs: ["json_schema"],
    features: ["conversation"],
  });
  const rows = (emulateSchema: boolean) =>
    table({
      endpoints: [endpoint("a", { dialect: "anthropic-messages", capabilities: ["tools"] })],
      routes: [route("r", "a", [], { emulateSchema })],
    });

  it("is refused unless the route declares the emulation", () => {
    expect(
      reason(decide(rows(false), fakePolicies(), identity, question({ shape: requested }), NOW)),
    ).toBe("capability_not_supported");
    expect(
      plan(decide(rows(true), fakePolicies(), identity, question({ shape: requested }), NOW)),
    ).toEqual(["a"]);
  });

  it("is refused together with reasoning or a forced tool, which the emulation would fight", () => {
    const bound = shape({ ...requested, features: ["constrained_schema", "conversation"] });
    expect(
      reason(decide(rows(true), fakePolicies(), identity, question({ shape: bound }), NOW)),
    ).toBe("capability_not_supported");
  });
});

describe("approvals of the table", () => {
  it("routes to the primary, then the fallbacks", () => {
    expect(plan(decide(table(), fakePolicies(), identity, question(), NOW))).toEqual(["a", "b"]);
  });

  it.each(["nowhere", "constructor", "__proto__", "toString"])(
    "denies the unknown route %s",
    (name) => {
      expect(
        reason(decide(table(), fakePolicies(), identity, question({ model: name }), NOW)),
      ).toBe("model_not_found");
    },
  );

  it("answers an unapproved route exactly like an unknown one", () => {
    const rows = table({ workspaces: [workspace("w", { routes: [] })] });
    const unapproved = decide(rows, fakePolicies(), identity, question(), NOW);
    const unknown = decide(rows, fakePolicies(), identity, question({ model: "x" }), NOW);
    expect(unapproved).toEqual(unknown);
  });

  it("denies a workspace that the table does not have", () => {
    expect(
      reason(decide(table(), fakePolicies(), { ...identity, workspace: "gone" }, question(), NOW)),
    ).toBe("model_not_found");
  });

  it("refuses an operation that the route does not serve", () => {
    const rows = table({ routes: [route("r", "a", [], { operations: ["embed"] })] });
    expect(reason(decide(rows, fakePolicies(), identity, question(), NOW))).toBe(
      "operation_not_supported",
    );
  });

  it("refuses a capability that one fallback lacks, and names the fallback", () => {
    const rows = table({ endpoints: [endpoint("a"), endpoint("b", { capabilities: ["tools"] })] });
    const decision = decide(
      rows,
      fakePolicies(),
      identity,
      question({ shape: shape({ needs: ["json_schema"] }) }),
      NOW,
    );
    expect(decision).toMatchObject({
      outcome: "deny",
      denial: { reason: "capability_not_supported", subject: "json_schema", failing: ["b"] },
    });
  });

  it("excludes a fallback without a capability where the route has on_gap: narrow, and records it", () => {
    const rows = table({
      endpoints: [endpoint("a"), endpoint("b", { capabilities: ["tools"] })],
      routes: [route("r", "a", ["b"], { onGap: "narrow" })],
    });
    const decision = decide(
      rows,
      fakePolicies(),
      identity,
      question({ shape: shape({ needs: ["json_schema"] }) }),
      NOW,
    );
    expect(plan(decision)).toEqual(["a"]);
    expect(decision.trace.find((entry) => entry.effect === "narrowed")).toMatchObject({
      constraint: "capability_supported:json_schema",
      failing: ["b"],
    });
  });

  it("denies a capability that the primary lacks, even with on_gap: narrow", () => {
    const rows = table({
      endpoints: [endpoint("a", { capabilities: [] }), endpoint("b")],
      routes: [route("r", "a", ["b"], { onGap: "narrow" })],
    });
    const decision = decide(
      rows,
      fakePolicies(),
      identity,
      question({ shape: shape({ needs: ["tools"] }) }),
      NOW,
    );
    expect(reason(decision)).toBe("capability_not_supported");
  });

  it.each([
    ["capability", { capabilities: [] }, "CAPABILITY_NOT_APPROVED"],
    ["provider", { providers: ["p"] }, "PROVIDER_NOT_APPROVED"],
    ["region", { regions: ["eu-west"] }, "REGION_NOT_APPROVED"],
  ] as const)("denies what the workspace has not approved: %s", (_, approve, expected) => {
    const rows = table({ workspaces: [workspace("w", approve)] });
    const decision = decide(
      rows,
      fakePolicies(),
      identity,
      question({ shape: shape({ needs: ["tools"] }) }),
      NOW,
    );
    expect(reason(decision)).toBe(expected);
  });

  it("sends signed reasoning only to its own family, also where the primary is of another", () => {
    const rows = table({
      models: [model("m", { signatureFamily: "one" }), model("n", { signatureFamily: "two" })],
      endpoints: [endpoint("a"), endpoint("b", { model: "n" })],
      routes: [route("r", "a", ["b"])],
    });
    const same = decide(
      rows,
      fakePolicies(),
      identity,
      question({ shape: shape({ signatureFamilies: ["one"] }) }),
      NOW,
    );
    const other = decide(
      rows,
      fakePolicies(),
      identity,
      question({ shape: shape({ signatureFamilies: ["two"] }) }),
      NOW,
    );
    const unreadable = question({ shape: shape({ signatureFamilies: ["three"] }) });
    expect(plan(same)).toEqual(["a"]);
    expect(plan(other)).toEqual(["b"]);
    expect(other.trace).toContainEqual(
      expect.objectContaining({
        constraint: "signature_family",
        failing: ["a"],
        effect: "narrowed",
      }),
    );
    expect(reason(decide(rows, fakePolicies(), identity, unreadable, NOW))).toBe(
      "SIGNATURE_FAMILY_MISMATCH",
    );
  });

  it("approves the length of vectors, the longest one where the request names none", () => {
    const rows = (dimensions: readonly number[]) =>
      table({
        models: [
          model("m", { operations: ["embed"], dimensions: [256, 1024], contextWindow: 8_000 }),
        ],
        routes: [route("r", "a", [], { operations: ["embed"] })],
        workspaces: [workspace("w", { dimensions, contextWindow: 8_000 })],
      });
    const requested = (dimensions: number | null) =>
      question({ shape: shape({ operation: "embeddings", dimensions }) });
    expect(plan(decide(rows([1024]), fakePolicies(), identity, requested(null), NOW))).toEqual([
      "a",
    ]);
    expect(reason(decide(rows([256]), fakePolicies(), identity, requested(null), NOW))).toBe(
      "DIMENSIONS_NOT_APPROVED",
    );
    expect(plan(decide(rows([256]), fakePolicies(), identity, requested(256), NOW))).toEqual(["a"]);
    expect(reason(decide(rows([256, 1024]), fakePolicies(), identity, requested(512), NOW))).toBe(
      "DIMENSIONS_NOT_APPROVED",
    );
  });

  it("approves the usual length of a model rather than its longest where they differ", () => {
    const rows = (dimensions: readonly number[]) =>
      table({
        models: [
          model("m", {
            operations: ["embed"],
            dimensions: [256, 1024],
            defaultDimensions: 256,
            contextWindow: 8_000,
          }),
        ],
        routes: [route("r", "a", [], { operations: ["embed"] })],
        workspaces: [workspace("w", { dimensions, contextWindow: 8_000 })],
      });
    const requested = question({ shape: shape({ operation: "embeddings", dimensions: null }) });
    expect(plan(decide(rows([256]), fakePolicies(), identity, requested, NOW))).toEqual(["a"]);
    expect(reason(decide(rows([1024]), fakePolicies(), identity, requested, NOW))).toBe(
      "DIMENSIONS_NOT_APPROVED",
    );
  });

  it.each([
    ["as large as approved", 8_000, 8_000, null],
    ["smaller", 2_000, 8_000, null],
    ["larger", 8_001, 8_000, "CONTEXT_NOT_APPROVED"],
    ["unknown", null, 8_000, "CONTEXT_NOT_APPROVED"],
    ["any, where none is approved", 2_000, null, "CONTEXT_NOT_APPROVED"],
  ])(
    "a context window for embeddings, %s (%s, approved %s), has the denial %s",
    (_name, window, largest, expected) => {
      const rows = table({
        models: [model("m", { operations: ["embed"], dimensions: [256], contextWindow: window })],
        routes: [route("r", "a", [], { operations: ["embed"] })],
        workspaces: [workspace("w", { dimensions: [256], contextWindow: largest })],
      });
      const decision = decide(
        rows,
        fakePolicies(),
        identity,
        question({ shape: shape({ operation: "embeddings" }) }),
        NOW,
      );
      expect(decision.outcome === "deny" ? reason(decision) : null).toBe(expected);
    },
  );

  it("uses the workspace's moderation route where the request names none", () => {
    const rows = (defaultModerationRoute: string | null) =>
      table({
        models: [model("m", { operations: ["moderate"] })],
        routes: [route("r", "a", [], { operations: ["moderate"] })],
        workspaces: [workspace("w", {}, { defaultModerationRoute })],
      });
    const requested = question({ model: "", shape: shape({ operation: "moderations" }) });
    expect(plan(decide(rows("r"), fakePolicies(), identity, requested, NOW))).toEqual(["a"]);
    expect(reason(decide(rows(null), fakePolicies(), identity, requested, NOW))).toBe(
      "moderation_route_missing",
    );
    const chat = question({ model: "", shape: shape({ operation: "chat.completions" }) });
    expect(reason(decide(rows("r"), fakePolicies(), identity, chat, NOW))).toBe("model_not_found");
  });
});

describe("preferences", () => {
  it.each([
    ["only", { only: ["q"] }, ["b"]],
    ["ignore", { ignore: ["p"] }, ["b"]],
    ["order", { order: ["q"] }, ["b", "a"]],
    ["region by name", { region: ["us-east"] }, ["b"]],
    ["region by group", { region: ["us"] }, ["b"]],
    ["no fallbacks", { allow_fallbacks: false }, ["a"]],
    ["no fallbacks after order", { allow_fallbacks: false, order: ["q"] }, ["b"]],
    ["sort by price", { sort: { by: "price", partition: "model" } }, ["b", "a"]],
    [
      "order wins over sort",
      { sort: { by: "price", partition: "model" }, order: ["p"] },
      ["a", "b"],
    ],
    ["max price", { max_price: { input: 0.5 } }, ["b"]],
    ["max price of output and of a request", { max_price: { output: 1, request: 0 } }, ["b"]],
  ] as const)("%s: %j gives the plan %j", (_, preferences, expected) => {
    const cheap = endpoint("b", {
      provider: "q",
      region: "us-east",
      price: { input: 0.5, output: 1, request: 0 },
    });
    const rows = table({ endpoints: [endpoint("a"), cheap] });
    expect(plan(decide(rows, fakePolicies(), identity, question({ preferences }), NOW))).toEqual(
      expected,
    );
  });

  it("exclude an endpoint from the fallbacks, so that it requires no approval", () => {
    const rows = table({ workspaces: [workspace("w", { providers: ["p"] })] });
    expect(reason(decide(rows, fakePolicies(), identity, question(), NOW))).toBe(
      "PROVIDER_NOT_APPROVED",
    );
    const narrowed = decide(
      rows,
      fakePolicies(),
      identity,
      question({ preferences: { ignore: ["q"] } }),
      NOW,
    );
    expect(plan(narrowed)).toEqual(["a"]);
  });

  it("never widen: an unapproved provider stays denied under every preference", () => {
    const rows = table({ workspaces: [workspace("w", { providers: ["p"] })] });
    const ask = (preferences: ProviderPreferences): string | null =>
      reason(decide(rows, fakePolicies(), identity, question({ preferences }), NOW));
    expect(ask({ only: ["q"] })).toBe("unknown_preference");
    expect(ask({ order: ["q"] })).toBe("unknown_preference");
    // A denial names the fallback that is not approved; the caller may answer that it does without.
    expect(ask({})).toBe("PROVIDER_NOT_APPROVED");
    expect(ask({ ignore: ["q"] })).toBeNull();
  });

  it.each([
    [{ only: ["nobody"] }, "unknown_preference", "only"],
    [{ order: ["p", "constructor"] }, "unknown_preference", "order"],
    [{ region: ["mars"] }, "unknown_preference", "region"],
    [{ ignore: ["p", "q"] }, "preferences_exclude_all", "ignore"],
    [{ max_price: { output: 0 } }, "preferences_exclude_all", "max_price"],
  ] as const)("refuses %j", (preferences, expected, subject) => {
    const decision = decide(table(), fakePolicies(), identity, question({ preferences }), NOW);
    expect(decision).toMatchObject({ outcome: "deny", denial: { reason: expected, subject } });
  });

  it.each(["only", "ignore", "order", "region"] as const)(
    "names of another workspace are answered in %s like names that do not exist",
    (member) => {
      const base = table();
      const rows = table({
        providers: [...Object.values(base.providers), provider("foreign", { region: "ap-south" })],
        endpoints: [
          ...Object.values(base.endpoints),
          endpoint("f", { provider: "foreign", region: "ap-south" }),
        ],
        routes: [...Object.values(base.routes), route("theirs", "f", [])],
        workspaces: [
          ...Object.values(base.workspaces),
          workspace("other", { routes: ["theirs"], providers: ["foreign"], regions: ["ap-south"] }),
        ],
      });
      const requested = (name: string): Decision =>
        decide(
          rows,
          fakePolicies(),
          identity,
          question({ preferences: { [member]: [name] } }),
          NOW,
        );
      const theirs = requested(member === "region" ? "ap-south" : "foreign");
      expect(theirs).toEqual(requested("nobody"));
      expect(theirs).toMatchObject({
        outcome: "deny",
        denial: { reason: "unknown_preference", subject: member },
      });
    },
  );

  it.each([
    [{ sort: { by: "latency", partition: "model" } }, "sort"],
    [{ preferred_min_throughput: { p50: 10 } }, "preferred_min_throughput"],
    [{ preferred_max_latency: { p90: 2 } }, "preferred_max_latency"],
  ] as const)("a sort by a measured value is left to dispatch: %j", (preferences, constraint) => {
    const decision = decide(table(), fakePolicies(), identity, question({ preferences }), NOW);
    expect(decision.trace.filter(({ policy }) => policy === "preferences")).toEqual([
      expect.objectContaining({
        constraint,
        verdict: "pass",
        reason: "ORDERED_AT_DISPATCH",
        effect: "none",
      }),
    ]);
    expect(plan(decision)).toEqual(["a", "b"]);
  });

  it("a sort by price is part of the plan, and leaves no trace entry for dispatch", () => {
    const preferences = { sort: { by: "price", partition: "none" } } as const;
    const decision = decide(table(), fakePolicies(), identity, question({ preferences }), NOW);
    expect(decision.trace.filter(({ policy }) => policy === "preferences")).toEqual([]);
  });

  it("excludes providers that train on data unless the caller allows it", () => {
    const rows = table({
      providers: [provider("p"), provider("q", { region: "us-east", trainsOnData: true })],
    });
    expect(plan(decide(rows, fakePolicies(), identity, question(), NOW))).toEqual(["a"]);
    const allowed = decide(
      rows,
      fakePolicies(),
      identity,
      question({ preferences: { data_collection: "allow" } }),
      NOW,
    );
    expect(plan(allowed)).toEqual(["a", "b"]);
  });

  it("zdr keeps only providers without retention", () => {
    const rows = table({
      providers: [provider("p", { retention: "days_30" }), provider("q", { region: "us-east" })],
    });
    expect(
      plan(decide(rows, fakePolicies(), identity, question({ preferences: { zdr: true } }), NOW)),
    ).toEqual(["b"]);
  });
});

describe("policies", () => {
  it("receive only values of the table", () => {
    const policies = fakePolicies();
    const unknownCaller = {
      ...identity,
      environment: "laptop",
      workload: "secret project",
      labels: ["eu", "made-up"],
      owner: "x",
    };
    decide(table(), policies, unknownCaller, question(), NOW);
    expect(policies.requested[0]?.key).toEqual({
      environment: "other",
      workload: "other",
      owner: "other",
      labels: ["eu"],
    });
  });

  it("read the remaining budget where one of them uses it, and none where the input has none", () => {
    for (const [readsBudget, budget, seen] of [
      [true, "below_half", "below_half"],
      [true, undefined, "exhausted"],
      [false, "below_half", "unlimited"],
    ] as const) {
      const policies = { ...fakePolicies(), readsBudget };
      decide(table(), policies, identity, question({ budget }), NOW);
      expect(policies.requested[0]?.budget).toEqual({ remaining: seen });
    }
  });

  it("read an owner that the vocabulary declares, and no other", () => {
    const policies = fakePolicies();
    const rows = table();
    const declared = { ...rows, vocabulary: { ...rows.vocabulary, owners: ["group:payments"] } };
    for (const owner of ["group:payments", "group:web"]) {
      decide(declared, policies, { ...identity, owner }, question(), NOW);
    }
    decide(declared, policies, identity, question(), NOW);
    expect(policies.requested.map(({ key }) => key.owner)).toEqual([
      "group:payments",
      "other",
      "other",
    ]);
  });

  it.each([
    ["gate", "fail"],
    ["gate", "indeterminate"],
    ["filter", "indeterminate"],
    ["require_all", "indeterminate"],
  ] as const)("an enforced %s that is %s denies", (effect, verdict) => {
    const policies = fakePolicies(() => [{ id: "x", effect, verdict }]);
    const decision = decide(table(), policies, identity, question(), NOW);
    expect(decision).toMatchObject({
      outcome: "deny",
      denial: { policy: "x", constraint: "c", reason: "NOT_OK" },
    });
  });

  it("require_all denies when one candidate fails, and names it", () => {
    const policies = fakePolicies(() => [
      { id: "x", effect: "require_all", verdict: "fail", failing: ["b"] },
    ]);
    expect(decide(table(), policies, identity, question(), NOW)).toMatchObject({
      denial: { failing: ["b"] },
    });
  });

  it("a denial names only candidates of the request", () => {
    const policies = fakePolicies(() => [
      { id: "x", effect: "gate", verdict: "fail", failing: ["b", "elsewhere"] },
    ]);
    expect(decide(table(), policies, identity, question(), NOW)).toMatchObject({
      denial: { failing: ["b"] },
    });
  });

  it("records no effect of a verdict that passes, even where another one denies", () => {
    const policies = fakePolicies(() => [
      { id: "f", effect: "filter", verdict: "fail", failing: ["a", "b"] },
      { id: "x", effect: "filter", verdict: "pass" },
      { id: "y", effect: "gate", verdict: "pass" },
    ]);
    const { trace } = decide(table(), policies, identity, question(), NOW);
    expect(trace.slice(-3).map(({ policy, effect }) => [policy, effect])).toEqual([
      ["f", "denied"],
      ["x", "none"],
      ["y", "none"],
    ]);
  });

  it("filter excludes the failing candidates, and denies when none is left", () => {
    const some = fakePolicies(() => [
      { id: "x", effect: "filter", verdict: "fail", failing: ["a"] },
    ]);
    expect(plan(decide(table(), some, identity, question(), NOW))).toEqual(["b"]);
    const all = fakePolicies(() => [
      { id: "x", effect: "filter", verdict: "fail", failing: ["a", "b"] },
    ]);
    expect(reason(decide(table(), all, identity, question(), NOW))).toBe("NOT_OK");
  });

  it("require_all applies to the candidates left by the filters, in either order", () => {
    const filter = { id: "f", effect: "filter", verdict: "fail", failing: ["b"] } as const;
    const all = { id: "a", effect: "require_all", verdict: "fail", failing: ["b"] } as const;
    for (const verdicts of [
      [filter, all],
      [all, filter],
    ]) {
      expect(
        plan(
          decide(
            table(),
            fakePolicies(() => verdicts),
            identity,
            question(),
            NOW,
          ),
        ),
      ).toEqual(["a"]);
    }
  });

  it.each(["fail", "indeterminate"] as const)(
    "a shadow policy with the verdict %s changes only the record",
    (verdict) => {
      const policies = fakePolicies(() => [
        { id: "x", slot: "candidate", effect: "gate", verdict },
      ]);
      const decision = decide(table(), policies, identity, question(), NOW);
      expect(plan(decision)).toEqual(["a", "b"]);
      expect(decision.trace.at(-1)).toMatchObject({
        slot: "candidate",
        verdict,
        effect: "would_deny",
      });
      expect(decision.ifPromoted).toMatchObject({ outcome: "deny", denial: { policy: "x" } });
    },
  );

  it("records the result of promotion, where the candidate replaces its own enforced slot", () => {
    const fake = fakePolicies(() => [
      { id: "x", effect: "gate", verdict: "fail" },
      { id: "x", slot: "candidate", effect: "gate", verdict: "pass" },
    ]);
    const policies = withSlots(fake, "x", ["enforced", "candidate"]);
    const decision = decide(table(), policies, identity, question(), NOW);
    expect(decision.outcome).toBe("deny");
    expect(decision.ifPromoted).toMatchObject({ outcome: "route", plan: ["a", "b"], denial: null });
  });

  it("the denial of another enforced policy stays when a candidate is promoted", () => {
    const fake = fakePolicies(() => [
      { id: "x", effect: "gate", verdict: "fail" },
      { id: "x", slot: "candidate", effect: "gate", verdict: "pass" },
      { id: "y", effect: "gate", verdict: "fail" },
    ]);
    const decision = decide(
      table(),
      withSlots(fake, "x", ["enforced", "candidate"]),
      identity,
      question(),
      NOW,
    );
    expect(decision.ifPromoted).toMatchObject({
      outcome: "deny",
      plan: [],
      denial: { policy: "y" },
    });
  });

  it("a request that the approvals deny has no promoted outcome, because no policy can change that", () => {
    const rows = table({ workspaces: [workspace("w", { providers: [] })] });
    const policies = fakePolicies(() => [
      { id: "x", slot: "candidate", effect: "gate", verdict: "fail" },
    ]);
    const decision = decide(rows, policies, identity, question(), NOW);
    expect(decision).toMatchObject({
      outcome: "deny",
      denial: { policy: "approvals" },
      ifPromoted: null,
    });
  });

  it("return a frozen decision: one caller cannot change another's", () => {
    const decision = decide(table(), fakePolicies(), identity, question(), NOW);
    expect(Object.isFrozen(decision)).toBe(true);
    expect(Object.isFrozen(decision.trace)).toBe(true);
  });
});
