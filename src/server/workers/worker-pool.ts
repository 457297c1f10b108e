import { setTimeout as delay } from "node:timers/promises";
import type { ConfigurationFiles } from "../../compile/load.ts";
import type { EndpointsHealth } from "../../http/control/endpoints-health.ts";
import type { Listening } from "../../http/listen.ts";
import type { joinFamilies } from "../../telemetry/families.ts";
import { StartError } from "../start-error.ts";
import type { ServeOptions } from "../running-server.ts";
import type { WorkersStatus } from "./messages.ts";
import { WorkerProcess } from "./worker-process.ts";
import type { LentThread } from "../../store/sqlite/shared/shared-thread.ts";

/** How long a worker may take to send its metrics or its figures about endpoints, milliseconds. */
const ANSWER_PATIENCE = 2_000;

/**
 * How long after the end of a drain's time a worker may take to write its evidence and end,
 * milliseconds.
 */
const END_PATIENCE = 10_000;

interface WorkerPoolOptions {
  /** Of each worker. */
  readonly options: ServeOptions;
  /** Name of the build in /status. */
  readonly build: string;
  /** The package's version. */
  readonly version: string;
  readonly count: number;
  /** The store's thread for all workers; `null` where each opens the store itself. */
  readonly thread: LentThread | null;
  /** The last configuration without errors, for a worker that starts now. */
  readonly files: () => ConfigurationFiles;
  /** A line for operators. */
  readonly say: (line: string) => void;
}

interface Slot {
  readonly number: number;
  readonly restarts: Restarts;
  process: WorkerProcess | null;
  /** On the clock of `performance.now()`; `null` where it takes no requests. */
  readySince: number | null;
  timer: NodeJS.Timeout | null;
}

/**
 * The processes that serve the public side, kept at their number: one that dies is started again,
 * and the others keep serving.
 */
export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #slots: readonly Slot[];
  readonly #started = Promise.withResolvers<string>();
  #hasStarted = false;
  #stopping = false;
  /** Parts that could not be closed in stopped workers. */
  readonly #unclosed: string[] = [];
  /** Some worker could not take the newest files. */
  #behind = false;
  /** The newest files have errors: no worker got them. */
  #reloadFailed = false;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    options.thread?.watch((door) => this.#broadcast({ type: "door", door }));
    this.#slots = Array.from({ length: options.count }, (_, index) => ({
      number: index + 1,
      restarts: new Restarts(),
      process: null,
      readySince: null,
      timer: null,
    }));
  }

  get status(): WorkersStatus {
    const ready = this.#slots.filter(({ readySince }) => readySince !== null).length;
    return { configured: this.#slots.length, ready };
  }

  /** Once all have been: at least half of the workers take requests. */
  get isReady(): boolean {
    const { configured, ready } = this.status;
    return this.#hasStarted && ready * 2 >= configured;
  }

  /** Some worker is missing, or serves an older configuration. */
  get isDegraded(): boolean {
    const { configured, ready } = this.status;
    return this.#hasStarted && !this.#stopping && (ready < configured || this.#behind);
  }

  /** Workers that replaced a dead one, since the start. */
  get restarts(): number {
    return this.#slots.reduce((sum, { restarts }) => sum + restarts.total, 0);
  }

  /**
   * Starts all of them. Resolves when all take requests. @throws {StartError} with the reason why
   * one could not start; none is left.
   */
  async listen(): Promise<Listening> {
    for (const slot of this.#slots) this.#start(slot);
    try {
      const url = await this.#started.promise;
      return {
        url,
        retire: () => this.#broadcast({ type: "retire" }),
        close: (grace) => this.#stop(grace),
        renewTls: () => {},
      };
    } catch (error) {
      await this.#stop(0).catch(() => undefined);
      throw error;
    }
  }

  /** Gives the same files to all; resolves with whether all could take them. */
  async reload(files: ConfigurationFiles): Promise<boolean> {
    const done = await Promise.all(this.#running().map((process) => process.reload(files)));
    this.#behind = done.includes(false);
    return !this.#behind;
  }

  /** Metrics of the workers that answer in time, by their numbers. */
  async metrics(): Promise<Parameters<typeof joinFamilies>[0]> {
    const found = await Promise.all(
      this.#slots.map(async ({ number, process, readySince }) => {
        const families = readySince === null ? null : await process?.metrics(ANSWER_PATIENCE);
        return families == null ? [] : [[String(number), families] as const];
      }),
    );
    return found.flat();
  }

  /** Endpoint health of the workers that answer in time. */
  async endpointsHealth(): Promise<readonly EndpointsHealth[]> {
    const found = await Promise.all(
      this.#running().map((process) => process.endpointsHealth(ANSWER_PATIENCE)),
    );
    return found.filter((each) => each !== null);
  }

  /** Sends every worker the result of the newest reload for its /status. */
  reloadEnded(failed: boolean): void {
    this.#reloadFailed = failed;
    this.#reportStatus();
  }

  #reportStatus() {
    this.#broadcast({ type: "status", status: this.status, reloadFailed: this.#reloadFailed });
  }

  #running(): readonly WorkerProcess[] {
    return this.#slots.flatMap(({ process }) => process ?? []);
  }

  #broadcast(message: Parameters<WorkerProcess["send"]>[0]) {
    for (const process of this.#running()) process.send(message);
  }

  #start(slot: Slot) {
    const { build, version, options, thread, files } = this.#options;
    slot.timer = null;
    let isOver = false;
    const process = new WorkerProcess(
      {
        type: "start",
        worker: slot.number,
        build,
        version,
        options,
        files: files(),
        door: thread?.door ?? null,
      },
      {
        ready: (url) => {
          slot.readySince = performance.now();
          this.#changed(url);
        },
        failed: (message) => {
          if (this.#stopping) this.#unclosed.push(`worker ${slot.number}: ${message ?? "failed"}`);
          else if (!this.#hasStarted)
            this.#started.reject(new StartError(message ?? "a worker could not be started"));
          else if (message !== null) this.#options.say(`worker ${slot.number}: ${message}`);
        },
        hangs: (silence) => {
          this.#options.say(
            `worker ${slot.number} has not answered for ${silence / 1000} s; the server kills it`,
          );
        },
        ended: (how) => {
          if (isOver) return;
          isOver = true;
          this.#ended(slot, how);
        },
      },
    );
    slot.process = process;
  }

  #changed(url: string) {
    const { status } = this;
    this.#reportStatus();
    if (this.#hasStarted || status.ready < status.configured) return;
    this.#hasStarted = true;
    this.#started.resolve(url);
  }

  #ended(slot: Slot, how: string) {
    const served = slot.readySince === null ? 0 : performance.now() - slot.readySince;
    slot.process = null;
    slot.readySince = null;
    if (this.#stopping) return;
    if (!this.#hasStarted) {
      this.#started.reject(
        new StartError(`worker ${slot.number} ended while it was starting (${how})`),
      );
      return;
    }
    this.#reportStatus();
    const wait = slot.restarts.next(served);
    this.#options.say(
      `worker ${slot.number} ended (${how}); it is started again in ${wait / 1000} s`,
    );
    slot.timer = setTimeout(() => this.#start(slot), wait);
  }

  /** @throws {StartError} naming the workers that did not end in order, when all have ended. */
  async #stop(grace: number) {
    this.#stopping = true;
    for (const { timer } of this.#slots) if (timer !== null) clearTimeout(timer);
    this.#broadcast({ type: "stop" });
    const limit = new AbortController();
    const processes = this.#running();
    const late = async () => {
      await delay(grace + END_PATIENCE, null, { signal: limit.signal });
      for (const { number, process } of this.#slots) {
        if (process === null) continue;
        this.#unclosed.push(`worker ${number}: killed`);
        process.kill();
      }
    };
    // Aborted when all have ended in time.
    const killing = late().catch(() => {});
    await Promise.all(processes.map(({ ended }) => ended));
    limit.abort();
    await killing;
    if (this.#unclosed.length > 0) throw new StartError(this.#unclosed.join("; "));
  }
}

/** Milliseconds before a worker that has died is started again: the first time, and at most. */
const FIRST = 100;
const LONGEST = 30_000;

/** A worker that has served so long has died of something else than its start, milliseconds. */
const SETTLED = 60_000;

/** How long to wait before a worker is started again: longer each time, until one has stayed. */
export class Restarts {
  #inARow = 0;
  #total = 0;

  /** Since the start. */
  get total(): number {
    return this.#total;
  }

  /**
   * @param served how long the dead one had taken requests, milliseconds. @returns milliseconds to
   * wait.
   */
  next(served: number): number {
    this.#inARow = served >= SETTLED ? 1 : this.#inARow + 1;
    this.#total += 1;
    return Math.min(LONGEST, FIRST * 2 ** Math.min(this.#inARow - 1, 20));
  }
}
