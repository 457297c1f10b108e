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

export type PromotionSimulator = ReturnType<typeof promotionSimulator>;

/**
 * Simulates promotions away from the thread that serves: one at a time, bounded in time and memory.
 * Callers with the same key share one run, and the newest result is kept, because several approvers
 * request the same one.
 */
export function promotionSimulator(bounds: Partial<SimulatorBounds> = {}) {
  const { time, memory, waiting: mostWaiting } = { ...BOUNDS, ...bounds };
  /** By the keys of their inputs, oldest first. */
  const results = new Map<string, Result>();
  let turn: Promise<unknown> = Promise.resolve();
  let waiting = 0;

  /** Reports may be large: only the newest one is kept. */
  const forgetOlder = (newest: string) => {
    for (const key of results.keys()) {
      if (key === newest) return;
      results.delete(key);
    }
  };

  const run = async (input: PromotionInput): Result => {
    const worker = new Worker(WORKER_FILE, {
      workerData: input,
      resourceLimits: { maxOldGenerationSizeMb: memory },
    });
    // A server that is being stopped does not wait for it.
    worker.unref();
    const answer = Promise.withResolvers<Awaited<Result>>();
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
  };

  return {
    /**
     * @param key equal for equal inputs only. @param input called when it is this simulation's
     * turn.
     */
    simulate(key: string, input: () => Promise<PromotionInput>): Result {
      const running = results.get(key);
      if (running !== undefined) return running;
      if (waiting > mostWaiting) return Promise.resolve("busy");
      waiting += 1;
      const result = turn
        .then(async () => run(await input()))
        .finally(() => {
          waiting -= 1;
        });
      turn = result.catch(() => undefined);
      results.set(key, result);
      void result.then(
        (simulated) => (typeof simulated === "string" ? results.delete(key) : forgetOlder(key)),
        () => results.delete(key),
      );
      return result;
    },
  };
}
