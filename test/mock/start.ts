import { request, type IncomingMessage } from "node:http";
import { setTimeout } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { startMock, type MockServer } from "../../mock/server.ts";
import { parseSseEvent, SseFramer } from "../../src/dialects/sse.ts";
import { whenFileEnds } from "../support/file-end.ts";

/** A simulated provider that stops with the test, or when else `end` calls. */
export async function mockForTest(end: (stop: () => Promise<void>) => void = onTestFinished) {
  const server = await startMock({ host: "127.0.0.1", port: 0 });
  end(() => server.close());
  return server;
}

/** A simulated provider that stops after the last test of the file. */
export const mockForFile = () => mockForTest(whenFileEnds);

export const HELLO = [{ role: "user", content: "hello" }];
/** A request of every protocol. */
export const BODY = {
  model: "m",
  max_tokens: 100,
  messages: HELLO,
  prompt: "x",
  input: "x",
  contents: [{ role: "user", parts: [{ text: "What is the weather in Oslo?" }] }],
};
export const CHAT = "/v1/chat/completions";

/** POST of a JSON body, or of a text or bytes as they are. */
export function post(
  { url }: Pick<MockServer, "url">,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const sent = typeof body === "string" || body instanceof Buffer ? body : JSON.stringify(body);
  return fetch(url + path, { method: "POST", headers, body: sent, redirect: "manual" });
}

/**
 * Sends one request over a connection of its own, and reads until there is no byte for `patience`
 * milliseconds.
 *
 * @returns the answer (the status is 0 where the connection ended before it), and how the
 * connection ended: by FIN, by an error such as `ECONNRESET`, or not at all.
 */
export async function raw(
  { url }: Pick<MockServer, "url">,
  path: string,
  content: object,
  headers: Readonly<Record<string, string>> = {},
  patience = 120,
) {
  const pieces: Buffer[] = [];
  const seen = { end: "", quiet: 0 };
  let answer: Partial<IncomingMessage> = {};
  const outgoing = request(url + path, { method: "POST", headers, agent: false });
  outgoing.on("error", () => {});
  outgoing.on("socket", (socket) => {
    socket.on("error", (error: NodeJS.ErrnoException) => (seen.end ||= error.code ?? "error"));
    socket.on("close", () => (seen.end ||= "FIN"));
  });
  outgoing.on("response", (response) => {
    answer = response.on("error", () => {});
    response.on("data", (piece: Buffer) => {
      pieces.push(piece);
      seen.quiet = 0;
    });
  });
  outgoing.end(JSON.stringify(content));
  // The server is in this process: while a busy machine lets neither run, no time is counted.
  for (; seen.end === "" && seen.quiet < patience; seen.quiet += 20) await setTimeout(20);
  outgoing.destroy();
  const { statusCode: status = 0, headers: received = {}, complete = false } = answer;
  const body = Buffer.concat(pieces);
  return { status, headers: received, body, pieces, complete, end: seen.end || "open" };
}

/** The events of a stream. */
export function eventsOf(body: Uint8Array) {
  const events = new SseFramer().push(body).map(parseSseEvent);
  return events.map(({ event: name, data }) => ({ name, data }));
}
