import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import type { Break, Script } from "./answer.ts";
import type { Behaviour } from "./behaviour.ts";
import { awkwardCuts, evenCuts } from "./split.ts";

/**
 * Milliseconds between the last byte and a reset: a reset overtakes bytes that the client has not
 * read yet.
 */
const SETTLE_BEFORE_RESET = 20;

/**
 * Writes a script to a connection, with the behaviour's waits. Returns when nothing more will be
 * written: the answer is complete, it broke where the script says, or the client has gone.
 *
 * @param onBreak called just before the connection is ended on purpose, so that it is not taken for
 * the client's doing.
 */
export async function play(
  response: ServerResponse,
  script: Script,
  behaviour: Behaviour,
  onBreak: () => void,
): Promise<void> {
  if (isPlain(script, behaviour)) return playAtOnce(response, script);
  const { pieces, break: end } = script;
  const stop = (): Promise<void> =>
    end === null ? Promise.resolve() : breakOff(response, end, onBreak);
  await wait(response, behaviour.delay);
  if (end?.before === "headers") return stop();
  if (response.destroyed) return;
  const bodies = pieces.map((piece) => encode(piece, behaviour));
  writeHead(response, script, behaviour, totalLength(bodies, script));
  response.flushHeaders();
  await wait(response, behaviour.firstByte);
  for (const [index, body] of bodies.entries()) {
    const breaksHere = end?.index === index;
    if (breaksHere && !end.half) return stop();
    if (index > 0) await pause(response, behaviour.chunkDelay);
    if (response.destroyed) return;
    const isText = !behaviour.gzip && typeof pieces[index] === "string";
    await write(
      response,
      cuts(breaksHere ? body.subarray(0, body.length >> 1) : body, behaviour, isText),
    );
    if (breaksHere) return stop();
  }
  if (end !== null) return stop();
  response.end();
}

/**
 * Whether the answer can be sent in one write: the usual case, and the one that has to be cheap.
 */
function isPlain(script: Script, behaviour: Behaviour): boolean {
  return (
    script.pieces.length === 1 &&
    script.break === null &&
    behaviour.delay === 0 &&
    behaviour.firstByte === 0 &&
    behaviour.split === null &&
    !behaviour.gzip
  );
}

function playAtOnce(response: ServerResponse, script: Script): void {
  const body = script.pieces[0] ?? "";
  response.writeHead(script.status, {
    "content-type": script.contentType,
    "content-length": Buffer.byteLength(body),
    ...script.headers,
  });
  response.end(body);
}

function encode(piece: string | Buffer, behaviour: Behaviour): Buffer {
  const bytes = typeof piece === "string" ? Buffer.from(piece) : piece;
  // A gzip body may consist of several members (RFC 1952 §2.2): so each event can be read as soon
  // as it has arrived.
  return behaviour.gzip ? gzipSync(bytes) : bytes;
}

/**
 * Bytes of the whole body; `null` where it is sent without a length: streams, and answers that end
 * early yet properly, which a stated length would give away.
 */
function totalLength(bodies: readonly Buffer[], script: Script): number | null {
  const { break: end } = script;
  if (script.isStream || end?.how === "cut" || end?.index === bodies.length) return null;
  return bodies.reduce((sum, body) => sum + body.length, 0);
}

function writeHead(
  response: ServerResponse,
  script: Script,
  behaviour: Behaviour,
  length: number | null,
): void {
  const headers: Record<string, string | number> = {
    "content-type": script.contentType,
    ...script.headers,
  };
  if (length === null) headers["cache-control"] = "no-cache";
  else headers["content-length"] = length;
  if (behaviour.gzip) headers["content-encoding"] = "gzip";
  response.writeHead(script.status, headers);
}

async function write(response: ServerResponse, pieces: readonly Buffer[]): Promise<void> {
  for (const [index, piece] of pieces.entries()) {
    if (index > 0) await turn();
    if (response.destroyed) return;
    if (!response.write(piece)) await drained(response);
  }
}

function cuts(body: Buffer, { split }: Behaviour, isText: boolean): readonly Buffer[] {
  if (split === null) return body.length === 0 ? [] : [body];
  // Bytes that are no text have no lines and no characters; between any two of them is as awkward
  // as it gets.
  if (split === "awkward") return isText ? awkwardCuts(body) : evenCuts(body, 1);
  return evenCuts(body, split);
}

/** Waits until the socket takes more bytes, or is gone. */
async function drained(response: ServerResponse): Promise<void> {
  const stop = new AbortController();
  const { signal } = stop;
  try {
    await Promise.race([once(response, "drain", { signal }), once(response, "close", { signal })]);
  } finally {
    stop.abort();
  }
}

/**
 * Between two events at least a turn of the event loop, so that each is sent in a segment of its
 * own, as from a real provider.
 */
function pause(response: ServerResponse, milliseconds: number): Promise<void> {
  return milliseconds === 0 ? turn() : wait(response, milliseconds);
}

function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Waits, but not longer than the client does. */
function wait(response: ServerResponse, milliseconds: number): Promise<void> {
  if (milliseconds === 0 || response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      response.off("close", finish);
      resolve();
    };
    const timer = setTimeout(finish, milliseconds);
    response.once("close", finish);
  });
}

async function breakOff(response: ServerResponse, end: Break, onBreak: () => void): Promise<void> {
  if (response.destroyed || end.how === "stall") return;
  if (end.how === "cut" && end.before === "piece") {
    response.end();
    return;
  }
  // Node holds what was written until the end of the turn; a connection that is destroyed earlier
  // loses it.
  await (end.how === "reset" ? wait(response, SETTLE_BEFORE_RESET) : turn());
  if (response.destroyed) return;
  onBreak();
  if (end.how === "reset") response.socket?.resetAndDestroy();
  // Also for a cut before the headers: there is no body yet that could end properly.
  else response.socket?.destroySoon();
}
