import { remembered } from "../remembered.ts";
import { isCallerChoice, meaningOf, runAssertions } from "../assertions/run.ts";
import { changeKinds, destinationsOf } from "../compare/change-kinds.ts";
import { jobComparison, jobPaths, namedMembers } from "../compare/comparison-tally.ts";
import { emptyTally, jobCandidates, type SimulationTally } from "../compare/simulation-tally.ts";
import {
  type OfSides,
  type OutcomePair,
  type SampleRequest,
  type View,
  VIEWS,
} from "../sample-request.ts";
import { type LoadedSide, sideDecider, type SideOutcomes } from "../decide-sample.ts";
import { budgetUntil, TimeUpError } from "../diagram/budget.ts";
import { decidedClasses, type DecidedClasses } from "../diagram/decided-classes.ts";
import { sideViews, tracedPolicies } from "../views.ts";
import { type AssertionReader, type Job, jobSpace } from "../space/job-space.ts";
import { distinctionReader } from "../space/readers.ts";
import { planSpace } from "../space/job-space.ts";
import type { CompiledSides } from "../side-contents.ts";
import { type Assertion, comparesSides } from "../assertions/schema.ts";
import { concernTest, distinctionsOf, selectionAspects } from "../assertions/select.ts";

/** Classes of one job are numbered; so many jobs and classes fit into a number without loss. */
const CLASSES_PER_JOB = 2 ** 32;

interface LoadedSides extends OfSides<LoadedSide> {
  readonly classes: DecidedClasses;
}

export type JobRunner = ReturnType<typeof jobRunner>;

/** Enumerates and decides jobs, one after the other, in this thread. */
export function jobRunner(input: JobInput) {
  const tables = { base: input.base.table, head: input.head.table };
  const space = planSpace(input.base, input.head, assertionReaders(input.assertions, input));
  const budget = budgetUntil(input.deadline);
  const destinations = { base: destinationsOf(tables.base), head: destinationsOf(tables.head) };
  const compared = new WeakMap<SideOutcomes, WeakMap<SideOutcomes, Record<View, OutcomePair>>>();
  let current: SimulationTally = emptyTally();
  let sides: LoadedSides | null = null;

  const loaded = (): LoadedSides => {
    if (sides === null) throw new Error("simulation: the policies are not loaded");
    return sides;
  };
  const spaceOf = (job: Job, tally: SimulationTally) => {
    const ofJob = jobSpace(space, job, budget.check);
    for (const name of ofJob.matters) tally.matters.add(name);
    if (ofJob.states.some((state) => state.sides[1]?.denied === null)) tally.live.add(job.index);
    return ofJob;
  };
  /** False where the time ended the work, or was up before. */
  const inTime = (work: () => void): boolean => {
    if (budget.isExhausted()) return false;
    try {
      work();
      return true;
    } catch (error) {
      if (error instanceof TimeUpError) return false;
      throw error;
    }
  };

  /**
   * Deciders give the same object for the same outcomes, so that most pairs have been compared
   * before.
   */
  const pairsOf = (before: SideOutcomes, after: SideOutcomes): Record<View, OutcomePair> => {
    const byHead = remembered(
      compared,
      before,
      () => new WeakMap<SideOutcomes, Record<View, OutcomePair>>(),
    );
    return remembered(byHead, after, () => {
      const pairOf = (view: View): OutcomePair => {
        const [base, head] = [before[view], after[view]];
        return { base, head, kinds: changeKinds(base, head, destinations) };
      };
      const declared = pairOf("declared");
      const same = before.promoted === before.declared && after.promoted === after.declared;
      return { declared, promoted: same ? declared : pairOf("promoted") };
    });
  };

  const look = (
    job: Job,
    tally: SimulationTally,
    isComplete: () => boolean,
    onlyVerdicts: boolean,
  ) => {
    const { index, pair, operation } = job;
    const { usage } = tally;
    const classes = loaded().classes.ofOperation(operation);
    if (onlyVerdicts) {
      classes.note(spaceOf(job, tally), usage, isComplete);
      return;
    }
    const met = new Set<SideOutcomes>();
    for (const { sample, base, head } of classes.of(spaceOf(job, tally), usage)) {
      // Both sides are the same, and so are their outcomes, but for candidates that only one view
      // has.
      if (met.has(head)) continue;
      met.add(head);
      for (const [side, outcomes] of [["base", base] as const, ["head", head] as const]) {
        const candidates = jobCandidates();
        candidates.add(outcomes.declared);
        candidates.writeTo(usage[side], tables[side], pair.members);
        for (const view of VIEWS) {
          const paths = jobPaths(destinations[side]);
          paths.add(outcomes[view], sample, index * CLASSES_PER_JOB);
          paths.writeTo(tally[view][`${side}Paths`], pair.members, operation);
        }
      }
      if (isComplete()) return;
    }
  };

  const run = (index: number) => {
    const tally = current;
    const job = space.jobs[index];
    if (job === undefined) throw new RangeError(`simulation: there is no job ${index}`);
    const { pair, operation } = job;
    const { members } = pair;
    const classes = loaded().classes.ofOperation(operation);
    const named = namedMembers(members, tables);
    const comparisons = {
      declared: jobComparison(tally.declared, destinations, members, named),
      promoted: jobComparison(tally.promoted, destinations, members, named),
    };
    const candidates = { base: jobCandidates(), head: jobCandidates() };
    const assertions = runAssertions(input.assertions, tables);
    let order = index * CLASSES_PER_JOB;
    const { usage } = tally;
    try {
      for (const { sample, size, base, head, reached, describe } of classes.of(
        spaceOf(job, tally),
        usage,
      )) {
        const pairs = pairsOf(base, head);
        const shapes = size * BigInt(members.length);
        for (const view of VIEWS) comparisons[view].add(pairs[view], sample, size, order, describe);
        candidates.base.add(base.declared);
        candidates.head.add(head.declared);
        const reaching = reached && pairsOf(reached, head);
        assertions.visit({ sample, members, shapes, ...pairs, reaching });
        tally.classes += 1;
        tally.shapes += shapes;
        order += 1;
      }
    } finally {
      for (const view of VIEWS) comparisons[view].end(operation);
      candidates.base.writeTo(usage.base, tables.base, members);
      candidates.head.writeTo(usage.head, tables.head, members);
      tally.assertions.set(index, assertions.snapshot());
    }
  };

  return {
    input,
    space,
    /** Loads the policies; before it nothing can be decided. Frees the memory of earlier jobs. */
    async load(): Promise<void> {
      const { base, head, promoted } = input;
      const tracedOf = tracedPolicies();
      const isPromoted = (id: string) => promoted === null || promoted.includes(id);
      const [before, after] = await Promise.all([
        sideViews(base, () => promoted === null, tracedOf),
        sideViews(head, isPromoted, tracedOf),
      ]);
      const bySide = {
        base: { decider: sideDecider(base.table, before), views: before },
        head: { decider: sideDecider(head.table, after), views: after },
      };
      sides = { ...bySide, classes: decidedClasses(space, bySide, budget) };
    },
    /** The loaded policies of both sides. */
    get views(): OfSides<LoadedSide["views"]> {
      const { base, head } = loaded();
      return { base: base.views, head: head.views };
    },
    /** Whether the time is up. */
    isExhausted: budget.isExhausted,
    /** The tally since the last call. */
    takeTally(): SimulationTally {
      const tally = current;
      current = emptyTally();
      sides?.classes.beginTally();
      return { ...tally, isFull: budget.isFull(), evaluations: budget.takeEvaluations() };
    },
    /** One request on both sides. */
    decideSample(sample: SampleRequest): Record<View, OutcomePair> {
      const { base, head } = loaded();
      return pairsOf(base.decider.decideSample(sample), head.decider.decideSample(sample));
    },
    /** @returns whether the job was decided whole; otherwise the tally has a part of it. */
    run: (index: number) => inTime(() => run(index)),
    /**
     * Decides requests of an unchanged job, and notes the rules that they meet and the destinations
     * that they reach, but counts none of them.
     *
     * @param tally the same one until the next `takeTally`. @param isComplete called
     * repeatedly; true ends the run. @param onlyVerdicts notes nothing but the policies' verdicts.
     * @returns false where the time is up.
     */
    look: (...given: Parameters<typeof look>) => inTime(() => look(...given)),
    /** No request was decided yet. */
    noAssertions: () => runAssertions(input.assertions, tables).snapshot(),
  };
}

/** Everything that a thread needs to enumerate and decide jobs. Plain data. */
export interface JobInput extends CompiledSides {
  /**
   * Policies of head that count as promoted, and none of base's; `null`: every candidate of
   * both sides.
   */
  readonly promoted: readonly string[] | null;
  readonly assertions: readonly Assertion[];
  /** When deciding ends, finished or not, milliseconds since the epoch. */
  readonly deadline: number;
}

/** The distinctions of each assertion; cases have none. */
export function assertionReaders(
  assertions: readonly Assertion[],
  { base, head }: CompiledSides,
): readonly AssertionReader[] {
  const tables = { base: base.table, head: head.table };
  return assertions.flatMap((assertion) => {
    const { kind, id } = assertion;
    if (kind === "cases") return [];
    const { ofRequirements, ofPreferences } = selectionAspects(assertion, head.table);
    return [
      {
        reader: distinctionReader(distinctionsOf(assertion, tables)),
        concerns: concernTest(assertion, tables),
        means: meaningOf(assertion, tables),
        aspects: {
          ofRequirements,
          ofPreferences: (sample: SampleRequest) =>
            isCallerChoice(assertion, sample) ? "not meant" : ofPreferences(sample),
        },
        id,
        comparesSides: comparesSides(kind),
        comparesReach: kind === "no_new_access",
      },
    ];
  });
}
