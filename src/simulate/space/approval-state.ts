import type { Capability } from "../../canon/capability.ts";
import type { Feature } from "../../canon/generate/feature.ts";
import type { SampleRequest } from "../sample-request.ts";
import { stateKey, type SideState } from "./side-state.ts";

/** The members of a sample that the table's approvals read. */
export type ApprovalPart = Pick<
  SampleRequest,
  "needs" | "features" | "signatureFamilies" | "dimensions" | "preferences"
>;

/** Requests that both sides treat alike until their policies are evaluated. */
export interface ApprovalState {
  /** One of them, the plainest. */
  readonly part: ApprovalPart;
  /** In the order of the views. */
  readonly sides: readonly SideState[];
  /** What assertions distinguish. */
  readonly asserted: string;
  readonly details: Details;
  readonly size: bigint;
}

/** What the requests of a state are, for those who describe them: most states are never described, so it is found out late. */
export type Details = () => StateDetails;

interface StateDetails {
  /** Needs and features that all of them have. */
  readonly common: Common;
  /** Values that their other members take, for each of them. */
  readonly taken: Taken;
}

/** @param find called at most once. */
export function lateDetails(find: () => StateDetails): Details {
  let found: StateDetails | null = null;
  return () => (found ??= find());
}

export interface Common {
  readonly needs: readonly Capability[];
  readonly features: readonly Feature[];
}

/** Dimension → values, as text. */
export type Taken = ReadonlyMap<string, readonly string[]>;

/** Numbers of the states of sides: states are compared again and again, and their texts are long. */
export class StateNumbers {
  readonly #byState = new WeakMap<SideState, number>();
  readonly #byKey = new Map<string, number>();

  of(state: SideState): number {
    const known = this.#byState.get(state);
    if (known !== undefined) return known;
    const key = stateKey(state);
    const number = this.#byKey.get(key) ?? this.#byKey.size;
    this.#byKey.set(key, number);
    this.#byState.set(state, number);
    return number;
  }
}

/** Requests that have come to the same state go on as one. @param besides what keeps them apart although their sides do not. */
export function merged(
  states: readonly ApprovalState[],
  numbers: StateNumbers,
  besides: (state: ApprovalState) => string = holdsBack,
): ApprovalState[] {
  const found = new Map<string, [ApprovalState, ...ApprovalState[]]>();
  for (const state of states) {
    let key = `${besides(state)}\n\n${state.asserted}`;
    for (const side of state.sides) key += `\n\n${numbers.of(side)}`;
    const same = found.get(key);
    if (same === undefined) found.set(key, [state]);
    else same.push(state);
  }
  return [...found.values()].map(asOne);
}

function asOne(states: readonly [ApprovalState, ...ApprovalState[]]): ApprovalState {
  let [plainest] = states;
  if (states.length === 1) return plainest;
  let size = 0n;
  let least = Infinity;
  for (const state of states) {
    size += state.size;
    const own = plainness(state.part);
    if (own < least) [plainest, least] = [state, own];
  }
  // Of the states only this is kept: there are very many, and most go on as one.
  const all = states.map((state) => state.details);
  const details = lateDetails(() =>
    all
      .map((each) => each())
      .reduce((left, right) => ({
        common: both(left.common, right.common),
        taken: either(left.taken, right.taken),
      })),
  );
  return { ...plainest, details, size };
}

function both(left: Common, right: Common): Common {
  return {
    needs: left.needs.filter((need) => right.needs.includes(need)),
    features: left.features.filter((feature) => right.features.includes(feature)),
  };
}

function either(left: Taken, right: Taken): Taken {
  if (left === right) return left;
  return new Map(
    [...left].map(([name, values]) => {
      const others = right.get(name) ?? [];
      const isCovered = values === others || others.every((value) => values.includes(value));
      return [name, isCovered ? values : [...new Set([...values, ...others])].toSorted()];
    }),
  );
}

/** What later steps still look at although no state shows it: until the places are looked at, signed reasoning and the length of vectors. */
function holdsBack({ part, sides }: ApprovalState): string {
  // A request with signed reasoning is one for each family, denied or not.
  const signed = part.features.includes("signed_reasoning") ? "signed" : "";
  return sides.every(({ denied }) => denied !== null) ? signed : `${signed}|${part.dimensions ?? ""}`;
}

/** Fewer names first: an example should not have names that do not matter. */
function plainness({ needs, features, signatureFamilies, dimensions, preferences }: ApprovalPart): number {
  const preferred = preferences === null ? 0 : Object.keys(preferences).length;
  return needs.length + features.length + signatureFamilies.length + (dimensions === null ? 0 : 1) + preferred;
}
