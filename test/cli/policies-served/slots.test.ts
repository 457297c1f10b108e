import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { PolicySet } from "../../../src/canon/policy.ts";
import type { EvidenceEntry } from "../../../src/evidence/evidence-store.ts";
import { Replica } from "./fixture.ts";

const LONG = { timeout: 180_000 };

describe("an enforced policy stays enforced until another revision is promoted", LONG, () => {
  test("changed files stay in shadow over reloads and restarts; a promotion enforces them, a rollback reverts it", async () => {
    let replica = await Replica.start("everything");
    expect(await replica.slots()).toEqual({ enforced: "r1" });
    expect((await replica.ask()).status).toBe(200);
    const before = await replica.status();

    replica.write("streams");
    expect((await replica.server.reload()).ok).toBe(true);
    const watched = { enforced: "r1", candidate: "r2" };
    expect(await replica.slots()).toEqual(watched);
    const letThrough = await replica.ask();
    expect(letThrough.status).toBe(200);
    replica = await replica.restart();
    expect(await replica.slots()).toEqual(watched);
    expect(replica.server.built.drifts).toEqual([]);
    expect((await replica.ask()).status).toBe(200);
    const { decision } = await entry(replica, letThrough.requestId);
    expect(decision.wouldDeny).toMatchObject([
      { policy: "gate", revision: "r2", effect: "would_deny" },
    ]);
    const status = await replica.status();
    expect(status.policy_set).toMatch(/^[0-9a-f]{16}$/);
    expect(status.policy_set).not.toBe(before.policy_set);
    expect(decision.policySet).toBe(status.policy_set);

    await replica.promote();
    expect(await replica.slots()).toEqual({ enforced: "r2" });
    const denied = await replica.ask();
    expect([denied.status, denied.text]).toEqual([403, expect.stringContaining("gate@r2")]);
    expect((await replica.ask(true)).status).toBe(200);

    // Neither the enforced content nor what it replaced needs the files.
    replica.write("nothing");
    replica = await replica.restart();
    expect(await replica.slots()).toEqual({ enforced: "r2", candidate: "r3" });
    expect((await replica.ask()).status).toBe(403);
    await replica.rollBack();
    expect(await replica.slots()).toEqual({ enforced: "r1", candidate: "r3" });
    expect((await replica.ask()).status).toBe(200);
    expect((await replica.ask(true)).status).toBe(200);
  });

  test("simulations and refusals name the policy set too", async () => {
    const replica = await Replica.start("streams");
    const { policy_set: set } = await replica.status();
    expect((await replica.simulate()).policy_set).toBe(set);
    const { decision } = await entry(replica, (await replica.ask()).requestId);
    expect([decision.outcome, decision.policySet]).toEqual(["deny", set]);
    const anonymous = await fetch(`${replica.server.url}/v1/chat/completions`, {
      method: "POST",
      body: "{}",
    });
    expect(anonymous.status).toBe(401);
    const refused = await entry(replica, anonymous.headers.get("x-request-id") ?? "");
    expect([refused.decision.outcome, refused.decision.policySet]).toEqual(["refuse", set]);
  });

  test("a policy deleted from the files is enforced until its removal is promoted", async () => {
    let replica = await Replica.start("nothing");
    expect((await replica.ask()).status).toBe(403);
    replica.write(null);
    await replica.server.reload();
    expect(await replica.slots()).toEqual({ enforced: "r1" });
    replica = await replica.restart();
    expect((await replica.ask()).status).toBe(403);
    await replica.promote();
    expect(await replica.slots()).toEqual({});
    expect((await replica.ask()).status).toBe(200);
    replica = await replica.restart();
    expect((await replica.ask()).status).toBe(200);
    await replica.rollBack();
    expect(await replica.slots()).toEqual({ enforced: "r1" });
    expect((await replica.ask()).status).toBe(403);
  });

  test("a reload with errors leaves slots unchanged", async () => {
    const replica = await Replica.start("everything");
    const before = await replica.status();
    writeFileSync(join(replica.folder, "policies", "gate.rego"), "package nonsense");
    expect((await replica.server.reload()).ok).toBe(false);
    const { degraded, ...after } = await replica.status();
    expect(degraded).toEqual(["reload_failed"]);
    expect(after.policy_set).toBe(before.policy_set);
    replica.write("everything");
    expect((await replica.server.reload()).ok).toBe(true);
    expect((await replica.status()).degraded).toEqual([]);
  });
});

describe("two replicas over one store", LONG, () => {
  test("decide alike with different files, and follow each other within a second", async () => {
    const first = await Replica.start("everything");
    const newer = await Replica.start("streams", { database: first.database });
    expect(await newer.slots()).toEqual({ enforced: "r1", candidate: "r2" });
    await eventually(async () =>
      expect(await first.slots()).toEqual({ enforced: "r1", candidate: "r2" }),
    );
    expect((await first.status()).policy_set).toBe((await newer.status()).policy_set);

    const swapped = new Promise<PolicySet>((done) => {
      first.server.watchPolicies({
        swapped: done,
        failed: () => {},
        recovered: () => {},
        suspended: () => {},
        differing: () => {},
      });
    });
    await newer.promote();
    const from = performance.now();
    expect((await newer.ask()).status).toBe(403);
    const { id } = await swapped;
    // The store says a second; the rest is this machine's.
    expect(performance.now() - from).toBeLessThan(2_500);
    expect(id).toBe((await newer.status()).policy_set);
    expect((await first.ask()).status).toBe(403);

    // Its files are older than what acts: it says so, and moves nothing.
    const again = await first.restart();
    expect(again.server.built.drifts).toEqual([{ policy: "gate", drift: "files_differ" }]);
    expect(await again.slots()).toEqual({ enforced: "r2" });
    expect((await again.ask()).status).toBe(403);
    await again.rollBack();
    expect((await again.ask()).status).toBe(200);
    await eventually(async () => expect((await newer.ask()).status).toBe(200));
  });
});

async function entry(replica: Replica, requestId: string): Promise<EvidenceEntry> {
  await replica.server.store.evidence.flush();
  const [found] = await replica.server.store.evidence.read({ after: 0, limit: 1, requestId });
  if (found === undefined) throw new Error("no record");
  return found;
}

async function eventually(holds: () => Promise<void>): Promise<void> {
  const end = performance.now() + 10_000;
  for (;;) {
    try {
      return await holds();
    } catch (error) {
      if (performance.now() > end) throw error;
      await new Promise((done) => {
        setTimeout(done, 50);
      });
    }
  }
}
