import { describe, expect, it } from "vitest";
import { failureOf, type FailureKind } from "../../src/canon/failure.ts";
import type { Attempt, CallEnd } from "../../src/dispatch/attempt.ts";
import { EndpointTracker } from "../../src/dispatch/endpoint-tracker.ts";
import type { StopCause } from "../../src/dispatch/stop-order.ts";
import { PlanWalk } from "../../src/dispatch/plan-walk.ts";
import { emptyCallLog, fixtureOf } from "./unary/fixture.ts";

function endOf(kind: FailureKind | null): CallEnd<string> {
  const failure = kind === null ? null : failureOf(kind);
  const answer = kind === null ? "answer" : null;
  return {
    failure,
    status: null,
    finish: null,
    usage: null,
    answer,
    firstByteAt: null,
    firstToken: null,
  };
}

/**
 * A walk over two endpoints. `calls` has an entry for each call that has begun: its endpoint and
 * the way to end it.
 */
function walkOf(maxConcurrency = 4) {
  const stub = { maxConcurrency, reply: () => ({ kind: "never" }) as const };
  const fixture = fixtureOf(
    [
      { id: "a", ...stub },
      { id: "b", ...stub },
    ],
    emptyCallLog(),
  );
  const calls: { readonly id: string; readonly end: (end: CallEnd<string>) => void }[] = [];
  const reported: string[] = [];
  const walk = new PlanWalk<string>(
    {
      ...fixture.job,
      deadline: performance.now() + 10_000,
      maxAttempts: 4,
      resends: false,
      random: () => 0,
      endpoints: new EndpointTracker(() => null),
    },
    {
      prepare: ({ endpoint }): Attempt<string> => {
        const { promise, resolve } = Promise.withResolvers<CallEnd<string>>();
        return {
          translated: false,
          run: () => {
            calls.push({ id: endpoint.id, end: resolve });
            return promise;
          },
          stop: (cause) => resolve(endOf(cause)),
        };
      },
      report: ({ candidate, failure }) =>
        void reported.push(`${candidate.endpoint.id} ${failure?.kind ?? "answered"}`),
    },
  );
  return { walk, calls, reported, gates: fixture.gates };
}

describe("the walk over a plan", () => {
  it("calls the next candidate after a failure, and ends with the first answer", async () => {
    const { walk, calls, reported } = walkOf();
    const end = walk.run();
    await expect.poll(() => calls.length).toBe(1);
    calls[0]?.end(endOf("server_error"));
    await expect.poll(() => calls.length).toBe(2);
    calls[1]?.end(endOf(null));
    expect(await end).toMatchObject({ failure: null, answer: "answer" });
    expect(reported).toEqual(["a server_error", "b answered"]);
    expect(walk.failed).toMatchObject([{ endpoint: "a", failure: { kind: "server_error" } }]);
  });

  it.each([
    [["server_stopping"], { cause: "server_stopping", ended: "server_stopping" }],
    [["key_revoked", "server_stopping"], { cause: "key_revoked", ended: "key_revoked" }],
    [["server_stopping", "client_closed"], { cause: "client_closed", ended: "server_stopping" }],
    [["key_revoked", "abandoned"], { cause: "abandoned", ended: "key_revoked" }],
    [["client_closed", "server_stopping"], { cause: "client_closed", ended: null }],
    [["client_closed", "abandoned"], { cause: "client_closed", ended: null }],
    [["abandoned", "key_revoked", "client_closed"], { cause: "client_closed", ended: null }],
  ] satisfies [StopCause[], unknown][])("stopped by %j ends with %j", (causes, stopped) => {
    const { walk } = walkOf();
    for (const cause of causes) walk.stop(cause, "end");
    expect(walk.stopped).toEqual(stopped);
  });

  it("makes no call once it is stopped", async () => {
    const { walk, calls, reported } = walkOf();
    walk.stop("key_revoked", "finish");
    expect(await walk.run()).toMatchObject({ failure: { kind: "key_revoked" } });
    expect(calls).toEqual([]);
    expect(reported).toEqual([]);
  });

  it("ends a call under way where the stop requires it", async () => {
    const { walk, calls, reported } = walkOf();
    const end = walk.run();
    await expect.poll(() => calls.length).toBe(1);
    walk.stop("server_stopping", "end");
    expect(await end).toMatchObject({ failure: { kind: "server_stopping" } });
    expect(reported).toEqual(["a server_stopping"]);
  });

  it("finishes a running call where the stop allows it, and makes no other call", async () => {
    const { walk, calls, reported } = walkOf();
    const end = walk.run();
    await expect.poll(() => calls.length).toBe(1);
    walk.stop("key_revoked", "finish");
    calls[0]?.end(endOf("server_error"));
    expect(await end).toMatchObject({ failure: { kind: "key_revoked" } });
    expect(calls).toHaveLength(1);
    expect(reported).toEqual(["a server_error"]);
  });

  it("leaves a queue when it is stopped, without a slot and without a recorded attempt", async () => {
    const { walk, calls, reported, gates } = walkOf(1);
    for (const gate of gates) gate.setLimits(1, { size: 1, wait: 5_000 });
    const releases = gates.map((gate) => gate.tryEnter());
    const end = walk.run();
    // The first candidate's queue is passed by, because the second is fresh.
    await expect.poll(() => gates.map(({ waiting }) => waiting)).toEqual([0, 1]);
    reported.length = 0;
    walk.stop("client_closed", "end");
    expect(await end).toMatchObject({ failure: { kind: "client_closed" } });
    expect(gates.map(({ waiting }) => waiting)).toEqual([0, 0]);
    for (const release of releases) release?.();
    expect(gates.map(({ inFlight }) => inFlight)).toEqual([0, 0]);
    expect(calls).toEqual([]);
    expect(reported).toEqual([]);
  });
});
