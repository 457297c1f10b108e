import fc from "fast-check";
import { FAILURE_KINDS } from "../../src/canon/failure.ts";
import { HOUR } from "../../src/governance/roll-up.ts";
import {
  SECOND_CHOICE_REASONS,
  TERMINALS,
  type AttemptRecord,
  type DecisionRecord,
  type OutcomeRecord,
  asIdentifier,
  type Identifier,
} from "../../src/evidence/record.ts";
import { decisionRecord, outcomeRecord } from "../store/records.ts";

/** A request's two records; running where the second one is missing. */
export interface RecordedRequest {
  readonly decision: DecisionRecord;
  readonly outcome: OutcomeRecord | null;
}

/** Hours since the epoch; records lie in the four days after it. */
export const FIRST_HOUR = Math.floor(Date.UTC(2026, 10, 20, 5) / HOUR);
export const HOURS = 96;

export const WORKSPACES = ["acme", "beta", "constructor"] as const;

const oneOf = (...values: readonly string[]): fc.Arbitrary<Identifier> =>
  fc.constantFrom(...values.map((value) => asIdentifier(value)));
const maybe = <Value>(arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value | null> =>
  fc.option(arbitrary, { nil: null, freq: 4 });

const policy = oneOf("eu-residency", "no-training");
const constraint = oneOf("region_approved", "retention");
const reason = oneOf("REGION_UNKNOWN", "RETAINED", "__proto__");
const revision = oneOf("r1", "r2");

const shadows = fc.uniqueArray(fc.record({ policy, revision }), {
  maxLength: 3,
  selector: (one) => `${one.policy} ${one.revision}`,
});

const decision = fc
  .record({
    at: fc.integer({ min: FIRST_HOUR * HOUR, max: (FIRST_HOUR + HOURS) * HOUR - 1 }),
    workspace: maybe(oneOf(...WORKSPACES)),
    keyId: maybe(oneOf("k1", "k2", "k3")),
    operation: fc.constantFrom(
      "chat.completions" as const,
      "embeddings" as const,
      "control" as const,
    ),
    route: maybe(oneOf("fast", "large", 'a,b"c')),
    outcome: fc.constantFrom(
      "route" as const,
      "route" as const,
      "deny" as const,
      "refuse" as const,
      "answer" as const,
    ),
    policy: maybe(policy),
    constraint: maybe(constraint),
    reason: maybe(reason),
    repeated: fc.option(fc.integer({ min: 2, max: 50_000 }), { nil: undefined, freq: 1 }),
    shadows: fc.option(shadows, { nil: undefined, freq: 5 }),
    said: fc.array(
      fc.record({
        of: fc.nat(5),
        constraint,
        reason: maybe(reason),
        verdict: fc.constantFrom("fail" as const, "indeterminate" as const),
        effect: fc.constantFrom("would_deny" as const, "would_narrow" as const),
      }),
      { maxLength: 4 },
    ),
  })
  .map(({ said, shadows: requested, repeated, ...members }): Partial<DecisionRecord> => {
    const wouldDeny = said.flatMap(({ of, ...one }) => {
      const by = requested?.[of % (requested.length || 1)];
      return by === undefined ? [] : [{ ...one, ...by }];
    });
    // One constraint of a revision speaks once.
    const once = new Map(
      wouldDeny.map((one) => [`${one.policy} ${one.revision} ${one.constraint}`, one]),
    );
    return {
      ...members,
      wouldDeny: [...once.values()],
      ...(requested === undefined ? {} : { shadows: requested }),
      ...(repeated === undefined ? {} : { repeated }),
    };
  });

/**
 * Attempts of one request: an endpoint has one provider, region and model, which a version that
 * recorded no models omitted everywhere.
 */
function ofOneTable(attempts: readonly AttemptRecord[]): readonly AttemptRecord[] {
  return attempts.map((each) => {
    const { provider, region, model } =
      attempts.find(({ endpoint }) => endpoint === each.endpoint) ?? each;
    const { model: _, ...rest } = each;
    return { ...rest, provider, region, ...(model !== undefined && { model }) };
  });
}

const attempt: fc.Arbitrary<AttemptRecord> = fc.record(
  {
    endpoint: oneOf("e1", "e2", "e3"),
    provider: oneOf("p1", "p2"),
    region: oneOf("eu-west", "us-east"),
    model: oneOf("m1", "m2"),
    failure: maybe(fc.constantFrom(...FAILURE_KINDS)),
    status: fc.constant(200),
    duration: fc.constant(1),
    simulated: fc.constant(false),
    calls: fc.integer({ min: 1, max: 4 }),
  },
  {
    requiredKeys: ["endpoint", "provider", "region", "failure", "status", "duration", "simulated"],
  },
);

const milliseconds = fc
  .integer({ min: 0, max: 20_000_000 })
  .map((microseconds) => microseconds / 1000);
const tokens = maybe(fc.nat(100_000));

const outcome: fc.Arbitrary<Partial<OutcomeRecord>> = fc.record(
  {
    terminal: fc.constantFrom(...TERMINALS),
    attempts: fc.array(attempt, { maxLength: 3 }).map(ofOneTable),
    inputTokens: tokens,
    outputTokens: tokens,
    cacheReadTokens: tokens,
    reasoningTokens: tokens,
    secondChoice: fc.constantFrom(...SECOND_CHOICE_REASONS),
    costNanoUsd: maybe(fc.nat(1_000_000_000)),
    firstByte: maybe(milliseconds),
    total: milliseconds,
    router: milliseconds,
  },
  {
    requiredKeys: [
      "terminal",
      "attempts",
      "inputTokens",
      "outputTokens",
      "cacheReadTokens",
      "reasoningTokens",
      "firstByte",
      "total",
      "router",
    ],
  },
);

/** Requests with ids of their own. */
export function recordedRequests(maxLength: number): fc.Arbitrary<readonly RecordedRequest[]> {
  return fc
    .array(fc.tuple(decision, fc.option(outcome, { nil: null, freq: 8 })), { maxLength })
    .map((pairs) =>
      pairs.map(([decided, ended], index) => ({
        decision: decisionRecord(`req_${index}`, decided),
        outcome: ended === null ? null : { ...outcomeRecord(`req_${index}`), ...ended },
      })),
    );
}

const family = fc.constantFrom(
  [],
  ["operation", "route"],
  ["provider", "region", "model"],
  ["key"],
  ["policy", "constraint", "reason_code"],
  ["policy", "route", "workspace"],
  ["reason_code", "route", "policy"],
);

/** Groupings that can be requested. */
export const groupings: fc.Arbitrary<readonly string[]> = family.chain((names) =>
  fc
    .tuple(fc.shuffledSubarray([...names]), fc.constantFrom("day", "hour", null))
    .map(([labels, time]) => (time === null ? labels : [...labels.slice(0, 2), time])),
);

const spendFamily = fc.constantFrom(
  ["key", "route", "model"],
  ["operation", "route"],
  ["provider", "region", "model"],
  ["key"],
  [],
);

/** Groupings of spend in several workspaces. */
export const spendGroupings: fc.Arbitrary<readonly string[]> = spendFamily.chain((names) =>
  fc
    .tuple(
      fc.subarray([...names]),
      fc.subarray(["workspace"]),
      fc.constantFrom(["day"], ["hour"], []),
    )
    .chain((parts) => fc.shuffledSubarray(parts.flat(), { minLength: parts.flat().length })),
);

export const windows: fc.Arbitrary<{ readonly from: number; readonly until: number }> = fc
  .tuple(fc.integer({ min: -3, max: HOURS }), fc.integer({ min: 1, max: HOURS + 3 }))
  .map(([start, length]) => ({ from: FIRST_HOUR + start, until: FIRST_HOUR + start + length }));
