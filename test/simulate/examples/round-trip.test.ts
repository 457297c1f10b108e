import { instantOf } from "../../../src/decide/policy-input.ts";
import fc from "fast-check";
import { expect, it } from "vitest";
import { CAPABILITY_NAMES } from "../../../src/canon/capability.ts";
import { REASONING_EFFORTS, TOKEN_BUCKETS } from "../../../src/canon/request.ts";
import { readOptions } from "../../../src/cli/explain/explain.ts";
import { decide } from "../../../src/decide/decide.ts";
import { decisionRecord } from "../../../src/http/records.ts";
import { asIdentifier } from "../../../src/evidence/record.ts";
import { decideSample, identityOf, sampleQuestionOf } from "../../../src/simulate/decide-sample.ts";
import { promotedPolicies } from "../../../src/simulate/explain/promoted.ts";
import { PLAIN_SAMPLE, type SampleRequest } from "../../../src/simulate/sample-request.ts";
import { findExamples } from "../../../src/simulate/evidence/find-examples.ts";
import { fakePolicies, route, table, workspace } from "../../support/table.ts";
import { memoryEvidence } from "./memory-evidence.ts";

const NAMES = ["w", "v"] as const;
const ROUTES = ["r", "s"] as const;

const fixture = table({
  routes: [route("r", "a", ["b"]), route("s", "b", ["a"])],
  workspaces: NAMES.map((id) => workspace(id, { routes: [...ROUTES] })),
});

const someOf = <Item extends string>(items: readonly Item[]): fc.Arbitrary<readonly Item[]> =>
  fc.subarray([...items], { maxLength: 2 }).map((some) => some.toSorted());

const points: fc.Arbitrary<SampleRequest> = fc
  .record({
    workspace: fc.constantFrom(...NAMES),
    model: fc.constantFrom(...ROUTES),
    operation: fc.constantFrom("chat.completions" as const, "messages" as const),
    environment: fc.constantFrom("production", "staging"),
    needs: someOf(CAPABILITY_NAMES.filter((name) => name === "tools" || name === "json_schema")),
    features: someOf(["seed", "logit_bias"] as const),
    stream: fc.boolean(),
    context: fc.constantFrom(...TOKEN_BUCKETS.slice(0, 3)),
    maxOutput: fc.constantFrom(...TOKEN_BUCKETS.slice(0, 3)),
    reasoningEffort: fc.constantFrom(...REASONING_EFFORTS.slice(0, 2)),
    time: fc.record({
      day: fc.constantFrom("weekday" as const, "weekend" as const),
      hour: fc.constantFrom("night" as const, "evening" as const),
    }),
  })
  .map(({ environment, ...members }) => ({
    ...PLAIN_SAMPLE,
    ...members,
    key: { environment, workload: "", labels: [] },
  }));

/** Mostly whatever it is: many conditions at once would hold for no request. */
const seldom = <Value>(arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value | null> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });

/** What a candidate objects to: everything here is in the evidence. */
const objections = fc.record({
  effect: fc.constantFrom("gate" as const, "filter" as const, "require_all" as const),
  verdict: fc.constantFrom("fail" as const, "indeterminate" as const),
  workspace: seldom(fc.constantFrom(...NAMES)),
  environment: seldom(fc.constantFrom("production", "staging")),
  stream: seldom(fc.boolean()),
  context: seldom(fc.constantFrom(...TOKEN_BUCKETS.slice(0, 3))),
  day: seldom(fc.constantFrom("weekday" as const, "weekend" as const)),
  failing: fc.subarray(["a", "b"], { minLength: 1 }),
});

it("the command of an example decides the request again, and the promoted revision agrees with the example", async () => {
  let tried = 0;
  let denied = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(points, { minLength: 1, maxLength: 12 }),
      objections,
      async (requested, objection) => {
        const policies = fakePolicies(({ key, workspace: { id }, request, time }) => {
          const objects =
            (objection.workspace ?? id) === id &&
            (objection.environment ?? key.environment) === key.environment &&
            (objection.stream ?? request.stream) === request.stream &&
            (objection.context ?? request.context) === request.context &&
            (objection.day ?? time.day) === time.day;
          const failing =
            objection.verdict === "fail" && objection.effect !== "gate" ? objection.failing : [];
          return [
            { id: "acting" },
            {
              id: "watched",
              slot: "candidate",
              effect: objection.effect,
              ...(objects ? { verdict: objection.verdict, failing } : {}),
            },
          ];
        });
        // The promoted set is made from the list of policies.
        const watched = {
          id: "watched",
          revision: 1,
          digest: "d".repeat(64),
          slot: "candidate" as const,
        };
        const [acting] = policies.policies;
        if (acting === undefined) throw new Error("a set without policies");
        const set = {
          ...policies,
          readsTime: true,
          policies: [acting, { identity: watched, contract: acting.contract }],
        };
        const decisions = requested.map((sample, index) => {
          const at = instantOf(sample.time) + 400 * 7 * 86_400_000;
          const decided = decide(
            fixture,
            set,
            identityOf(sample),
            sampleQuestionOf(sample).question,
            at,
          );
          const head = {
            requestId: asIdentifier(`r${index}`),
            at,
            operation: sample.operation,
            retryCount: 0,
          };
          const whole = { ...head, clientRequestDigest: null };
          return decisionRecord(
            whole,
            identityOf(sample),
            sampleQuestionOf(sample).question,
            decided,
            {
              table: fixture,
              policies: set,
            },
          );
        });
        const { examples } = await findExamples(memoryEvidence(decisions), {
          policy: "watched",
          revision: 1,
          firstSeen: 0,
          zones: [],
          workspace: null,
          limit: 1_000,
        });
        const counted = examples.reduce((sum, { requests }) => sum + requests, 0);
        expect(counted).toBe(decisions.reduce((sum, { wouldDeny }) => sum + wouldDeny.length, 0));
        for (const example of examples) {
          const [, text = ""] =
            /^explain --point '([^']*)' --promoted$/.exec(example.explain ?? "") ?? [];
          const { sample, promoted } = readOptions(["--point", text, "--promoted"], 0);
          expect(promoted).toBe(true);
          const decision = decideSample(fixture, promotedPolicies(set), sample);
          const line = decision.trace.find(({ policy }) => policy === "watched");
          expect(line).toMatchObject({
            constraint: example.constraint,
            verdict: example.verdict,
            reason: example.reason,
            effect: example.effect === "would_deny" ? "denied" : "narrowed",
          });
          expect(decision.outcome).toBe(example.effect === "would_deny" ? "deny" : "route");
          tried += 1;
          if (decision.outcome === "deny") denied += 1;
        }
      },
    ),
    { numRuns: 300 },
  );
  expect(tried).toBeGreaterThan(300);
  expect(denied).toBeGreaterThan(100);
});
