import { afterAll, describe, expect, it } from "vitest";
import type { UpstreamFailure } from "../../src/canon/failure.ts";
import type { Timeouts } from "../../src/canon/table.ts";
import { connectionPools, type Access, type Connection } from "../../src/dispatch/connections.ts";
import { Exchange, type ExchangeListener } from "../../src/dispatch/exchange.ts";
import { startSse, startUpstream, until, type Upstream } from "../support/router.ts";
import { provider, table } from "../support/table.ts";

/**
 * The deadline for a stream's first output; the others are tested through whole requests
 * (test/http/relay.test.ts).
 */
const pools = connectionPools();
afterAll(() => pools.destroy());

const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });

/** Sends a keep-alive every ten milliseconds, as long as it is let. */
const chattering = () =>
  startUpstream((response) => {
    startSse(response);
    const timer = setInterval(() => response.write(": keep-alive\n\n"), 10);
    response.on("close", () => clearInterval(timer));
  });

const silent = () =>
  startUpstream((response) => {
    startSse(response);
    response.flushHeaders();
  });

class Listener implements ExchangeListener {
  failure: UpstreamFailure | null = null;
  failedAt: number | null = null;
  ended = false;
  bytes = 0;
  sawHeaders = false;
  /** Called with every chunk. */
  onData: () => void = () => {};
  headers(): void {
    this.sawHeaders = true;
  }
  data(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    this.onData();
  }
  end(): void {
    this.ended = true;
  }
  fail(failure: UpstreamFailure): void {
    this.failure = failure;
    this.failedAt = performance.now();
  }
}

interface Ask {
  readonly timeouts?: Partial<Timeouts>;
  readonly awaitsOutput?: boolean;
  readonly deadline?: number;
  readonly access?: Partial<Access>;
}

function connect({ url }: Upstream, access: Partial<Access> = {}): Connection {
  const rows = table({ providers: [provider("p", { baseUrl: `${url}/v1` })] });
  const { connections } = pools.acquire(rows, () => ({
    secret: null,
    simulatedOrigin: null,
    ...access,
  }));
  const connection = connections.get("p");
  if (connection === undefined) throw new Error("no connection");
  return connection;
}

function ask(upstream: Upstream, options: Ask = {}) {
  const timeouts = {
    connect: 1_000,
    firstByte: 2_000,
    idle: 2_000,
    firstToken: 500,
    total: 5_000,
    ...options.timeouts,
  };
  const listener = new Listener();
  const startedAt = performance.now();
  const exchange = new Exchange(
    connect(upstream, options.access),
    {
      path: "/v1/x",
      headers: [],
      body: "{}",
      timeouts,
      deadline: startedAt + (options.deadline ?? 5_000),
      awaitsOutput: options.awaitsOutput ?? true,
    },
    listener,
  );
  exchange.start();
  return { exchange, listener, startedAt, took: () => (listener.failedAt ?? Infinity) - startedAt };
}

// Each waits for a deadline of its own.
describe.concurrent("the deadline for the first output", () => {
  it("ends a stream that only keeps itself alive, and closes its connection", async () => {
    const upstream = await chattering();
    const { listener, took } = ask(upstream);
    await until(() => listener.failure !== null);
    expect(listener.failure).toEqual({
      kind: "timeout_first_token",
      status: null,
      retryAfter: null,
      code: null,
    });
    expect(listener.bytes).toBeGreaterThan(0);
    expect(took()).toBeGreaterThanOrEqual(499);
    await until(() => upstream.calls[0]?.lostAt !== null);
  });

  it("does not apply once the output has begun", async () => {
    const { exchange, listener } = ask(await chattering());
    await until(() => listener.bytes > 0);
    exchange.outputBegan();
    await pause(1_000);
    expect(listener.failure).toBeNull();
    exchange.cancel();
  });

  it("does not apply to whole answers", async () => {
    const { exchange, listener } = ask(await chattering(), { awaitsOutput: false });
    await pause(1_000);
    expect(listener.failure).toBeNull();
    expect(listener.bytes).toBeGreaterThan(0);
    exchange.cancel();
  });

  it("does not change the other deadlines when the output has begun", async () => {
    const { exchange, listener } = ask(await silent(), {
      timeouts: { idle: 1_500, firstToken: 1_000 },
    });
    await until(() => listener.sawHeaders);
    exchange.outputBegan();
    await until(() => listener.failure !== null);
    expect(listener.failure?.kind).toBe("timeout_idle");
  });

  it.each<[string, Partial<Timeouts>, number, string]>([
    ["silence after the headers", { idle: 60, firstToken: 20_000 }, 30_000, "timeout_idle"],
    ["the first output", { idle: 20_000, firstToken: 60 }, 30_000, "timeout_first_token"],
    ["the provider's whole time", { firstToken: 20_000, total: 60 }, 30_000, "timeout_attempt"],
    ["the request's whole time", { firstToken: 20_000 }, 60, "timeout_total"],
  ])("names the first missed step: %s", async (_, timeouts, deadline, kind) => {
    const { listener, took } = ask(await silent(), { timeouts, deadline });
    await until(() => listener.failure !== null);
    expect(listener.failure?.kind).toBe(kind);
    expect(took()).toBeLessThan(10_000);
  });

  it.each<[string, Partial<Timeouts>, string]>([
    ["no headers", { firstByte: 60, firstToken: 20_000 }, "timeout_first_byte"],
    [
      "no headers, and less time for the output",
      { firstByte: 20_000, firstToken: 60 },
      "timeout_first_token",
    ],
  ])("names the first missed step before the headers: %s", async (_, timeouts, kind) => {
    const { listener, took } = ask(await startUpstream(() => {}), { timeouts });
    await until(() => listener.failure !== null);
    expect(listener.failure?.kind).toBe(kind);
    expect(took()).toBeLessThan(10_000);
  });

  it("counts from when the request was sent, not from when its credentials were requested", async () => {
    const access: Partial<Access> = {
      makeAuthorize: () => async () => {
        await pause(80);
        return ["authorization", "Bearer late"];
      },
    };
    const { listener, took } = ask(await chattering(), { access });
    await until(() => listener.failure !== null);
    expect(listener.failure?.kind).toBe("timeout_first_token");
    expect(took()).toBeGreaterThanOrEqual(195);
  });

  it("pauses while the client does not read, and then resumes", async () => {
    const { exchange, listener, took } = ask(await chattering());
    await until(() => listener.bytes > 0);
    exchange.pause();
    const pausedAt = performance.now();
    // A second call must not begin the pause anew.
    await pause(200);
    exchange.pause();
    await pause(200);
    expect(listener.failure).toBeNull();
    const paused = performance.now() - pausedAt;
    exchange.resume();
    await until(() => listener.failure !== null);
    expect(listener.failure?.kind).toBe("timeout_first_token");
    // The pause, and the deadline.
    expect(took()).toBeGreaterThanOrEqual(499 + paused);
  });

  it("is not restarted by a pause", async () => {
    const { exchange, listener } = ask(await chattering());
    await until(() => listener.bytes > 0);
    exchange.outputBegan();
    exchange.pause();
    await pause(50);
    exchange.resume();
    await pause(250);
    expect(listener.failure).toBeNull();
    exchange.cancel();
  });

  it("reports nothing after the call was abandoned, or while its rest is drained", async () => {
    for (const end of ["cancel", "drain"] as const) {
      const { exchange, listener } = ask(await chattering());
      await until(() => listener.bytes > 0);
      exchange.pause();
      exchange[end]();
      exchange.resume();
      exchange.outputBegan();
      await pause(250);
      expect([listener.failure, listener.ended], end).toEqual([null, false]);
    }
  });
});
