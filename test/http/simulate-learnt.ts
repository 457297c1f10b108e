import fc from "fast-check";
import { failureOf } from "../../src/canon/failure.ts";
import type { HealthSettings } from "../../src/canon/table.ts";
import { EndpointTracker } from "../../src/dispatch/endpoint-tracker.ts";

/** Out of service after one failure; a trial is due ten seconds after it. */
const HEALTH: HealthSettings = {
  consecutiveFailures: 1,
  failureRatio: 0,
  minimumCalls: 20,
  window: 60_000,
  ejection: 10_000,
  longestEjection: 40_000,
  probe: null,
};

/**
 * What calls have shown of one endpoint: at most a few calls that ended, and how many are under
 * way.
 */
const learnt = fc.record({
  calls: fc.array(
    fc.record({
      /** Milliseconds. */
      ago: fc.constantFrom(500, 3_000, 30_000, 90_000),
      firstToken: fc.option(fc.integer({ min: 1, max: 5_000 })),
      wholeAnswer: fc.option(fc.integer({ min: 1, max: 5_000 }), { nil: undefined }),
      tokensPerSecond: fc.option(fc.integer({ min: 1, max: 200 })),
      failure: fc.constantFrom(null, null, null, "server_error" as const, "rate_limited" as const),
    }),
    { maxLength: 4 },
  ),
  underWay: fc.constantFrom(0, 0, 0, 1, 3),
});

/** Of the endpoints `e0` to `e4`. */
export const learnings = fc.array(learnt, { minLength: 5, maxLength: 5 });
type Learnings = typeof learnings extends fc.Arbitrary<infer Value> ? Value : never;

/** What a process knows that has seen these calls. */
export function candidatesWith(known: Learnings): EndpointTracker {
  const candidates = new EndpointTracker(() => HEALTH);
  const now = performance.now();
  for (const [index, { calls, underWay }] of known.entries()) {
    const id = `e${index}`;
    for (const { ago, failure, ...measured } of calls.toSorted(
      (left, right) => right.ago - left.ago,
    )) {
      candidates.begin(id, now - ago - 1);
      const ended = failure === null ? null : failureOf(failure);
      candidates.endCall(id, { failure: ended, ...measured }, now - ago);
    }
    for (let call = 0; call < underWay; call += 1) candidates.begin(id, now);
  }
  return candidates;
}
