import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Identity } from "../../src/canon/identity.ts";
import type { PolicySet } from "../../src/canon/policy.ts";
import type { RoutingTable } from "../../src/canon/table.ts";
import { createDecider } from "../../src/decide/decider.ts";
import type { FindProxy } from "../../src/dispatch/egress-proxy.ts";
import { connectionPools } from "../../src/dispatch/connections.ts";
import type { DecisionRecord, OutcomeRecord } from "../../src/evidence/record.ts";
import type { EndpointTracker } from "../../src/dispatch/endpoint-tracker.ts";
import { SnapshotHolder } from "../../src/http/snapshot.ts";
import type { Runtime } from "../../src/http/runtime.ts";
import { listen } from "../../src/http/listen.ts";
import { createApp } from "../../src/http/server.ts";
import { runtimeOver } from "./runtime.ts";
import { whenFileEnds } from "./file-end.ts";
import { endpoint, fakePolicies, identity, provider, route, table } from "./table.ts";
import { evidenceOf } from "./evidence-of.ts";

/** What an upstream got, and whether its client stayed to the end. */
export interface UpstreamCall {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  /** `performance.now()` at which the connection was lost before the answer had ended. */
  lostAt: number | null;
}

export interface Upstream {
  readonly url: string;
  readonly calls: UpstreamCall[];
}

type Answer = (response: ServerResponse, call: UpstreamCall) => void | Promise<void>;

/** A provider whose every byte a test decides. */
export async function startUpstream(answer: Answer): Promise<Upstream> {
  const calls: UpstreamCall[] = [];
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const call: UpstreamCall = {
      path: incoming.url ?? "",
      headers: incoming.headers,
      body: Buffer.concat(chunks).toString(),
      lostAt: null,
    };
    calls.push(call);
    response.on("close", () => {
      if (!response.writableFinished) call.lostAt = performance.now();
    });
    response.on("error", () => {});
    await answer(response, call);
  });
  const url = await open(server);
  whenFileEnds(() => shut(server));
  return { url, calls };
}

async function open(server: Server): Promise<string> {
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a TCP server has this address
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function shut(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

export interface Router {
  readonly url: string;
  readonly adminUrl: string;
  readonly decisions: DecisionRecord[];
  readonly outcomes: OutcomeRecord[];
  readonly snapshots: SnapshotHolder;
  readonly tracker: EndpointTracker;
  /** Resolves when there are as many outcomes. */
  settled(count: number): Promise<void>;
}

export interface RouterOptions {
  readonly table: RoutingTable;
  readonly policies?: PolicySet;
  readonly identity?: Identity;
  readonly runtime?: Partial<Runtime>;
  /** Providers without access: their secret is missing. */
  readonly disabled?: readonly string[];
  readonly findProxy?: FindProxy | null;
}

/**
 * The router over real sockets with keys, evidence and files replaced by values. `Bearer good` is
 * the only key.
 */
export async function startRouter(options: RouterOptions): Promise<Router> {
  const decisions: DecisionRecord[] = [];
  const outcomes: OutcomeRecord[] = [];
  const pools = connectionPools(undefined, options.findProxy);
  const { connections, releaseConnections: release } = pools.acquire(options.table, ({ id }) =>
    options.disabled?.includes(id) === true
      ? null
      : { secret: `secret-of-${id}`, simulatedOrigin: null },
  );
  const decider = createDecider(options.table, options.policies ?? fakePolicies(), Date.now);
  const snapshots = new SnapshotHolder({ decider, connections, releaseConnections: release });
  const caller: Identity = options.identity ?? {
    ...identity,
    scopes: new Set(["inference", "catalogue:read", "route:simulate"]),
  };
  let requests = 0;
  const runtime = runtimeOver(snapshots, {
    verify: (token) =>
      token === "good" ? { ok: true, identity: caller } : { ok: false, code: "invalid_api_key" },
    evidence: evidenceOf(
      (record) => {
        decisions.push(record);
        return Promise.resolve();
      },
      (record) => void outcomes.push(record),
    ),
    newRequestId: () => `req_${(requests += 1)}`,
    ...options.runtime,
  });
  const listening = await listen(
    createApp(runtime, "public"),
    "127.0.0.1",
    0,
    runtime.newRequestId,
  );
  const admin = await listen(createApp(runtime, "admin"), "127.0.0.1", 0, runtime.newRequestId);
  whenFileEnds(async () => {
    await listening.close(0);
    await admin.close(0);
    await pools.destroy();
  });
  return {
    url: listening.url,
    adminUrl: admin.url,
    decisions,
    outcomes,
    snapshots,
    tracker: runtime.endpoints,
    settled: (count) => until(() => outcomes.length >= count),
  };
}

/** Waits for something that is about to be; fails loudly after two seconds. */
/** @param limit milliseconds. */
export async function until(holds: () => boolean, limit = 30_000): Promise<void> {
  const end = performance.now() + limit;
  while (!holds()) {
    if (performance.now() > end) throw new Error(`waited ${limit} ms in vain`);
    await new Promise((resolve) => {
      setTimeout(resolve, 2);
    });
  }
}

/**
 * A table whose endpoints `a`, `b`, … stand at the given upstreams, in the order of the route `r`.
 */
export function tableOver(
  upstreams: readonly Upstream[],
  more: Parameters<typeof provider>[1] = {},
): RoutingTable {
  const letters = ["a", "b", "c", "d"].slice(0, upstreams.length);
  const [first = "a", ...rest] = letters;
  const base = table({
    providers: letters.map((letter, index) =>
      provider(`p-${letter}`, {
        baseUrl: `${upstreams[index]?.url ?? ""}/v1`,
        auth: {
          kind: "header",
          header: "authorization",
          prefix: "Bearer ",
          secret: { env: "X" },
          onMissing: "fail",
        },
        ...more,
      }),
    ),
    endpoints: letters.map((letter) => endpoint(letter, { provider: `p-${letter}` })),
    routes: [route("r", first, rest)],
  });
  const workspace = base.workspaces.w;
  if (workspace === undefined) throw new Error("no workspace");
  const approve = { ...workspace.approve, providers: letters.map((letter) => `p-${letter}`) };
  return { ...base, workspaces: { w: { ...workspace, approve } } };
}

/** POST with a good key. */
export function post(
  router: Router,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${router.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: "Bearer good", "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

export const hello = { model: "r", messages: [{ role: "user", content: "hello" }] };

export const ANSWER = {
  id: "chatcmpl-1",
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 5, completion_tokens: 6, total_tokens: 11 },
};

export function answerJson(response: ServerResponse, value: unknown = ANSWER, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}

export function sse(value: unknown): string {
  return `data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`;
}

export function delta(content: string, finish: string | null = null): object {
  return {
    id: "c",
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta: { content }, finish_reason: finish }],
  };
}

export function startSse(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
}

/** The error object of an answer of the OpenAI family. */
export interface ErrorObject {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string;
}

export async function errorOf(response: Response): Promise<ErrorObject> {
  const body: { error: ErrorObject } = JSON.parse(await response.text());
  return body.error;
}
