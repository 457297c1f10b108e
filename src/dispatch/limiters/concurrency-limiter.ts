import type { QueueSettings } from "../../canon/table.ts";
import { WaitingQueue } from "./waiting-queue.ts";

/** Gives a slot back. The first call counts; later ones do nothing. */
export type Release = () => void;

/** Ends a wait, with a slot or without one. */
type Settle = (release: Release | null) => void;

/**
 * A limit on calls under way, with a bounded queue before it. First come, first served: nobody who asks later is let in before those who wait,
 * so nobody waits for ever behind a stream of others.
 */
export class ConcurrencyLimiter {
  #limit: number;
  #queue: QueueSettings;
  #inFlight = 0;
  readonly #waiting = new WaitingQueue<Settle>();

  /** @param limit calls at once, at least 1. */
  constructor(limit: number, queue: QueueSettings) {
    this.#limit = limit;
    this.#queue = queue;
  }

  /** Calls that have entered and not left. Above the limit only after it was lowered. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Calls in the queue. Above its size only after that was lowered. */
  get waiting(): number {
    return this.#waiting.length;
  }

  get queue(): QueueSettings {
    return this.#queue;
  }

  /** A slot where one is free; `null` otherwise, and that is as long as anybody waits. */
  tryEnter(): Release | null {
    // Whoever waits has been given what was free (`#admit`): a free slot means that nobody does.
    return this.#inFlight >= this.#limit ? null : this.#take();
  }

  /**
   * A free slot at once, or the next one that is this caller's turn. `null` where the queue is full, at the end of the queue's longest wait or at the
   * deadline, and for those who are gone: an aborted signal takes its waiter out of the queue in the same turn.
   *
   * A free slot is given after the deadline too: whoever calls with it learns of the deadline, not of a limit that was not reached. A signal that is
   * aborted after a slot was given changes nothing: the slot is the caller's to give back.
   *
   * @param deadline on the clock of `performance.now()`.
   */
  enter(deadline: number, signal?: AbortSignal): Promise<Release | null> {
    if (signal?.aborted === true) return Promise.resolve(null);
    const release = this.tryEnter();
    if (release !== null || this.#waiting.length >= this.#queue.size) return Promise.resolve(release);
    const wait = Math.min(this.#queue.wait, deadline - performance.now());
    return wait > 0 ? this.#wait(wait, signal) : Promise.resolve(null);
  }

  /**
   * For a reload: holds for whoever comes from now on. Those who have entered or wait stay, with the longest wait that they came with; a raised limit
   * lets the first of them in at once.
   */
  setLimits(limit: number, queue: QueueSettings): void {
    this.#limit = limit;
    this.#queue = queue;
    this.#admit();
  }

  #wait(milliseconds: number, signal: AbortSignal | undefined): Promise<Release | null> {
    return new Promise((resolve) => {
      const settle: Settle = (release) => {
        this.#waiting.remove(node);
        clearTimeout(timer);
        // The signal may outlive many waits: what stays on it stays in memory.
        signal?.removeEventListener("abort", giveUp);
        resolve(release);
      };
      const giveUp = (): void => settle(null);
      const timer = setTimeout(giveUp, milliseconds);
      signal?.addEventListener("abort", giveUp);
      const node = this.#waiting.join(settle);
    });
  }

  #take(): Release {
    this.#inFlight += 1;
    let isInside = true;
    return () => {
      if (!isInside) return;
      isInside = false;
      this.#inFlight -= 1;
      this.#admit();
    };
  }

  /** In the same turn in which a slot became free, so that nobody else can take it. */
  #admit(): void {
    while (this.#inFlight < this.#limit) {
      const settle = this.#waiting.first;
      if (settle === undefined) return;
      settle(this.#take());
    }
  }
}
