import { hash, createHmac, randomBytes } from "node:crypto";
import type { Candidate } from "../canon/decision.ts";
import type { Balance } from "../canon/table.ts";
import { PERCENTILES, type Measures } from "./endpoint-tracker.ts";
import type { InferenceRequest } from "../canon/request.ts";

/** Inputs of the order inside a tier. */
export interface Circumstances {
  /** `null`: nothing is known of the endpoint yet. */
  readonly measuresOf: (endpointId: string) => Measures | null;
  /**
   * The request is for a stream: its latency is the time to the first token, else to the whole
   * answer.
   */
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
 * An endpoint that was not measured counts as good as the best one measured, or it would never be
 * measured. Equals among what is measured share at random, by weight: if the first of them won
 * every tie, it alone would get traffic while nothing is known. Equal prices keep the file's order.
 */
const ORDERINGS: Readonly<Record<Balance, Ordering>> = {
  order: (tier) => tier,
  weighted: (tier, { random }) => drawn(tier, random),
  price: (tier) => ascending(tier, totalPrice),
  latency: byLatency,
  throughput: byThroughput,
  least_in_flight: (tier, { measuresOf, random }) =>
    ascending(drawn(tier, random), ({ endpoint }) => measuresOf(endpoint.id)?.inFlight ?? 0),
  sticky: (tier, { stickyKey, random }) =>
    drawn(tier, stickyKey === null ? random : ({ endpoint }) => affinity(stickyKey, endpoint.id)),
};

/**
 * Whether chance decides the order of these candidates of a tier: two calls under the same
 * measurements may then go to different ones first.
 *
 * @param present those of `tier` that are in service, in any order.
 */
export function isDrawn(
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
      return hasEquals(present, () => 0);
    case "sticky":
      return stickyKey === null && hasEquals(present, () => 0);
    case "least_in_flight":
      return hasEquals(present, ({ endpoint }) => measuresOf(endpoint.id)?.inFlight ?? 0);
    case "throughput":
      return hasEquals(present, slownessOf(tier, measuresOf, now));
    case "latency": {
      // Of three or more, which two are compared is drawn.
      if (tier.length > 2) return true;
      const wait = expectedWaits(tier, circumstances);
      return new Set(present.map(wait)).size < present.length;
    }
  }
}

/** Whether the draw decides between two of them: their measure is equal, and both have a weight. */
function hasEquals(
  present: readonly Candidate[],
  measure: (candidate: Candidate) => number,
): boolean {
  const drawable = present.filter(({ weight }) => weight > 0);
  return new Set(drawable.map(measure)).size < drawable.length;
}

/** The candidates of one tier in the order in which to try them. */
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
 * Draws by weight without putting back: each candidate's exponential waiting time at the rate of
 * its weight, the shortest first (Efraimidis and Spirakis 2006). With numbers that depend on a key
 * instead of chance, it is weighted rendezvous hashing: a key's order of the others stays when one
 * leaves. A weight of 0 comes after all others.
 */
function drawn(
  tier: readonly Candidate[],
  uniform: (candidate: Candidate) => number,
): readonly Candidate[] {
  return ascending(tier, (candidate) => {
    const wait = -Math.log(1 - uniform(candidate));
    return candidate.weight > 0 ? wait / candidate.weight : Infinity;
  });
}

/** How much a key and an endpoint belong together: evenly spread from 0 up to, and without, 1. */
function affinity(key: string, endpointId: string): number {
  const BYTES = 6;
  return hash("sha256", `${key}|${endpointId}`, "buffer").readUIntBE(0, BYTES) / 2 ** (8 * BYTES);
}

/** Prices of input and output together, as a shop window shows them; unknown prices last. */
function totalPrice({ endpoint: { price } }: Candidate): number {
  return price === null ? Infinity : price.input + price.output;
}

/**
 * Power of two choices: of two at random, the one that will probably answer first. If every request
 * went to the very best, all would be there at once.
 */
function byLatency(tier: readonly Candidate[], circumstances: Circumstances): readonly Candidate[] {
  const { random } = circumstances;
  const wait = expectedWaits(tier, circumstances);
  const one = Math.floor(random() * tier.length);
  const beside = Math.floor(random() * (tier.length - 1));
  const other = beside < one ? beside : beside + 1;
  const [first, second] = [tier[one], tier[other]];
  if (first === undefined || second === undefined) return ascending(tier, wait);
  const chosen = wait(second) < wait(first) ? second : first;
  return [
    chosen,
    ...ascending(
      tier.filter((candidate) => candidate !== chosen),
      wait,
    ),
  ];
}

/**
 * Milliseconds; without this least time, calls in flight would weigh nothing where a peak has faded
 * away.
 */
const LEAST_WAIT = 1;

/** The recent latency, times the calls that would be under way. */
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

function byThroughput(
  tier: readonly Candidate[],
  { measuresOf, now, random }: Circumstances,
): readonly Candidate[] {
  return ascending(drawn(tier, random), slownessOf(tier, measuresOf, now));
}

/** The negative of the tokens per second. */
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

/** Stable; each candidate is judged once, so that one judged by chance keeps its position. */
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
 * What keeps a conversation at one endpoint: the caller's own name for it, else the session
 * header's value, else what all its requests begin with. `null` where the request has nothing of
 * the kind.
 *
 * @param session the session header's value; `null` where there is none.
 */
export type StickyKeyOf = (
  request: Pick<InferenceRequest, "body" | "reader">,
  session: string | null,
) => string | null;

/**
 * Makes keys that say nothing of what they were made from: a keyed digest, whose secret dies with
 * the process. Equal requests have equal keys only under one secret; replicas that shall agree
 * where a conversation goes are given the same one.
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

function digestOf(secret: Uint8Array, kind: string, text: string): string {
  return createHmac("sha256", secret).update(`${kind}:${text}`).digest("base64url");
}
