import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CAPABILITY_NAMES, FEATURE_NAMES } from "../../src/canon/capability.ts";
import { REASONING_EFFORTS, type RequestShape, TOKEN_BUCKETS } from "../../src/canon/request.ts";
import { createDecider } from "../../src/decide/decider.ts";
import { decide, type Question } from "../../src/decide/decide.ts";
import { fakePolicies, identity, shape, table } from "../support/table.ts";

const questions: fc.Arbitrary<Question> = fc.record({
  model: fc.constantFrom("r", "x", "r\nchat.completions|", "constructor"),
  preferences: fc.constantFrom(null, { only: ["p"] }, { only: ["q"] }, { allow_fallbacks: false }),
  shape: fc.record({
    operation: fc.constantFrom("chat.completions", "embeddings"),
    needs: fc.subarray([...CAPABILITY_NAMES]).map((needs) => needs.toSorted()),
    features: fc.subarray([...FEATURE_NAMES]).map((features) => features.toSorted()),
    stream: fc.boolean(),
    context: fc.constantFrom(...TOKEN_BUCKETS),
    maxOutput: fc.constantFrom(...TOKEN_BUCKETS),
    reasoningEffort: fc.constantFrom(...REASONING_EFFORTS),
    signatureFamilies: fc.subarray(["one", "two"]),
    dimensions: fc.constantFrom(null, 256, 1024),
  }),
});

/**
 * Denies by the parity of its whole input, so that a member missing from the memo's key shows as a
 * wrong answer.
 */
const sensitive = () =>
  fakePolicies((input) => [
    { id: "x", effect: "gate", verdict: JSON.stringify(input).length % 2 === 0 ? "pass" : "fail" },
  ]);

describe("the memo", () => {
  it("gives the pure function's decisions, in any order of requests", () => {
    fc.assert(
      fc.property(fc.array(questions, { maxLength: 20 }), (requested) => {
        const rows = table();
        const decider = createDecider(rows, sensitive(), () => 0);
        for (const question of requested) {
          expect(decider.decideRequest(identity, question)).toEqual(
            decide(rows, sensitive(), identity, question, 0),
          );
        }
      }),
      { numRuns: 200 },
    );
  });

  it("evaluates the policies once for a class", () => {
    const policies = fakePolicies();
    const decider = createDecider(table(), policies, () => 0);
    const question = { model: "r", shape: shape(), preferences: null };
    const first = decider.decideRequest(identity, question);
    expect(decider.decideRequest({ ...identity }, question)).toBe(first);
    expect(policies.requested).toHaveLength(1);
  });

  it("distinguishes identities only by attributes that policies may read", () => {
    const policies = fakePolicies();
    const decider = createDecider(table(), policies, () => 0);
    const question = { model: "r", shape: shape(), preferences: null };
    decider.decideRequest(identity, question);
    decider.decideRequest({ ...identity, keyId: "k2" }, question);
    expect(policies.requested).toHaveLength(1);
    decider.decideRequest({ ...identity, labels: ["eu"] }, question);
    expect(policies.requested).toHaveLength(2);
  });

  it.each<[Partial<RequestShape>]>([
    [{ operation: "embeddings" }],
    [{ needs: ["tools"] }],
    [{ features: ["conversation"] }],
    [{ stream: true }],
    [{ context: "to_4k" }],
    [{ maxOutput: "to_1k" }],
    [{ reasoningEffort: "low" }],
    [{ signatureFamilies: ["one"] }],
    [{ dimensions: 256 }],
  ])("keeps no decision for a request that differs in its shape: %j", (more) => {
    const decider = createDecider(table(), fakePolicies(), () => 0);
    const ask = (other: Partial<RequestShape>) =>
      decider.decideRequest(identity, { model: "r", shape: shape(other), preferences: null });
    expect(ask(more)).not.toBe(ask({}));
  });

  const question = { model: "r", shape: shape(), preferences: null };
  const HOUR = 3_600_000;

  it("ignores the hour where no policy reads the time, and does not read the clock", () => {
    const policies = fakePolicies();
    const decider = createDecider(table(), policies, () => {
      throw new Error("requested");
    });
    expect(decider.decideRequest(identity, question)).toBe(
      decider.decideRequest(identity, question),
    );
    expect(policies.requested.map(({ time }) => time)).toEqual([
      { day: "weekday", hour: "morning" },
    ]);
    expect(decide(table(), policies, identity, question, Number.NaN).outcome).toBe("route");
  });

  it("evaluates again in the next window, and not within one, where a policy reads the time", () => {
    let time = Date.UTC(2026, 0, 9, 17);
    const policies = { ...fakePolicies(), readsTime: true };
    const decider = createDecider(table(), policies, () => time);
    for (const hours of [0.9, 0.05, 0.1, 6, 6, 42]) {
      decider.decideRequest(identity, question);
      time += hours * HOUR;
    }
    expect(policies.requested.map(({ time: { day, hour } }) => `${day} ${hour}`)).toEqual([
      "weekday afternoon",
      "weekday evening",
      "weekend night",
      "weekend morning",
    ]);
  });

  it("decides again when the hour of a zone changes, and looks at the zones once a minute", () => {
    let time = Date.parse("2026-01-09T20:59:30Z");
    const policies = { ...fakePolicies(), readsTime: true, zones: ["Europe/Berlin"] };
    const decider = createDecider(table(), policies, () => time);
    for (const seconds of [10, 30, 0, 3_600, 3_600]) {
      decider.decideRequest(identity, question);
      time += seconds * 1_000;
    }
    expect(policies.requested.map((input) => input.local_time)).toEqual([
      { "Europe/Berlin": { weekday: "friday", hour: 21 } },
      { "Europe/Berlin": { weekday: "friday", hour: 22 } },
      { "Europe/Berlin": { weekday: "friday", hour: 23 } },
    ]);
  });

  it("stores no request with names that the table does not have", () => {
    let evaluations = 0;
    const policies = fakePolicies(() => {
      evaluations += 1;
      return [];
    });
    const decider = createDecider(table(), policies, () => 0);
    const ask = (only: readonly string[]) =>
      decider.decideRequest(identity, { model: "r", shape: shape(), preferences: { only } });
    ask(["p"]);
    ask(["p"]);
    expect(evaluations).toBe(1);
    expect(ask(["made-up"])).not.toBe(ask(["made-up"]));
  });

  it("keeps a thousand classes with preferences, and drops none without for them", () => {
    const policies = fakePolicies();
    const decider = createDecider(table(), policies, () => 0);
    const evaluations = (preferences: Question["preferences"]) => {
      const before = policies.requested.length;
      decider.decideRequest(identity, { model: "r", shape: shape(), preferences });
      return policies.requested.length - before;
    };
    const bound = (index: number) => ({ max_price: { input: 1_000 + index } });
    expect(evaluations(null)).toBe(1);
    for (let index = 0; index < 1_000; index += 1) expect(evaluations(bound(index))).toBe(1);
    expect(evaluations(bound(0))).toBe(0);
    expect(evaluations(bound(1_000))).toBe(1);
    expect(evaluations(bound(0))).toBe(1);
    expect(evaluations(null)).toBe(0);
  });
});
