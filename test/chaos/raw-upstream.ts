import { createServer, type Socket } from "node:net";
import type { Expected } from "./faults.ts";

/**
 * One way in which a server can be wrong about HTTP itself, which the simulated provider cannot do.
 */
export interface Way {
  /** Also the first segment of its paths, and its provider's name. */
  readonly name: string;
  readonly alone: (stream: boolean) => Expected;
  readonly withFallback: (stream: boolean) => Expected;
  /**
   * Answers one request. Says whether the answer was complete, so that the connection may stay
   * open.
   */
  readonly answer: (socket: Socket, body: string, type: string) => boolean;
}

/** Whatever is said of a failure; no client may read it. */
const ERROR_TEXT = "simulated failure";

const head = (type: string, more: string): string =>
  `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\n${more}\r\n\r\n`;
const chunked = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const sized = (body: string, type: string): string =>
  `${head(type, `content-length: ${Buffer.byteLength(body)}`)}${body}`;

/** Sends a piece again and again until the other side has had enough. */
function drip(socket: Socket, piece: string): void {
  const timer = setInterval(() => socket.write(piece), 50);
  socket.once("close", () => clearInterval(timer));
}

function way(
  name: string,
  answer: (socket: Socket, body: string, type: string) => void,
  more: Partial<Pick<Way, "alone" | "withFallback">> & { readonly complete?: true } = {},
): Way {
  const { complete = false, alone = () => "failed", withFallback = () => "whole" } = more;
  return {
    name,
    alone,
    withFallback,
    answer: (socket, body, type) => {
      answer(socket, body, type);
      return complete;
    },
  };
}

/** A stream may have said everything before it is wrong. */
const eitherIfStreamed = (stream: boolean): Expected => (stream ? "either" : "failed");
const savedUnlessSaid = (stream: boolean): Expected => (stream ? "either" : "whole");
const always = (): Expected => "whole";

export const WAYS: readonly Way[] = [
  way("well", (socket, body, type) => socket.write(sized(body, type)), {
    alone: always,
    complete: true,
  }),
  way("hangs-up", (socket) => socket.end()),
  way("half-a-status-line", (socket) => socket.end("HTTP/1.1 20")),
  way("half-the-headers-and-silence", (socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-ty")),
  way("half-the-headers-and-a-reset", (socket) => {
    socket.write("HTTP/1.1 200 OK\r\ncontent-ty", () => socket.resetAndDestroy());
  }),
  way("another-protocol", (socket) => socket.write("SSH-2.0-simulated\r\n\r\n")),
  way("headers-without-end", (socket) => {
    socket.write("HTTP/1.1 200 OK\r\n");
    drip(socket, `x-simulated: ${"a".repeat(8_000)}\r\n`);
  }),
  way(
    "length-too-long",
    (socket, body, type) => {
      socket.end(`${head(type, `content-length: ${Buffer.byteLength(body) + 10}`)}${body}`);
    },
    { alone: eitherIfStreamed, withFallback: savedUnlessSaid },
  ),
  way(
    "length-too-short",
    (socket, body, type) => {
      socket.write(`${head(type, `content-length: ${Buffer.byteLength(body) >> 1}`)}${body}`);
    },
    { withFallback: savedUnlessSaid },
  ),
  way("wrong-chunk-size", (socket, body, type) => {
    socket.write(`${head(type, "transfer-encoding: chunked")}zz\r\n${body}`);
  }),
  way(
    "gzip-that-is-none",
    (socket, body, type) => {
      socket.write(
        `${head(type, `content-encoding: gzip\r\ncontent-length: ${Buffer.byteLength(body)}`)}${body}`,
      );
    },
    { complete: true },
  ),
  way(
    "unknown-encoding",
    (socket, body, type) => {
      socket.write(
        `${head(type, `content-encoding: simulated\r\ncontent-length: ${Buffer.byteLength(body)}`)}${body}`,
      );
    },
    { complete: true },
  ),
  way(
    "interim-answers",
    (socket, body, type) => {
      const interim = "HTTP/1.1 103 Early Hints\r\nlink: </simulated>\r\n\r\n".repeat(5);
      socket.write(`${interim}${sized(body, type)}`);
    },
    { alone: always, complete: true },
  ),
  way("keep-alives-and-nothing-else", (socket, _body, type) => {
    socket.write(head(type, "transfer-encoding: chunked"));
    drip(socket, chunked(type.includes("event-stream") ? ": simulated\n\n" : " "));
  }),
  way(
    "goes-on-after-the-end",
    (socket, body, type) => {
      socket.write(`${head(type, "transfer-encoding: chunked")}${chunked(body)}`);
      drip(socket, chunked(type.includes("event-stream") ? ": simulated\n\n" : " "));
    },
    { alone: (stream) => (stream ? "whole" : "failed") },
  ),
  way("error-without-end", (socket) => {
    socket.write("HTTP/1.1 500 simulated failure\r\ntransfer-encoding: chunked\r\n\r\n");
    drip(socket, chunked(ERROR_TEXT.repeat(100)));
  }),
  way(
    "error-text-everywhere",
    (socket) => {
      const body = JSON.stringify({
        error: { message: ERROR_TEXT, type: ERROR_TEXT, code: ERROR_TEXT, param: ERROR_TEXT },
      });
      socket.write(
        `HTTP/1.1 503 ${ERROR_TEXT}\r\nx-simulated: ${ERROR_TEXT}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
    },
    { complete: true },
  ),
  way(
    "two-answers",
    (socket, body, type) => {
      // What was not requested must not become the answer to the next request on the connection.
      socket.write(`${sized(body, type)}${sized(body.replaceAll("answer", "smuggled"), type)}`);
    },
    { alone: always },
  ),
];

export interface RawUpstream {
  /** Such as `http://127.0.0.1:8089`; a way's base address adds its name. */
  readonly url: string;
  /** The way of each connection that is open although its last answer was not complete. */
  busy(): readonly string[];
  /** Connections that have been made. */
  connections(): number;
  close(): Promise<void>;
}

/**
 * Starts a server that answers each request in the way that its path names.
 *
 * @param bodyFor the right answer to a request, with its content type.
 */
export async function startRawUpstream(
  bodyFor: (request: string) => { readonly body: string; readonly type: string },
): Promise<RawUpstream> {
  const open = new Map<Socket, { complete: boolean; name: string }>();
  let made = 0;
  const server = createServer((socket) => {
    const state = { complete: true, name: "" };
    made += 1;
    open.set(socket, state);
    socket.on("error", () => {});
    socket.once("close", () => open.delete(socket));
    socket.setEncoding("latin1");
    let received = "";
    socket.on("data", (piece: string) => {
      received += piece;
      const request = wholeRequest(received);
      if (request === null) return;
      received = "";
      const name = /^POST \/([a-z-]+)\//.exec(request)?.[1];
      state.name = name ?? "";
      const { body, type } = bodyFor(request);
      state.complete =
        WAYS.find((known) => known.name === name)?.answer(socket, body, type) ?? false;
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    busy: () => [...open.values()].flatMap(({ complete, name }) => (complete ? [] : [name])),
    connections: () => made,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open.keys()) socket.destroy();
      }),
  };
}

/** A request with its body; `null` as long as something of it is missing. */
function wholeRequest(received: string): string | null {
  const end = received.indexOf("\r\n\r\n");
  const length = Number(/content-length: (\d+)/i.exec(received)?.[1] ?? 0);
  return end !== -1 && received.length >= end + 4 + length ? received : null;
}
