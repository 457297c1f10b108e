import { effectOf, type FailureKind, type UpstreamFailure } from "../canon/failure.ts";
import type { HealthSettings } from "../canon/table.ts";

/** Whether calls go to an endpoint. All times are on the caller's clock, milliseconds. */
export type HealthState =
  | { readonly state: "healthy" }
  | { readonly state: "ejected" | "rate_limited" | "unsupported"; readonly until: number }
  /**
   * Its ejection ended at `until`, and one call tests whether it has recovered. `isTrialRunning`:
   * another request, or the active probe, is that test.
   */
  | { readonly state: "half_open"; readonly until: number; readonly isTrialRunning: boolean };

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

export type Health = ReturnType<typeof endpointHealth>;

/**
 * Health of one endpoint, from its calls: outlier ejection with a trial before readmission. A state
 * machine without a clock.
 *
 * Calls that end during an ejection do not change its time: most began before it, and a hundred
 * calls that fail together are one outage. Afterwards the first call or probe to end decides.
 */
export function endpointHealth() {
  let inARow = 0;
  let current: FailureWindow | null = null;
  /** `null`: not ejected; past: half-open. */
  let outUntil: number | null = null;
  let rateLimitedUntil = 0;
  let unsupportedUntil = 0;
  /** Consecutive ejections; each long healthy time subtracts one. */
  let ejections = 0;
  let times = 0;
  let readmittedAt = 0;
  /** The trial is reserved until then; infinite once it has begun. */
  let trialUntil = 0;
  let probedAt = -Infinity;
  let successesWhileOut = 0;
  let latest: FailureKind | null = null;

  function fail(settings: HealthSettings, now: number): void {
    inARow += 1;
    successesWhileOut = 0;
    if (isHalfOpen(now)) return eject(settings, now);
    if (outUntil !== null) return;
    const window = windowFor(settings);
    window.add(true, now);
    if (exceedsLimits(settings, inARow, window.totals(now))) eject(settings, now);
  }

  function eject(settings: HealthSettings, now: number) {
    if (outUntil === null) forgiveEjections(settings, now);
    const doubled = settings.ejection * 2 ** Math.min(ejections, MOST_DOUBLINGS);
    outUntil = now + Math.min(doubled, settings.longestEjection);
    ejections += 1;
    times += 1;
    trialUntil = 0;
    successesWhileOut = 0;
  }

  /**
   * Each longest ejection time without an ejection subtracts one, so an endpoint that fails every
   * minute stays out longer each time.
   */
  function forgiveEjections(settings: HealthSettings, now: number) {
    const spans = Math.floor((now - readmittedAt) / Math.max(settings.longestEjection, 1));
    ejections = Math.max(ejections - spans, 0);
  }

  function readmit(now: number) {
    outUntil = null;
    readmittedAt = now;
    inARow = 0;
    // Earlier failures would eject it again at the next one.
    current = null;
    trialUntil = 0;
  }

  /** An inconclusive call passes the trial to the next request. */
  function giveTrialBack(now: number) {
    if (isHalfOpen(now)) trialUntil = 0;
  }

  function isHalfOpen(now: number) {
    return outUntil !== null && outUntil <= now;
  }

  /** A reload may have changed the window's length; counts of another length mean nothing. */
  function windowFor({ window: span }: HealthSettings): FailureWindow {
    if (current === null || current.span !== span) current = failureWindow(span);
    return current;
  }

  return {
    /** The latest failure that counted; `null` where none did. */
    get latestFailure(): FailureKind | null {
      return latest;
    },
    get failuresInARow(): number {
      return inARow;
    },
    /** Ejected, or on trial. */
    get isUnhealthy(): boolean {
      return outUntil !== null;
    },
    /** Ejections since the start. */
    get timesEjected(): number {
      return times;
    },
    healthState(settings: HealthSettings, now: number): HealthState {
      const ejectedUntil = outUntil;
      if (unsupportedUntil > now) return { state: "unsupported", until: unsupportedUntil };
      if (ejectedUntil !== null && ejectedUntil > now)
        return { state: "ejected", until: ejectedUntil };
      if (rateLimitedUntil > now) return { state: "rate_limited", until: rateLimitedUntil };
      if (ejectedUntil === null) return HEALTHY;
      const isTrialRunning = settings.probe !== null || trialUntil > now;
      return { state: "half_open", until: ejectedUntil, isTrialRunning };
    },
    /** Reserves the trial for one request for a moment. */
    claimTrial(now: number): void {
      trialUntil = now + TRIAL_CLAIM;
    },
    /** A call begins. On a half-open endpoint it is the trial, however long it takes. */
    begin(now: number): void {
      if (isHalfOpen(now)) trialUntil = Infinity;
    },
    /** A call has output: enough to readmit the endpoint, though the answer may take minutes. */
    answering(now: number): void {
      if (isHalfOpen(now)) readmit(now);
    },
    /** A call has ended; `null`: without a failure. */
    endCall(failure: UpstreamFailure | null, settings: HealthSettings, now: number): void {
      const effect = failure === null ? "well" : effectOf(failure.kind);
      switch (effect) {
        case "well":
          inARow = 0;
          if (outUntil === null) return windowFor(settings).add(false, now);
          successesWhileOut += 1;
          // Ejected endpoints are called where no other candidate is left. A success may have begun
          // before the ejection, so several are needed.
          if (isHalfOpen(now) || successesWhileOut >= SUCCESSES_TO_READMIT) readmit(now);
          return;
        case "ill":
          latest = failure?.kind ?? null;
          return fail(settings, now);
        case "rate_limited": {
          const wait = Math.min(
            failure?.retryAfter ?? DEFAULT_RATE_LIMIT,
            settings.longestEjection,
          );
          latest = failure?.kind ?? null;
          rateLimitedUntil = Math.max(rateLimitedUntil, now + wait);
          giveTrialBack(now);
          return;
        }
        case "nothing":
          giveTrialBack(now);
      }
    },
    /** The server answered that it lacks the path. It works otherwise. */
    lacksPath(now: number): void {
      latest = "not_found";
      unsupportedUntil = now + UNSUPPORTED_TIME;
      readmit(now);
    },
    /** Whether the active probe is due now; if so it holds the trial until `probed`. */
    takeProbe(settings: HealthSettings, now: number): boolean {
      const { probe } = settings;
      if (probe === null || !isHalfOpen(now) || trialUntil > now) return false;
      if (now - probedAt < probe.interval) return false;
      probedAt = now;
      trialUntil = Infinity;
      return true;
    },
    probed(isReachable: boolean, settings: HealthSettings, now: number): void {
      if (!isHalfOpen(now)) return;
      if (isReachable) readmit(now);
      else eject(settings, now);
    },
  };
}

function exceedsLimits(
  { consecutiveFailures, failureRatio, minimumCalls }: HealthSettings,
  failuresInARow: number,
  { calls, failures }: { readonly calls: number; readonly failures: number },
): boolean {
  if (consecutiveFailures > 0 && failuresInARow >= consecutiveFailures) return true;
  return failureRatio > 0 && calls >= minimumCalls && failures >= failureRatio * calls;
}

/** Buckets per window: it slides by a tenth, and its memory does not depend on traffic. */
const BUCKETS = 10;

type FailureWindow = ReturnType<typeof failureWindow>;

/**
 * Calls and failures in a sliding window.
 *
 * @param span of the window, milliseconds; the oldest tenth goes at once.
 */
export function failureWindow(span: number) {
  const callsIn = new Uint32Array(BUCKETS);
  const failuresIn = new Uint32Array(BUCKETS);
  let calls = 0;
  let failures = 0;
  /** Number of the newest bucket, counted from the clock's zero. */
  let newest = 0;
  const width: number = Math.max(span, 1) / BUCKETS;

  function slide(now: number) {
    const current = Math.floor(now / width);
    // Each bucket is cleared once, however long the pause; a clock that stops or steps back clears
    // none.
    const from = Math.max(newest + 1, current - BUCKETS + 1);
    for (let bucket = from; bucket <= current; bucket += 1) {
      const slot = bucket % BUCKETS;
      calls -= callsIn[slot] ?? 0;
      failures -= failuresIn[slot] ?? 0;
      callsIn[slot] = 0;
      failuresIn[slot] = 0;
    }
    newest = Math.max(newest, current);
  }

  return {
    span,
    add(isFailure: boolean, now: number): void {
      slide(now);
      const slot = newest % BUCKETS;
      callsIn[slot] = (callsIn[slot] ?? 0) + 1;
      calls += 1;
      if (!isFailure) return;
      failuresIn[slot] = (failuresIn[slot] ?? 0) + 1;
      failures += 1;
    },
    totals(now: number): { readonly calls: number; readonly failures: number } {
      slide(now);
      return { calls: calls, failures: failures };
    },
  };
}
