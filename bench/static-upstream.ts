/**
 * The upstream of the benchmark: answers that were made before, over bare sockets. It shares a core
 * with the load generator, so everything it saves lets the subject be loaded more; `signalbox mock`
 * would answer the same at three times the cost.
 */
import { createServer, type Socket } from "node:net";
import { CASES, CHUNKS, DIMENSION, filler, isVectors, vectorCount, type Case } from "./cases.ts";

interface Prepared {
  readonly model: string;
  /** Head and body, or head and one piece for each event, already framed for HTTP. */
  readonly pieces: readonly Buffer[];
}

const USAGE = { prompt_tokens: 250, completion_tokens: 100, total_tokens: 350 };

function prepare(testCase: Case): Prepared {
  return { model: `"${testCase.model}"`, pieces: piecesOf(testCase) };
}

function piecesOf(testCase: Case): readonly Buffer[] {
  if (testCase.kind === "stream") return streamPieces(testCase);
  return [isVectors(testCase.kind) ? vectorsAnswer(testCase) : chatAnswer(testCase)];
}

function vectorsAnswer(testCase: Case): Buffer {
  const data = Array.from({ length: vectorCount(testCase) }, (_, index) => {
    const numbers = Float32Array.from(
      { length: DIMENSION },
      (_number, position) => Math.sin(index * DIMENSION + position) / 40,
    );
    const embedding =
      testCase.kind === "vectors"
        ? Array.from(numbers, (number) => Number(number.toFixed(9)))
        : Buffer.from(numbers.buffer).toString("base64");
    return { object: "embedding", index, embedding };
  });
  const usage = { prompt_tokens: 800, total_tokens: 800 };
  return framed(JSON.stringify({ object: "list", data, model: testCase.model, usage }));
}

function framed(body: string): Buffer {
  return Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
}

function chatAnswer({ model, size }: Case): Buffer {
  const message = { role: "assistant", content: filler(size), refusal: null };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: "stop" }];
  return framed(
    JSON.stringify({
      id: "chatcmpl-bench",
      object: "chat.completion",
      created: 1_767_225_600,
      model,
      choices,
      usage: USAGE,
    }),
  );
}

function streamPieces({ model, size }: Case): readonly Buffer[] {
  const chunk = (choices: readonly unknown[], usage: unknown): string =>
    JSON.stringify({
      id: "chatcmpl-bench",
      object: "chat.completion.chunk",
      created: 1_767_225_600,
      model,
      choices,
      usage,
    });
  const text = filler(size / CHUNKS);
  const delta = chunk(
    [{ index: 0, delta: { content: text }, logprobs: null, finish_reason: null }],
    null,
  );
  const events = [
    ...Array.from({ length: CHUNKS }, () => delta),
    chunk([{ index: 0, delta: {}, logprobs: null, finish_reason: "stop" }], null),
    chunk([], USAGE),
    "[DONE]",
  ].map((data) => `data: ${data}\n\n`);
  const chunks = events.map((event) => `${event.length.toString(16)}\r\n${event}\r\n`);
  const head =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
  return [head + (chunks[0] ?? ""), ...chunks.slice(1, -1), `${chunks.at(-1) ?? ""}0\r\n\r\n`].map(
    (piece) => Buffer.from(piece),
  );
}

const PREPARED = CASES.map(prepare);

/** Answers the requests of one connection, one after the other. */
function serve(socket: Socket): void {
  let received: Buffer = Buffer.alloc(0);
  socket.setNoDelay(true);
  socket.on("error", () => socket.destroy());
  socket.on("data", (bytes: Buffer) => {
    received = received.length === 0 ? bytes : Buffer.concat([received, bytes]);
    const head = received.indexOf("\r\n\r\n");
    if (head === -1) return;
    const length = /content-length: *(\d+)/i.exec(received.toString("latin1", 0, head))?.[1];
    if (length === undefined || received.length < head + 4 + Number(length)) return;
    const request = received;
    received = Buffer.alloc(0);
    const prepared = PREPARED.find(({ model }) => request.includes(model));
    // An unknown case would be measured as another one.
    if (prepared === undefined) socket.destroy();
    else writePieces(socket, prepared.pieces, 0);
  });
}

/** Each piece in a turn of its own, so that it is a segment of its own. */
function writePieces(socket: Socket, pieces: readonly Buffer[], index: number): void {
  const piece = pieces[index];
  if (piece === undefined || socket.destroyed) return;
  socket.write(piece);
  if (index + 1 < pieces.length) setImmediate(writePieces, socket, pieces, index + 1);
}

const server = createServer(serve);
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object" && address !== null)
    process.stdout.write(`listening on http://127.0.0.1:${address.port}\n`);
});
process.once("disconnect", () => process.exit());
