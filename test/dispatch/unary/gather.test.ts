import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Gathering, type Gathered, type GatherJob } from "../../../src/dispatch/gather.ts";
import { EndpointTracker } from "../../../src/dispatch/endpoint-tracker.ts";
import {
  echoTask,
  emptyCallLog,
  fixtureOf,
  type CallLog,
  type Reply,
  type Stubbed,
} from "./fixture.ts";

const TEXTS = Array.from({ length: 10 }, (_, index) => `t${index}`);

function jobOf(stubs: readonly Stubbed[], log: CallLog, more: Partial<GatherJob> = {}): GatherJob {
  return {
    task: echoTask(TEXTS, 2, false),
    callersBody: {},
    deadline: performance.now() + 2_000,
    maxAttempts: 10,
    resends: false,
    hedgeAfter: null,
    endpoints: new EndpointTracker(() => null),
    maxAnswerBytes: 1_000_000,
    // No pauses: the rules of waiting are tested by themselves.
    random: () => 0,
    ...fixtureOf(stubs, log).job,
    ...more,
  };
}

function textsOf({ ends }: Gathered): readonly (readonly string[] | null)[] | null {
  if (ends === null) return null;
  return ends.map((end) =>
    "result" in end && end.result.operation === "embed"
      ? end.result.vectors.map(({ text }) => text)
      : null,
  );
}

const PARTS = [
  ["t0", "t1"],
  ["t2", "t3"],
  ["t4", "t5"],
  ["t6", "t7"],
  ["t8", "t9"],
];
const ok: Reply = { kind: "ok" };
const broken: Reply = { kind: "status", status: 500 };

/** Fails each part `times` times in this way, then answers. */
function failing(
  times: number,
  reply: Reply,
  only: (inputs: readonly string[]) => boolean = () => true,
) {
  const seen = new Map<string, number>();
  return (inputs: readonly string[]): Reply => {
    const key = inputs.join();
    const count = (seen.get(key) ?? 0) + 1;
    seen.set(key, count);
    return only(inputs) && count <= times ? reply : ok;
  };
}

describe("gathering parts", () => {
  it("requests every part once, at most four at a time, and keeps their order", async () => {
    const log = emptyCallLog();
    const gathered = await new Gathering(jobOf([{ id: "a", reply: () => ok }], log)).run();
    expect(textsOf(gathered)).toEqual(PARTS);
    expect(gathered.answeredParts.map(({ searches }) => searches)).toEqual([0, 0, 0, 0, 0]);
    expect(log.calls).toHaveLength(5);
    expect(log.most).toBe(4);
    expect(gathered.attempts).toMatchObject([
      { candidate: { endpoint: { id: "a" } }, failure: null, calls: 5 },
    ]);
    expect(gathered.calls).toBe(5);
  });

  it("requests only the missing part again", async () => {
    const log = emptyCallLog();
    const reply = failing(1, broken, (inputs) => inputs.includes("t4"));
    const gathered = await new Gathering(jobOf([{ id: "a", reply }], log)).run();
    expect(textsOf(gathered)).toEqual(PARTS);
    expect(log.calls.map(({ inputs }) => inputs.join()).toSorted()).toEqual([
      "t0,t1",
      "t2,t3",
      "t4,t5",
      "t4,t5",
      "t6,t7",
      "t8,t9",
    ]);
  });

  it("calls the next candidate of the plan for a failed part only", async () => {
    const log = emptyCallLog();
    const stubs = [
      { id: "a", reply: failing(9, broken, (inputs) => inputs.includes("t4")) },
      { id: "b", reply: () => ok },
    ];
    const gathered = await new Gathering(jobOf(stubs, log)).run();
    expect(textsOf(gathered)).toEqual(PARTS);
    expect(
      log.calls.filter(({ endpoint }) => endpoint === "b").map(({ inputs }) => inputs),
    ).toEqual([["t4", "t5"]]);
    expect(gathered.answeredBy.map(({ endpoint }) => endpoint.id)).toEqual(["a", "b"]);
  });

  it.each([
    ["permuted", { kind: "permuted" }],
    ["short", { kind: "short" }],
    ["reset", { kind: "reset" }],
    ["500", broken],
    ["429", { kind: "status", status: 429 }],
  ] as const)(
    "an answer that stays %s fails the whole request after two rounds, and names the inputs",
    async (name, reply) => {
      const log = emptyCallLog();
      const stubs = [{ id: "a", reply: failing(9, reply, (inputs) => inputs.includes("t4")) }];
      const gathered = await new Gathering(jobOf(stubs, log, { resends: true })).run();
      expect(gathered.ends).toBeNull();
      expect(gathered.error?.status).toBe(name === "429" ? 429 : 502);
      expect(gathered.error?.message).toContain("Inputs 4 to 5 had no result, so none is given.");
      expect(gathered.error?.message).not.toMatch(/t4|secret/);
      expect(log.calls.filter(({ inputs }) => inputs.includes("t4"))).toHaveLength(2);
    },
  );

  it("stops at once where the caller is to blame: no other candidate, no second round, no further part", async () => {
    const log = emptyCallLog();
    const refused: Reply = { kind: "status", status: 400 };
    const stubs = [
      {
        id: "a",
        reply: (inputs: readonly string[]) =>
          inputs.includes("t0") ? refused : ({ kind: "never" } as const),
      },
      { id: "b", reply: () => ok },
    ];
    const gathered = await new Gathering(jobOf(stubs, log)).run();
    expect(gathered.error).toMatchObject({ status: 400, kind: "invalid_request" });
    expect(log.calls.map(({ endpoint }) => endpoint)).toEqual(["a", "a", "a", "a"]);
    // The three others were under way: their calls are closed, and the evidence says why.
    expect(log.aborted).toBe(3);
    expect(gathered.attempts).toMatchObject([
      { failure: { kind: "rejected" }, calls: 1 },
      { failure: { kind: "abandoned" }, calls: 3 },
    ]);
  });

  it.each([
    [1, 1],
    [2, 2],
    [10, 4],
  ])(
    "with %i attempts allowed, a part of two endpoints is requested %i times",
    async (maxAttempts, expected) => {
      const log = emptyCallLog();
      const stubs = [
        { id: "a", reply: () => broken },
        { id: "b", reply: () => broken },
      ];
      const task = echoTask(["x"], 1, false);
      const gathered = await new Gathering(jobOf(stubs, log, { maxAttempts, task })).run();
      expect(gathered.error?.status).toBe(502);
      expect(log.calls).toHaveLength(expected);
    },
  );

  it("answers with the finished parts where the caller accepts gaps, and an error where there are none", async () => {
    const log = emptyCallLog();
    const task = echoTask(TEXTS, 2, true);
    const some = [{ id: "a", reply: failing(9, broken, (inputs) => inputs.includes("t4")) }];
    const gathered = await new Gathering(jobOf(some, log, { task })).run();
    expect(textsOf(gathered)).toEqual(PARTS.map((part) => (part.includes("t4") ? null : part)));
    const nothing = await new Gathering(
      jobOf([{ id: "a", reply: () => broken }], log, { task }),
    ).run();
    expect(nothing.ends).toBeNull();
    expect(nothing.error?.status).toBe(502);
  });

  it("waits for the end of an own call where a provider admits fewer calls than parts", async () => {
    const log = emptyCallLog();
    const gathered = await new Gathering(
      jobOf([{ id: "a", maxConcurrency: 1, reply: () => ok }], log),
    ).run();
    expect(textsOf(gathered)).toEqual(PARTS);
    expect(log.most).toBe(1);
  });

  it("fails with 503 where others use every slot of the provider", async () => {
    const log = emptyCallLog();
    const { job, gates } = fixtureOf([{ id: "a", maxConcurrency: 1, reply: () => ok }], log);
    for (const gate of gates) gate.tryEnter();
    const gathered = await new Gathering(
      jobOf([], log, { ...job, task: echoTask(["x"], 1, false) }),
    ).run();
    expect(gathered.error).toMatchObject({ status: 503, code: "saturated" });
    expect(gates[0]?.inFlight).toBe(1);
  });

  it("ends at the deadline, with its calls closed", async () => {
    const log = emptyCallLog();
    const job = jobOf([{ id: "a", reply: () => ({ kind: "never" }) }], log, {
      deadline: performance.now() + 50,
    });
    const gathered = await new Gathering(job).run();
    expect(gathered.error).toMatchObject({ status: 504, code: "upstream_timeout_total" });
    expect(log.running).toBe(0);
  });

  it("aborts all calls when no caller waits", async () => {
    const log = emptyCallLog();
    const gathering = new Gathering(jobOf([{ id: "a", reply: () => ({ kind: "never" }) }], log));
    const ended = gathering.run();
    await new Promise(setImmediate);
    expect(log.running).toBe(4);
    gathering.cancel("client_closed");
    expect(await ended).toMatchObject({
      ends: null,
      error: null,
      attempts: [{ failure: { kind: "client_closed" } }],
    });
    expect(log.running).toBe(0);
  });

  it("calls a second candidate too where the first is slow, and uses the first answer", async () => {
    const log = emptyCallLog();
    const stubs = [
      {
        id: "a",
        reply: (inputs: readonly string[]) =>
          inputs.includes("t4") ? ({ kind: "never" } as const) : ok,
      },
      { id: "b", reply: () => ok },
    ];
    const gathered = await new Gathering(jobOf(stubs, log, { hedgeAfter: 20 })).run();
    expect(textsOf(gathered)).toEqual(PARTS);
    expect(
      log.calls.filter(({ endpoint }) => endpoint === "b").map(({ inputs }) => inputs),
    ).toEqual([["t4", "t5"]]);
    // The slow call is closed, and its line says that it was not the provider's fault.
    expect(log.running).toBe(0);
    expect(gathered.attempts).toMatchObject([
      { candidate: { endpoint: { id: "a" } }, failure: null, calls: 4 },
      { candidate: { endpoint: { id: "b" } }, failure: null, calls: 1 },
      { candidate: { endpoint: { id: "a" } }, failure: { kind: "abandoned" }, calls: 1 },
    ]);
  });

  it("makes no second call where the first is quick, where there is no other candidate, or beyond the attempts allowed", async () => {
    const quick = emptyCallLog();
    const two = [
      { id: "a", reply: () => ok },
      { id: "b", reply: () => ok },
    ];
    await new Gathering(jobOf(two, quick, { hedgeAfter: 1_000 })).run();
    expect(new Set(quick.calls.map(({ endpoint }) => endpoint))).toEqual(new Set(["a"]));
    for (const [stubs, maxAttempts] of [
      [[{ id: "a", reply: () => ({ kind: "never" }) as const }], 10],
      [
        [
          { id: "a", reply: () => ({ kind: "never" }) as const },
          { id: "b", reply: () => ok },
        ],
        1,
      ],
    ] as const) {
      const log = emptyCallLog();
      const task = echoTask(["x"], 1, false);
      const bounds = { hedgeAfter: 5, maxAttempts, task, deadline: performance.now() + 60 };
      const gathered = await new Gathering(jobOf(stubs, log, bounds)).run();
      expect(gathered.error).toMatchObject({ status: 504 });
      expect(log.calls).toHaveLength(1);
    }
  });

  it("does not wait for a call that has not begun, and stops where the second candidate rejects the request", async () => {
    const log = emptyCallLog();
    const task = echoTask(["x", "y"], 1, false);
    const slow = { id: "a", maxConcurrency: 1, reply: (): Reply => ({ kind: "never" }) };
    const bounds = { hedgeAfter: 5, task, deadline: performance.now() + 5_000 };
    const startedAt = performance.now();
    const gathered = await new Gathering(
      jobOf([slow, { id: "b", reply: () => ok }], log, bounds),
    ).run();
    expect(textsOf(gathered)).toEqual([["x"], ["y"]]);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    const refused = await new Gathering(
      jobOf([slow, { id: "b", reply: () => ({ kind: "status", status: 400 }) }], emptyCallLog(), {
        ...bounds,
        task: echoTask(["x"], 1, false),
      }),
    ).run();
    expect(refused.error?.status).toBe(400);
  });

  it("calls the next candidate where both of two calls fail", async () => {
    const log = emptyCallLog();
    let requested = 0;
    const slowFailure = (): Reply => ((requested += 1) === 1 ? { kind: "slow", status: 500 } : ok);
    const stubs = [
      { id: "a", reply: slowFailure },
      { id: "b", reply: () => broken },
    ];
    const task = echoTask(["x"], 1, false);
    const gathered = await new Gathering(jobOf(stubs, log, { hedgeAfter: 5, task })).run();
    expect(textsOf(gathered)).toEqual([["x"]]);
    expect(log.calls.map(({ endpoint }) => endpoint)).toEqual(["a", "b", "a"]);
  });

  it("collects no more bytes than it may", async () => {
    const gathered = await new Gathering(
      jobOf([{ id: "a", reply: () => ok }], emptyCallLog(), { maxAnswerBytes: 4 }),
    ).run();
    expect(gathered.error).toMatchObject({ status: 502, code: "upstream_too_large" });
  });

  it("bounds the answer to each part alone up to four times the bound", async () => {
    const task = echoTask(["x", "y", "z", "u"], 1, false);
    const job = jobOf([{ id: "a", reply: () => ok }], emptyCallLog(), { task, maxAnswerBytes: 5 });
    const gathered = await new Gathering(job).run();
    const bytes = gathered.ends?.map((end) => ("bytes" in end ? end.bytes.whole.length : 0)) ?? [];
    expect(bytes).toEqual([5, 5, 5, 5]);
  });

  it.each([false, true])(
    "ends a request whose parts exceed four bounds, and counts paid parts (gaps: %s)",
    async (gaps) => {
      const log = emptyCallLog();
      const task = echoTask(["x", "y", "z", "u", "v", "w", "p", "q"], 1, gaps);
      const stubs = ["a", "b"].map((id) => ({ id, reply: () => ok }));
      const gathered = await new Gathering(jobOf(stubs, log, { task, maxAnswerBytes: 5 })).run();
      expect(gathered.error).toMatchObject({ status: 502, code: "upstream_too_large" });
      expect(gathered.answeredParts).toHaveLength(4);
      // No other endpoint is paid for a part that cannot be kept, and no part begins afterwards.
      expect(log.calls.filter(({ endpoint }) => endpoint === "b")).toEqual([]);
      expect(log.calls.length).toBeLessThan(9);
      expect(gathered.attempts.map(({ failure }) => failure?.kind ?? null)).toContain("too_large");
    },
  );

  it("does not count the bytes of an answer that is discarded", async () => {
    const task = echoTask(["x", "y", "z", "u"], 1, false);
    const job = jobOf([{ id: "a", reply: failing(2, { kind: "permuted" }) }], emptyCallLog(), {
      task,
      maxAnswerBytes: 5,
    });
    expect((await new Gathering(job).run()).error).toBe(null);
  });
});

describe("parts under any faults", () => {
  const reply: fc.Arbitrary<Reply> = fc.oneof(
    { weight: 4, arbitrary: fc.constant(ok) },
    fc.constantFrom<Reply>(
      { kind: "permuted" },
      { kind: "short" },
      { kind: "reset" },
      { kind: "status", status: 400 },
      { kind: "status", status: 401 },
      { kind: "status", status: 429, retryAfter: "0" },
      { kind: "status", status: 503 },
    ),
  );

  it("are answered as requested, or the request fails; no call keeps running", () =>
    fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 5 }),
        fc.boolean(),
        fc.array(fc.infiniteStream(reply), { minLength: 1, maxLength: 3 }),
        fc.integer({ min: 1, max: 4 }),
        async (count, size, acceptsPartial, streams, maxAttempts) => {
          const log = emptyCallLog();
          const stubs = streams.map((stream, index) => ({
            id: `p${index}`,
            maxConcurrency: index + 1,
            reply: (): Reply => stream.next().value ?? ok,
          }));
          const inputs = Array.from({ length: count }, (_, index) => `i${index}`);
          const { job, gates } = fixtureOf(stubs, log);
          const task = echoTask(inputs, size, acceptsPartial);
          const gathered = await new Gathering(jobOf([], log, { ...job, task, maxAttempts })).run();
          const texts = textsOf(gathered);
          if (texts === null) expect(gathered.error).not.toBeNull();
          else {
            expect(texts).toHaveLength(task.parts.length);
            for (const [position, part] of task.parts.entries()) {
              const expected = inputs.slice(part.first, part.first + part.count);
              if (texts[position] === null) expect(acceptsPartial).toBe(true);
              else expect(texts[position]).toEqual(expected);
            }
          }
          for (const part of task.parts) {
            const requested = log.calls.filter((call) => call.inputs[0] === inputs[part.first]);
            expect(requested.length).toBeLessThanOrEqual(maxAttempts);
          }
          expect(log.running).toBe(0);
          expect(gates.map(({ inFlight }) => inFlight)).toEqual(gates.map(() => 0));
        },
      ),
      { numRuns: 200 },
    ));
});
