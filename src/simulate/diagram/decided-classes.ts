import { remembered } from "../remembered.ts";
import type { Operation } from "../../canon/operation.ts";
import type { UsageTally } from "../compare/simulation-tally.ts";
import { ALWAYS_USED } from "../../canon/request.ts";
import {
  conditionCount,
  PLAIN_SAMPLE,
  type OfSides,
  type SampleRequest,
  type SideName,
} from "../sample-request.ts";
import type { LoadedSide, SideDecider, SideOutcomes } from "../decide-sample.ts";
import type { ApprovalState, ValuesByDimension } from "../space/approval-states.ts";
import type { ClassDetails, JobSpace, PlainRequests, Space } from "../space/job-space.ts";
import { candidatesKey, stateKey, type SideState } from "../space/side-walk.ts";
import type { LoadedPolicy } from "../views.ts";
import { assertionDiagrams, type OperationDiagrams } from "./policy-diagrams.ts";
import type { Budget } from "./budget.ts";
import { KEY_LABELS, levelsOf } from "../space/levels.ts";
import {
  Diagrams,
  PairedLeaves,
  Profiles,
  leafOf,
  type LeafProfile,
  type Node,
} from "./diagrams.ts";
import { DiagramUsage, SideDiagrams, requestAt, type StateVerdicts } from "./side-diagrams.ts";

/** Requests of one state with the same outcomes on both sides, which no assertion distinguishes. */
interface DecidedClass {
  /** The first of them. */
  readonly sample: SampleRequest;
  /** For one member of the pair class. */
  readonly size: bigint;
  readonly base: SideOutcomes;
  readonly head: SideOutcomes;
  /**
   * Base's outcome for the request of {@link comparedRequest}; `null` where that is the request
   * itself, or no assertion compares it.
   */
  readonly reached: SideOutcomes | null;
  readonly describe: () => ClassDetails;
}

/** Nodes of one operation that are kept; with more of them it begins anew. */
const MOST_NODES = 1_000_000;

/**
 * Decides the requests of jobs: every state of the table's approvals as diagrams over the members
 * that policies and assertions read.
 */
export class DecidedClasses {
  readonly #make: (operation: Operation) => OperationClasses;
  readonly #operations = new Map<Operation, OperationClasses>();

  /** @param isIgnored contents whose verdicts are not noted. */
  constructor(
    space: Space,
    sides: OfSides<LoadedSide>,
    budget: Budget,
    isIgnored: OfSides<(policy: LoadedPolicy) => boolean> = {
      base: () => false,
      head: () => false,
    },
  ) {
    this.#make = (operation) => new OperationClasses(space, operation, sides, budget, isIgnored);
  }

  /**
   * In an order that depends on the job alone. @param usage receives the policies' verdicts.
   * @throws {TimeUpError}
   */
  of(job: JobSpace, usage: OfSides<UsageTally>): Generator<DecidedClass> {
    return this.#of(job.job.operation).of(job, usage);
  }

  /**
   * Notes the policies' verdicts on the requests of a job without deciding them.
   *
   * @param job of which both sides are equal: verdicts of head are noted for base too.
   * @param isEnough called repeatedly; true ends it. @throws {TimeUpError}
   */
  note(job: JobSpace, usage: OfSides<UsageTally>, isEnough: () => boolean): void {
    this.#of(job.job.operation).note(job, usage, isEnough);
  }

  #of(operation: Operation): OperationClasses {
    const existing = this.#operations.get(operation);
    if (existing !== undefined && existing.size <= MOST_NODES) return existing;
    const classes = this.#make(operation);
    this.#operations.set(operation, classes);
    return classes;
  }

  /** Verdicts are noted once for each tally. */
  beginTally(): void {
    for (const operation of this.#operations.values()) operation.beginTally();
  }
}

/** The levels' part of {@link ClassDetails}. */
interface LevelDetails {
  readonly taken: ValuesByDimension;
  readonly labels: readonly string[];
}

class OperationClasses {
  readonly #shared: OperationDiagrams;
  readonly #deciders: OfSides<SideDecider>;
  readonly #sides: OfSides<SideDiagrams>;
  readonly #usage: OfSides<DiagramUsage>;
  /** Notes verdicts of head as base's, where both sides are equal. */
  readonly #equalUsage: DiagramUsage;
  readonly #assertions: ReturnType<typeof assertionDiagrams>;
  readonly #outcomes: PairedLeaves;
  readonly #withReached: PairedLeaves;
  readonly #withAssertions: PairedLeaves;
  readonly #details = new WeakMap<PlainRequests["counts"], LevelDetails>();

  constructor(
    space: Space,
    operation: Operation,
    sides: OfSides<LoadedSide>,
    budget: Budget,
    isIgnored: OfSides<(policy: LoadedPolicy) => boolean>,
  ) {
    const operationUniverse = space.universe.operations.get(operation);
    if (operationUniverse === undefined)
      throw new Error(`simulation: the universe has no operation ${operation}`);
    const diagrams = new Diagrams();
    const levels = levelsOf(space.universe, operationUniverse);
    const profiles = new Profiles(
      diagrams,
      levels.map(({ values }) => values.length),
    );
    this.#shared = { operation, diagrams, levels, profiles, budget };
    this.#deciders = { base: sides.base.decider, head: sides.head.decider };
    this.#sides = {
      base: new SideDiagrams(sides.base, this.#shared),
      head: new SideDiagrams(sides.head, this.#shared),
    };
    const usageOf = (at: SideName, as: SideName = at) =>
      new DiagramUsage(this.#sides[at], sides[at].views.policies, diagrams, isIgnored[as]);
    this.#usage = { base: usageOf("base"), head: usageOf("head") };
    this.#equalUsage = usageOf("head", "base");
    this.#assertions = assertionDiagrams(space, this.#shared);
    this.#outcomes = new PairedLeaves(diagrams);
    this.#withReached = new PairedLeaves(diagrams);
    this.#withAssertions = new PairedLeaves(diagrams);
  }

  get size(): number {
    return this.#shared.diagrams.size;
  }

  beginTally(): void {
    this.#usage.base.forget();
    this.#usage.head.forget();
    this.#equalUsage.forget();
  }

  note(job: JobSpace, usage: OfSides<UsageTally>, isEnough: () => boolean): void {
    const cache = new Map<string, StateVerdicts>();
    for (const state of job.states) {
      this.#shared.budget.check();
      const [, head] = state.sides;
      const { size } = cache;
      if (head?.denied !== null) continue;
      const verdicts = this.#verdictsOf("head", head, job.sampleOf(state), cache, usage.head);
      if (cache.size === size) continue;
      this.#equalUsage.note(usage.base, verdicts);
      if (isEnough()) return;
    }
  }

  *of(job: JobSpace, usage: OfSides<UsageTally>): Generator<DecidedClass> {
    const verdicts = {
      base: new Map<string, StateVerdicts>(),
      head: new Map<string, StateVerdicts>(),
    };
    const reachVerdicts = new Map<string, StateVerdicts>();
    for (const state of job.states) {
      this.#shared.budget.check();
      const sample = job.sampleOf(state);
      const [base, head, reach] = state.sides;
      if (base === undefined || head === undefined)
        throw new Error("simulation: a state has two sides");
      const rootOf = (at: SideName, side: SideState) =>
        this.#rootOf(at, side, sample, verdicts[at], usage[at]);
      const outcomes = this.#outcomes.of(rootOf("base", base), rootOf("head", head));
      const reached =
        reach === undefined || state.reachingPreferences === sample.preferences
          ? null
          : this.#rootOf("base", reach, job.reachingSampleOf(state), reachVerdicts, null);
      const joined = this.#withReached.of(outcomes, reached ?? leafOf(0));
      const root = this.#withAssertions.of(joined, this.#assertions(job, sample));
      for (const leaf of this.#shared.profiles.of(root)) {
        yield this.#classOf(state, sample, root, leaf, reached !== null);
      }
    }
  }

  #classOf(
    state: ApprovalState,
    sample: SampleRequest,
    root: Node,
    { leaf, size, path }: LeafProfile,
    isReached: boolean,
  ): DecidedClass {
    const [joined] = this.#withAssertions.at(leaf);
    const [outcomes, reached] = this.#withReached.at(joined);
    const [base, head] = this.#outcomes.at(outcomes);
    return {
      sample: requestAt(sample, this.#shared.levels, path),
      size: state.size * size,
      base: this.#sides.base.outcomesAt(base),
      head: this.#sides.head.outcomesAt(head),
      reached: isReached ? this.#sides.base.outcomesAt(reached) : null,
      describe: () => this.#detailsOf(state, root, leaf),
    };
  }

  #rootOf(
    at: SideName,
    side: SideState,
    sample: SampleRequest,
    cache: Map<string, StateVerdicts>,
    usage: UsageTally | null,
  ): Node {
    if (side.denied !== null) {
      // Why a route is refused depends on workspace and route.
      const whose = side.denied.includes("/") ? "" : `${sample.workspace} ${sample.model}`;
      return this.#sides[at].outcomesOf(`!${side.denied} ${whose}`, sample, null);
    }
    const verdicts = this.#verdictsOf(at, side, sample, cache, usage);
    const isSingle = sample.preferences?.allow_fallbacks === false;
    const key = `${candidatesKey(side.candidates)}${isSingle ? "|single" : ""}`;
    return this.#sides[at].outcomesOf(key, sample, verdicts);
  }

  #verdictsOf(
    at: SideName,
    side: SideState,
    sample: SampleRequest,
    cache: Map<string, StateVerdicts>,
    usage: UsageTally | null,
  ) {
    return remembered(cache, stateKey(side), () => {
      const input = this.#deciders[at].inputOf(sample, side.candidates);
      const verdicts = this.#sides[at].verdictsOf(input, sample);
      if (usage !== null) this.#usage[at].note(usage, verdicts);
      return verdicts;
    });
  }

  #detailsOf(state: ApprovalState, root: Node, leaf: number): ClassDetails {
    const { common, taken } = state.details();
    const { levels, profiles } = this.#shared;
    const counts = profiles.countsOf(root, leaf);
    const levelDetails = this.#levelDetails(counts);
    return {
      common: { ...common, labels: levelDetails.labels },
      taken: [taken, levelDetails.taken],
      plain: this.#isPlain(state) ? { levels, counts } : null,
    };
  }

  /** Whether requests of a state have nothing beyond every request of the operation. */
  #isPlain({ part }: ApprovalState): boolean {
    const always = ALWAYS_USED[this.#shared.operation]?.length ?? 0;
    return conditionCount({ ...PLAIN_SAMPLE, ...part }) === always && part.dimensions === null;
  }

  #levelDetails(counts: PlainRequests["counts"]) {
    return remembered(this.#details, counts, () => {
      const taken = new Map<string, readonly string[]>();
      const labels: string[] = [];
      for (const [depth, { name, values }] of this.#shared.levels.entries()) {
        const isTaken = (value: number) => (counts[depth]?.[value] ?? 0n) > 0n;
        if (name !== KEY_LABELS)
          taken.set(
            name,
            values.filter((_, value) => isTaken(value)),
          );
        else if (!isTaken(0)) labels.unshift(values[1] ?? "");
      }
      return { taken, labels };
    });
  }
}
