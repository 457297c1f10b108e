import { expect, test } from "vitest";
import { Replica, type Answered } from "./fixture.ts";

test(
  "promotions and rollbacks under load: every answer follows the policy set of its decision, and none fails",
  { timeout: 180_000 },
  async () => {
    const replica = await Replica.start("everything");
    replica.write("nothing");
    await replica.server.reload();
    const open = await replica.policySet();
    const answers: Answered[] = [];
    const load = new AbortController();
    const clients = Array.from({ length: 8 }, async (_, client) => {
      while (!load.signal.aborted) answers.push(await replica.ask(client % 2 === 0));
    });
    const sets = new Map([[open, 200]]);
    for (let round = 0; round < 6; round += 1) {
      await replica.promote();
      sets.set(await replica.policySet(), 403);
      // A caller that was answered can rely on it: the next request is decided with it.
      expect((await replica.ask()).status).toBe(403);
      await replica.rollBack();
      const { status } = await replica.ask();
      expect(status).toBe(200);
      sets.set(await replica.policySet(), 200);
      await replica.release();
    }
    load.abort();
    await Promise.all(clients);
    // Rolled back, the content is watched again: two sets in turn.
    expect(sets.size).toBe(2);
    const { evidence } = replica.server.store;
    await evidence.flush();
    const entries = await evidence.read({ after: 0, limit: 10_000 });
    const decided = new Map(
      entries.map(({ decision, outcome }) => [String(decision.requestId), { decision, outcome }]),
    );
    const seen = new Map<number, number>();
    for (const { status, requestId, text } of answers) {
      const { decision, outcome } = decided.get(requestId) ?? {};
      expect(sets.get(String(decision?.policySet)), text).toBe(status);
      expect(decision?.outcome).toBe(status === 200 ? "route" : "deny");
      expect(outcome?.status).toBe(status);
      seen.set(status, (seen.get(status) ?? 0) + 1);
    }
    // A load that met one set only would prove nothing.
    expect(Math.min(seen.get(200) ?? 0, seen.get(403) ?? 0)).toBeGreaterThan(5);
    expect((await replica.status()).degraded).toEqual([]);
  },
);
