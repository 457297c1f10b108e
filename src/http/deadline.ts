/**
 * How long after its deadline a request's error still waits for what it should name or have: the
 * calls' own failures, and its record. Milliseconds.
 */
export const GRACE = 100;

/**
 * Node keeps one list for all timers of the same time: with each request's own deadline it would
 * make a list a request. Milliseconds.
 */
const LOOK = 10_000;

/**
 * Calls `end` at a deadline, at the earliest in the next turn of the event loop.
 *
 * @param deadline on the clock of `performance.now()`
 * @returns prevents it
 */
export function atDeadline(deadline: number, end: () => void): () => void {
  let timer: NodeJS.Timeout;
  const look = (least: number): void => {
    const left = deadline - performance.now();
    timer = setTimeout(left > LOOK ? look : end, Math.max(least, Math.min(left, LOOK)), 0);
  };
  look(1);
  return () => clearTimeout(timer);
}

/**
 * Calls `then` once: with the promise's value, or with `null` when it is rejected or at the
 * deadline.
 *
 * @param deadline on the clock of `performance.now()`; `null`: none.
 */
export function beforeDeadline<Value>(
  waited: Promise<Value>,
  deadline: number | null,
  then: (value: Value | null) => void,
): void {
  let isOver = false;
  const end = (value: Value | null): void => {
    if (isOver) return;
    isOver = true;
    cancel?.();
    then(value);
  };
  // Also where the deadline has passed: what has come already is first.
  const cancel = deadline === null ? null : atDeadline(deadline, () => end(null));
  waited.then(end, () => end(null));
}
