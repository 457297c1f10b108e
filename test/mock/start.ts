import { connect } from "node:net";
import { onTestFinished } from "vitest";
import { startMock, type MockServer } from "../../mock/server.ts";
import { codec } from "../dialects/bedrock-converse/wire.ts";

/** A simulated provider that stops with the test. */
export async function mockForTest(log?: (line: string) => void): Promise<MockServer> {
  const options = { host: "127.0.0.1", port: 0 };
  const server = await startMock(log === undefined ? options : { ...options, log });
  onTestFinished(() => server.close());
  return server;
}

export const HELLO = [{ role: "user", content: "hello" }];

export interface RawAnswer {
  /** Everything that arrived, headers included. */
  readonly bytes: Buffer;
  /** How the connection ended: closed (FIN), reset (RST), or still open when the time was up. */
  readonly end: "closed" | "reset" | "open";
  /** Milliseconds from the request to each piece that arrived. */
  readonly arrivals: readonly number[];
}

/** Milliseconds. */
const TICK = 20;

/**
 * Sends one chat request over a bare socket and watches what happens, at most `patience`
 * milliseconds without a byte.
 */
export function raw(
  server: MockServer,
  model: string,
  more: object = {},
  headers = "",
  patience = 120,
): Promise<RawAnswer> {
  return rawTo(
    server,
    "/v1/chat/completions",
    { model, messages: HELLO, ...more },
    headers,
    patience,
  );
}

/** The same to any path. Each line of `headers` ends with CR LF. */
export function rawTo(
  server: MockServer,
  path: string,
  content: object,
  headers = "",
  patience = 120,
): Promise<RawAnswer> {
  const body = JSON.stringify(content);
  const { hostname, port } = new URL(server.url);
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    const arrivals: number[] = [];
    const socket = connect(Number(port), hostname);
    const finish = (end: RawAnswer["end"]): void => {
      clearInterval(clock);
      socket.destroy();
      resolve({ bytes: Buffer.concat(pieces), end, arrivals });
    };
    const started = performance.now();
    // The server is in this process: while a busy machine lets neither of them run, no tick is
    // counted.
    let ticks = patience / TICK;
    const clock = setInterval(() => {
      ticks -= 1;
      if (ticks <= 0) finish("open");
    }, TICK);
    socket.on("data", (piece: Buffer) => {
      pieces.push(piece);
      arrivals.push(performance.now() - started);
      // After a complete message only the end of the connection can follow, and that at once.
      ticks =
        (parts({ bytes: Buffer.concat(pieces) }).complete ? Math.min(patience, 40) : patience) /
        TICK;
    });
    socket.on("end", () => finish("closed"));
    socket.on("error", (error) =>
      "code" in error && error.code === "ECONNRESET" ? finish("reset") : reject(error),
    );
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: mock\r\ncontent-type: application/json\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  });
}

/** Splits an answer into its head and its body, taking a chunked body apart. */
export function parts(answer: Pick<RawAnswer, "bytes">): {
  readonly status: number;
  readonly head: string;
  readonly body: Buffer;
  readonly complete: boolean;
  readonly chunks: number;
} {
  const at = answer.bytes.indexOf("\r\n\r\n");
  const head = answer.bytes.subarray(0, at).toString().toLowerCase();
  const rest = answer.bytes.subarray(at + 4);
  const status = Number(head.slice(9, 12));
  if (!head.includes("transfer-encoding: chunked")) {
    const length = Number(/content-length: (\d+)/.exec(head)?.[1]);
    return { status, head, body: rest, complete: rest.length === length, chunks: 1 };
  }
  const pieces: Buffer[] = [];
  let base = 0;
  for (;;) {
    const end = rest.indexOf("\r\n", base);
    const size = end === -1 ? NaN : Number.parseInt(rest.subarray(base, end).toString(), 16);
    if (Number.isNaN(size) || size === 0)
      return {
        status,
        head,
        body: Buffer.concat(pieces),
        complete: size === 0,
        chunks: pieces.length,
      };
    pieces.push(rest.subarray(end + 2, end + 2 + size));
    base = end + 2 + size + 2;
  }
}

/** One event of a stream. */
export interface SentEvent {
  /** `null` where it has no name. */
  readonly name: string | null;
  readonly data: string;
}

/** The events of a stream that keeps to LF and one space; comments are omitted. */
export function eventsOf(body: Uint8Array | string): SentEvent[] {
  return Buffer.from(body)
    .toString()
    .split("\n\n")
    .map((event) => event.split("\n"))
    .flatMap((lines) => {
      const data = lines.find((line) => line.startsWith("data: "));
      const name = lines.find((line) => line.startsWith("event: "));
      return data === undefined
        ? []
        : [{ name: name?.slice("event: ".length) ?? null, data: data.slice(6) }];
    });
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

/** POST of a chat request with fetch. */
export function post(
  server: MockServer,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return postTo(server, "/v1/chat/completions", body, headers);
}

/** The same to any path. */
export function postTo(
  server: MockServer,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${server.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}
