import type { Capability, Feature } from "../../../src/canon/capability.ts";
import type { SampleRequest } from "../../../src/simulate/sample-request.ts";
import { stateKey, type SideState } from "./side-state.ts";

/** The members of a sample that the table's approvals read. */
export type ApprovalPart = Pick<
  SampleRequest,
  "needs" | "features" | "signatureFamilies" | "dimensions" | "preferences"
>;

/** Requests that both sides treat alike until their policies are evaluated. */
export interface ApprovalState {
  /** One of them, the simplest. */
  readonly part: ApprovalPart;
  /** In the order of the views. */
  readonly sides: readonly SideState[];
  /** What assertions distinguish. */
  readonly asserted: string;
  /** Needs and features that all of them have. */
  readonly common: Common;
  /** Values that their other members take, for each of them. */
  readonly taken: Taken;
  readonly size: bigint;
}

export interface Common {
  readonly needs: readonly Capability[];
  readonly features: readonly Feature[];
}

/** Dimension → values, as text. */
export type Taken = ReadonlyMap<string, readonly string[]>;

/**
 * Numbers of the states of sides: states are compared again and again, and their texts are long.
 */
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

/**
 * Requests that have come to the same state go on as one. @param besides what keeps them apart
 * although their sides do not.
 */
export function merged(
  states: readonly ApprovalState[],
  numbers: StateNumbers,
  besides: (state: ApprovalState) => string = holdsBack,
): ApprovalState[] {
  const found = new Map<string, ApprovalState>();
  for (const state of states) {
    let key = `${besides(state)}\n\n${state.asserted}`;
    for (const side of state.sides) key += `\n\n${numbers.of(side)}`;
    const same = found.get(key);
    if (same === undefined) found.set(key, state);
    else {
      const simplest = complexity(state.part) < complexity(same.part) ? state : same;
      found.set(key, {
        ...simplest,
        common: both(state.common, same.common),
        taken: either(state.taken, same.taken),
        size: state.size + same.size,
      });
    }
  }
  return [...found.values()];
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

/**
 * What later steps still look at although no state shows it: until the candidates are looked at,
 * signed reasoning and the length of vectors.
 */
function holdsBack({ part, sides }: ApprovalState): string {
  // A request with signed reasoning is one for each family, denied or not.
  const signed = part.features.includes("signed_reasoning") ? "signed" : "";
  return sides.every(({ denied }) => denied !== null)
    ? signed
    : `${signed}|${part.dimensions ?? ""}`;
}

/** Fewer names first: an example should not have names that do not matter. */
function complexity({
  needs,
  features,
  signatureFamilies,
  dimensions,
  preferences,
}: ApprovalPart): number {
  const preferred = preferences === null ? 0 : Object.keys(preferences).length;
  return (
    needs.length +
    features.length +
    signatureFamilies.length +
    (dimensions === null ? 0 : 1) +
    preferred
  );
}
