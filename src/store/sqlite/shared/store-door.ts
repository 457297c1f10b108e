import { createServer, type Server, type Socket } from "node:net";
import { outcomeOf, unknownOutcome } from "../../stored-evidence.ts";
import type { FromWorker, StoreReply, StoreRequest, ToWorker } from "../store-engine.ts";
import { type Door, DamagedLinkError, encodeMessage, MessageReader } from "./frames.ts";

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
  readonly refused: (description: string) => void;
}

/** The thread's end of the connections of workers. Runs in the store's thread. */
export class StoreDoor {
  readonly #door: Door;
  readonly #thread: StoreDoorThread;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #workers = new Set<Socket>();
  /** Oldest first. */
  readonly #unauthenticated = new Set<Socket>();
  #refusalReported = Number.NEGATIVE_INFINITY;
  /** Requests of workers that are gone. */
  readonly #unended = new Set<string>();
  #retry: NodeJS.Timeout | null = null;
  #closed = false;
  #fault: FromWorker | null = null;

  constructor(door: Door, thread: StoreDoorThread) {
    this.#door = door;
    this.#thread = thread;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  /** Resolves when workers can connect. Rejects with the system's error where they never can. */
  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(this.#door.address, resolve);
    });
  }

  /** Sends every worker a message that answers nothing. */
  broadcast(message: FromWorker): void {
    if (message.type === "fault") this.#fault = message.fault === null ? null : message;
    if (this.#workers.size === 0) return;
    const bytes = encodeMessage(message);
    for (const socket of this.#workers) socket.write(bytes);
  }

  /** Ends all connections. */
  close(): void {
    this.#closed = true;
    if (this.#retry !== null) clearTimeout(this.#retry);
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(socket: Socket) {
    const reader = new MessageReader(this.#door.workerSecret, isRequest);
    /** Requests whose decision was handed over and whose outcome was not written. */
    const open = new Set<string>();
    const late = setTimeout(() => socket.destroy(), PATIENCE);
    this.#sockets.add(socket);
    this.#unauthenticated.add(socket);
    if (this.#unauthenticated.size > MOST_UNAUTHENTICATED) this.#endOldestUnauthenticated();
    socket.on("data", (chunk: Buffer) => {
      try {
        for (const message of reader.read(chunk)) this.#ask(socket, open, message);
        if (reader.trusted && !this.#workers.has(socket)) this.#welcome(socket);
      } catch (error) {
        const reason =
          error instanceof DamagedLinkError ? error.message : "a message could not be handled";
        if (reader.trusted) this.#thread.refused(reason);
        else this.#reportRefusal(reason);
        socket.destroy();
      } finally {
        if (reader.trusted) {
          clearTimeout(late);
          this.#unauthenticated.delete(socket);
        }
      }
    });
    // `close` follows.
    socket.on("error", () => {});
    socket.on("end", () => {
      if (reader.trusted && !reader.complete) this.#thread.refused("it ended within a message");
    });
    socket.on("close", () => {
      clearTimeout(late);
      this.#sockets.delete(socket);
      this.#workers.delete(socket);
      this.#unauthenticated.delete(socket);
      for (const requestId of open) this.#unended.add(requestId);
      this.#endUnended();
    });
  }

  #endOldestUnauthenticated() {
    const [oldest] = this.#unauthenticated;
    if (oldest === undefined) return;
    this.#unauthenticated.delete(oldest);
    oldest.destroy();
  }

  #reportRefusal(reason: string) {
    const now = performance.now();
    if (now - this.#refusalReported < REFUSAL_REPORT) return;
    this.#refusalReported = now;
    this.#thread.refused(reason);
  }

  #welcome(socket: Socket) {
    this.#workers.add(socket);
    socket.write(this.#door.threadSecret);
    socket.write(encodeMessage({ type: "opened" } satisfies FromWorker));
    if (this.#fault !== null) socket.write(encodeMessage(this.#fault));
  }

  #ask(socket: Socket, open: Set<string>, { id, request }: ToWorker) {
    const ended: string[] = [];
    if (request.operation === "evidence.append") {
      for (const { kind, requestId } of request.parameters[0]) {
        if (kind === "decision") open.add(requestId);
        else ended.push(requestId);
      }
    }
    // A worker that closes its store cannot close the others'.
    const reply: StoreReply =
      request.operation === "store.close"
        ? { kind: "done", value: null }
        : this.#thread.answer(request);
    if (reply.kind === "done") for (const requestId of ended) open.delete(requestId);
    socket.write(encodeMessage({ type: "reply", id, reply } satisfies FromWorker));
    this.#thread.settle();
  }

  /** Ends requests of dead workers: to the store they belong to this process, which lives. */
  #endUnended() {
    if (this.#unended.size === 0 || this.#closed) return;
    const at = Date.now();
    const outcomes = Array.from(this.#unended, (requestId) =>
      outcomeOf(unknownOutcome(requestId, at)),
    );
    const reply = this.#thread.answer({ operation: "evidence.append", parameters: [outcomes] });
    if (reply.kind === "done") {
      this.#unended.clear();
      this.#thread.settle();
      return;
    }
    if (this.#retry !== null) clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.#endUnended(), END_RETRY).unref();
  }
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
