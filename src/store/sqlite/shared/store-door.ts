import { createServer, type Socket } from "node:net";
import { unknownRecord } from "../../stored-evidence.ts";
import type { FromWorker, StoreReply, StoreRequest, ToWorker } from "../store-engine.ts";
import { type Door, DamagedLinkError, encodeMessage, messageReader } from "./frames.ts";

/** Time limit for a connection to send the secret, milliseconds. */
const PATIENCE = 5_000;

/**
 * Unauthenticated connections at a time: fewer than would use up the process's
 * files. One more ends the oldest of them: if it were refused instead, a client with so many
 * connections would keep out workers, which send theirs at once.
 */
const MOST_UNAUTHENTICATED = 256;

/** How often wrong secrets are reported, milliseconds: clients must not fill the log. */
const REFUSAL_REPORT = 60_000;

/** When outcomes that could not be written are tried again, milliseconds. */
const END_RETRY = 1_000;

/** The thread as the door uses it. */
interface StoreDoorThread {
  /** Executes a worker's call, and gives the reply. */
  readonly answer: (request: StoreRequest) => StoreReply;
  /** Work that follows the reply. */
  readonly settle: () => void;
  /** Why a connection was closed, without any of its content. */
  readonly onRefused: (description: string) => void;
}

export type StoreDoor = ReturnType<typeof storeDoor>;

/** The thread's end of the connections of workers. Runs in the store's thread. */
export function storeDoor(door: Door, thread: StoreDoorThread) {
  const sockets = new Set<Socket>();
  const workers = new Set<Socket>();
  /** Oldest first. */
  const unauthenticated = new Set<Socket>();
  let refusalReported = Number.NEGATIVE_INFINITY;
  /** Requests of workers that are gone. */
  const unended = new Set<string>();
  let retry: NodeJS.Timeout | null = null;
  let closed = false;
  let fault: FromWorker | null = null;
  const server = createServer((socket) => accept(socket));

  function accept(socket: Socket) {
    const reader = messageReader(door.workerSecret, isRequest);
    /** Requests whose decision was handed over and whose outcome was not written. */
    const open = new Set<string>();
    const late = setTimeout(() => socket.destroy(), PATIENCE);
    sockets.add(socket);
    unauthenticated.add(socket);
    if (unauthenticated.size > MOST_UNAUTHENTICATED) endOldestUnauthenticated();
    socket.on("data", (chunk: Buffer) => {
      try {
        for (const message of reader.read(chunk)) ask(socket, open, message);
        if (reader.trusted && !workers.has(socket)) welcome(socket);
      } catch (error) {
        const reason =
          error instanceof DamagedLinkError ? error.message : "a message could not be handled";
        if (reader.trusted) thread.onRefused(reason);
        else reportRefusal(reason);
        socket.destroy();
      } finally {
        if (reader.trusted) {
          clearTimeout(late);
          unauthenticated.delete(socket);
        }
      }
    });
    // `close` follows.
    socket.on("error", () => {});
    socket.on("end", () => {
      if (reader.trusted && !reader.complete) thread.onRefused("it ended within a message");
    });
    socket.on("close", () => {
      clearTimeout(late);
      sockets.delete(socket);
      workers.delete(socket);
      unauthenticated.delete(socket);
      for (const requestId of open) unended.add(requestId);
      endUnended();
    });
  }

  function endOldestUnauthenticated() {
    const [oldest] = unauthenticated;
    if (oldest === undefined) return;
    unauthenticated.delete(oldest);
    oldest.destroy();
  }

  function reportRefusal(reason: string) {
    const now = performance.now();
    if (now - refusalReported < REFUSAL_REPORT) return;
    refusalReported = now;
    thread.onRefused(reason);
  }

  function welcome(socket: Socket) {
    workers.add(socket);
    socket.write(door.threadSecret);
    socket.write(encodeMessage({ type: "opened" } satisfies FromWorker));
    if (fault !== null) socket.write(encodeMessage(fault));
  }

  function ask(socket: Socket, open: Set<string>, { id, request }: ToWorker) {
    const ended: string[] = [];
    if (request.operation === "evidence.append") {
      for (const { kind, requestId } of request.parameters[0]) {
        if (kind === "decision") open.add(requestId);
        else ended.push(requestId);
      }
    }
    // A worker that closes its store cannot close the others'.
    const reply: StoreReply =
      request.operation === "store.close" ? { kind: "done", value: null } : thread.answer(request);
    if (reply.kind === "done") for (const requestId of ended) open.delete(requestId);
    socket.write(encodeMessage({ type: "reply", id, reply } satisfies FromWorker));
    thread.settle();
  }

  /** Ends requests of dead workers: to the store they belong to this process, which lives. */
  function endUnended() {
    if (unended.size === 0 || closed) return;
    const at = Date.now();
    const outcomes = Array.from(unended, (requestId) => unknownRecord([requestId, at]));
    const reply = thread.answer({ operation: "evidence.append", parameters: [outcomes] });
    if (reply.kind === "done") {
      unended.clear();
      thread.settle();
      return;
    }
    if (retry !== null) clearTimeout(retry);
    retry = setTimeout(() => endUnended(), END_RETRY).unref();
  }

  return {
    /** Resolves when workers can connect. Rejects with the system's error where they never can. */
    listen(): Promise<void> {
      return new Promise((resolve, reject) => {
        server.once("error", reject);
        server.listen(door.address, resolve);
      });
    },
    /** Sends a notification to every worker. */
    broadcast(message: FromWorker): void {
      if (message.type === "fault") fault = message.fault === null ? null : message;
      if (workers.size === 0) return;
      const bytes = encodeMessage(message);
      for (const socket of workers) socket.write(bytes);
    },
    /** Ends all connections. */
    close(): void {
      closed = true;
      if (retry !== null) clearTimeout(retry);
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function isRequest(value: unknown): value is ToWorker {
  if (typeof value !== "object" || value === null || !("id" in value) || !("request" in value))
    return false;
  const { id, request } = value;
  return (
    typeof id === "number" &&
    typeof request === "object" &&
    request !== null &&
    "operation" in request &&
    "parameters" in request
  );
}
