import type { Worker } from "node:worker_threads";
import { asWord } from "../../../evidence/record.ts";
import { encodeBatch, FrameCursor } from "../../batch/frames.ts";
import type { EvidenceFault } from "../../../evidence/fault.ts";
import { unknownOutcome } from "../../stored-evidence.ts";
import type { FromWorker, StoreReply, StoreRequest, ToWorker, WorkerStart } from "../protocol.ts";
import { startThread } from "../worker-link.ts";

/** Where the desk's own numbers begin; the process that has the thread counts its requests from 1. */
const FIRST_ID = 2 ** 40;

/** One process that uses the thread of another. */
export interface Borrowing {
  /** What it asks of the store. */
  readonly receive: (message: ToWorker) => void;
  /** It has ended: what it left running is recorded as `unknown`. */
  readonly leave: () => void;
}

interface Waiting {
  readonly borrower: Borrower;
  readonly message: ToWorker;
  /** Request ids of the outcomes in a batch. */
  readonly ended: readonly string[];
}

interface Borrower {
  readonly send: (message: FromWorker) => void;
  /** Requests whose decision was handed over and whose outcome was not written. */
  readonly open: Set<string>;
}

/**
 * Lends the store's one thread to other processes, so that a database has one writer however many of them serve: one connection, one chain, one
 * transaction at a time.
 */
export class ThreadDesk {
  readonly #borrowers = new Set<Borrower>();
  readonly #waiting = new Map<number, Waiting>();
  #thread: Worker | null = null;
  #lastId = FIRST_ID;
  #fault: EvidenceFault | null = null;

  /** For the store that has the thread (`SqliteStoreOptions.startThread`); called again when the thread has died. */
  readonly startThread = (start: WorkerStart): Worker => {
    const thread = startThread(start);
    thread.on("message", (message: FromWorker) => this.#hear(thread, message));
    thread.on("exit", () => this.#lose(thread));
    return thread;
  };

  /** @param send brings the thread's messages to the other process. */
  lend(send: (message: FromWorker) => void): Borrowing {
    const borrower: Borrower = { send, open: new Set() };
    this.#borrowers.add(borrower);
    if (this.#fault !== null) send({ type: "fault", fault: this.#fault });
    return {
      receive: (message) => this.#ask(borrower, message),
      leave: () => this.#leave(borrower),
    };
  }

  #ask(borrower: Borrower, message: ToWorker): void {
    const { request } = message;
    // Who borrows the thread cannot end it.
    if (request.operation === "close") return answer(borrower, message, { kind: "done" });
    if (this.#thread === null) return answer(borrower, message, lost(request, "no"));
    if (request.operation !== "evidence.append") return this.#post(this.#thread, { borrower, message, ended: [] });
    // A batch that came from another process shares its memory with other messages, which a transfer would take along.
    const batch = { ...request.batch, bytes: request.batch.bytes.slice() };
    const ended: string[] = [];
    const cursor = new FrameCursor(batch.bytes);
    while (cursor.next()) {
      if (cursor.kind === "decision") borrower.open.add(cursor.requestId);
      else ended.push(cursor.requestId);
    }
    this.#post(this.#thread, { borrower, message: { ...message, request: { ...request, batch } }, ended });
  }

  #post(thread: Worker, waiting: Waiting): void {
    this.#lastId += 1;
    this.#waiting.set(this.#lastId, waiting);
    const { request } = waiting.message;
    const message: ToWorker = { id: this.#lastId, request };
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin; this is not a window
    thread.postMessage(message, request.operation === "evidence.append" ? [request.batch.bytes.buffer] : []);
  }

  #hear(thread: Worker, message: FromWorker): void {
    switch (message.type) {
      case "opened":
        this.#thread = thread;
        this.#setFault(null);
        break;
      case "reply":
        this.#reply(message.id, message.reply);
        break;
      case "fault":
        this.#setFault(message.fault);
        break;
      case "keys_changed":
        for (const { send } of this.#borrowers) send(message);
        break;
      case "not_opened":
        break;
    }
  }

  #reply(id: number, reply: StoreReply): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    const { borrower, message, ended } = waiting;
    if (reply.kind === "appended") for (const requestId of ended) borrower.open.delete(requestId);
    answer(borrower, message, reply);
  }

  #setFault(fault: EvidenceFault | null): void {
    if (fault !== this.#fault) for (const { send } of this.#borrowers) send({ type: "fault", fault });
    this.#fault = fault;
  }

  #leave(borrower: Borrower): void {
    if (!this.#borrowers.delete(borrower)) return;
    // Otherwise they would be open for as long as this process lives, to which the store thinks they belong.
    const at = Date.now();
    const outcomes = [...borrower.open].flatMap((requestId) => [
      at,
      requestId,
      JSON.stringify(unknownOutcome(asWord(requestId), at)),
    ]);
    if (outcomes.length === 0 || this.#thread === null) return;
    const request: StoreRequest = { operation: "evidence.append", batch: encodeBatch([], outcomes) };
    const nobody: Borrower = { send: () => {}, open: new Set() };
    this.#post(this.#thread, { borrower: nobody, message: { id: 0, request }, ended: [] });
  }

  #lose(thread: Worker): void {
    if (this.#thread === thread) this.#thread = null;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { borrower, message } of waiting) answer(borrower, message, lost(message.request, "unknown"));
  }
}

function answer({ send }: Borrower, { id }: ToWorker, reply: StoreReply): void {
  send({ type: "reply", id, reply });
}

function lost(request: StoreRequest, done: "no" | "unknown"): StoreReply {
  return request.operation === "close"
    ? { kind: "done" }
    : {
        kind: "failed",
        description: "the store's thread is being restarted; try again in a second",
        refused: false,
        done,
      };
}
