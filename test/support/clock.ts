import { whenFileEnds } from "./file-end.ts";

/**
 * Until the file ends, timers of this process that would run after exactly `from` milliseconds run
 * after `to`: for an interval of the sources whose length is no promise.
 */
export function shortenTimers(from: number, to: number): void {
  const { setTimeout, setInterval } = globalThis;
  const shortened = <Timer extends object>(timer: Timer): Timer =>
    new Proxy(timer, {
      apply: (target, self, [callback, delay, ...rest]: readonly unknown[]): unknown =>
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- timers are functions
        Reflect.apply(target as () => unknown, self, [
          callback,
          delay === from ? to : delay,
          ...rest,
        ]),
    });
  globalThis.setTimeout = shortened(setTimeout);
  globalThis.setInterval = shortened(setInterval);
  whenFileEnds(() => {
    Object.assign(globalThis, { setTimeout, setInterval });
  });
}

const now = performance.now.bind(performance);
let passed = 0;

/**
 * Moves the clock that measures durations (`performance.now`) forward, until the file ends. Timers
 * do not run earlier.
 */
export function passTime(milliseconds: number): void {
  if (passed === 0) {
    performance.now = () => now() + passed;
    whenFileEnds(() => {
      passed = 0;
      performance.now = now;
    });
  }
  passed += milliseconds;
}
