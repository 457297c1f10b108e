import fc from "fast-check";
import { expect, test } from "vitest";
import type { Decision } from "../../src/canon/decision.ts";
import {
  CONSTRAINT_EFFECTS,
  type ConstraintEffect,
  type PolicyIdentity,
  type PolicySet,
} from "../../src/canon/policy.ts";
import { decide, type Question } from "../../src/decide/decide.ts";
import { buildModules } from "../../src/policy/compile-policies.ts";
import type { CompiledPolicy } from "../../src/policy/compiled.ts";
import { LoadedModules } from "../../src/policy/loaded-modules.ts";
import { policyData } from "../../src/policy/input-schema.ts";
import { assemblePolicySet } from "../../src/policy/policy-set.ts";
import { endpoint, identity, provider, route, shape, table, workspace } from "../support/table.ts";
import { uncached as toolchain } from "./samples.ts";

/** Conditions that hold, do not hold, are undefined, or make a built-in fail. */
const conditions = fc.constantFrom(
  "input.request.stream",
  "not input.request.stream",
  'input.workspace.tier == "regulated"',
  'input.key.environment == "production"',
  '"tools" in input.request.needs',
  'input.time.day == "weekday"',
  "input.request.zdr",
  "count(input.candidates) > 1",
  "data.regions.moon",
  "input.candidates[7].trains_on_data",
  "to_number(input.workspace.tier) > 1",
  "1 / (count(input.candidates) - 1) >= 0",
);
const bodies = fc.array(conditions, { minLength: 1, maxLength: 2 }).map((list) => list.join("; "));

/** Two values for one rule where both conditions hold: the engine aborts. */
const conflict = (rule: string, name: string): fc.Arbitrary<string> =>
  fc
    .tuple(bodies, bodies)
    .map(([one, other]) =>
      [
        `${rule} := ${name}`,
        `${name} := true if { ${one} }`,
        `${name} := false if { ${other} }`,
      ].join("\n\n"),
    );

const gateRules = fc.oneof(
  { weight: 4, arbitrary: bodies.map((body) => `pass.c if { ${body} }`) },
  { weight: 2, arbitrary: conflict("pass.c", "verdict") },
  bodies.map((body) => `pass.c := "yes" if { ${body} }`),
  bodies.map((body) => `pass.c contains "a" if { ${body} }`),
  bodies.map((body) => `pass.other if { ${body} }`),
);
const setRules = fc.oneof(
  {
    weight: 4,
    arbitrary: bodies.map(
      (body) => `pass.c contains x.id if { some x in input.candidates; ${body} }`,
    ),
  },
  {
    weight: 4,
    arbitrary: bodies.map(
      (body) =>
        `pass.c contains x.id if { some x in input.candidates; x.region == "eu-west"; ${body} }`,
    ),
  },
  { weight: 2, arbitrary: conflict("pass.c", "verdict") },
  bodies.map((body) => `pass.c contains x if { some x in ["a", "nobody"]; ${body} }`),
  bodies.map((body) => `pass.c contains 7 if { ${body} }`),
);
const reasonRules = fc.oneof(
  fc.constant(""),
  bodies.map((body) => `reason.c := "SECOND" if { ${body} }`),
  bodies.map(
    (body) => `reason.c[x.id] := input.request.route if { some x in input.candidates; ${body} }`,
  ),
);
const waivers = fc.oneof(
  fc.constant(""),
  bodies.map((body) => `waive.o if { ${body} }`),
  bodies.map((body) => `waive.o := 1 if { ${body} }`),
  conflict("waive.o", "waiver"),
);
const obligations = fc.constantFrom(
  [],
  [{ name: "o", kind: "max_output_tokens", value: 100 } as const],
  [{ name: "o", kind: "max_output_tokens", value: 50 } as const],
  [{ name: "o", kind: "strip_field", value: "service_tier" } as const],
  [{ name: "o", kind: "prefer_region", value: "us" } as const],
);

interface Content {
  readonly id: string;
  readonly slot: "enforced" | "candidate";
  readonly effect: ConstraintEffect;
  readonly rules: string;
  readonly obligations: CompiledPolicy["contract"]["obligations"];
  readonly operations: readonly ("chat.completions" | "rerank")[];
}

const contents = (
  slot: Content["slot"],
  ids: readonly string[],
): fc.Arbitrary<readonly Content[]> =>
  fc.tuple(
    ...ids.map((id) =>
      fc
        .record({
          effect: fc.constantFrom(...CONSTRAINT_EFFECTS),
          gate: gateRules,
          set: setRules,
          reason: reasonRules,
          waiver: waivers,
          obligations,
          operations: fc.constantFrom<Content["operations"][]>(
            ["chat.completions"],
            ["chat.completions"],
            ["rerank"],
          ),
        })
        .map(({ effect, gate, set, reason, waiver, ...more }) => {
          const rules = [effect === "gate" ? gate : set, reason, waiver].join("\n\n");
          return { id, slot, effect, rules, ...more };
        }),
    ),
  );

/** `b` and `c` stand in both slots, each with two contents. */
const policySets = fc
  .tuple(contents("enforced", ["a", "b", "c"]), contents("candidate", ["b", "c", "d"]))
  .map((slots) => slots.flat());

interface Sets {
  readonly watched: PolicySet;
  /** The same modules, with nothing in the candidates' slots. */
  readonly unwatched: PolicySet;
  /** Compiled as if there were no candidates. */
  readonly alone: PolicySet;
}

/**
 * Every other content has a module of its own, as those have that the files hold no longer; the
 * rest is compiled together.
 */
async function setsOf(all: readonly Content[]): Promise<Sets> {
  const policies = all.map(
    ({ id, effect, rules, obligations: declared, operations }, index): CompiledPolicy => ({
      contract: {
        contract: 1,
        id,
        title: id,
        owners: [],
        operations,
        constraints: [{ name: "c", effect, reasons: ["FIRST", "SECOND"] }],
        obligations: declared,
      },
      digest: String(index).padStart(64, "0"),
      sources: [
        {
          package: `signalbox.policy.${id}`,
          source: `package signalbox.policy.${id}\n\n${rules}\n`,
        },
      ],
      reasoned: ["c"],
      reads: rules.includes("input.time") ? ["input.time.day"] : [],
      relates: false,
      hours: null,
      stringUse: { strings: [], inspects: ["uncompiled"] },
      path: `policies/${id}.rego`,
      locations: {},
    }),
  );
  const slots = policies.map(({ contract: { id }, digest }, index): PolicyIdentity => {
    return { id, digest, revision: index + 1, slot: all[index]?.slot ?? "candidate" };
  });
  const enforced = slots.filter(({ slot }) => slot === "enforced");
  const together = policies.filter((_, index) => index % 2 === 0);
  const apart = policies.filter((_, index) => index % 2 === 1);
  const load = async (divided: readonly (readonly CompiledPolicy[])[]): Promise<LoadedModules> => {
    const modules = await Promise.all(divided.map((some) => buildModules(some, toolchain)));
    return await LoadedModules.load(modules.flat(), policyData(rows));
  };
  const divided = await load([together, ...apart.map((policy) => [policy])]);
  const only = await load([policies.filter((_, index) => all[index]?.slot === "enforced")]);
  return {
    watched: assemblePolicySet(divided, slots),
    unwatched: assemblePolicySet(divided, enforced),
    alone: assemblePolicySet(only, enforced),
  };
}

const rows = table({
  providers: [provider("p"), provider("q", { region: "us-east", retention: "days_30" })],
  endpoints: [endpoint("a"), endpoint("b", { provider: "q", region: "us-east" })],
  routes: [route("r", "a", ["b"])],
  workspaces: [workspace("w"), workspace("v", {}, { tier: "regulated" })],
});

/** Every class of the table that anything in the grammar distinguishes. */
const classes: readonly {
  readonly caller: typeof identity;
  readonly question: Question;
  readonly at: number;
}[] = ["w", "v"].flatMap((workspaceId) =>
  ["production", "staging"].flatMap((environment) =>
    [false, true].flatMap((stream) =>
      [[], ["tools"] as const].flatMap((needs) =>
        [null, { zdr: true }, { order: ["q"] }].flatMap((preferences) =>
          [Date.UTC(2026, 0, 9), Date.UTC(2026, 0, 10)].map((at) => ({
            caller: { ...identity, workspace: workspaceId, environment },
            question: { model: "r", shape: shape({ stream, needs }), preferences },
            at,
          })),
        ),
      ),
    ),
  ),
);

/** What acts: everything but the records of shadow slots. */
function enforcedPart(decision: Decision): unknown {
  return {
    ...decision,
    ifPromoted: null,
    trace: decision.trace.filter(({ slot }) => slot === "enforced"),
    obligations: decision.obligations.filter(({ slot }) => slot === "enforced"),
  };
}

test(
  "a shadow slot with any content never changes a decision, over every class of a table",
  { timeout: 300_000 },
  async () => {
    const seen = {
      routed: 0,
      denied: 0,
      indeterminateShadow: 0,
      promotionMatters: 0,
      shadowObligation: 0,
    };
    await fc.assert(
      fc.asyncProperty(policySets, async (drawn) => {
        const { watched, unwatched, alone } = await setsOf(drawn);
        expect(unwatched.id).toBe(alone.id);
        expect(watched.id).not.toBe(alone.id);
        for (const { caller, question, at } of classes) {
          const decision = decide(rows, watched, caller, question, at);
          const ordinary = decide(rows, alone, caller, question, at);
          expect(enforcedPart(decision)).toEqual(enforcedPart(ordinary));
          expect(decide(rows, unwatched, caller, question, at)).toEqual(ordinary);
          seen[decision.outcome === "route" ? "routed" : "denied"] += 1;
          if (decision.ifPromoted !== null) seen.promotionMatters += 1;
          if (decision.obligations.some(({ effect }) => effect === "would_apply"))
            seen.shadowObligation += 1;
          const failed = decision.trace.some(
            ({ slot, verdict }) => slot === "candidate" && verdict === "indeterminate",
          );
          if (failed) seen.indeterminateShadow += 1;
        }
      }),
      // A fixed seed: what the counts below demand must have been drawn.
      { numRuns: 20, seed: 20_261_121 },
    );
    // A property over decisions that are all alike would hold of anything.
    expect(Object.entries(seen).filter(([, count]) => count === 0)).toEqual([]);
  },
);
