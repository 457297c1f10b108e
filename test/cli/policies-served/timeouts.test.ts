import { expect, test } from "vitest";
import { Replica } from "./fixture.ts";

/** What differs from request to request and reaches the policy, so that nothing is remembered. */
const SIZES = [1, 2_000, 10_000].map((max_completion_tokens) => ({ max_completion_tokens }));

test("a candidate that never ends delays no request, and is suspended after three evaluations", async () => {
  const replica = await Replica.start("everything");
  const suspended: unknown[] = [];
  replica.server.watchPolicies({
    swapped: () => {},
    failed: () => {},
    recovered: () => {},
    differing: () => {},
    suspended: ({ id, revision }) => suspended.push(`${id}@${revision}`),
  });
  replica.write("endless");
  expect((await replica.server.reload()).ok).toBe(true);
  expect(await replica.slots()).toEqual({ enforced: "r1", candidate: "r2" });
  for (const [requested, size] of SIZES.entries()) {
    expect(suspended).toEqual([]);
    const began = performance.now();
    const { status, requestId } = await replica.ask(requested === 2, size);
    expect(status).toBe(200);
    // Without a bound the first one takes minutes.
    expect(performance.now() - began).toBeLessThan(5_000);
    await replica.server.store.evidence.flush();
    const [found] = await replica.server.store.evidence.read({ after: 0, limit: 1, requestId });
    expect(found?.decision.wouldDeny).toMatchObject([
      { policy: "gate", revision: "r2", reason: "POLICY_TIMEOUT" },
    ]);
  }
  expect(suspended).toEqual(["gate@2"]);
  expect((await replica.status()).degraded).toEqual(["suspended_policies"]);
  const metrics = await (await fetch(`${replica.server.adminUrl}/metrics`)).text();
  expect(metrics).toContain('signalbox_policy_suspended{policy="gate",revision="r2"} 1');

  // A suspended one is recorded like one that timed out, whatever the policy.
  expect((await replica.ask(true)).status).toBe(200);
  expect(suspended).toEqual(["gate@2"]);
  expect((await replica.server.reload()).ok).toBe(true);
  expect((await replica.status()).degraded).toEqual(["suspended_policies"]);
  replica.write("streams");
  expect((await replica.server.reload()).ok).toBe(true);
  expect((await replica.status()).degraded).toEqual([]);
});

test("an enforced policy that never ends denies with POLICY_TIMEOUT, in simulations too", async () => {
  const replica = await Replica.start("endless");
  const { status, text } = await replica.ask();
  expect(status).toBe(403);
  expect(JSON.parse(text)).toMatchObject({ error: { code: "POLICY_TIMEOUT" } });
  const simulated = await replica.simulate();
  expect(simulated).toMatchObject({
    outcome: "deny",
    denial: { policy: { id: "gate" }, reason_code: "POLICY_TIMEOUT" },
  });
  // Enforced policies are evaluated as long as they are enforced.
  for (const size of SIZES) expect((await replica.ask(true, size)).status).toBe(403);
  expect((await replica.status()).degraded).toEqual([]);
});
