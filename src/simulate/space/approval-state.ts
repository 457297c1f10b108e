import type { Capability, Feature } from "../../canon/capability.ts";
import type { SampleRequest } from "../sample-request.ts";
import type { SideState } from "./side-walk.ts";
import type { ViewedPreferences } from "./preference-effects.ts";

/** The members of a sample that the table's approvals read. */
export type ApprovalPart = Pick<
  SampleRequest,
  "needs" | "features" | "signatureFamilies" | "dimensions" | "preferences"
>;

/** Requests that both sides treat alike until their policies are evaluated. */
export interface ApprovalState {
  /** One of them, the simplest. */
  readonly part: ApprovalPart;
  /** The preferences with which base shows the reach of the simplest request. */
  readonly reachingPreferences: ApprovalPart["preferences"];
  /** In the order of the views. */
  readonly sides: readonly SideState[];
  readonly details: Details;
  readonly size: bigint;
}

/**
 * The description of a state's requests. Most states are never described, so it is made on demand.
 */
type Details = () => StateDetails;

export interface StateDetails {
  /** Needs and features that all of them have. */
  readonly common: Common;
  /** Values that their other members take, for each of them. */
  readonly taken: Taken;
}

export interface Common {
  readonly needs: readonly Capability[];
  readonly features: readonly Feature[];
}

/** Dimension → values, as text. */
export type Taken = ReadonlyMap<string, readonly string[]>;

/**
 * How an assertion sees a part of a request: it means no request with this part, or means some, or
 * excepts some of those.
 */
export type Aspect = "not meant" | "excepted" | "meant";

/** Requests with the same preferences, or with such that lead to the same. */
export interface Start {
  readonly order: number;
  /** The simplest of them. */
  readonly effect: ViewedPreferences;
  readonly dimensions: number | null;
  readonly sides: readonly SideState[];
  /** Equal for equal states. */
  readonly numbers: readonly number[];
  readonly aspects: readonly Aspect[];
  readonly size: bigint;
}

/** Starts that do not differ in anything that matters where some sides have denied. */
export interface AlikeStarts {
  readonly simplest: Start;
  readonly all: readonly Start[];
  readonly size: bigint;
}

/** @param live sides on which the candidates left by preferences matter. */
export function alikeStarts(
  starts: readonly Start[],
  live: readonly boolean[],
): readonly AlikeStarts[] {
  const found = new Map<string, { simplest: Start; all: Start[]; size: bigint }>();
  for (const start of starts) {
    const isLive = live.includes(true);
    const numbers = start.numbers.map((number, side) =>
      live[side] === true || start.sides[side]?.denied != null ? number : "",
    );
    const key = [...numbers, isLive ? start.dimensions : "", ...start.aspects].join();
    const same = found.get(key);
    if (same === undefined) {
      found.set(key, { simplest: start, all: [start], size: start.size });
      continue;
    }
    same.all.push(start);
    same.size += start.size;
    if (complexity(start) < complexity(same.simplest)) same.simplest = start;
  }
  return [...found.values()];
}

/** Fewer names first: an example should not have names that do not matter. */
export function complexity({ effect: { preferences }, dimensions }: Start): number {
  return (
    (preferences === null ? 0 : Object.keys(preferences).length) + (dimensions === null ? 0 : 1)
  );
}

/** Conditions of an assertion all have to hold, and so have its exceptions. */
export function joinedAspects(one: Aspect, other: Aspect | undefined): Aspect {
  if (one === "not meant" || other === "not meant") return "not meant";
  return one === "excepted" && other === "excepted" ? "excepted" : "meant";
}
