import { effectOf, type FailureKind, type UpstreamFailure } from "../canon/failure.ts";
import type { HealthSettings } from "../canon/table.ts";

/** Whether calls go to an endpoint. All times are on the caller's clock, milliseconds. */
export type HealthState =
  | { readonly state: "healthy" }
  | { readonly state: "ejected" | "rate_limited" | "unsupported"; readonly until: number }
  /**
   * Its time out is over since `until`, and one call shall find out whether it has recovered.
   * `isTaken`: another request has that call, or the active probe's.
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

/**
 * How long an endpoint is left alone that is out of quota and does not say for how long,
 * milliseconds.
 */
export const DEFAULT_RATE_LIMIT = 5_000;

/**
 * How long a server is taken to lack a path that it answered with `not_found`, milliseconds: an
 * update may bring the path.
 */
export const UNSUPPORTED_TIME = 3_600_000;

/**
 * How long a trial is kept for a request that has not begun it, milliseconds: a request may end
 * before it gets there.
 */
export const TRIAL_CLAIM = 5_000;

/** Good calls in a row that take an endpoint back before its time. */
const SUCCESSES_TO_READMIT = 3;

/**
 * Beyond so many ejections in a row a longer one is always the longest; the power of two stays a
 * finite number.
 */
const MOST_DOUBLINGS = 30;

/**
 * The health of one endpoint, from its calls: outlier ejection with a trial before readmission. A
 * machine without a clock.
 *
 * While its time out runs, no call that ends there shortens or lengthens it: what ends then mostly
 * began before, and a hundred calls that fail together are one outage, not a hundred. Afterwards
 * the first call or probe to end decides, by either.
 */
export class Health {
  #failuresInARow = 0;
  #window: FailureWindow | null = null;
  /** `null`: not ejected; past: half-open. */
  #ejectedUntil: number | null = null;
  #rateLimitedUntil = 0;
  #unsupportedUntil = 0;
  /** Ejections in a row; a long healthy time takes them back one by one. */
  #ejections = 0;
  #timesEjected = 0;
  #readmittedAt = 0;
  /** Until then the trial is taken; without end once it has begun. */
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

  /** Out of service, or on trial. */
  get isOut(): boolean {
    return this.#ejectedUntil !== null;
  }

  /** Ejections since the beginning. */
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

  /** Keeps the trial for one request, which has a moment to begin it. */
  claimTrial(now: number): void {
    this.#trialUntil = now + TRIAL_CLAIM;
  }

  /**
   * A call begins. To an endpoint whose time out is over it is the trial, for as long as it takes.
   */
  begin(now: number): void {
    if (this.#isHalfOpen(now)) this.#trialUntil = Infinity;
  }

  /**
   * A call has brought output: enough to readmit the endpoint, though the answer may go on for
   * minutes.
   */
  answering(now: number): void {
    if (this.#isHalfOpen(now)) this.#readmit(now);
  }

  /** A call has ended; `null`: well. */
  endCall(failure: UpstreamFailure | null, settings: HealthSettings, now: number): void {
    const effect = failure === null ? "well" : effectOf(failure.kind);
    switch (effect) {
      case "well":
        this.#failuresInARow = 0;
        if (this.#ejectedUntil === null) return this.#windowFor(settings).add(false, now);
        this.#successesWhileOut += 1;
        // It is called although it is out where no other candidate is left. A success that began
        // before the ejection looks alike, so a few together are needed.
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

  /** The server has answered that it does not have the path. It works otherwise. */
  lacksPath(now: number): void {
    this.#latestFailure = "not_found";
    this.#unsupportedUntil = now + UNSUPPORTED_TIME;
    this.#readmit(now);
  }

  /** Whether the active probe is due now; if so it has the trial until it reports with `probed`. */
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

  #eject(settings: HealthSettings, now: number): void {
    if (this.#ejectedUntil === null) this.#forgiveEjections(settings, now);
    const doubled = settings.ejection * 2 ** Math.min(this.#ejections, MOST_DOUBLINGS);
    this.#ejectedUntil = now + Math.min(doubled, settings.longestEjection);
    this.#ejections += 1;
    this.#timesEjected += 1;
    this.#trialUntil = 0;
    this.#successesWhileOut = 0;
  }

  /**
   * One ejection is forgotten for each of the longest that the endpoint has been well: who falls
   * ill every minute stays out longer each time.
   */
  #forgiveEjections(settings: HealthSettings, now: number): void {
    const spans = Math.floor((now - this.#readmittedAt) / Math.max(settings.longestEjection, 1));
    this.#ejections = Math.max(this.#ejections - spans, 0);
  }

  #readmit(now: number): void {
    this.#ejectedUntil = null;
    this.#readmittedAt = now;
    this.#failuresInARow = 0;
    // Failures from before would eject it again at the first new one.
    this.#window = null;
    this.#trialUntil = 0;
  }

  /** A call that decides nothing passes the trial on to the next request. */
  #giveTrialBack(now: number): void {
    if (this.#isHalfOpen(now)) this.#trialUntil = 0;
  }

  #isHalfOpen(now: number): boolean {
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

/**
 * Into so many pieces the window is cut: it slides by a tenth of itself, and its memory does not
 * depend on the traffic.
 */
const BUCKETS = 10;

/** Calls and failures of the last while. */
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

  /** @param span milliseconds that are remembered; the oldest tenth of them goes at once. */
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

  #slide(now: number): void {
    const current = Math.floor(now / this.#width);
    // A bucket is forgotten once, however long no call came; a clock that stands still or steps
    // back forgets nothing.
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
