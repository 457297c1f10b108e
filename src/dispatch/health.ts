import { effectOf, type FailureKind, type UpstreamFailure } from "../canon/failure.ts";
import type { HealthSettings } from "../canon/table.ts";

/** Whether calls go to an endpoint. All times are on the caller's clock, milliseconds. */
export type HealthState =
  | { readonly state: "healthy" }
  | { readonly state: "ejected" | "rate_limited" | "unsupported"; readonly until: number }
  /**
   * Its ejection ended at `until`, and one call tests whether it has recovered. `isTaken`: another
   * request, or the active probe, is that test.
   */
  | { readonly state: "half_open"; readonly until: number; readonly isTaken: boolean };

export const HEALTH_STATES = [
  "healthy",
  "ejected",
  "rate_limited",
  "half_open",
  "unsupported",
] as const;

export const HEALTHY: HealthState = { state: "healthy" };

/** Pause after a rate limit without a `Retry-After`, milliseconds. */
export const DEFAULT_RATE_LIMIT = 5_000;

/**
 * How long a `not_found` means that the server lacks the path, milliseconds: an update may add it.
 */
export const UNSUPPORTED_TIME = 3_600_000;

/**
 * How long a trial is reserved for a request that has not begun it, milliseconds: the request may
 * end before its call.
 */
export const TRIAL_CLAIM = 5_000;

/** Consecutive successes that readmit an endpoint early. */
const SUCCESSES_TO_READMIT = 3;

/** Later ejections in a row have the longest time anyway; the power of two stays finite. */
const MOST_DOUBLINGS = 30;

/**
 * Health of one endpoint, from its calls: outlier ejection with a trial before readmission. A state
 * machine without a clock.
 *
 * Calls that end during an ejection do not change its time: most began before it, and a hundred
 * calls that fail together are one outage. Afterwards the first call or probe to end decides.
 */
export class Health {
  #failuresInARow = 0;
  #window: FailureWindow | null = null;
  /** `null`: not ejected; past: half-open. */
  #ejectedUntil: number | null = null;
  #rateLimitedUntil = 0;
  #unsupportedUntil = 0;
  /** Consecutive ejections; each long healthy time subtracts one. */
  #ejections = 0;
  #timesEjected = 0;
  #readmittedAt = 0;
  /** The trial is reserved until then; infinite once it has begun. */
  #trialUntil = 0;
  #probedAt = -Infinity;
  #successesWhileOut = 0;
  #latestFailure: FailureKind | null = null;

  /** The latest failure that counted; `null` where none did. */
  get latestFailure(): FailureKind | null {
    return this.#latestFailure;
  }

  get failuresInARow(): number {
    return this.#failuresInARow;
  }

  /** Ejected, or on trial. */
  get isOut(): boolean {
    return this.#ejectedUntil !== null;
  }

  /** Ejections since the start. */
  get timesEjected(): number {
    return this.#timesEjected;
  }

  healthState(settings: HealthSettings, now: number): HealthState {
    const ejectedUntil = this.#ejectedUntil;
    if (this.#unsupportedUntil > now)
      return { state: "unsupported", until: this.#unsupportedUntil };
    if (ejectedUntil !== null && ejectedUntil > now)
      return { state: "ejected", until: ejectedUntil };
    if (this.#rateLimitedUntil > now)
      return { state: "rate_limited", until: this.#rateLimitedUntil };
    if (ejectedUntil === null) return HEALTHY;
    const isTaken = settings.probe !== null || this.#trialUntil > now;
    return { state: "half_open", until: ejectedUntil, isTaken };
  }

  /** Reserves the trial for one request for a moment. */
  claimTrial(now: number): void {
    this.#trialUntil = now + TRIAL_CLAIM;
  }

  /** A call begins. On a half-open endpoint it is the trial, however long it takes. */
  begin(now: number): void {
    if (this.#isHalfOpen(now)) this.#trialUntil = Infinity;
  }

  /** A call has output: enough to readmit the endpoint, though the answer may take minutes. */
  answering(now: number): void {
    if (this.#isHalfOpen(now)) this.#readmit(now);
  }

  /** A call has ended; `null`: without a failure. */
  endCall(failure: UpstreamFailure | null, settings: HealthSettings, now: number): void {
    const effect = failure === null ? "well" : effectOf(failure.kind);
    switch (effect) {
      case "well":
        this.#failuresInARow = 0;
        if (this.#ejectedUntil === null) return this.#windowFor(settings).add(false, now);
        this.#successesWhileOut += 1;
        // Ejected endpoints are called where no other candidate is left. A success may have begun
        // before the ejection, so several are needed.
        if (this.#isHalfOpen(now) || this.#successesWhileOut >= SUCCESSES_TO_READMIT)
          this.#readmit(now);
        return;
      case "ill":
        this.#latestFailure = failure?.kind ?? null;
        return this.#fail(settings, now);
      case "rate_limited": {
        const wait = Math.min(failure?.retryAfter ?? DEFAULT_RATE_LIMIT, settings.longestEjection);
        this.#latestFailure = failure?.kind ?? null;
        this.#rateLimitedUntil = Math.max(this.#rateLimitedUntil, now + wait);
        this.#giveTrialBack(now);
        return;
      }
      case "nothing":
        this.#giveTrialBack(now);
    }
  }

  /** The server answered that it lacks the path. It works otherwise. */
  lacksPath(now: number): void {
    this.#latestFailure = "not_found";
    this.#unsupportedUntil = now + UNSUPPORTED_TIME;
    this.#readmit(now);
  }

  /** Whether the active probe is due now; if so it holds the trial until `probed`. */
  takeProbe(settings: HealthSettings, now: number): boolean {
    const { probe } = settings;
    if (probe === null || !this.#isHalfOpen(now) || this.#trialUntil > now) return false;
    if (now - this.#probedAt < probe.interval) return false;
    this.#probedAt = now;
    this.#trialUntil = Infinity;
    return true;
  }

  probed(isThere: boolean, settings: HealthSettings, now: number): void {
    if (!this.#isHalfOpen(now)) return;
    if (isThere) this.#readmit(now);
    else this.#eject(settings, now);
  }

  #fail(settings: HealthSettings, now: number): void {
    this.#failuresInARow += 1;
    this.#successesWhileOut = 0;
    if (this.#isHalfOpen(now)) return this.#eject(settings, now);
    if (this.#ejectedUntil !== null) return;
    const window = this.#windowFor(settings);
    window.add(true, now);
    if (isTooMuch(settings, this.#failuresInARow, window.totals(now))) this.#eject(settings, now);
  }

  #eject(settings: HealthSettings, now: number) {
    if (this.#ejectedUntil === null) this.#forgiveEjections(settings, now);
    const doubled = settings.ejection * 2 ** Math.min(this.#ejections, MOST_DOUBLINGS);
    this.#ejectedUntil = now + Math.min(doubled, settings.longestEjection);
    this.#ejections += 1;
    this.#timesEjected += 1;
    this.#trialUntil = 0;
    this.#successesWhileOut = 0;
  }

  /**
   * Each longest ejection time without an ejection subtracts one, so an endpoint that fails every
   * minute stays out longer each time.
   */
  #forgiveEjections(settings: HealthSettings, now: number) {
    const spans = Math.floor((now - this.#readmittedAt) / Math.max(settings.longestEjection, 1));
    this.#ejections = Math.max(this.#ejections - spans, 0);
  }

  #readmit(now: number) {
    this.#ejectedUntil = null;
    this.#readmittedAt = now;
    this.#failuresInARow = 0;
    // Earlier failures would eject it again at the next one.
    this.#window = null;
    this.#trialUntil = 0;
  }

  /** A call that proves nothing passes the trial to the next request. */
  #giveTrialBack(now: number) {
    if (this.#isHalfOpen(now)) this.#trialUntil = 0;
  }

  #isHalfOpen(now: number) {
    return this.#ejectedUntil !== null && this.#ejectedUntil <= now;
  }

  /** A reload may have changed the window's length; counts of another length mean nothing. */
  #windowFor({ window: span }: HealthSettings): FailureWindow {
    if (this.#window === null || this.#window.span !== span) this.#window = new FailureWindow(span);
    return this.#window;
  }
}

function isTooMuch(
  { consecutiveFailures, failureRatio, minimumCalls }: HealthSettings,
  failuresInARow: number,
  { calls, failures }: { readonly calls: number; readonly failures: number },
): boolean {
  if (consecutiveFailures > 0 && failuresInARow >= consecutiveFailures) return true;
  return failureRatio > 0 && calls >= minimumCalls && failures >= failureRatio * calls;
}

/** Buckets per window: it slides by a tenth, and its memory does not depend on traffic. */
const BUCKETS = 10;

/** Calls and failures in a sliding window. */
export class FailureWindow {
  /** Milliseconds. */
  readonly span: number;
  readonly #width: number;
  readonly #callsIn = new Uint32Array(BUCKETS);
  readonly #failuresIn = new Uint32Array(BUCKETS);
  #calls = 0;
  #failures = 0;
  /** Number of the newest bucket, counted from the clock's zero. */
  #newest = 0;

  /** @param span of the window, milliseconds; the oldest tenth goes at once. */
  constructor(span: number) {
    this.span = span;
    this.#width = Math.max(span, 1) / BUCKETS;
  }

  add(isFailure: boolean, now: number): void {
    this.#slide(now);
    const slot = this.#newest % BUCKETS;
    this.#callsIn[slot] = (this.#callsIn[slot] ?? 0) + 1;
    this.#calls += 1;
    if (!isFailure) return;
    this.#failuresIn[slot] = (this.#failuresIn[slot] ?? 0) + 1;
    this.#failures += 1;
  }

  totals(now: number): { readonly calls: number; readonly failures: number } {
    this.#slide(now);
    return { calls: this.#calls, failures: this.#failures };
  }

  #slide(now: number) {
    const current = Math.floor(now / this.#width);
    // Each bucket is cleared once, however long the pause; a clock that stops or steps back clears
    // none.
    const from = Math.max(this.#newest + 1, current - BUCKETS + 1);
    for (let bucket = from; bucket <= current; bucket += 1) {
      const slot = bucket % BUCKETS;
      this.#calls -= this.#callsIn[slot] ?? 0;
      this.#failures -= this.#failuresIn[slot] ?? 0;
      this.#callsIn[slot] = 0;
      this.#failuresIn[slot] = 0;
    }
    this.#newest = Math.max(this.#newest, current);
  }
}
