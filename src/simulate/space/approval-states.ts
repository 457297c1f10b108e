import { remembered } from "../remembered.ts";
import { type SampleRequest, preferenceValues } from "../sample-request.ts";
import {
  type ApprovalPart,
  type ApprovalState,
  type StateDetails,
  alikeStarts,
  joinedAspects,
  plainness,
  type AlikeStarts,
  type Aspect,
  type Start,
} from "./approval-state.ts";
import {
  ApprovalWalk,
  FinalStates,
  AssertedNames,
  approvalSteps,
  type FinalState,
  type Step,
  type StepSet,
} from "./approval-walk.ts";
import type { Projection } from "./readers.ts";
import {
  SideWalk,
  startSide,
  stateKey,
  type NodeId,
  type SideState,
  type SideView,
} from "./side-walk.ts";
import type { OperationUniverse } from "./universe.ts";
import type { ViewedPreferences } from "./preference-effects.ts";

/** How assertions see the requests of a job. */
export interface JobAssertions {
  readonly projection: Projection;
  /**
   * Of each assertion that may mean a request of the job, by the request's needs, features and
   * families.
   */
  readonly ofRequirements: (sample: SampleRequest) => readonly Aspect[];
  /** The same by its preferences and length of vectors. */
  readonly ofPreferences: (sample: SampleRequest) => readonly Aspect[];
}

/** Starts from which requests go the same way. */
interface Beginning {
  readonly nodes: readonly NodeId[];
  readonly starts: readonly Start[];
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
  readonly plainness: number;
}

/**
 * Every state that requests of one workspace, route and operation can reach, with the number of
 * requests in each. Needs and features are walked once for each set of candidates that preferences
 * leave ({@link ApprovalWalk}); whose order it is, and what preferences mean besides, is joined
 * afterwards.
 *
 * @param matters receives the needs and features by which requests reach different states.
 * @param check called for every step.
 */
export function approvalStates(
  sample: SampleRequest,
  universe: OperationUniverse,
  preferences: readonly ViewedPreferences[],
  views: readonly SideView[],
  assertions: JobAssertions,
  matters: Set<string>,
  check: () => void,
): readonly ApprovalState[] {
  const emulates = views.some(({ opened }) => opened?.route.emulateSchema === true);
  const couples = emulates && universe.features.includes("constrained_schema");
  const states = new StatesOfJob(sample, universe, preferences, views, assertions);
  for (const constrained of couples ? [false, true] : [null]) {
    const steps = approvalSteps(sample, universe, views, assertions.projection, constrained);
    for (const { isIdle, isForced, need, feature } of steps) {
      if (!isIdle && !isForced)
        matters.add(need === null ? `features ${feature}` : `needs ${need}`);
    }
    states.walk(steps, check);
  }
  return states.all();
}

class StatesOfJob {
  readonly #sample: SampleRequest;
  readonly #universe: OperationUniverse;
  readonly #assertions: JobAssertions;
  readonly #sides: readonly SideWalk[];
  readonly #beginnings: readonly Beginning[];
  readonly #finals: FinalStates;
  readonly #parts = new Map<string, Part>();
  readonly #numbers = new Map<SideState, number>();
  readonly #numbersByKey = new Map<string, number>();

  constructor(
    sample: SampleRequest,
    universe: OperationUniverse,
    preferences: readonly ViewedPreferences[],
    views: readonly SideView[],
    assertions: JobAssertions,
  ) {
    this.#sample = sample;
    this.#universe = universe;
    this.#assertions = assertions;
    this.#sides = views.map((view) => new SideWalk(view));
    this.#finals = new FinalStates(this.#sides, sample.operation, universe);
    this.#beginnings = this.#begun(this.#starts(preferences, views));
  }

  walk(steps: readonly Step[], check: () => void): void {
    const asserted = new AssertedNames(
      steps,
      [[], ...this.#universe.signatureFamilies],
      (own, families) =>
        this.#assertions.ofRequirements({
          ...this.#sample,
          ...namesOf(own),
          signatureFamilies: families,
        }),
    );
    const walk = new ApprovalWalk(this.#sides, steps, asserted, check);
    const members = this.#beginnings.flatMap((beginning) =>
      this.#members(beginning, walk, asserted, check),
    );
    // The order of the first requests: first those without the last steps, and of these in the
    // order of preferences.
    members.sort(
      (left, right) =>
        compared(left.final.first, right.final.first) ||
        (left.starts.all[0]?.order ?? 0) - (right.starts.all[0]?.order ?? 0),
    );
    for (const member of members) this.#add(member);
  }

  all(): readonly ApprovalState[] {
    return [...this.#parts.values()].map(({ sides, members }) => {
      let [plainest] = members;
      let size = 0n;
      for (const member of members) {
        size += member.final.size * member.starts.size;
        if (plainest === undefined || member.plainness < plainest.plainness) plainest = member;
      }
      if (plainest === undefined) throw new Error("simulation: a state without requests");
      let details: StateDetails | null = null;
      const { preferences, sides: preferred } = plainest.starts.plainest.effect;
      return {
        part: this.#partOf(plainest),
        reachingPreferences: (preferred[REACHED] ?? { preferences }).preferences,
        sides,
        size,
        details: () => (details ??= this.#detailsOf(members)),
      };
    });
  }

  #starts(preferences: readonly ViewedPreferences[], views: readonly SideView[]): readonly Start[] {
    return preferences.flatMap((effect, index) =>
      this.#universe.dimensions.map((dimensions, position): Start => {
        const sides = effect.sides.flatMap(({ state, preferences: given }, side) => {
          const view = views[side];
          return view === undefined ? [] : [startSide(view, state, given, dimensions)];
        });
        const sample = { ...this.#sample, preferences: effect.preferences, dimensions };
        return {
          order: index * this.#universe.dimensions.length + position,
          effect,
          dimensions,
          sides,
          numbers: sides.map((side) => this.#numberOf(side)),
          aspects: this.#assertions.ofPreferences(sample),
          size: effect.size,
        };
      }),
    );
  }

  #begun(starts: readonly Start[]): readonly Beginning[] {
    const found = new Map<string, { nodes: readonly NodeId[]; starts: Start[] }>();
    for (const start of starts) {
      const nodes = start.sides.map((side, index) => this.#sides[index]?.nodeOf(side) ?? 0);
      const same = found.get(nodes.join());
      if (same === undefined) found.set(nodes.join(), { nodes, starts: [start] });
      else same.starts.push(start);
    }
    return [...found.values()];
  }

  #members(
    { nodes, starts }: Beginning,
    walk: ApprovalWalk,
    asserted: AssertedNames,
    check: () => void,
  ): readonly Member[] {
    const known = new Map<string, readonly AlikeStarts[]>();
    return this.#finals.of(nodes, walk, asserted).flatMap((final) => {
      check();
      const { ends, names } = final;
      const key = ends.live.join();
      const alike = remembered(known, key, () => alikeStarts(starts, ends.live));
      return alike.map((own): Member => ({
        final,
        starts: own,
        plainness: names + plainness(own.plainest),
      }));
    });
  }

  #add(member: Member): void {
    const { final, starts } = member;
    const { plainest } = starts;
    const ends = final.ends.nodes[this.#universe.dimensions.indexOf(plainest.dimensions)] ?? [];
    const sides = ends.flatMap((node, index) => {
      const [side, start, number] = [
        this.#sides[index],
        plainest.sides[index],
        plainest.numbers[index],
      ];
      if (side === undefined || start === undefined || number === undefined) return [];
      return [side.stateAt(node, start, number)];
    });
    const meanings = final.aspects.map((aspect, index) =>
      joinedAspects(aspect, plainest.aspects[index]),
    );
    const key = [...sides.map((side) => this.#numberOf(side)), ...meanings].join();
    const same = this.#parts.get(key);
    if (same === undefined) this.#parts.set(key, { sides, members: [member] });
    else same.members.push(member);
  }

  #numberOf(state: SideState): number {
    const known = this.#numbers.get(state);
    if (known !== undefined) return known;
    const key = stateKey(state);
    const number = remembered(this.#numbersByKey, key, () => this.#numbersByKey.size);
    this.#numbers.set(state, number);
    return number;
  }

  #partOf({ final: { part, families, steps }, starts: { plainest } }: Member): ApprovalPart {
    return {
      ...namesOf(stepsIn(part, steps)),
      signatureFamilies: families,
      dimensions: plainest.dimensions,
      preferences: plainest.effect.preferences,
    };
  }

  #detailsOf(members: readonly Member[]): StateDetails {
    const names = members.map(({ final: { common, steps } }) => namesOf(stepsIn(common, steps)));
    const [first = { needs: [], features: [] }] = names;
    const starts = new Set(members.flatMap((member) => member.starts.all));
    const taken = new Map<string, Set<string>>();
    for (const { effect, dimensions } of starts) {
      const values = [
        ...preferenceValues(effect.preferences),
        ["dimensions", [String(dimensions ?? "none")]] as const,
      ];
      for (const [name, own] of values) {
        const all = taken.get(name) ?? new Set();
        for (const value of own) all.add(value);
        taken.set(name, all);
      }
    }
    return {
      common: {
        needs: first.needs.filter((need) => names.every(({ needs }) => needs.includes(need))),
        features: first.features.filter((feature) =>
          names.every(({ features }) => features.includes(feature)),
        ),
      },
      taken: new Map([...taken].map(([name, values]) => [name, [...values].toSorted()])),
    };
  }
}

/** The view of base that shows what callers can reach. */
const REACHED = 2;

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
