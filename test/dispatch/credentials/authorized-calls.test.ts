import { afterEach, describe, expect, it } from "vitest";
import type { Candidate } from "../../../src/canon/decision.ts";
import type { InferenceRequest } from "../../../src/canon/request.ts";
import type { AwsSigning, ProviderRow } from "../../../src/canon/table.ts";
import type { AnswerStream } from "../../../src/dialects/dialect.ts";
import type { ExchangePlan } from "../../../src/dialects/exchange-plan.ts";
import type { ClientAnswer, RelayOutcome } from "../../../src/dispatch/attempt.ts";
import { connectionPools, type Access, type Authorize } from "../../../src/dispatch/connections.ts";
import { createAuthorize } from "../../../src/dispatch/credentials/authorize.ts";
import { EndpointTracker } from "../../../src/dispatch/endpoint-tracker.ts";
import { relayPlan } from "../../../src/dispatch/relay-plan.ts";
import { startUpstream, until, type Upstream } from "../../support/router.ts";
import { endpoint, provider, shape, table } from "../../support/table.ts";
import { startTokenServer } from "./token-server.ts";

const pools = connectionPools();
afterEach(() => pools.destroy());

const ENVIRONMENT = {
  AWS_ACCESS_KEY_ID: "id",
  AWS_SECRET_ACCESS_KEY: "secret",
  AWS_SESSION_TOKEN: "token",
};
const SIGNED: AwsSigning = {
  kind: "aws_sigv4",
  service: "bedrock",
  region: "eu-west-1",
  credentials: "env",
  profile: "default",
  onMissing: "fail",
};

const answering = () =>
  startUpstream((response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end('{"ok":true}');
  });

function exchange(more: Partial<ExchangePlan> = {}): ExchangePlan {
  return {
    path: "/model/a%3Ab/converse",
    headers: ["x-protocol", "1"],
    body: () => "{}",
    translated: true,
    stripped: [],
    dropped: [],
    edits: 0,
    expectsUsage: true,
    streamType: "text/event-stream",
    stream: () => {
      throw new Error("no stream was expected");
    },
    answer: (bytes) => ({
      ending: { failure: null, finish: "stop", usage: null, dropped: [] },
      bytes,
    }),
    streamOfAnswer: () => {
      throw new Error("no stream was expected");
    },
    readError: (status) => ({ kind: "server_error", status, retryAfter: null, code: null }),
    ...more,
  };
}

class Client implements ClientAnswer {
  closed = false;
  text = "";
  close: () => void = () => {};
  start(): void {}
  write(bytes: Uint8Array): boolean {
    this.text += Buffer.from(bytes).toString();
    return true;
  }
  end(bytes?: Uint8Array): void {
    if (bytes !== undefined) this.write(bytes);
    this.closed = true;
  }
  onClose(listener: () => void): void {
    this.close = listener;
  }
  onDrain(): void {}
}

interface Options {
  readonly exchange?: ExchangePlan;
  readonly stream?: boolean;
  readonly client?: Client;
}

type Row = readonly [upstream: Upstream, more: Partial<ProviderRow>, access: Partial<Access>];

/** Calls the rows in order, as a request does. */
function ask(rows: readonly Row[], options: Options = {}): Promise<RelayOutcome> {
  const providers = rows.map(([{ url }, more], index) =>
    provider(`p${index}`, { baseUrl: `${url}/base`, ...more }),
  );
  const endpoints = providers.map(({ id }, index) => endpoint(`e${index}`, { provider: id }));
  const { connections } = pools.acquire(table({ providers, endpoints }), ({ id }) => ({
    secret: null,
    simulatedOrigin: null,
    ...rows[Number(id.slice(1))]?.[2],
  }));
  const plan = endpoints.map((row, index): Candidate => ({
    endpoint: row,
    rank: index === 0 ? "primary" : "fallback",
    tier: index,
    balance: "order",
    weight: 1,
  }));
  const job = {
    request: { shape: shape({ stream: options.stream ?? false }) } as InferenceRequest,
    plan,
    inService: plan.length,
    exchangePlans: new Map(
      plan.map((candidate) => [candidate.endpoint.id, options.exchange ?? exchange()]),
    ),
    connections,
    deadline: performance.now() + 5_000,
    // Each endpoint once: what is tried again is tested elsewhere.
    resends: false,
    maxAttempts: plan.length,
    random: () => 0,
    endpoints: new EndpointTracker(() => null),
    countsTokens: false,
    maxAnswerBytes: 100_000,
    recording: { result: Promise.resolve(null), needed: () => {} },
    answerHeaders: () => [],
  };
  return relayPlan(job, options.client ?? new Client());
}

const made = (authorize: Authorize): Partial<Access> => ({ makeAuthorize: () => authorize });
const kinds = ({ attempts }: RelayOutcome) =>
  attempts.map(({ failure }) => failure?.kind ?? "answered");

/** The way in that a server makes of a row. */
function authorizeOf(
  row: ProviderRow,
  environment: Readonly<Record<string, string>> = ENVIRONMENT,
): Authorize {
  const authorize = createAuthorize(row, { environment, folder: "/", now: Date.now });
  if (authorize === null) throw new Error("no credentials per call");
  return authorize;
}

describe("a call with separate credentials", () => {
  it("has a signature over exactly the sent bytes", async () => {
    const upstream = await answering();
    const row = provider("p", { baseUrl: `${upstream.url}/base`, auth: SIGNED });
    const seen: Parameters<Authorize>[0][] = [];
    const authorize = authorizeOf(row);
    const outcome = await ask([
      [upstream, { auth: SIGNED }, made((request) => (seen.push(request), authorize(request)))],
    ]);
    expect(kinds(outcome)).toEqual(["answered"]);
    const [call] = upstream.calls;
    expect(call?.path).toBe("/base/model/a%3Ab/converse");
    expect(seen[0]).toMatchObject({ method: "POST", path: call?.path, body: call?.body });
    expect(call?.headers).toMatchObject({
      "x-amz-security-token": "token",
      "x-protocol": "1",
      host: new URL(upstream.url).host,
    });
    expect(call?.headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=id\/\d{8}\/eu-west-1\/bedrock\/aws4_request, SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date;x-amz-security-token;x-protocol, /,
    );
  });

  it("fails as auth where none are available, never reaches the provider, and the next one answers", async () => {
    const [first, second] = [await answering(), await answering()];
    const row = provider("p0", { auth: SIGNED });
    const outcome = await ask([
      [first, { auth: SIGNED }, made(authorizeOf(row, {}))],
      [second, {}, {}],
    ]);
    expect(kinds(outcome)).toEqual(["auth", "answered"]);
    expect(first.calls).toEqual([]);
    expect(outcome.terminal).toBe("completed");
  });

  it("fails with 502 where no other endpoint can answer, without the reason", async () => {
    const outcome = await ask([
      [
        await answering(),
        {},
        made(() => Promise.reject(new Error("s3cr3t in /run/secrets/token"))),
      ],
    ]);
    expect(outcome.error).toMatchObject({ status: 502, code: "upstream_auth" });
    expect(JSON.stringify(outcome)).not.toMatch(/s3cr3t|secrets/);
  });

  it("treats credentials that throw at once like those that fail later", async () => {
    const outcome = await ask([
      [
        await answering(),
        {},
        made(() => {
          throw new Error("at once");
        }),
      ],
    ]);
    expect(kinds(outcome)).toEqual(["auth"]);
  });

  it("waits for a silent token service no longer than for a connection", async () => {
    const [silent, upstream] = [await startTokenServer(() => null), await answering()];
    const auth: AwsSigning = { ...SIGNED, credentials: "web_identity" };
    const environment = {
      AWS_ENDPOINT_URL_STS: silent.url,
      AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/models",
      // Any file that is there.
      AWS_WEB_IDENTITY_TOKEN_FILE: import.meta.filename,
    };
    // Time enough for a busy machine to load the credential provider and to ask.
    const timeouts = {
      connect: 1_500,
      firstByte: 9_000,
      idle: 9_000,
      firstToken: 20_000,
      total: 20_000,
    };
    const row = provider("p0", { auth, timeouts });
    const startedAt = performance.now();
    const outcome = await ask([
      [await answering(), { auth, timeouts }, made(authorizeOf(row, environment))],
      [upstream, {}, {}],
    ]);
    expect(kinds(outcome)).toEqual(["auth", "answered"]);
    expect(outcome.attempts[0]?.duration).toBeGreaterThanOrEqual(1_490);
    expect(performance.now() - startedAt).toBeLessThan(8_000);
    expect(silent.calls.length).toBeGreaterThan(0);
  });

  it("calls a token service once for all calls that wait", async () => {
    const tokens = await startTokenServer(() => ({
      body: JSON.stringify({
        AccessKeyId: "c",
        SecretAccessKey: "s",
        Token: "t",
        Expiration: new Date(Date.now() + 3_600_000).toISOString(),
      }),
    }));
    const upstream = await answering();
    const auth: AwsSigning = { ...SIGNED, credentials: "container" };
    const row = provider("p0", { auth });
    const access = made(authorizeOf(row, { AWS_CONTAINER_CREDENTIALS_FULL_URI: tokens.url }));
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => ask([[upstream, { auth }, access]])),
    );
    expect(outcomes.flatMap(kinds)).toEqual(Array.from({ length: 20 }, () => "answered"));
    expect(tokens.calls).toHaveLength(1);
  });

  it("leaves the provider its whole time to answer, after credentials of any delay", async () => {
    const upstream = await startUpstream((response) => {
      setTimeout(() => {
        response.writeHead(200, { "content-type": "application/json" });
        response.end("{}");
      }, 150);
    });
    const timeouts = {
      connect: 1_000,
      firstByte: 220,
      idle: 1_000,
      firstToken: 10_000,
      total: 5_000,
    };
    const slow = made(async () => {
      await new Promise((resolve) => {
        setTimeout(resolve, 150);
      });
      return ["authorization", "Bearer late"];
    });
    expect(kinds(await ask([[upstream, { timeouts }, slow]]))).toEqual(["answered"]);
  });

  it("is not made any more when the client closed the connection meanwhile", async () => {
    const upstream = await answering();
    const late = Promise.withResolvers<readonly string[]>();
    const client = new Client();
    let requested = false;
    const outcome = ask(
      [
        [
          upstream,
          {},
          made(() => {
            requested = true;
            return late.promise;
          }),
        ],
      ],
      { client },
    );
    await until(() => requested);
    client.close();
    late.resolve(["authorization", "Bearer late"]);
    expect((await outcome).terminal).toBe("client_closed");
    await new Promise((resolve) => {
      setTimeout(resolve, 30);
    });
    expect(upstream.calls).toEqual([]);
  });
});

describe("the function that authorizes calls", () => {
  const acquire = (access: Partial<Access>, more: Partial<ProviderRow> = {}) =>
    pools.acquire(table({ providers: [provider("p", { auth: SIGNED, ...more })] }), () => ({
      secret: null,
      simulatedOrigin: null,
      ...access,
    }));

  it("is absent where headers never change", () => {
    const row = provider("p", {
      auth: {
        kind: "header",
        header: "x-api-key",
        prefix: "",
        secret: { env: "A" },
        onMissing: "fail",
      },
    });
    expect(createAuthorize(row, { environment: {}, folder: "/", now: Date.now })).toBeNull();
    const { connections } = acquire({ makeAuthorize: () => null });
    expect(connections.get("p")).not.toHaveProperty("authorize");
  });

  it("is absent for the simulated upstream", () => {
    let requested = false;
    const makeAuthorize = () => {
      requested = true;
      return () => ["authorization", "real"];
    };
    const { connections } = acquire({ simulatedOrigin: "http://127.0.0.1:1", makeAuthorize });
    expect(connections.get("p")).not.toHaveProperty("authorize");
    expect(requested).toBe(false);
  });

  it("is kept over a reload, so that good tokens are too, and is new where its row or all its users have gone", async () => {
    const makeAuthorize = () => () => [];
    const [before, after] = [acquire({ makeAuthorize }), acquire({ makeAuthorize })];
    const first = before.connections.get("p")?.authorize;
    expect(first).toBeDefined();
    expect(after.connections.get("p")?.authorize).toBe(first);
    const changed = acquire({ makeAuthorize }, { auth: { ...SIGNED, region: "us-east-1" } });
    expect(changed.connections.get("p")?.authorize).not.toBe(first);
    await before.releaseConnections();
    expect(acquire({ makeAuthorize }).connections.get("p")?.authorize).toBe(first);
  });
});

describe("the content type of a stream", () => {
  const streaming = (type: string) =>
    startUpstream((response) => {
      response.writeHead(200, { "content-type": type });
      response.end("frame");
    });
  const stream = (): AnswerStream => ({
    push: (chunk) => [chunk],
    failure: null,
    hasOutput: true,
    outputCharacters: 0,
    hasEnded: false,
    endStream: () => ({
      ending: { failure: null, finish: "stop", usage: null, dropped: [] },
      events: [],
    }),
    usage: null,
    fail: () => new Uint8Array(0),
  });
  const binary = exchange({ streamType: "application/vnd.amazon.eventstream", stream });

  it("is the dialect's, in any case and with parameters", async () => {
    const upstream = await streaming("Application/vnd.amazon.EventStream; charset=x");
    const client = new Client();
    expect(
      kinds(await ask([[upstream, {}, {}]], { stream: true, exchange: binary, client })),
    ).toEqual(["answered"]);
    expect(client.text).toBe("frame");
  });

  it.each(["text/plain; charset=utf-8", "application/octet-stream", "application/json"])(
    "does not matter where an event begins the answer: %s",
    async (type) => {
      const upstream = await startUpstream((response) => {
        response.writeHead(200, { "content-type": type });
        response.end("data: {}\n\n");
      });
      const client = new Client();
      expect(
        kinds(
          await ask([[upstream, {}, {}]], { stream: true, exchange: exchange({ stream }), client }),
        ),
      ).toEqual(["answered"]);
      expect(client.text).toBe("data: {}\n\n");
    },
  );

  it("may be that of a whole answer where the provider does not stream", async () => {
    const upstream = await answering();
    const streamOfAnswer = (bytes: Uint8Array): AnswerStream => {
      const ending = { failure: null, finish: "stop", usage: null, dropped: [] } as const;
      return { ...stream(), push: () => [], endStream: () => ({ ending, events: [bytes] }) };
    };
    const client = new Client();
    const once = exchange({ stream, streamOfAnswer });
    expect(
      kinds(await ask([[upstream, {}, {}]], { stream: true, exchange: once, client })),
    ).toEqual(["answered"]);
    expect(client.text).toBe('{"ok":true}');
  });

  it("is malformed where it belongs to another dialect", async () => {
    const upstream = await streaming("text/event-stream");
    expect(kinds(await ask([[upstream, {}, {}]], { stream: true, exchange: binary }))).toEqual([
      "malformed",
    ]);
    const other = await streaming("application/vnd.amazon.eventstream");
    expect(
      kinds(await ask([[other, {}, {}]], { stream: true, exchange: exchange({ stream }) })),
    ).toEqual(["malformed"]);
  });
});
