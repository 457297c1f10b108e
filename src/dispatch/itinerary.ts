import { FAILURES, type RetryAction, type UpstreamFailure } from "../canon/failure.ts";
import { hasCalledProvider } from "./failures.ts";

/**
 * Code of a candidate that was passed over because its calls were taken and another candidate was
 * fresh: its queue has not been tried yet.
 */
export const NOT_WAITED = "not_waited";

/**
 * Codes of answers that the same provider would give again: what it makes of the request has no
 * form in the caller's protocol.
 */
const GIVEN_AGAIN: ReadonlySet<string> = new Set([
  "unexpected_output_item",
  "missing_finish_reason",
  "format_not_followed",
  "unknown_finish_reason",
]);

/**
 * A timeout that the provider itself reported (408) was quick.
 *
 * @param resends the route allows that a request which the provider may have read is sent to it
 * again.
 */
export function retryActionFor(
  { kind, status, code, final, added }: UpstreamFailure,
  resends = false,
): RetryAction {
  if (final === true) return "stop";
  if (added === true) return "elsewhere";
  if (kind === "reset" && resends) return "again";
  if (kind === "malformed" && code !== null && GIVEN_AGAIN.has(code)) return "elsewhere";
  if (kind === "saturated" && code === NOT_WAITED) return "again";
  return kind === "timeout_first_byte" && status !== null ? "again" : FAILURES[kind].next;
}

/** Where to go next, and after how many milliseconds. */
export interface Step {
  /** Index in the plan. */
  readonly destination: number;
  readonly pause: number;
}

/** How often one candidate is called for one request. */
const TRIES = 2;

/** Full jitter between nothing and this, doubled with every attempt: milliseconds. */
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 5_000;

/**
 * A longer `Retry-After` is not waited for: the caller gets an error with it instead. Milliseconds.
 */
const LONGEST_WAIT = 30_000;

interface Destination {
  tries: number;
  /** Nothing of this request goes there any more. */
  closed: boolean;
  /** Not before this, on the caller's clock. */
  readyAt: number;
}

function isFresh(destination: Destination | undefined): boolean {
  return destination !== undefined && destination.tries === 0 && !destination.closed;
}

/**
 * The way of one request, or of one part of a batch, through its plan: every candidate once, in
 * order; then once more those whose failures may have passed, the one that is ready first before
 * the others. A machine: no clock, no timer, no randomness of its own.
 */
export class Itinerary {
  readonly #count: number;
  /** Empty until something has to be remembered of one: nearly every request ends at its first. */
  readonly #known: Destination[] = [];
  readonly #maxAttempts: number;
  readonly #deadline: number;
  readonly #resends: boolean;
  #at = 0;
  #attempts = 0;

  /**
   * @param destinations how many the plan has, at least 1.
   * @param maxAttempts calls that reach a provider, at least 1.
   * @param deadline when the request must have ended, on the clock of `next`.
   * @param resends see {@link retryActionFor}.
   */
  constructor(destinations: number, maxAttempts: number, deadline: number, resends = false) {
    this.#count = destinations;
    this.#maxAttempts = maxAttempts;
    this.#deadline = deadline;
    this.#resends = resends;
  }

  /**
   * Whether a candidate that is worth trying has not been tried yet: the request does not wait in a
   * queue while there is one.
   */
  hasFresh(isWorthTrying: (destination: number) => boolean): boolean {
    for (let destination = 0; destination < this.#count; destination += 1) {
      const mayBeTried = this.#known.length === 0 || isFresh(this.#known[destination]);
      if (mayBeTried && destination !== this.#at && isWorthTrying(destination)) return true;
    }
    return false;
  }

  get #destinations(): Destination[] {
    while (this.#known.length < this.#count)
      this.#known.push({ tries: 0, closed: false, readyAt: 0 });
    return this.#known;
  }

  /**
   * Takes the next fresh candidate for a call beside the one that is under way; it is not tried
   * again. `null` where there is none to spare.
   */
  takeFresh(isWorthTrying: (destination: number) => boolean): number | null {
    if (this.#attempts + 1 >= this.#maxAttempts) return null;
    const destination = this.#destinations.findIndex(
      (each, index) => index !== this.#at && isFresh(each) && isWorthTrying(index),
    );
    const taken = this.#destinations[destination];
    if (taken === undefined) return null;
    taken.tries = 1;
    taken.closed = true;
    this.#attempts += 1;
    return destination;
  }

  /**
   * What follows the failure of the candidate that was last given; the first candidate is 0.
   * `null`: the request has failed.
   *
   * @param now milliseconds. @param random from 0 to 1.
   */
  next(failure: UpstreamFailure, now: number, random: number): Step | null {
    const failed = this.#destinations[this.#at];
    if (failed === undefined) throw new Error("itinerary: no such candidate");
    failed.tries += 1;
    if (hasCalledProvider(failure)) this.#attempts += 1;
    const action = retryActionFor(failure, this.#resends);
    if (action === "stop" || this.#attempts >= this.#maxAttempts) return null;
    failed.closed = action === "elsewhere" || failed.tries >= TRIES;
    // The queue lets the request in as soon as a slot is free; a pause could only be longer.
    const pause =
      failure.kind === "saturated" ? 0 : (failure.retryAfter ?? random * this.#longestPause());
    failed.readyAt = now + pause;
    const fresh = this.#destinations.findIndex(isFresh);
    return this.#go(fresh === -1 ? this.#readiest() : fresh, now);
  }

  #go(destination: number | null, now: number): Step | null {
    const chosen = destination === null ? undefined : this.#destinations[destination];
    if (destination === null || chosen === undefined) return null;
    const pause = chosen.tries === 0 ? 0 : Math.max(chosen.readyAt - now, 0);
    // The wait would end at the deadline. The failure itself, at once, is the better answer.
    if (pause > LONGEST_WAIT || (pause > 0 && now + pause >= this.#deadline)) return null;
    this.#at = destination;
    return { destination, pause };
  }

  #readiest(): number | null {
    let best: number | null = null;
    for (const [index, { closed, readyAt }] of this.#destinations.entries()) {
      if (!closed && (best === null || readyAt < (this.#destinations[best]?.readyAt ?? 0)))
        best = index;
    }
    return best;
  }

  #longestPause(): number {
    return Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** Math.max(this.#attempts - 1, 0));
  }
}
