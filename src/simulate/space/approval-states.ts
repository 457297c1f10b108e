import { remembered } from "../remembered.ts";
import { type SampleRequest, preferenceValues } from "../sample-request.ts";
import {
  type Aspect,
  joinedAspects,
  assertedNames,
  approvalSteps,
  approvalWalk,
  finalStates,
  type FinalState,
  type Step,
  type StepSet,
} from "./approval-walk.ts";
import type { Capability, Feature } from "../../canon/capability.ts";
import type { Projection } from "./readers.ts";
import {
  REFUSED_SIDE,
  sideWalk,
  startSide,
  stateKey,
  type NodeId,
  type SideState,
  type SideView,
  type SideWalk,
} from "./side-walk.ts";
import type { OperationUniverse } from "./universe.ts";
import type { PreferenceEffect } from "./preference-effects.ts";

/** How assertions see the requests of a job. */
interface JobAssertions {
  readonly projection: Projection;
  /**
   * Of each assertion that may mean a request of the job, by the request's needs, features and
   * families.
   */
  readonly ofRequirements: (sample: SampleRequest) => readonly Aspect[];
  /** The same by its preferences and length of vectors. */
  readonly ofPreferences: (sample: SampleRequest) => readonly Aspect[];
}

/** A state in the making. */
interface Part {
  readonly sides: readonly SideState[];
  readonly members: Member[];
}

interface Member {
  readonly final: FinalState;
  readonly starts: AlikeStarts;
  /** Steps, families and preferences. */
  readonly complexity: number;
}

/**
 * Every state that requests of one workspace, route and operation can reach, with the number of
 * requests in each. Needs and features are walked once for each set of candidates that preferences
 * leave ({@link approvalWalk}); order and other effects of preferences are joined afterwards.
 *
 * @param check called for every step.
 * @returns the states, and the needs and features by which requests reach different ones.
 */
export function approvalStates(
  sample: SampleRequest,
  universe: OperationUniverse,
  preferences: readonly PreferenceEffect[],
  views: readonly SideView[],
  assertions: JobAssertions,
  check: () => void,
): { readonly states: readonly ApprovalState[]; readonly matters: ReadonlySet<string> } {
  const sides = views.map(sideWalk);
  const finalsOf = finalStates(sides, sample.operation, universe);
  const numbers = new Map<string, number>();
  /** Equal for equal states. */
  const numberOf = (state: SideState) => remembered(numbers, stateKey(state), () => numbers.size);
  const starts = preferences.flatMap((effect, index) =>
    universe.dimensions.map((dimensions, position): Start => {
      const states = views.map((view, side) => {
        const sidePreferences = side === REACHED ? reachingOf(effect) : effect.preferences;
        return startSide(view, effect.sides[side] ?? REFUSED_SIDE, sidePreferences, dimensions);
      });
      return {
        order: index * universe.dimensions.length + position,
        effect,
        dimensions,
        sides: states,
        numbers: states.map(numberOf),
        nodes: states.map((state, side) => sides[side]?.nodeOf(state) ?? 0),
        aspects: assertions.ofPreferences({
          ...sample,
          preferences: effect.preferences,
          dimensions,
        }),
      };
    }),
  );
  /** Starts from which requests go the same way. */
  const beginnings = Map.groupBy(starts, ({ nodes }) => nodes.join());
  const parts = new Map<string, Part>();
  const matters = new Set<string>();
  const emulates = views.some(({ opened }) => opened?.route.emulateSchema === true);
  const couples = emulates && universe.features.includes("constrained_schema");
  for (const constrained of couples ? [false, true] : [null]) {
    const steps = approvalSteps(sample, universe, views, assertions.projection, constrained);
    for (const { isIdle, isForced, need, feature } of steps) {
      if (!isIdle && !isForced)
        matters.add(need === null ? `features ${feature}` : `needs ${need}`);
    }
    const asserted = assertedNames(
      steps,
      [[], ...universe.signatureFamilies],
      (subset, signatureFamilies) =>
        assertions.ofRequirements({ ...sample, ...namesOf(subset), signatureFamilies }),
    );
    const walk = approvalWalk(sides, steps, asserted, check);
    const members = [...beginnings.values()].flatMap((alike) =>
      membersOf(finalsOf(alike[0]?.nodes ?? [], walk), alike, check),
    );
    // The order of the first requests: first those without the last steps, and of these in the
    // order of preferences.
    members.sort(
      (left, right) =>
        compared(left.final.first, right.final.first) ||
        (left.starts.all[0]?.order ?? 0) - (right.starts.all[0]?.order ?? 0),
    );
    for (const member of members) {
      const sideStates = sidesOf(member, universe, sides);
      const meanings = member.final.aspects.map((aspect, index) =>
        joinedAspects(aspect, member.starts.simplest.aspects[index]),
      );
      const key = [...sideStates.map(numberOf), ...meanings].join();
      remembered(parts, key, () => ({ sides: sideStates, members: [] })).members.push(member);
    }
  }
  return { states: [...parts.values()].map(stateOf), matters };
}

function membersOf(
  finals: readonly FinalState[],
  starts: readonly Start[],
  check: () => void,
): readonly Member[] {
  const byLive = new Map<string, readonly AlikeStarts[]>();
  return finals.flatMap((final) => {
    check();
    const { ends, names } = final;
    const alike = remembered(byLive, ends.live.join(), () => alikeStarts(starts, ends.live));
    return alike.map((group): Member => ({
      final,
      starts: group,
      complexity: names + complexity(group.simplest),
    }));
  });
}

function sidesOf(
  { final, starts: { simplest } }: Member,
  universe: OperationUniverse,
  sides: readonly SideWalk[],
): readonly SideState[] {
  const ends = final.ends.nodes[universe.dimensions.indexOf(simplest.dimensions)] ?? [];
  return ends.flatMap((node, index) => {
    const [side, start, number] = [sides[index], simplest.sides[index], simplest.numbers[index]];
    if (side === undefined || start === undefined || number === undefined) return [];
    return [side.stateAt(node, start, number)];
  });
}

function stateOf({ sides, members }: Part): ApprovalState {
  const simplest = members.reduce((one, other) =>
    other.complexity < one.complexity ? other : one,
  );
  const size = members.reduce((sum, { final, starts }) => sum + final.size * starts.size, 0n);
  let details: StateDetails | null = null;
  const { final, starts } = simplest;
  const { effect, dimensions } = starts.simplest;
  return {
    part: {
      ...namesOf(stepsIn(final.part, final.steps)),
      signatureFamilies: final.families,
      dimensions,
      preferences: effect.preferences,
    },
    reachingPreferences: reachingOf(effect),
    sides,
    size,
    details: () => (details ??= detailsOf(members)),
  };
}

function detailsOf(members: readonly Member[]): StateDetails {
  const names = members.map(({ final: { common, steps } }) => namesOf(stepsIn(common, steps)));
  const [first = { needs: [], features: [] }] = names;
  const starts = new Set(members.flatMap((member) => member.starts.all));
  const sets = new Map<string, Set<string>>();
  for (const { effect, dimensions } of starts) {
    const values = [
      ...preferenceValues(effect.preferences),
      ["dimensions", [String(dimensions ?? "none")]] as const,
    ];
    for (const [name, texts] of values) {
      const all = remembered(sets, name, () => new Set<string>());
      for (const value of texts) all.add(value);
    }
  }
  return {
    common: {
      needs: first.needs.filter((need) => names.every(({ needs }) => needs.includes(need))),
      features: first.features.filter((feature) =>
        names.every(({ features }) => features.includes(feature)),
      ),
    },
    valuesByDimension: new Map([...sets].map(([name, values]) => [name, [...values].toSorted()])),
  };
}

/** The view of base that shows the reach of callers. */
const REACHED = 2;

function reachingOf({ preferences, reaching = preferences }: PreferenceEffect) {
  return reaching;
}

function stepsIn(set: StepSet, steps: readonly Step[]): readonly Step[] {
  return steps.filter((_step, index) => (set & (1n << BigInt(index))) !== 0n);
}

function namesOf(steps: readonly Step[]): Pick<ApprovalPart, "needs" | "features"> {
  return {
    needs: steps.flatMap(({ need }) => need ?? []),
    features: steps.flatMap(({ feature }) => feature ?? []),
  };
}

function compared(left: StepSet, right: StepSet): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** The members of a sample that the table's approvals read. */
type ApprovalPart = Pick<
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
  /** Made on demand: most states are never described. */
  readonly details: () => StateDetails;
  readonly size: bigint;
}

interface StateDetails {
  /** Needs and features that all of them have. */
  readonly common: Common;
  /** Values that their other members take, for each of them. */
  readonly valuesByDimension: ValuesByDimension;
}

export interface Common {
  readonly needs: readonly Capability[];
  readonly features: readonly Feature[];
}

/** Dimension → values, as text. */
export type ValuesByDimension = ReadonlyMap<string, readonly string[]>;

/** Requests with the same preferences, or with such that lead to the same. */
interface Start {
  readonly order: number;
  /** The simplest of them. */
  readonly effect: PreferenceEffect;
  readonly dimensions: number | null;
  readonly sides: readonly SideState[];
  /** Equal for equal states. */
  readonly numbers: readonly number[];
  /** Where the walks of the sides begin. */
  readonly nodes: readonly NodeId[];
  readonly aspects: readonly Aspect[];
}

type AlikeStarts = ReturnType<typeof alikeStarts>[number];

/**
 * Starts together that do not differ in anything that matters where some sides have denied.
 *
 * @param live sides on which the candidates left by preferences matter.
 */
function alikeStarts(starts: readonly Start[], live: readonly boolean[]) {
  const isLive = live.includes(true);
  const alike = Map.groupBy(starts, ({ numbers, sides, dimensions, aspects }) =>
    [
      ...numbers.map((number, side) =>
        live[side] === true || sides[side]?.denied != null ? number : "",
      ),
      isLive ? dimensions : "",
      ...aspects,
    ].join(),
  );
  return [...alike.values()].map((all) => ({
    simplest: all.reduce((one, other) => (complexity(other) < complexity(one) ? other : one)),
    all,
    size: all.reduce((sum, { effect }) => sum + effect.size, 0n),
  }));
}

/** Fewer names first: an example should not have names that do not matter. */
function complexity({ effect: { preferences }, dimensions }: Start) {
  return (
    (preferences === null ? 0 : Object.keys(preferences).length) + (dimensions === null ? 0 : 1)
  );
}
