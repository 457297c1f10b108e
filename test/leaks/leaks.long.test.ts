import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { spawnServer, startCollector } from "../support/spawned.ts";
import { Canaries, formsOf, scan, type Canary } from "./canaries.ts";
import { leakRoutes } from "./leak-routes.ts";
import { startLeakyUpstream, type LeakyUpstream } from "./leaky-upstream.ts";
import { createRequestCanaries, questions, type Question } from "./questions.ts";
import { COMPILED } from "../support/node-cache.ts";

const ROOT = resolve(import.meta.dirname, "../..");

interface Answer {
  readonly question: Question;
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

const canaries = new Canaries();
const requestCanaries = createRequestCanaries(canaries);
const upstreamSecrets = {
  header: canaries.create("upstream header"),
  error: canaries.create("upstream error"),
};
const providerKey = canaries.create("provider key");
const answers: Answer[] = [];
/** What an operator may read, by name; latin1. */
const sinks = new Map<string, string>();
let upstream: LeakyUpstream;

function ask(origin: string, question: Question): Promise<Answer> {
  const { method, path, headers, body } = question;
  return new Promise((done) => {
    const { hostname, port } = new URL(origin);
    const outgoing = httpRequest(
      { hostname, port, method, path, headers, agent: false },
      (response) => {
        let text = "";
        const head = (): string => response.rawHeaders.join("\n");
        const end = (): void =>
          done({ question, status: response.statusCode ?? 0, head: head(), body: text });
        response.setEncoding("latin1");
        response.on("data", (chunk: string) => (text += chunk));
        response.on("end", end).on("error", end);
      },
    );
    outgoing.on("error", () => done({ question, status: 0, head: "", body: "" }));
    outgoing.end(body ?? undefined);
  });
}

/** Goes away while the provider is still silent. */
async function abandon(origin: string, question: Question): Promise<void> {
  const abandoned = AbortSignal.timeout(100);
  const { method, path, headers, body } = question;
  await fetch(`${origin}${path}`, { method, headers, body, signal: abandoned }).catch(() => {});
}

/** Bytes that are not HTTP; gives what comes back. */
function askRaw(origin: string, bytes: string): Promise<string> {
  return new Promise((done) => {
    let text = "";
    const socket = connect(Number(new URL(origin).port), "127.0.0.1", () => socket.write(bytes));
    socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
    socket.on("close", () => done(text)).on("error", () => {});
  });
}

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? filesBelow(path) : [path];
  });
}

function keepFiles(folder: string, when: string): void {
  for (const path of filesBelow(folder)) {
    if (!path.endsWith("routes.yaml"))
      sinks.set(`${path.slice(folder.length + 1)} (${when})`, readFileSync(path, "latin1"));
  }
}

beforeAll(async () => {
  upstream = await startLeakyUpstream(upstreamSecrets);
  const collector = await startCollector();
  const crash = pathToFileURL(join(import.meta.dirname, "crash.mjs")).href;
  const server = await spawnServer(leakRoutes(upstream.url), {
    LEAK_PROVIDER_KEY: providerKey,
    NODE_OPTIONS: `--import=${crash}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: "100",
    OTEL_BSP_MAX_QUEUE_SIZE: "100000",
    OTEL_METRIC_EXPORT_INTERVAL: "500",
  });
  canaries.adopt("service key", server.key.slice(server.key.lastIndexOf("_") + 1));
  const waiting = [...questions(requestCanaries, server.key)];
  const worker = async (): Promise<void> => {
    for (let question = waiting.pop(); question !== undefined; question = waiting.pop()) {
      answers.push(await ask(server.url, question));
    }
  };
  await Promise.all(Array.from({ length: 24 }, worker));
  const slow = questions(requestCanaries, server.key).filter(
    ({ body }) => body?.includes("-slow") === true,
  );
  await Promise.all(slow.slice(0, 24).map((question) => abandon(server.url, question)));
  for (const line of [
    `GET /${requestCanaries.path} HTTP/9.9\r\n\r\n`,
    `${requestCanaries.path}\r\n\r\n`,
    `GET / HTTP/1.1\r\n${requestCanaries.path}\r\n\r\n`,
    `GET /${requestCanaries.path} HTTP/1.1\r\n\r\n`,
  ]) {
    sinks.set(`answer to bytes that are not HTTP: ${sinks.size}`, await askRaw(server.url, line));
  }
  for (const accept of ["text/plain", "application/openmetrics-text"]) {
    sinks.set(
      `/metrics as ${accept}`,
      await (await fetch(`${server.adminUrl}/metrics`, { headers: { accept } })).text(),
    );
  }
  for (const path of ["/status", "/openapi.json"])
    sinks.set(path, await (await fetch(`${server.url}${path}`)).text());
  for (const path of ["/readyz", `/${requestCanaries.path}`])
    sinks.set(`admin ${path}`, await (await fetch(`${server.adminUrl}${path}`)).text());
  keepFiles(server.folder, "running");
  if ((await server.stop()) !== 0) throw new Error("the server did not end well");
  keepFiles(server.folder, "stopped");
  sinks.set("stdout", server.stdout());
  sinks.set("stderr", server.stderr());
  sinks.set("OTLP", collector.posts.map(({ path, body }) => `${path} ${body}`).join("\n"));
  const store = await openSqliteStore({ path: server.database });
  sinks.set("evidence", JSON.stringify(await store.evidence.read({ after: 0, limit: 10_000 })));
  await store.close();
  for (const flags of [[], ["--format", "json"]]) {
    const argv = [
      join(ROOT, "src/main.ts"),
      "evidence",
      "tail",
      "--limit",
      "10000",
      "--database",
      server.database,
      ...flags,
    ];
    sinks.set(
      `evidence tail ${flags.join(" ")}`,
      execFileSync(process.execPath, argv, {
        encoding: "latin1",
        maxBuffer: 1 << 28,
        env: { ...process.env, ...COMPILED },
      }),
    );
  }
}, 240_000);

afterAll(() => upstream.close());

const CONTENT = new Set(Object.keys(requestCanaries.content));

/**
 * What may stand in an answer's body: a client's own text in a good answer to it, and the name of a
 * member in the error that refuses the member.
 */
function mayHold({ status }: Answer, { location }: Canary): boolean {
  return (
    (status === 200 && CONTENT.has(location)) || (status === 400 && location === "member name")
  );
}

describe("secrets", () => {
  it("are sent in requests that end with every status and every kind of failure", () => {
    const statuses = new Map<number, number>();
    for (const { status } of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    for (const status of [200, 400, 401, 403, 404, 415, 500, 502, 504]) {
      expect(statuses.get(status) ?? 0, `answers with ${status}`).toBeGreaterThan(0);
    }
    const crashed = answers.filter(
      ({ question }) => question.body?.includes("CRASH-THE-HANDLER") === true,
    );
    expect(crashed.length).toBeGreaterThan(7);
    expect(new Set(crashed.map(({ status }) => status))).toEqual(new Set([500]));
    const evidence = sinks.get("evidence") ?? "";
    for (const terminal of ["completed", "failed", "denied", "refused", "client_closed"])
      expect(evidence.includes(`"terminal":"${terminal}"`), terminal).toBe(true);
    for (const failure of [
      "malformed",
      "truncated",
      "rejected",
      "auth",
      "rate_limited",
      "server_error",
      "not_found",
      "error_frame",
      "timeout_attempt",
    ]) {
      expect(evidence.includes(`"failure":"${failure}"`), failure).toBe(true);
    }
  });

  it("reach the providers that need them, and no others", () => {
    const seen = upstream.seen();
    const reached = new Set(scan(seen, canaries.all).map(({ location }) => location));
    for (const location of [
      "prompt",
      "system",
      "document",
      "embedding input",
      "moderation input",
      "tool argument",
      "tool result",
      "provider key",
    ]) {
      expect(reached, location).toContain(location);
    }
    const hidden = ["service key", "wrong key", "query string", "path"];
    const headers = [
      "user-agent",
      "cookie",
      "referer",
      "x-anything",
      "x-client-request-id",
      "idempotency-key",
      "x-session-id",
      "x-forwarded-for",
      "x-stainless-os",
      "anthropic-beta",
    ];
    for (const location of [...hidden, ...headers.map((name) => `header ${name}`)])
      expect(reached, location).not.toContain(location);
  });

  it("occur in no answer, except a client's own text in the answer to it", () => {
    const found = new Map<string, string>();
    for (const answer of answers) {
      const head = answer.head.replace(/x-client-request-id\n[^\n]*/i, "");
      for (const canary of canaries.all) {
        const inBody = mayHold(answer, canary) ? [] : scan(answer.body, [canary]);
        for (const { location, form } of [...scan(head, [canary]), ...inBody]) {
          found.set(
            `${location} (${form}) from ${answer.question.path.split("?")[0] ?? ""}: ${answer.status}`,
            answer.body.slice(0, 300),
          );
        }
      }
    }
    expect(Object.fromEntries(found)).toEqual({});
  });

  it("are in no log, metric, trace, status, record or file", () => {
    const found = [...sinks].flatMap(([sink, text]) =>
      scan(text, canaries.all).map(({ location, form }) => `${sink}: ${location} (${form})`),
    );
    expect(found).toEqual([]);
  });

  it("would be found: every sink has its records, and a planted secret is detected in every form", () => {
    const known = answers.find(
      ({ status, question }) => status === 200 && question.method === "POST",
    );
    const requestId = /x-request-id\n(req_\w+)/i.exec(known?.head ?? "")?.[1] ?? "none";
    for (const sink of [
      "stdout",
      "OTLP",
      "evidence",
      "evidence tail ",
      "evidence tail --format json",
    ])
      expect(sinks.get(sink)?.includes(requestId), sink).toBe(true);
    expect([...sinks].some(([name, text]) => /\.db/.test(name) && text.includes(requestId))).toBe(
      true,
    );
    expect([...sinks.keys()].some((name) => /\.db-wal \(running\)/.test(name))).toBe(true);
    expect(sinks.get("/metrics as text/plain")).toContain("signalbox_requests_total");
    const planted: Canary = { location: "planted", secret: new Canaries().create("planted") };
    for (const [sink, text] of sinks) {
      if (sink === "stderr" && text === "") continue;
      expect(scan(text, [planted]), sink).toEqual([]);
      const middle = Math.floor(text.length / 2);
      for (const [form, hidden] of formsOf(planted.secret)) {
        const spoilt = `${text.slice(0, middle)}${hidden}${text.slice(middle)}`;
        expect(
          scan(spoilt, [planted]).map((finding) => finding.form),
          `${sink}: ${form}`,
        ).toContain(form);
      }
    }
  });

  it("are recognised in every encoding", () => {
    const secret = new Canaries().create("w");
    const canary = [{ location: "w", secret }];
    for (const text of [
      `x${secret}y`,
      JSON.stringify({ a: secret }),
      encodeURIComponent(`{"${secret}"`),
      Buffer.from(`ab${secret}cd`).toString("base64"),
      Buffer.from(`abc${secret}cd`).toString("base64url"),
      Buffer.from(`a${secret}`).toString("base64"),
      Buffer.from(`--${secret}--`).toString("hex"),
      secret.split("").toReversed().join(""),
      secret.slice(0, 15),
      secret.slice(-15),
    ]) {
      expect(scan(text, canary), text).not.toEqual([]);
    }
    expect(scan(secret.slice(0, 10), canary)).toEqual([]);
  });
});
