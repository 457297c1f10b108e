import { hash, createHmac, randomBytes } from "node:crypto";
import type { Candidate } from "../canon/decision.ts";
import type { Balance } from "../canon/table.ts";
import { PERCENTILES, type Measures } from "./endpoint-tracker.ts";
import type { InferenceRequest } from "../canon/request.ts";

/** Inputs of the order inside a tier. */
export interface Circumstances {
  /** `null`: nothing is known of the endpoint yet. */
  readonly measuresOf: (endpointId: string) => Measures | null;
  /** For a stream latency means the time to the first token, otherwise to the whole answer. */
  readonly isStream: boolean;
  /** Key that keeps a conversation at one endpoint, or `null`. */
  readonly stickyKey: string | null;
  /** Milliseconds. */
  readonly now: number;
  /** From 0 up to, and without, 1. */
  readonly random: () => number;
}

type Ordering = (tier: readonly Candidate[], circumstances: Circumstances) => readonly Candidate[];

/**
 * An endpoint without measurements counts as the best measured one, or it would never be measured.
 * Ties of measurements are drawn by weight: otherwise the first would get all traffic while nothing
 * is known. Ties of price keep the order of the file.
 */
const ORDERINGS: Readonly<Record<Balance, Ordering>> = {
  order: (tier) => tier,
  weighted: (tier, { random }) => weightedShuffle(tier, random),
  price: (tier) => ascending(tier, totalPrice),
  latency: byLatency,
  throughput: byThroughput,
  least_in_flight: (tier, { measuresOf, random }) =>
    ascending(
      weightedShuffle(tier, random),
      ({ endpoint }) => measuresOf(endpoint.id)?.inFlight ?? 0,
    ),
  sticky: (tier, { stickyKey, random }) =>
    weightedShuffle(
      tier,
      stickyKey === null ? random : ({ endpoint }) => affinity(stickyKey, endpoint.id),
    ),
};

/**
 * Whether chance decides the order of these candidates of a tier.
 *
 * @param present those of `tier` that are in service, in any order.
 */
export function isRandomTier(
  tier: readonly Candidate[],
  present: readonly Candidate[],
  circumstances: Circumstances,
): boolean {
  const [first] = tier;
  if (first === undefined || present.length < 2) return false;
  const { measuresOf, now, stickyKey } = circumstances;
  switch (first.balance) {
    case "order":
    case "price":
      return false;
    case "weighted":
      return hasEqualMeasures(present, () => 0);
    case "sticky":
      return stickyKey === null && hasEqualMeasures(present, () => 0);
    case "least_in_flight":
      return hasEqualMeasures(present, ({ endpoint }) => measuresOf(endpoint.id)?.inFlight ?? 0);
    case "throughput":
      return hasEqualMeasures(present, slownessOf(tier, measuresOf, now));
    case "latency": {
      // With three or more, the pair to compare is drawn.
      if (tier.length > 2) return true;
      const wait = expectedWaits(tier, circumstances);
      return new Set(present.map(wait)).size < present.length;
    }
  }
}

/** Whether two of them are drawn: equal measures, and both have a weight. */
function hasEqualMeasures(
  present: readonly Candidate[],
  measure: (candidate: Candidate) => number,
): boolean {
  const drawable = present.filter(({ weight }) => weight > 0);
  return new Set(drawable.map(measure)).size < drawable.length;
}

/** The candidates of one tier in the order of their calls. */
export function orderTier(
  tier: readonly Candidate[],
  circumstances: Circumstances,
): readonly Candidate[] {
  const [first] = tier;
  return first === undefined || tier.length === 1
    ? tier
    : ORDERINGS[first.balance](tier, circumstances);
}

/**
 * Weighted draw without replacement: each candidate's exponential waiting time at the rate of its
 * weight, shortest first (Efraimidis and Spirakis 2006). With numbers derived from a key instead of
 * chance it is weighted rendezvous hashing: the order of the other candidates stays when one
 * leaves. Weight 0 sorts last.
 */
function weightedShuffle(tier: readonly Candidate[], uniform: (candidate: Candidate) => number) {
  return ascending(tier, (candidate) => {
    const wait = -Math.log(1 - uniform(candidate));
    return candidate.weight > 0 ? wait / candidate.weight : Infinity;
  });
}

/** Affinity of a key and an endpoint, uniform from 0 up to, and without, 1. */
function affinity(key: string, endpointId: string): number {
  const BYTES = 6;
  return hash("sha256", `${key}|${endpointId}`, "buffer").readUIntBE(0, BYTES) / 2 ** (8 * BYTES);
}

/** Input plus output price; unknown prices last. */
function totalPrice({ endpoint: { price } }: Candidate) {
  return price === null ? Infinity : price.input + price.output;
}

/**
 * Power of two choices: of two at random, the one with the shorter expected wait. If every request
 * chose the very best, all would go there at once.
 */
function byLatency(tier: readonly Candidate[], circumstances: Circumstances): readonly Candidate[] {
  const { random } = circumstances;
  const wait = expectedWaits(tier, circumstances);
  const one = Math.floor(random() * tier.length);
  const beside = Math.floor(random() * (tier.length - 1));
  const other = beside < one ? beside : beside + 1;
  const [first, second] = [tier[one], tier[other]];
  if (first === undefined || second === undefined) return ascending(tier, wait);
  const winner = wait(second) < wait(first) ? second : first;
  return [
    winner,
    ...ascending(
      tier.filter((candidate) => candidate !== winner),
      wait,
    ),
  ];
}

/** Milliseconds. Without a minimum, calls in flight would not count once a peak has faded. */
const LEAST_WAIT = 1;

/** The recent latency times the calls in flight, with this one. */
function expectedWaits(
  tier: readonly Candidate[],
  { measuresOf, isStream, now }: Circumstances,
): (candidate: Candidate) => number {
  const waits = new Map<Candidate, number | null>();
  for (const candidate of tier)
    waits.set(candidate, measuresOf(candidate.endpoint.id)?.latency(isStream).recent(now) ?? null);
  const best = least([...waits.values()]) ?? LEAST_WAIT;
  return (candidate) => {
    const inFlight = measuresOf(candidate.endpoint.id)?.inFlight ?? 0;
    return Math.max(waits.get(candidate) ?? best, LEAST_WAIT) * (inFlight + 1);
  };
}

function byThroughput(tier: readonly Candidate[], { measuresOf, now, random }: Circumstances) {
  return ascending(weightedShuffle(tier, random), slownessOf(tier, measuresOf, now));
}

/** The negative of tokens per second. */
function slownessOf(
  tier: readonly Candidate[],
  measuresOf: Circumstances["measuresOf"],
  now: number,
): (candidate: Candidate) => number {
  const slowness = new Map<Candidate, number | null>();
  for (const candidate of tier) {
    const rate =
      measuresOf(candidate.endpoint.id)?.throughput.percentile(PERCENTILES.p50, now) ?? null;
    slowness.set(candidate, rate === null ? null : -rate);
  }
  const best = least([...slowness.values()]) ?? 0;
  return (candidate) => slowness.get(candidate) ?? best;
}

function least(values: readonly (number | null)[]): number | null {
  let best: number | null = null;
  for (const value of values) if (value !== null && (best === null || value < best)) best = value;
  return best;
}

/** Stable. Each candidate is measured once, so that a random measure keeps its value. */
function ascending(
  tier: readonly Candidate[],
  measure: (candidate: Candidate) => number,
): readonly Candidate[] {
  return tier
    .map((candidate) => ({ candidate, value: measure(candidate) }))
    .toSorted((left, right) => (left.value < right.value ? -1 : left.value > right.value ? 1 : 0))
    .map(({ candidate }) => candidate);
}

/**
 * Key that keeps a conversation at one endpoint: the caller's name for it, else the session header,
 * else the common beginning of its requests. `null` without any.
 *
 * @param session the session header's value; `null` where there is none.
 */
export type StickyKeyOf = (
  request: Pick<InferenceRequest, "body" | "reader">,
  session: string | null,
) => string | null;

/**
 * Makes keys that do not reveal their input: a keyed digest whose secret ends with the process.
 * Equal requests have equal keys only under one secret; replicas that should agree are given the
 * same one.
 */
export function stickyKeys(secret: Uint8Array = randomBytes(32)): StickyKeyOf {
  return ({ body, reader }, session) => {
    const name = reader.conversationName(body);
    if (name !== null) return digestOf(secret, "name", name);
    if (session !== null && session !== "") return digestOf(secret, "session", session);
    const opening = reader.conversationOpening(body);
    return opening === null ? null : digestOf(secret, "opening", opening);
  };
}

function digestOf(secret: Uint8Array, kind: string, text: string) {
  return createHmac("sha256", secret).update(`${kind}:${text}`).digest("base64url");
}
