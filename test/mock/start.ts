import { request, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { onTestFinished } from "vitest";
import { startMock, type MockServer } from "../../mock/server.ts";
import { codec } from "../dialects/bedrock-converse/wire.ts";
import { whenFileEnds } from "../support/file-end.ts";

const ANYWHERE = { host: "127.0.0.1", port: 0 };

/** A simulated provider that stops with the test. */
export async function mockForTest(log: (line: string) => void = () => {}): Promise<MockServer> {
  const server = await startMock({ ...ANYWHERE, log });
  onTestFinished(() => server.close());
  return server;
}

/** A simulated provider that stops after the last test of the file. */
export async function mockForFile(): Promise<MockServer> {
  const server = await startMock(ANYWHERE);
  whenFileEnds(() => server.close());
  return server;
}

export const HELLO = [{ role: "user", content: "hello" }];
export const CHAT = "/v1/chat/completions";

/** POST of a JSON body, or of a text as it is. */
export function post(
  { url }: MockServer,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(`${url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
    redirect: "manual",
  });
}

export interface RawAnswer {
  /** 0 where the connection ended before it, as `headers` are then empty. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Whether the body ended as its head announced. */
  readonly complete: boolean;
  readonly chunks: number;
  /** How the connection ended: closed (FIN), reset (RST), or still open when the time was up. */
  readonly end: "closed" | "reset" | "open";
}

/** Milliseconds. */
const TICK = 20;

/**
 * Sends one request over a connection that is closed after the answer, and reads until there is no
 * byte for `patience` milliseconds.
 */
export function raw(
  { url }: MockServer,
  path: string,
  content: object,
  headers: Readonly<Record<string, string>> = {},
  patience = 120,
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let answer: Partial<IncomingMessage> = {};
    const outgoing = request(url + path, { method: "POST", headers, agent: false });
    const finish = (end: RawAnswer["end"]): void => {
      clearInterval(clock);
      outgoing.destroy();
      const { statusCode: status = 0, headers: received = {}, complete = false } = answer;
      const [body, chunks] = [Buffer.concat(pieces), pieces.length];
      resolve({ status, headers: received, body, complete, chunks, end });
    };
    // The server is in this process: while a busy machine lets neither of them run, no tick is
    // counted.
    let ticks = patience / TICK;
    const clock = setInterval(() => {
      ticks -= 1;
      if (ticks <= 0) finish("open");
    }, TICK);
    outgoing.on("response", (response) => {
      answer = response;
      response.on("error", () => {});
      response.on("data", (piece: Buffer) => {
        pieces.push(piece);
        ticks = patience / TICK;
      });
    });
    outgoing.on("socket", (socket) => {
      socket.on("close", () => finish("closed"));
      socket.on("error", (error) =>
        "code" in error && error.code === "ECONNRESET" ? finish("reset") : reject(error),
      );
    });
    outgoing.on("error", () => {});
    outgoing.end(JSON.stringify(content));
  });
}

/** One event of a stream. */
export interface SentEvent {
  /** `-` where it has no name. */
  readonly name: string;
  readonly data: string;
}

/** The events of a stream that keeps to LF and one space; comments are omitted. */
export function eventsOf(body: Uint8Array): SentEvent[] {
  return [
    ...Buffer.from(body)
      .toString()
      .matchAll(/(?:^event: (.*)\n)?^data: (.*)\n\n/gm),
  ].map(([, name = "-", data = ""]) => ({ name, data }));
}

/** The whole frames of an AWS event stream, as the maintained codec reads them. */
export function framesOf(bytes: Uint8Array): SentEvent[] {
  const frames: SentEvent[] = [];
  for (let offset = 0; offset + 4 <= bytes.length;) {
    const length = new DataView(bytes.buffer, bytes.byteOffset + offset).getUint32(0);
    if (offset + length > bytes.length) break;
    const { headers, body } = codec.decode(bytes.subarray(offset, offset + length));
    const name = headers[":event-type"] ?? headers[":exception-type"];
    frames.push({ name: String(name?.value), data: Buffer.from(body).toString() });
    offset += length;
  }
  return frames;
}
