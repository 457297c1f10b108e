/** Interval between two pings of a worker, which it answers from its event loop, milliseconds. */
const INTERVAL = 2_500;

/**
 * How often in a row it may be found without an answer, so 15 s to 17.5 s: no request of ours keeps the loop so long, and a
 * machine that is short of memory or time gets some patience. Times found are counted, not time: after this process itself
 * has been stopped (a suspended machine), what it missed is one.
 */
const MISSES = 6;

/** The worker that is pinged. */
export interface HeartbeatTarget {
  /** Sends a question to which {@link Heartbeat.answered} is the answer. */
  readonly ping: () => void;
  /** It has not answered in time; pinging ends. @param silence at least so long, milliseconds. */
  readonly lost: (silence: number) => void;
}

/**
 * Finds a process that lives and does nothing: stopped, or in a loop without end. Its connections are kept by the kernel,
 * so nothing else would tell.
 */
export class Heartbeat {
  readonly #target: HeartbeatTarget;
  readonly #timer: NodeJS.Timeout;
  #open = false;
  #misses = 0;

  constructor(target: HeartbeatTarget) {
    this.#target = target;
    this.#timer = setInterval(() => this.#beat(), INTERVAL).unref();
  }

  answered(): void {
    this.#open = false;
    this.#misses = 0;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    if (!this.#open) {
      this.#open = true;
      this.#target.ping();
      return;
    }
    this.#misses += 1;
    if (this.#misses < MISSES) return;
    this.stop();
    this.#target.lost(MISSES * INTERVAL);
  }
}
