import { Worker } from "node:worker_threads";
import type { PromotionInput, SimulatedPromotion } from "./simulate-promotion.ts";

/** Type stripping runs the sources as `.ts`; a build has `.js` beside this file. */
const WORKER_FILE = new URL(
  `./promotion-worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`,
  import.meta.url,
);

/**
 * Why there is no simulation: try again later; the assertions file has errors; it took too long or
 * too much memory.
 */
export type SimulationFault = "busy" | "assertions_invalid" | "too_large";

interface SimulatorBounds {
  /** Longest time that one simulation may take, milliseconds. */
  readonly time: number;
  /** Largest heap of the thread, MiB. */
  readonly memory: number;
  /** How many simulations may wait for the one under way. */
  readonly waiting: number;
}

const BOUNDS: SimulatorBounds = { time: 60_000, memory: 1_024, waiting: 4 };

type Result = Promise<SimulatedPromotion | SimulationFault>;

/**
 * Simulates promotions away from the thread that serves: one at a time, bounded in time and memory.
 * Callers with the same key share one run, and the newest result is kept, because several approvers
 * request the same one.
 */
export class PromotionSimulator {
  readonly #bounds: SimulatorBounds;
  /** By the keys of their inputs, oldest first. */
  readonly #results = new Map<string, Result>();
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(bounds: Partial<SimulatorBounds> = {}) {
    this.#bounds = { ...BOUNDS, ...bounds };
  }

  /**
   * @param key equal for equal inputs only. @param input called when it is this simulation's turn.
   */
  simulate(key: string, input: () => Promise<PromotionInput>): Result {
    const running = this.#results.get(key);
    if (running !== undefined) return running;
    if (this.#waiting > this.#bounds.waiting) return Promise.resolve("busy");
    this.#waiting += 1;
    const result = this.#turn
      .then(async () => this.#run(await input()))
      .finally(() => {
        this.#waiting -= 1;
      });
    this.#turn = result.catch(() => undefined);
    this.#results.set(key, result);
    void result.then(
      (simulated) =>
        typeof simulated === "string" ? this.#results.delete(key) : this.#forgetOlder(key),
      () => this.#results.delete(key),
    );
    return result;
  }

  /** Reports may be large: only the newest one is kept. */
  #forgetOlder(newest: string) {
    for (const key of this.#results.keys()) {
      if (key === newest) return;
      this.#results.delete(key);
    }
  }

  async #run(input: PromotionInput): Promise<SimulatedPromotion | SimulationFault> {
    const { time, memory } = this.#bounds;
    const worker = new Worker(WORKER_FILE, {
      workerData: input,
      resourceLimits: { maxOldGenerationSizeMb: memory },
    });
    // A server that is being stopped does not wait for it.
    worker.unref();
    const answer = Promise.withResolvers<SimulatedPromotion | SimulationFault>();
    const timer = setTimeout(() => answer.resolve("too_large"), time);
    worker.on("message", (simulated: SimulatedPromotion | null) =>
      answer.resolve(simulated ?? "assertions_invalid"),
    );
    worker.on("error", (error) => {
      const code: unknown = error instanceof Error ? Reflect.get(error, "code") : null;
      if (code === "ERR_WORKER_OUT_OF_MEMORY") answer.resolve("too_large");
      else answer.reject(error);
    });
    worker.on("exit", () =>
      answer.reject(new Error("the thread of a simulation ended without a result")),
    );
    try {
      return await answer.promise;
    } finally {
      clearTimeout(timer);
      await worker.terminate();
    }
  }
}
