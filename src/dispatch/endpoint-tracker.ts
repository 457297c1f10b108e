import type { Candidate } from "../canon/decision.ts";
import type { FailureKind, UpstreamFailure } from "../canon/failure.ts";
import type { ProviderPreferences } from "../canon/preferences.ts";
import type { HealthSettings, RouteRow } from "../canon/table.ts";
import { arrange, isArrangedByChance, type Arrangement, type Circumstances } from "./arrange.ts";
import { Health, HEALTHY, type HealthState } from "./health.ts";
import { Measures, PERCENTILES } from "./measures.ts";

/** What a call has shown of the endpoint where it went. */
export interface CallOutcome {
  readonly failure: UpstreamFailure | null;
  /** Milliseconds from the request sent to the first output; `null` where there was none to measure. */
  readonly firstToken: number | null;
  /** Output tokens a second; `null` where the provider did not count. */
  readonly tokensPerSecond: number | null;
}

/** The status of an endpoint, for people to read. Measures are `null` where there are none. */
interface EndpointStatus {
  readonly state: HealthState["state"];
  /** When the state ends by itself, on the caller's clock; `null` where it does not. */
  readonly until: number | null;
  /** The latest failure that counted against it; `null` where it is healthy. */
  readonly failure: FailureKind | null;
  readonly consecutive_failures: number;
  /**
   * Time to the first token, milliseconds. `recent` is what `sort: latency` compares (peak EWMA, before the calls under way); `age`: milliseconds since
   * the latest measurement.
   */
  readonly latency: {
    readonly p50: number | null;
    readonly p90: number | null;
    readonly recent: number | null;
    readonly age: number | null;
  };
  /** Tokens per second, and milliseconds since the latest measurement. */
  readonly throughput: { readonly p50: number | null; readonly age: number | null };
  readonly in_flight: number;
}

interface TrackedEndpoint {
  readonly health: Health;
  readonly measures: Measures;
  /** The table has it no longer: it goes with its last call. */
  isRetired: boolean;
}

/** Called when an endpoint is taken out of service and when it is back. @param ejections times that it was taken out. */
type HealthListener = (endpointId: string, change: "ejected" | "readmitted", ejections: number) => void;

/** Receives how calls go. */
export type CallTracker = Pick<EndpointTracker, "begin" | "answering" | "end">;

/**
 * Health and measurements of the endpoints, from the calls of this process alone. They outlive tables: an endpoint whose id stays keeps them.
 *
 * All times are milliseconds on one clock that never goes back (`performance.now()`), given with every call.
 */
export class EndpointTracker {
  readonly #endpoints = new Map<string, TrackedEndpoint>();
  readonly #settingsOf: (endpointId: string) => HealthSettings | null;
  readonly #changed: HealthListener;

  /** @param settingsOf the settings in force now; `null` for endpoints that the table no longer has, whose health then means nothing. */
  constructor(settingsOf: (endpointId: string) => HealthSettings | null, changed: HealthListener = () => {}) {
    this.#settingsOf = settingsOf;
    this.#changed = changed;
  }

  /**
   * The order in which one request tries its plan now. Where it is to find out whether an endpoint has recovered, other requests leave that endpoint out
   * meanwhile: do not call this for a request that will not be made.
   *
   * @param stickyKey see {@link StickyKeyOf}; means nothing where no tier is sticky.
   * @param random from 0 up to, and without, 1.
   */
  arrange(
    plan: readonly Candidate[],
    route: Pick<RouteRow, "maxEjectedShare"> & Pick<Circumstances, "isOrdered">,
    preferences: ProviderPreferences | null,
    stickyKey: string | null,
    now: number,
    random: () => number,
  ): Arrangement {
    const arrangement = arrange(plan, this.#circumstances(route, preferences, stickyKey, now, random));
    const { trial } = arrangement;
    if (trial !== null) this.#endpoints.get(trial.endpoint.id)?.health.claimTrial(now);
    return arrangement;
  }

  /** The order that {@link arrange} would give for a call that began now, for a request that is not made: nothing is reserved. */
  foresee(
    plan: readonly Candidate[],
    route: Pick<RouteRow, "maxEjectedShare"> & Pick<Circumstances, "isOrdered">,
    preferences: ProviderPreferences | null,
    stickyKey: string | null,
    now: number,
    random: () => number,
  ): Arrangement & { readonly isByChance: boolean } {
    const circumstances = this.#circumstances(route, preferences, stickyKey, now, random);
    const arrangement = arrange(plan, circumstances);
    return { ...arrangement, isByChance: isArrangedByChance(plan, arrangement, circumstances) };
  }

  #circumstances(
    { maxEjectedShare, isOrdered }: Pick<RouteRow, "maxEjectedShare"> & Pick<Circumstances, "isOrdered">,
    preferences: ProviderPreferences | null,
    stickyKey: string | null,
    now: number,
    random: () => number,
  ): Circumstances {
    return {
      measuresOf: (endpointId) => this.#endpoints.get(endpointId)?.measures ?? null,
      healthStateOf: (endpointId) => this.#healthStateOf(endpointId, now),
      maxEjectedShare,
      isOrdered,
      preferences,
      stickyKey,
      now,
      random,
    };
  }

  /** A call begins. `end` follows, once, whatever becomes of it. */
  begin(endpointId: string, now: number): void {
    const tracked = this.#tracked(endpointId);
    tracked.measures.begin();
    tracked.health.begin(now);
  }

  /** A call has brought its first output; an endpoint on trial is readmitted without waiting for the end of a long answer. */
  answering(endpointId: string, now: number): void {
    this.#watched(endpointId, (health) => health.answering(now));
  }

  /** A call has ended. */
  end(endpointId: string, outcome: CallOutcome, now: number): void {
    const tracked = this.#endpoints.get(endpointId);
    if (tracked === undefined) return;
    tracked.measures.end(outcome.firstToken, outcome.tokensPerSecond, now);
    const settings = this.#settingsOf(endpointId);
    if (settings !== null) this.#watched(endpointId, (health) => health.end(outcome.failure, settings, now));
    this.#dropIfDone(endpointId, tracked);
  }

  status(endpointId: string, now: number): EndpointStatus {
    const tracked = this.#endpoints.get(endpointId);
    const healthState = this.#healthStateOf(endpointId, now);
    const isOut = healthState.state === "ejected" || healthState.state === "rate_limited";
    return {
      state: healthState.state,
      until: isOut ? healthState.until : null,
      failure: healthState.state === "healthy" ? null : (tracked?.health.latestFailure ?? null),
      consecutive_failures: tracked?.health.failuresInARow ?? 0,
      latency: {
        p50: tracked?.measures.firstToken(PERCENTILES.p50, now) ?? null,
        p90: tracked?.measures.firstToken(PERCENTILES.p90, now) ?? null,
        recent: tracked?.measures.peakFirstToken(now) ?? null,
        age: tracked?.measures.firstTokenAge(now) ?? null,
      },
      throughput: {
        p50: tracked?.measures.throughput(PERCENTILES.p50, now) ?? null,
        age: tracked?.measures.throughputAge(now) ?? null,
      },
      in_flight: tracked?.measures.inFlight ?? 0,
    };
  }

  /** Times that the endpoint was ejected since this process knows it. */
  ejections(endpointId: string): number {
    return this.#endpoints.get(endpointId)?.health.timesEjected ?? 0;
  }

  /**
   * The endpoints whose active probe is due now. Each is reported with `probed` however its probe ends: until then no request tries it, and it is not due.
   */
  takeProbes(now: number): readonly string[] {
    const due: string[] = [];
    for (const [endpointId, { health }] of this.#endpoints) {
      const settings = this.#settingsOf(endpointId);
      if (settings !== null && health.takeProbe(settings, now)) due.push(endpointId);
    }
    return due;
  }

  probed(endpointId: string, isThere: boolean, now: number): void {
    const settings = this.#settingsOf(endpointId);
    if (settings !== null) this.#watched(endpointId, (health) => health.probed(isThere, settings, now));
  }

  /** Forgets every endpoint but these; one with calls under way once they have ended, so that they are not counted to a namesake. */
  retain(endpointIds: Iterable<string>): void {
    const kept = new Set(endpointIds);
    for (const [endpointId, tracked] of this.#endpoints) {
      tracked.isRetired = !kept.has(endpointId);
      this.#dropIfDone(endpointId, tracked);
    }
  }

  #watched(endpointId: string, act: (health: Health) => void): void {
    const health = this.#endpoints.get(endpointId)?.health;
    if (health === undefined) return;
    const { isOut, timesEjected } = health;
    act(health);
    if (health.timesEjected > timesEjected) this.#changed(endpointId, "ejected", health.timesEjected);
    else if (isOut && !health.isOut) this.#changed(endpointId, "readmitted", health.timesEjected);
  }

  #healthStateOf(endpointId: string, now: number): HealthState {
    const tracked = this.#endpoints.get(endpointId);
    if (tracked === undefined) return HEALTHY;
    const settings = this.#settingsOf(endpointId);
    return settings === null ? HEALTHY : tracked.health.healthState(settings, now);
  }

  #tracked(endpointId: string): TrackedEndpoint {
    const known = this.#endpoints.get(endpointId);
    if (known !== undefined) return known;
    const tracked: TrackedEndpoint = { health: new Health(), measures: new Measures(), isRetired: false };
    this.#endpoints.set(endpointId, tracked);
    return tracked;
  }

  #dropIfDone(endpointId: string, tracked: TrackedEndpoint): void {
    if (tracked.isRetired && tracked.measures.inFlight === 0) this.#endpoints.delete(endpointId);
  }
}
