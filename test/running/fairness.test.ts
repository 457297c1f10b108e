import { connect, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import type { RunningServer } from "../../src/server/running-server.ts";
import { answerJson, delta, sse, startSse, startUpstream } from "../support/router.ts";
import { addKey, startRunning, writeFixture } from "./running-server.ts";

const PATH = "/v1/chat/completions";

/** What the attacker sends in one connection; the other workspace is served while it is open. */
interface Attack {
  readonly name: string;
  readonly connections: number;
  readonly bytes: (key: string) => readonly (string | Buffer)[];
  readonly reads?: boolean;
  /**
   * Codes of the refusals that the evidence has under the attacker's key, one of which must be
   * there.
   */
  readonly refused: RegExp | null;
}

const head = (key: string, length: number | "chunked", path = PATH): string =>
  [
    `POST ${path} HTTP/1.1`,
    "host: x",
    `authorization: Bearer ${key}`,
    "content-type: application/json",
    length === "chunked" ? "transfer-encoding: chunked" : `content-length: ${length}`,
    "\r\n",
  ].join("\r\n");

const chat = (stream: boolean): string =>
  JSON.stringify({ model: "large", stream, messages: [{ role: "user", content: "hello" }] });

const MEGABYTE = 1024 * 1024;
const FAIR_SHARE = /^fair_share_exceeded$/;

const ATTACKS: readonly Attack[] = [
  {
    name: "held bodies",
    connections: 20,
    bytes: (key) => [head(key, 100), "{"],
    refused: FAIR_SHARE,
  },
  {
    name: "held bodies of other endpoints",
    connections: 8,
    bytes: (key) => [head(key, 100, "/v1/embeddings"), "{"],
    refused: FAIR_SHARE,
  },
  {
    name: "announced bytes that do not come",
    connections: 8,
    bytes: (key) => [head(key, MEGABYTE), "{"],
    refused: FAIR_SHARE,
  },
  {
    name: "bytes in chunks",
    connections: 8,
    bytes: (key) => [head(key, "chunked"), "f0000\r\n", Buffer.alloc(0xf0000, 0x20), "\r\n"],
    refused: FAIR_SHARE,
  },
  {
    name: "streams that are not read",
    connections: 16,
    bytes: (key) => [head(key, chat(true).length), chat(true)],
    refused: FAIR_SHARE,
    reads: false,
  },
  {
    name: "floods of 400s",
    connections: 4,
    bytes: (key) => [`${head(key, 2)}{}`.repeat(200)],
    refused: /^missing_field$/,
  },
  {
    name: "pipelined requests without a key",
    connections: 4,
    bytes: () => ["GET /nothing HTTP/1.1\r\nhost: x\r\n\r\n".repeat(2_000)],
    refused: null,
  },
];

interface Target {
  readonly server: RunningServer;
  readonly attacker: { readonly id: string; readonly text: string };
  readonly victim: { readonly text: string };
}

async function start(): Promise<Target> {
  const upstream = await startUpstream((response, { body }) => {
    if (!body.includes('"stream":true')) return answerJson(response);
    startSse(response);
    response.write(sse(delta("text")));
  });
  const limits = { inFlight: 16, bodyBytes: MEGABYTE, bodyMemory: 8 * MEGABYTE };
  const server = await startRunning(writeFixture(upstream.url), { drain: 0 }, limits);
  const { store } = server;
  return { server, attacker: await addKey(store, "large"), victim: await addKey(store, "metered") };
}

function attack(
  { server, attacker }: Target,
  { connections, bytes, reads = true }: Attack,
): Promise<readonly Socket[]> {
  const { hostname, port } = new URL(server.url);
  const opened = Array.from({ length: connections }, async () => {
    const socket = connect(Number(port), hostname);
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {});
    if (reads) socket.resume();
    await new Promise((resolve) => socket.once("connect", resolve));
    for (const piece of bytes(attacker.text)) socket.write(piece);
    return socket;
  });
  return Promise.all(opened);
}

/**
 * The attack, the server and this client share an event loop: where another process has the core,
 * the server reads a counter too late, says so, and serves the request when it is sent again.
 *
 * @returns `200`, or the status and the error.
 */
async function ask({ server, victim }: Target): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await fetch(`${server.url}${PATH}`, {
      method: "POST",
      headers: { authorization: `Bearer ${victim.text}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "metered", messages: [{ role: "user", content: "hello" }] }),
    });
    const text = await answer.text();
    if (answer.status === 200) return "200";
    if (attempt === 5 || !text.includes("limits_unavailable")) return `${answer.status} ${text}`;
    await new Promise((resolve) => setTimeout(resolve, 100 * attempt));
  }
}

/** How often the evidence has such a refusal under the key. */
async function refusals({ store }: RunningServer, keyId: string, reason: RegExp): Promise<number> {
  await store.evidence.flush();
  const entries = await store.evidence.read({ after: 0, limit: 10_000 });
  return entries.filter(
    ({ decision }) => decision.keyId === keyId && reason.test(decision.reason ?? ""),
  ).length;
}

it("requests of a workspace are answered under every attack of another one, whose refusals are recorded under its key", async () => {
  const target = await start();
  for (const row of ATTACKS) {
    const { refused } = row;
    const counted = (): Promise<number> =>
      refusals(target.server, target.attacker.id, refused ?? /$^/);
    const before = await counted();
    const sockets = await attack(target, row);
    const answers: string[] = [];
    for (let round = 0; round < 10; round += 1) {
      answers.push(...(await Promise.all([ask(target), ask(target)])));
    }
    expect(new Set(answers), row.name).toEqual(new Set(["200"]));
    // What an attack brings goes on while the other workspace is answered.
    if (refused !== null) await expect.poll(counted, { message: row.name }).toBeGreaterThan(before);
    for (const socket of sockets) socket.destroy();
  }
});
