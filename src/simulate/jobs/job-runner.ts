import { remembered } from "../remembered.ts";
import { AssertionRun, type AssertionTally, isOwnDoing, meaningOf } from "../assertions/run.ts";
import { changeKinds, type Destinations, destinationsOf } from "../compare/change-kinds.ts";
import { JobComparison, JobPaths, namedMembers } from "../compare/comparison-tally.ts";
import { emptyTally, JobCandidates, type SimulationTally } from "../compare/simulation-tally.ts";
import {
  type OfSides,
  type OutcomePair,
  type SampleRequest,
  type View,
  VIEWS,
} from "../sample-request.ts";
import { type LoadedSide, SideDecider, type SideOutcomes } from "../decide-sample.ts";
import { Budget, TimeUpError } from "../diagram/budget.ts";
import { DecidedClasses } from "../diagram/decided-classes.ts";
import { type LoadedPolicy, sideViews, TracedPolicies } from "../views.ts";
import { JobSpace } from "../space/job-space.ts";
import { type AssertionDistinctions, type PlannedSpace, planSpace } from "../space/make-space.ts";
import type { CompiledSide, CompiledSides } from "../side-contents.ts";
import { type Assertion, comparesSides } from "../assertions/assertion.ts";
import { concernTest, distinctionsOf, selectionAspects } from "../assertions/select.ts";

/** Classes of one job are numbered; so many jobs and classes fit into a number without loss. */
const CLASSES_PER_JOB = 2 ** 32;

interface LoadedSides extends OfSides<LoadedSide> {
  readonly classes: DecidedClasses;
}

/** Enumerates and decides jobs, one after the other, in this thread. */
export class JobRunner {
  readonly input: JobInput;
  readonly plan: PlannedSpace;
  readonly #budget: Budget;
  readonly #destinations: OfSides<Destinations>;
  readonly #compared = new WeakMap<
    SideOutcomes,
    WeakMap<SideOutcomes, Record<View, OutcomePair>>
  >();
  #tally: SimulationTally = emptyTally();
  #sides: LoadedSides | null = null;

  constructor(input: JobInput) {
    this.input = input;
    const { base, head, assertions } = input;
    this.plan = planSpace(base, head, assertionDistinctions(assertions, input));
    this.#budget = new Budget(input.deadline);
    this.#destinations = { base: destinationsOf(base.table), head: destinationsOf(head.table) };
  }

  /** The loaded policies of both sides. */
  get views(): OfSides<LoadedSide["views"]> {
    const { base, head } = this.#loaded();
    return { base: base.views, head: head.views };
  }

  /** Loads the policies; before it nothing can be decided. */
  async load(): Promise<void> {
    const { base, head, promoted } = this.input;
    const evaluations = new TracedPolicies();
    const [before, after] = await Promise.all([
      loadedSide(base, () => promoted === null, evaluations),
      loadedSide(head, (id) => promoted === null || promoted.includes(id), evaluations),
    ]);
    const isIgnored = { base: keptTest(base), head: keptTest(head) };
    const classes = new DecidedClasses(
      this.plan.space,
      { base: before, head: after },
      this.#budget,
      isIgnored,
    );
    this.#sides = { base: before, head: after, classes };
  }

  /** The tally since the last call. */
  takeTally(): SimulationTally {
    const tally = this.#tally;
    this.#tally = emptyTally();
    this.#sides?.classes.beginTally();
    tally.isFull = this.#budget.isFull;
    for (const [policy, count] of this.#budget.takeEvaluations())
      tally.evaluations.set(policy, count);
    return tally;
  }

  /** One request on both sides. */
  decideSample(sample: SampleRequest): Record<View, OutcomePair> {
    const { base, head } = this.#loaded();
    return this.#pairs(base.decider.decideSample(sample), head.decider.decideSample(sample));
  }

  /**
   * Decides requests of an unchanged job, and notes the rules that they meet and the destinations
   * that they reach, but counts none of them.
   *
   * @param tally that is given for all jobs until the next one is taken. @param isEnough called
   * repeatedly; true ends the run. @param onlyVerdicts notes nothing but the policies' verdicts.
   * @returns false where the time is up.
   */
  look(
    index: number,
    tally: SimulationTally,
    isEnough: () => boolean,
    onlyVerdicts = false,
  ): boolean {
    return this.#inTime(() => this.#look(index, tally, isEnough, onlyVerdicts));
  }

  #look(index: number, tally: SimulationTally, isEnough: () => boolean, onlyVerdicts: boolean) {
    const { pair, operation } = this.#job(index);
    const space = this.#space(index, tally);
    const usage = { base: tally.baseUsage, head: tally.headUsage };
    if (onlyVerdicts) {
      this.#loaded().classes.note(space, usage, isEnough);
      return;
    }
    const met = new Set<SideOutcomes>();
    for (const { sample, base, head } of this.#loaded().classes.of(space, usage)) {
      // Both sides are the same, and so are their outcomes, but for candidates that only one view
      // has.
      if (met.has(head)) continue;
      met.add(head);
      for (const [side, outcomes] of [["base", base] as const, ["head", head] as const]) {
        const candidates = new JobCandidates();
        candidates.add(outcomes.declared);
        candidates.writeTo(usage[side], this.input[side].table, pair.members);
        for (const view of VIEWS) {
          const paths = new JobPaths(this.#destinations[side]);
          paths.add(outcomes[view], sample, index * CLASSES_PER_JOB);
          paths.writeTo(tally[view][`${side}Paths`], pair.members, operation);
        }
      }
      if (isEnough()) return;
    }
  }

  #space(index: number, tally: SimulationTally): JobSpace {
    const space = new JobSpace(this.plan.space, this.#job(index), () => this.#budget.check());
    for (const name of space.matters) tally.matters.add(name);
    if (space.states.some(({ sides }) => sides[1]?.denied === null)) tally.live.add(index);
    return space;
  }

  /** False where the time ended the work, or was up before. */
  #inTime(work: () => void): boolean {
    if (this.#budget.isOver) return false;
    try {
      work();
      return true;
    } catch (error) {
      if (error instanceof TimeUpError) return false;
      throw error;
    }
  }

  /** Whether the time is up. */
  get isOver(): boolean {
    return this.#budget.isOver;
  }

  /** @returns whether the job was decided whole; otherwise the tally has a part of it. */
  run(index: number): boolean {
    return this.#inTime(() => this.#run(index));
  }

  #run(index: number) {
    const { classes } = this.#loaded();
    const tally = this.#tally;
    const job = this.#job(index);
    const { pair, operation } = job;
    const { members } = pair;
    const space = this.#space(index, tally);
    const named = namedMembers(members, {
      base: this.input.base.table,
      head: this.input.head.table,
    });
    const comparisons = {
      declared: new JobComparison(tally.declared, this.#destinations, members, named),
      promoted: new JobComparison(tally.promoted, this.#destinations, members, named),
    };
    const candidates = { base: new JobCandidates(), head: new JobCandidates() };
    const assertions = this.#assertions();
    let order = index * CLASSES_PER_JOB;
    const usage = { base: tally.baseUsage, head: tally.headUsage };
    const decide = () => {
      for (const { sample, size, base, head, reached, describe } of classes.of(space, usage)) {
        const pairs = this.#pairs(base, head);
        const shapes = size * BigInt(members.length);
        for (const view of VIEWS) comparisons[view].add(pairs[view], sample, size, order, describe);
        candidates.base.add(base.declared);
        candidates.head.add(head.declared);
        const reaching = reached === null ? null : this.#pairs(reached, head);
        assertions.visit({ sample, members, shapes, ...pairs, reaching });
        tally.classes += 1;
        tally.shapes += shapes;
        order += 1;
      }
    };
    try {
      decide();
    } finally {
      for (const view of VIEWS) comparisons[view].end(operation);
      candidates.base.writeTo(tally.baseUsage, this.input.base.table, members);
      candidates.head.writeTo(tally.headUsage, this.input.head.table, members);
      tally.assertions.set(index, assertions.snapshot());
    }
  }

  /**
   * Deciders give the same object for the same outcomes, so that most pairs have been compared
   * before.
   */
  #pairs(before: SideOutcomes, after: SideOutcomes): Record<View, OutcomePair> {
    const byHead = remembered(
      this.#compared,
      before,
      () => new WeakMap<SideOutcomes, Record<View, OutcomePair>>(),
    );
    return remembered(byHead, after, () => {
      const pairOf = (view: View): OutcomePair => {
        const [base, head] = [before[view], after[view]];
        return { base, head, kinds: changeKinds(base, head, this.#destinations) };
      };
      const declared = pairOf("declared");
      const same = before.promoted === before.declared && after.promoted === after.declared;
      return { declared, promoted: same ? declared : pairOf("promoted") };
    });
  }

  /** No request was decided yet. */
  noAssertions(): AssertionTally {
    return this.#assertions().snapshot();
  }

  #assertions(): AssertionRun {
    const { assertions, base, head } = this.input;
    return new AssertionRun(assertions, { base: base.table, head: head.table });
  }

  #job(index: number): PlannedSpace["jobs"][number] {
    const job = this.plan.jobs[index];
    if (job === undefined) throw new RangeError(`simulation: there is no job ${index}`);
    return job;
  }

  #loaded(): LoadedSides {
    if (this.#sides === null) throw new Error("simulation: the policies are not loaded");
    return this.#sides;
  }
}

async function loadedSide(
  side: CompiledSide,
  promoted: (id: string) => boolean,
  evaluations: TracedPolicies,
): Promise<LoadedSide> {
  const views = await sideViews(side, promoted, evaluations);
  return { decider: new SideDecider(side.table, views), views };
}

/** Content kept from base has the names of head's own, but shows nothing about head's files. */
function keptTest({ contents }: CompiledSide): (policy: LoadedPolicy) => boolean {
  const kept = new Set(contents.flatMap(({ isKept, contract }) => (isKept ? [contract.id] : [])));
  return ({ single: { identity } }) => identity.slot === "enforced" && kept.has(identity.id);
}

/** Everything that a thread needs to enumerate and decide jobs. Plain data. */
export interface JobInput extends CompiledSides {
  /**
   * Policies of head that are taken for promoted, and none of base's; `null`: every candidate of
   * both sides.
   */
  readonly promoted: readonly string[] | null;
  readonly assertions: readonly Assertion[];
  /** When deciding ends, finished or not, milliseconds since the epoch. */
  readonly deadline: number;
}

/** The distinctions of each assertion; cases have none. */
export function assertionDistinctions(
  assertions: readonly Assertion[],
  { base, head }: CompiledSides,
): readonly AssertionDistinctions[] {
  const tables = { base: base.table, head: head.table };
  return assertions.flatMap((assertion) => {
    const { kind, id } = assertion;
    if (kind === "cases") return [];
    const { ofRequirements, ofPreferences } = selectionAspects(assertion, head.table);
    return [
      {
        ...distinctionsOf(assertion, tables),
        concerns: concernTest(assertion, tables),
        means: meaningOf(assertion, tables),
        aspects: {
          ofRequirements,
          ofPreferences: (sample: SampleRequest) =>
            isOwnDoing(assertion, sample) ? "not meant" : ofPreferences(sample),
        },
        id,
        comparesSides: comparesSides(kind),
        comparesReach: kind === "no_new_access",
      },
    ];
  });
}
