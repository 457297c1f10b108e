import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { foldedRefusals } from "../../src/server/evidence.ts";
import {
  type DecisionRecord,
  type OutcomeRecord,
  asIdentifier,
} from "../../src/evidence/record.ts";
import {
  DuplicateDecisionError,
  EvidenceUnavailableError,
} from "../../src/evidence/evidence-store.ts";
import { evidenceQueue } from "../../src/store/evidence-queue.ts";
import { decisionRecord, outcomeRecord } from "../store/records.ts";
import { startTestServer } from "../support/server.ts";
import type { Runtime } from "../../src/http/runtime.ts";
import { evidenceOf } from "../support/evidence-of.ts";

const anonymous = (id: string, reason = "invalid_api_key"): DecisionRecord =>
  decisionRecord(id, {
    workspace: null,
    keyId: null,
    route: null,
    outcome: "refuse",
    reason: asIdentifier(reason),
    clientRequestDigest: asIdentifier("0123456789abcdef"),
    retryCount: 3,
  });

const refusal = (id: string): OutcomeRecord => ({
  ...outcomeRecord(id, "refused"),
  status: 401,
  attempts: [],
});

const NOTHING = { request: 0, answer: 0 };

/** Waits as an answer does, whatever comes of it. */
function decided(evidence: Runtime["evidence"], record: DecisionRecord): Promise<unknown> {
  return new Promise((resolve) => evidence.begin(record, resolve).needed());
}

/** Evidence that keeps what it is given. */
function memory() {
  const decisions: DecisionRecord[] = [];
  const outcomes: OutcomeRecord[] = [];
  const state = { writable: true, failure: null as Error | null };
  let ids = 0;
  const refusals = foldedRefusals(
    evidenceOf(
      (record) => {
        if (state.failure !== null) return Promise.reject(state.failure);
        decisions.push(record);
        return Promise.resolve();
      },
      (record) => void outcomes.push(record),
    ),
    () => state.writable,
    () => `req_sum${(ids += 1)}`,
    Date.now,
  );
  const refuse = async (
    count: number,
    reason?: string,
    members: Partial<DecisionRecord> = {},
  ): Promise<void> => {
    for (let number = 0; number < count; number++) {
      const id = `req_${reason ?? ""}${(ids += 1)}`;
      await decided(refusals.evidence, { ...anonymous(id, reason), ...members });
      refusals.evidence.settle(refusal(id), NOTHING);
    }
  };
  const counted = (reason = "invalid_api_key"): number =>
    decisions
      .filter((one) => one.reason === reason)
      .reduce((sum, { repeated = 1 }) => sum + repeated, 0);
  return { refusals, decisions, outcomes, state, refuse, counted };
}

describe("refusals of anonymous callers and of exhausted limits", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("are written one by one up to a share, and beyond it as one for each code, and every one is counted", async () => {
    const { refuse, decisions, outcomes, counted } = memory();
    await refuse(5_000);
    await refuse(700, "expired_api_key");
    expect(decisions).toHaveLength(20);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(decisions).toHaveLength(22);
    expect(outcomes.map(({ requestId }) => requestId)).toEqual(
      decisions.map(({ requestId }) => requestId),
    );
    expect([counted(), counted("expired_api_key")]).toEqual([5_000, 700]);
    const sum = decisions.at(-1);
    expect(sum).toMatchObject({
      repeated: 700,
      workspace: null,
      outcome: "refuse",
      clientRequestDigest: null,
      retryCount: 0,
    });
    expect(outcomes.at(-1)).toMatchObject({ status: 401, terminal: "refused" });
    // In 200 seconds the share is whole again, and nothing is written where nothing happens.
    await vi.advanceTimersByTimeAsync(200_000);
    expect(decisions).toHaveLength(22);
    await refuse(3);
    expect(decisions).toHaveLength(25);
  });

  it("are added up while the store is in trouble, and written once when it is not", async () => {
    const { refuse, decisions, state, counted, refusals } = memory();
    state.writable = false;
    await refuse(400);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(decisions).toEqual([]);
    state.writable = true;
    state.failure = new EvidenceUnavailableError("late");
    await vi.advanceTimersByTimeAsync(10_000);
    state.writable = false;
    await refuse(50);
    state.writable = true;
    state.failure = null;
    await refusals.close();
    expect(counted()).toBe(450);
    expect(new Set(decisions.map(({ requestId }) => requestId)).size).toBe(decisions.length);
  });

  it("that cannot be written are reported when they are closed, and no timer holds the process", async () => {
    const { refusals, state, refuse } = memory();
    await refuse(21);
    state.failure = new EvidenceUnavailableError("failed");
    const running = vi.advanceTimersByTimeAsync(10_000);
    await expect(refusals.close()).rejects.toThrow(EvidenceUnavailableError);
    await running;
    expect(vi.getTimerCount()).toBe(0);
  });

  it("are not written twice where the store was late and wrote after all", async () => {
    const { refuse, outcomes, state, refusals } = memory();
    state.writable = false;
    await refuse(9);
    state.writable = true;
    state.failure = new DuplicateDecisionError();
    await refusals.close();
    expect(outcomes).toHaveLength(1);
    await refusals.close();
    expect(outcomes).toHaveLength(1);
  });

  it("of recognised keys are added up by key, with a separate share for each workspace", async () => {
    const { refuse, decisions, refusals } = memory();
    const of = (workspace: string, keyId: string) => ({
      workspace: asIdentifier(workspace),
      keyId: asIdentifier(keyId),
    });
    await refuse(400, "invalid_api_key", {
      ...of("a", "k1"),
      token: asIdentifier("t1"),
      needs: ["tools"],
    });
    await refuse(300, "insufficient_scope", of("a", "k2"));
    await refuse(200, "requests_per_minute", {
      ...of("a", "k2"),
      route: asIdentifier("chat-large"),
      plan: [asIdentifier("e1")],
    });
    await refuse(90, "service_key_in_browser", of("b", "k3"));
    await refuse(90);
    expect(decisions).toHaveLength(100 + 90 + 20);
    await refusals.close();
    const sums = decisions.slice(210);
    expect(
      sums.map(({ keyId, workspace, reason, route, repeated }) => [
        keyId,
        workspace,
        reason,
        route,
        repeated,
      ]),
    ).toEqual([
      ["k1", "a", "invalid_api_key", null, 300],
      ["k2", "a", "insufficient_scope", null, 300],
      ["k2", "a", "requests_per_minute", "chat-large", 200],
      [null, null, "invalid_api_key", null, 70],
    ]);
    for (const sum of sums) {
      expect(sum).toMatchObject({ needs: [], plan: [], shadows: [], wouldDeny: [] });
      expect(sum).not.toHaveProperty("token");
    }
  });

  it("of malformed bodies are added up too, and failures of ours are not", async () => {
    const { refuse, decisions, refusals } = memory();
    const who = { workspace: asIdentifier("a"), keyId: asIdentifier("k1") };
    await refuse(400, "missing_field", who);
    await refuse(150, "fair_share_exceeded", who);
    await refuse(120, "internal_error", who);
    expect(decisions).toHaveLength(100 + 120);
    await refusals.close();
    expect(
      decisions.slice(220).map(({ keyId, reason, repeated }) => [keyId, reason, repeated]),
    ).toEqual([
      ["k1", "missing_field", 300],
      ["k1", "fair_share_exceeded", 150],
    ]);
  });

  it("of requests that name no route are added up, and denials on a route are not", async () => {
    const { refuse, decisions, refusals } = memory();
    const who = {
      workspace: asIdentifier("a"),
      keyId: asIdentifier("k1"),
      outcome: "deny",
    } as const;
    const route = asIdentifier("chat-large");
    await refuse(400, "model_not_found", {
      ...who,
      needs: ["tools"],
      policy: asIdentifier("approvals"),
    });
    await refuse(120, "CAPABILITY_NOT_APPROVED", { ...who, route });
    expect(decisions).toHaveLength(100 + 120);
    await refusals.close();
    expect(decisions.slice(220)).toMatchObject([
      {
        outcome: "deny",
        policy: "approvals",
        reason: "model_not_found",
        route: null,
        needs: [],
        repeated: 300,
      },
    ]);
  });

  it("do not affect requests with keys", async () => {
    const { refusals, decisions, outcomes } = memory();
    for (let number = 0; number < 500; number++) {
      const refused = number % 2 === 0;
      await decided(
        refusals.evidence,
        decisionRecord(`req_${number}`, refused ? { outcome: "refuse" } : {}),
      );
      refusals.evidence.settle(outcomeRecord(`req_${number}`), NOTHING);
    }
    expect([decisions.length, outcomes.length]).toEqual([500, 500]);
  });

  it("do not displace other records in the queue", async () => {
    const queue = evidenceQueue(() => new Promise(() => {}), {
      gathering: 0,
      delay: 0,
      outcomeDelay: 1,
      maxWait: 60_000,
      maxWaiting: 1_000,
    });
    const refusals = foldedRefusals(
      queue,
      () => queue.health().state === "ok",
      () => "req_sum",
      Date.now,
    );
    for (let number = 0; number < 20_000; number++) {
      refusals.evidence.begin(anonymous(`req_${number}`), () => {});
      refusals.evidence.settle(refusal(`req_${number}`), NOTHING);
    }
    refusals.evidence.begin(decisionRecord("req_good"), () => {});
    refusals.evidence.settle(outcomeRecord("req_good"), NOTHING);
    expect(queue.health()).toMatchObject({ waiting: 21, refused: 0, lost: 0 });
  });
});

it("a flood without a key costs a server a bounded number of rows, and its summary and metrics count every request", async () => {
  const { server } = await startTestServer();
  const refused = await Promise.all(
    Array.from({ length: 400 }, () =>
      fetch(`${server.url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: "Bearer nobody" },
      }),
    ),
  );
  expect(refused.every(({ status }) => status === 401)).toBe(true);
  const page = await (await fetch(`${server.adminUrl}/metrics`)).text();
  const counted = [...page.matchAll(/^signalbox_requests_total\{[^}]*\} (\d+)/gm)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  );
  expect(counted).toBe(400);
  await server.store.evidence.flush();
  const entries = await server.store.evidence.read({ after: 0, limit: 1_000 });
  expect(entries.length).toBeGreaterThanOrEqual(20);
  expect(entries.length).toBeLessThan(40);
});
