import type { UpstreamFailure } from "../canon/failure.ts";
import { CALL_KINDS, type CallKind } from "../canon/operation.ts";
import type { EndpointRow, HealthSettings, ProviderRow, RoutingTable } from "../canon/table.ts";
import type { Connection } from "./connections.ts";
import { HEALTHY, endpointHealth, type Health, type HealthState } from "./health.ts";

/** Inputs of probes: the table and the connections in force. */
interface ProbeGround {
  readonly table: RoutingTable;
  readonly connections: ReadonlyMap<string, Connection>;
}

/** How often due probes are checked, milliseconds: the shortest interval a row can set. */
const CHECK_INTERVAL = 1_000;

/** Timeout of one probe, milliseconds. */
const PROBE_TIME = 5_000;

/**
 * Probes ejected endpoints whose provider has a `health.probe`. Any answer below 500 means that the
 * provider is back; its body is not read.
 *
 * @param ground returns what is in force now. @returns stops the probes.
 */
export function startProber(endpoints: EndpointTracker, ground: () => ProbeGround): () => void {
  const timer = setInterval(() => {
    for (const endpointId of endpoints.takeProbes(performance.now())) {
      void probe(ground(), endpointId).then((isReachable) =>
        endpoints.probed(endpointId, isReachable, performance.now()),
      );
    }
  }, CHECK_INTERVAL);
  // Must not keep the process alive.
  timer.unref();
  return () => clearInterval(timer);
}

/** Never rejects: any error means that the provider is not back. */
async function probe({ table, connections }: ProbeGround, endpointId: string): Promise<boolean> {
  const endpoint: EndpointRow | undefined = table.endpoints[endpointId];
  const provider: ProviderRow | undefined =
    endpoint === undefined ? undefined : table.providers[endpoint.provider];
  const path = provider?.health.probe?.path;
  const connection = provider === undefined ? undefined : connections.get(provider.id);
  if (provider === undefined || path === undefined || connection === undefined) return false;
  try {
    // Loaded with the first probe: most configurations have none.
    const { createFetch } = await import("ofetch");
    const call = createFetch({ fetch: fetchOver(connection, path) });
    const headers = await credentials(connection, path);
    const { status } = await call.raw(connection.origin, {
      headers,
      retry: 0,
      ignoreResponseError: true,
    });
    return status < 500;
  } catch {
    return false;
  }
}

/**
 * `fetch` of one path through the provider's own connections: a probe reaches no further than a
 * call, and follows no redirect. undici's own `fetch` would add browser headers, and refuse ports
 * that calls may use.
 */
function fetchOver({ dispatcher, pathPrefix }: Connection, path: string): typeof fetch {
  return async (_origin, { headers } = {}) => {
    const { statusCode, body } = await dispatcher.request({
      path: `${pathPrefix}${path}`,
      method: "GET",
      headers: new Headers(headers),
      signal: AbortSignal.timeout(PROBE_TIME),
    });
    // Neither read nor parsed: it may be anything, of any size.
    body.on("error", () => {}).destroy();
    return new Response(null, { status: statusCode });
  };
}

async function credentials(connection: Connection, path: string): Promise<[string, string][]> {
  const fixed = pairs(connection.headers).filter(([name]) => !UNSENT.has(name));
  if (connection.authorize === undefined) return fixed;
  const request = {
    method: "GET",
    path: `${connection.pathPrefix}${path}`,
    headers: [],
    body: "",
  } as const;
  return [...fixed, ...pairs(await connection.authorize(request))];
}

/** Headers that only requests with a body have. */
const UNSENT: ReadonlySet<string> = new Set(["content-type", "accept-encoding"]);

function pairs(flat: readonly string[]): [string, string][] {
  const list: [string, string][] = [];
  for (let index = 0; index + 1 < flat.length; index += 2)
    list.push([flat[index] ?? "", flat[index + 1] ?? ""]);
  return list;
}

/** A call's result as far as it concerns its endpoint's health. */
export interface CallOutcome {
  readonly failure: UpstreamFailure | null;
  /** Milliseconds from the request to the first output; `null` where none was measured. */
  readonly firstToken: number | null;
  /** Milliseconds to the whole answer of a call without a stream; absent without one. */
  readonly wholeAnswer?: number | undefined;
  /** Output tokens per second; `null` where the provider did not count. */
  readonly tokensPerSecond: number | null;
}

interface TrackedEndpoint {
  readonly health: Health;
  readonly measures: Measures;
  /** No longer in the table: removed with its last call. */
  isRetired: boolean;
}

/**
 * Called when an endpoint is ejected and when it is readmitted. @param ejections how often it was
 * ejected.
 */
type HealthListener = (
  endpointId: string,
  change: "ejected" | "readmitted",
  ejections: number,
  kind: CallKind,
) => void;

/** Counts calls and their results. */
export type CallTracker = Pick<EndpointTracker, "begin" | "answering" | "endCall">;

/**
 * Health and measurements of the endpoints for one kind of calls (`of` returns those of another
 * kind), from this process only. They outlive tables: an endpoint whose id stays keeps them.
 *
 * All times are milliseconds on one monotonic clock (`performance.now()`), passed with every call.
 */
export class EndpointTracker {
  readonly #endpoints = new Map<string, TrackedEndpoint>();
  readonly #settingsOf: (endpointId: string) => HealthSettings | null;
  readonly #changed: HealthListener;
  readonly #kind: CallKind;
  /** Every kind that has been used, including this one; all its trackers share the map. */
  readonly #byKind: Map<CallKind, EndpointTracker>;

  /**
   * @param settingsOf the settings in force; `null` for endpoints that the table no longer has,
   * whose health is then ignored.
   */
  constructor(
    settingsOf: (endpointId: string) => HealthSettings | null,
    changed: HealthListener = () => {},
    kind: CallKind = "generate",
    byKind = new Map<CallKind, EndpointTracker>(),
  ) {
    this.#settingsOf = settingsOf;
    this.#changed = changed;
    this.#kind = kind;
    this.#byKind = byKind.set(kind, this);
  }

  /** Health and measurements for another kind of calls. */
  of(kind: CallKind): EndpointTracker {
    return (
      this.#byKind.get(kind) ??
      new EndpointTracker(this.#settingsOf, this.#changed, kind, this.#byKind)
    );
  }

  /** The kinds of calls that the endpoint has had, in the order of `CALL_KINDS`. */
  kindsOf(endpointId: string): readonly CallKind[] {
    return CALL_KINDS.filter((kind) => this.#byKind.get(kind)?.measuresOf(endpointId));
  }

  /** `null`: nothing is known of the endpoint yet. */
  measuresOf(endpointId: string): Measures | null {
    return this.#endpoints.get(endpointId)?.measures ?? null;
  }

  healthStateOf(endpointId: string, now: number): HealthState {
    const tracked = this.#endpoints.get(endpointId);
    if (tracked === undefined) return HEALTHY;
    const settings = this.#settingsOf(endpointId);
    return settings === null ? HEALTHY : tracked.health.healthState(settings, now);
  }

  /** One request tests whether the endpoint has recovered; others leave it out meanwhile. */
  claimTrial(endpointId: string, now: number): void {
    this.#endpoints.get(endpointId)?.health.claimTrial(now);
  }

  /** A call begins. Exactly one `endCall` follows, however it ends. */
  begin(endpointId: string, now: number): void {
    const tracked = this.#tracked(endpointId);
    tracked.measures.begin();
    tracked.health.begin(now);
  }

  /**
   * A call has its first output: an endpoint on trial is readmitted before the end of a long
   * answer.
   */
  answering(endpointId: string, now: number): void {
    this.#watched(endpointId, (health) => health.answering(now));
  }

  /** A call has ended. */
  endCall(endpointId: string, outcome: CallOutcome, now: number): void {
    const tracked = this.#endpoints.get(endpointId);
    if (tracked === undefined) return;
    tracked.measures.endCall(outcome, now);
    const settings = this.#settingsOf(endpointId);
    const { failure } = outcome;
    if (settings !== null) {
      this.#watched(endpointId, (health) => {
        // Servers that generate often lack the path that counts. For other calls a 404 is a
        // configuration mistake.
        if (this.#kind === "count_tokens" && failure?.kind === "not_found") health.lacksPath(now);
        else health.endCall(failure, settings, now);
      });
    }
    this.#dropIfDone(endpointId, tracked);
  }

  /**
   * For people. Measures are `null` where there are none. @param isStream the kind of requests
   * whose latency is shown.
   */
  status(endpointId: string, now: number, isStream = true) {
    const { health, measures } = this.#endpoints.get(endpointId) ?? UNUSED;
    const latency = measures.latency(isStream);
    const healthState = this.healthStateOf(endpointId, now);
    return {
      state: healthState.state,
      /** When the state times out, on the caller's clock; `null` where it does not. */
      until: "until" in healthState && healthState.state !== "half_open" ? healthState.until : null,
      /** The latest failure that counted; `null` while healthy. */
      failure: healthState.state === "healthy" ? null : health.latestFailure,
      consecutive_failures: health.failuresInARow,
      /** Milliseconds. */
      latency: {
        p50: latency.percentile(PERCENTILES.p50, now),
        p90: latency.percentile(PERCENTILES.p90, now),
        /** The figure that `sort: latency` compares (peak EWMA, without calls in flight). */
        recent: latency.recent(now),
        age: latency.age(now),
      },
      /** Tokens per second. */
      throughput: {
        p50: measures.throughput.percentile(PERCENTILES.p50, now),
        age: measures.throughput.age(now),
      },
      in_flight: measures.inFlight,
    };
  }

  /** Ejections of the endpoint in this process. */
  ejections(endpointId: string): number {
    return this.#endpoints.get(endpointId)?.health.timesEjected ?? 0;
  }

  /**
   * The endpoints whose active probe is due. Each is reported with `probed` however its probe ends;
   * until then no request tries it, and it is not due again.
   */
  takeProbes(now: number): readonly string[] {
    const due = new Set<string>();
    for (const { tracked, endpointId } of this.#all()) {
      const settings = this.#settingsOf(endpointId);
      if (settings !== null && tracked.health.takeProbe(settings, now)) due.add(endpointId);
    }
    return [...due];
  }

  /** Applies to each kind of calls that is on trial. */
  probed(endpointId: string, isReachable: boolean, now: number): void {
    const settings = this.#settingsOf(endpointId);
    if (settings === null) return;
    for (const tracker of this.#byKind.values()) {
      tracker.#watched(endpointId, (health) => health.probed(isReachable, settings, now));
    }
  }

  /**
   * Forgets all other endpoints; those with calls in flight after their last, so that the calls do
   * not count for a new endpoint of the same id.
   */
  retain(endpointIds: Iterable<string>): void {
    const retained = new Set(endpointIds);
    for (const { tracker, tracked, endpointId } of this.#all()) {
      tracked.isRetired = !retained.has(endpointId);
      tracker.#dropIfDone(endpointId, tracked);
    }
  }

  *#all() {
    for (const tracker of this.#byKind.values()) {
      for (const [endpointId, tracked] of tracker.#endpoints)
        yield { tracker, tracked, endpointId };
    }
  }

  #watched(endpointId: string, act: (health: Health) => void) {
    const health = this.#endpoints.get(endpointId)?.health;
    if (health === undefined) return;
    const { isUnhealthy, timesEjected } = health;
    act(health);
    if (health.timesEjected > timesEjected)
      this.#changed(endpointId, "ejected", health.timesEjected, this.#kind);
    else if (isUnhealthy && !health.isUnhealthy)
      this.#changed(endpointId, "readmitted", health.timesEjected, this.#kind);
  }

  #tracked(endpointId: string): TrackedEndpoint {
    const existing = this.#endpoints.get(endpointId);
    if (existing !== undefined) return existing;
    const tracked: TrackedEndpoint = {
      health: endpointHealth(),
      measures: new Measures(),
      isRetired: false,
    };
    this.#endpoints.set(endpointId, tracked);
    return tracked;
  }

  #dropIfDone(endpointId: string, tracked: TrackedEndpoint) {
    if (tracked.isRetired && tracked.measures.inFlight === 0) this.#endpoints.delete(endpointId);
  }
}

/**
 * Milliseconds in which a peak falls to a third (1/e). Answers of models take seconds and come by
 * the minute: a faster fade is forgotten before the next request, and without a fade a slow
 * endpoint would never be tried again.
 */
export const FADE = 60_000;

/** Percentiles that callers may bound, as shares. */
export const PERCENTILES = { p50: 0.5, p75: 0.75, p90: 0.9, p99: 0.99 } as const;

/** Measurements of one endpoint. Without a measurement a value is `null`, never a number. */
export class Measures {
  /** Milliseconds to the first token. */
  readonly firstToken = new Latencies();
  /** Milliseconds to whole answers. */
  readonly wholeAnswer = new Latencies();
  /** Tokens a second. */
  readonly throughput = new RecentSamples("higher");
  #inFlight = 0;

  /** Calls in flight. */
  get inFlight(): number {
    return this.#inFlight;
  }

  begin(): void {
    this.#inFlight += 1;
  }

  endCall(
    { firstToken, wholeAnswer, tokensPerSecond }: Omit<CallOutcome, "failure">,
    now: number,
  ): void {
    this.#inFlight = Math.max(this.#inFlight - 1, 0);
    if (isSample(firstToken)) this.firstToken.add(firstToken, now);
    if (isSample(wholeAnswer)) this.wholeAnswer.add(wholeAnswer, now);
    if (isSample(tokensPerSecond)) this.throughput.add(tokensPerSecond, now);
  }

  /** Latencies of streams, or of other requests: the two are not comparable. */
  latency(isStream: boolean): Latencies {
    return isStream ? this.firstToken : this.wholeAnswer;
  }
}

/** A call that took no time has no rate, and one bad number would stay in every average. */
function isSample(value: number | null | undefined): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

/** Samples kept. */
export const CAPACITY = 256;

/**
 * Age after which a sample no longer counts, milliseconds. Without it, an endpoint that was slow
 * once would never be called again.
 */
export const OLDEST = 600_000;

/** The latest samples of one measure, in bounded memory. */
export class RecentSamples {
  readonly #better: "lower" | "higher";
  readonly #values = new Float64Array(CAPACITY);
  readonly #times = new Float64Array(CAPACITY);
  #added = 0;
  /** Best first; `null` after a new sample. */
  #sorted: Float64Array | null = null;
  /** When the oldest of the sorted samples expires. */
  #sortedUntil = 0;

  /** @param better which of two samples ranks higher. */
  constructor(better: "lower" | "higher") {
    this.#better = better;
  }

  add(value: number, now: number): void {
    const slot = this.#added % CAPACITY;
    this.#values[slot] = value;
    this.#times[slot] = now;
    this.#added += 1;
    this.#sorted = null;
  }

  /**
   * The value that this share of the samples reaches or betters (nearest rank): for latency 0.9 is
   * a high value, for throughput a low one, so a higher percentile is always the stricter promise.
   * `null`: no recent sample.
   *
   * @param share above 0, up to 1.
   */
  percentile(share: number, now: number): number | null {
    if (this.#sorted === null || now >= this.#sortedUntil) this.#sort(now);
    const sorted = this.#sorted;
    if (sorted === null || sorted.length === 0) return null;
    return sorted[Math.max(Math.ceil(share * sorted.length), 1) - 1] ?? null;
  }

  /** Milliseconds since the latest sample, of any age; `null`: none ever. */
  age(now: number): number | null {
    return this.#added === 0 ? null : Math.max(now - this.#timeOf(this.#added - 1), 0);
  }

  #sort(now: number) {
    const end = this.#added;
    let start = Math.max(end - CAPACITY, 0);
    while (start < end && this.#timeOf(start) + OLDEST <= now) start += 1;
    const values = new Float64Array(end - start);
    for (let index = start; index < end; index += 1)
      values[index - start] = this.#values[index % CAPACITY] ?? 0;
    values.sort();
    this.#sorted = this.#better === "lower" ? values : values.toReversed();
    this.#sortedUntil = start < end ? this.#timeOf(start) + OLDEST : Infinity;
  }

  #timeOf(index: number) {
    return this.#times[index % CAPACITY] ?? 0;
  }
}

class Latencies extends RecentSamples {
  #peak: number | null = null;
  #peakAt = 0;

  constructor() {
    super("lower");
  }

  override add(sample: number, now: number): void {
    super.add(sample, now);
    const remaining = this.#remaining(now);
    const faded = (this.#peak ?? 0) * remaining;
    this.#peak = sample >= faded ? sample : faded + sample * (1 - remaining);
    this.#peakAt = now;
  }

  /**
   * Milliseconds: a moving average that a higher sample raises at once and that fades without
   * samples, so that a slow endpoint is called again eventually.
   */
  recent(now: number): number | null {
    return this.#peak === null ? null : this.#peak * this.#remaining(now);
  }

  #remaining(now: number) {
    return Math.exp(-Math.max(now - this.#peakAt, 0) / FADE);
  }
}

/** For an endpoint that was never called. */
const UNUSED: TrackedEndpoint = {
  health: endpointHealth(),
  measures: new Measures(),
  isRetired: false,
};
