import { setTimeout as delay } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import type { EvidenceFault } from "../../evidence/evidence-store.ts";
import type { KeyRecord } from "../../keys/key-store.ts";
import { StoreUnavailableError, type StoreFailure } from "../../canon/error.ts";
import type {
  FromWorker,
  StoreParts,
  StoreReply,
  StoreRequest,
  ToWorker,
  WorkerStart,
} from "./store-engine.ts";
import type { RunCommon } from "../common-tables.ts";
import type { Row } from "../rows.ts";
import { KEY_ERRORS } from "./sqlite-failure.ts";

/** How long after its unexpected end the thread is started again, milliseconds. */
const RESTART_DELAY = 1_000;

/** How long closing waits for a thread that does not answer, milliseconds. */
const CLOSE_WAIT = 5_000;

const RESTARTING = "the store's thread is being restarted; try again in a second";
const ENDED = "the store's thread has ended, and its database with it; restart the process";

const NOT_SENT: StoreFailure = { applied: "no" };

/** The part of `Worker` that is used. */
export interface StoreThread {
  on(event: "message", listener: (message: FromWorker) => void): unknown;
  on(event: "error" | "exit", listener: () => void): unknown;
  postMessage(message: ToWorker): void;
  terminate(): Promise<unknown>;
}

export interface WorkerLinkOptions {
  readonly start: WorkerStart;
  /** `false` for a database that ends with its thread: a fresh empty one must not pass for it. */
  readonly restart: boolean;
  readonly onKeysChanged: (records: readonly KeyRecord[]) => void;
  /** Called after the thread was started again; what it had to watch must be requested again. */
  readonly onRestarted: () => void;
  /** A thread that is shared with other processes, or a test's; a new one where absent. */
  readonly startWorker?: ((start: WorkerStart) => StoreThread) | undefined;
}

/** Sources run as `.ts`, a build as `.js`; no tool rewrites this path. */
const WORKER_FILE = new URL(
  `./worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`,
  import.meta.url,
);

/**
 * Megabytes of V8's young generation on the store's thread. A batch becomes garbage at once: with 6
 * MB, collections took a tenth of a small chat's CPU, and V8's own 48 MB are resident memory for
 * nothing that can be measured.
 */
const MOST_YOUNG = 24;

/** A new thread with a connection of its own. */
export function startThread(start: WorkerStart): Worker {
  return new Worker(WORKER_FILE, {
    workerData: start,
    resourceLimits: { maxYoungGenerationSizeMb: MOST_YOUNG },
  });
}

/** Methods of a part of the engine, as the main thread calls them. */
type Remote<Part, Name extends keyof Part> = {
  readonly [Method in Name]: Part[Method] extends (...parameters: infer Parameters) => infer Result
    ? (...parameters: Parameters) => Promise<Result>
    : never;
};

/**
 * Requests to the worker thread and their replies.
 *
 * @throws {StoreUnavailableError} when it cannot be opened; the message names the fix
 */
export async function openWorkerLink(options: WorkerLinkOptions) {
  const pending = new Map<number, PromiseWithResolvers<StoreReply>>();
  let thread: StoreThread | null = null;
  let restarting: ReturnType<typeof setTimeout> | undefined;
  let lastId = 0;
  let closed = false;
  let fault: EvidenceFault | null = null;

  async function call(operation: string, parameters: readonly unknown[]): Promise<unknown> {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the worker has the same build
    const reply = await send({ operation, parameters } as StoreRequest);
    switch (reply.kind) {
      case "done":
        return reply.value;
      case "key_refused":
        throw new KEY_ERRORS[reply.reason](reply.id);
      case "failed":
        throw new StoreUnavailableError(
          `the store could not do ${operation}: ${reply.description}`,
          { applied: reply.applied, permanent: reply.permanent },
        );
    }
  }

  function send(request: StoreRequest): Promise<StoreReply> {
    if (closed) throw new StoreUnavailableError("the store is closed", NOT_SENT);
    if (thread === null)
      throw new StoreUnavailableError(options.restart ? RESTARTING : ENDED, NOT_SENT);
    const reply = Promise.withResolvers<StoreReply>();
    lastId += 1;
    pending.set(lastId, reply);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin; this is not a window
    thread.postMessage({ id: lastId, request });
    return reply.promise;
  }

  function start(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const worker: StoreThread = (options.startWorker ?? startThread)(options.start);
    worker.on("message", (message: FromWorker) => {
      switch (message.type) {
        case "opened":
          thread = worker;
          fault = null;
          resolve();
          break;
        case "not_opened":
          reject(
            new StoreUnavailableError(`the database could not be opened: ${message.description}`),
          );
          break;
        case "reply":
          pending.get(message.id)?.resolve(message.reply);
          pending.delete(message.id);
          break;
        case "fault":
          fault = message.fault;
          break;
        case "keys_changed":
          options.onKeysChanged(message.records);
          break;
        case "refused":
          break;
      }
    });
    // `exit` follows; without a listener an `error` event would end the process.
    worker.on("error", () => reject(new StoreUnavailableError("the store's thread could not run")));
    worker.on("exit", () => {
      reject(new StoreUnavailableError("the store's thread ended while it was starting"));
      if (thread === worker) lose();
    });
    return promise;
  }

  /** The thread is gone: open calls fail, and new threads are tried until one opens the file. */
  function lose() {
    thread = null;
    const replies = [...pending.values()];
    pending.clear();
    for (const { reject } of replies)
      reject(new StoreUnavailableError("the store's thread ended unexpectedly"));
    if (options.restart) restartLater();
  }

  function restartLater() {
    if (closed) return;
    restarting = setTimeout(() => {
      start().then(options.onRestarted, restartLater);
    }, RESTART_DELAY);
  }

  /** Runs a statement in the worker; rejects as {@link remote}. */
  const runCommon: RunCommon = async (name, parameters = []) => {
    const rows = await call(name, parameters);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of a statement
    return rows as readonly Row[];
  };

  await start();
  return {
    /**
     * Methods of the engine's part, which run in the worker. They reject with what they throw there
     * ({@link DuplicateKeyError}, {@link KeyNotActiveError}, {@link KeyRotatedError}), and with
     * {@link StoreUnavailableError} when the store is closed, restarting, or could not do it.
     *
     * @example await link.remote("keys", "revoke").revoke(id, Date.now())
     */
    remote<Part extends keyof StoreParts, Name extends keyof StoreParts[Part] & string>(
      part: Part,
      ...names: readonly Name[]
    ): Remote<StoreParts[Part], Name> {
      const methods = names.map((name) => [
        name,
        (...parameters: readonly unknown[]) => call(`${part}.${name}`, parameters),
      ]);
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a method for each name
      return Object.fromEntries(methods) as Remote<StoreParts[Part], Name>;
    },
    runCommon,
    /** The fault of the open database, or `null`. */
    get fault(): EvidenceFault | null {
      return fault;
    },
    /** Ends the thread after the calls so far. Safe to call twice. */
    async close(): Promise<void> {
      if (closed) return;
      const worker = thread;
      const last = worker === null ? null : call("store.close", []);
      closed = true;
      clearTimeout(restarting);
      // A thread stuck in the disk never answers; without the limit the process could not end.
      const limit = new AbortController();
      try {
        await Promise.race([last, delay(CLOSE_WAIT, null, { signal: limit.signal })]);
      } finally {
        limit.abort();
        await worker?.terminate();
      }
    },
  };
}
