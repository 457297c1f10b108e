import type { PolicySlot } from "../../canon/policy.ts";
import { AssertionRun } from "../assertions/run.ts";
import { changeKinds, destinationsOf, type Destinations } from "../compare/change-kinds.ts";
import { JobComparison } from "../compare/comparison-tally.ts";
import { namedMembers } from "../compare/member-names.ts";
import { JobCandidates, noteDecision, type UsageTally } from "../compare/usage-tally.ts";
import { emptyTally, type SimulationTally } from "../compare/simulation-tally.ts";
import type { OutcomePair, SampleRequest, View } from "../sample-request.ts";
import { SideDecider, type SideOutcomes } from "../side-decider.ts";
import { JobClasses } from "../space/classes.ts";
import { comparedRequest } from "../space/compared-request.ts";
import type { PlannedSpace } from "../space/make-space.ts";
import type { CompiledSide } from "../side-contents.ts";
import { sideViews } from "../views.ts";
import { planJobs, type JobInput } from "./job-input.ts";

/** So many classes are kept between counting and deciding. */
const MAXIMUM_KEPT = 200_000;

/** Classes of one job are numbered; so many jobs and classes fit into a number without loss. */
const CLASSES_PER_JOB = 2 ** 32;

/** Enumerates and decides jobs, one after the other, in this thread. */
export class JobRunner {
  readonly #input: JobInput;
  readonly #plan: PlannedSpace;
  readonly #destinations: { readonly base: Destinations; readonly head: Destinations };
  readonly #compared = new WeakMap<SideOutcomes, WeakMap<SideOutcomes, Record<View, OutcomePair>>>();
  #tally: SimulationTally = emptyTally();
  /** Jobs that have been counted and not yet been run. */
  readonly #kept = new Map<number, JobClasses>();
  #keptClasses = 0;
  #deciders: { readonly base: SideDecider; readonly head: SideDecider } | null = null;

  constructor(input: JobInput) {
    this.#input = input;
    this.#plan = planJobs(input);
    this.#destinations = { base: destinationsOf(input.base.table), head: destinationsOf(input.head.table) };
  }

  get plan(): PlannedSpace {
    return this.#plan;
  }

  /** Loads the policies; before it nothing can be decided, but everything can be counted. */
  async load(): Promise<void> {
    const { base, head, promoted } = this.#input;
    const [before, after] = await Promise.all([
      this.#decider(
        base,
        () => promoted === null,
        () => this.#tally.baseUsage,
      ),
      this.#decider(
        head,
        (id) => promoted === null || promoted.includes(id),
        () => this.#tally.headUsage,
      ),
    ]);
    this.#deciders = { base: before, head: after };
  }

  async #decider(side: CompiledSide, promoted: (id: string) => boolean, usage: () => UsageTally): Promise<SideDecider> {
    // What is kept from base has the names of head's own content, and nothing of head's files can be learnt from it.
    const kept = new Set(side.contents.filter(({ isKept }) => isKept).map(({ contract }) => contract.id));
    const isKeptVerdict = (policy: string, slot: PolicySlot): boolean => slot === "enforced" && kept.has(policy);
    return new SideDecider(side.table, await sideViews(side, promoted), (decision, view) => {
      if (view === "declared") noteDecision(usage(), decision, isKeptVerdict);
    });
  }

  /** How many classes a job has. @param matters receives the names that distinguish them. */
  count(job: number, matters: Set<string> = new Set()): number {
    const classes = this.#classes(job);
    for (const name of classes.matters) matters.add(name);
    const { count } = classes;
    this.#keptClasses += count;
    // Small spaces are not walked twice; of large ones the memory is not worth it.
    if (this.#keptClasses <= MAXIMUM_KEPT) this.#kept.set(job, classes);
    return count;
  }

  /** Takes the tally of everything that was run since it was last taken. */
  takeTally(): SimulationTally {
    const tally = this.#tally;
    this.#tally = emptyTally();
    return tally;
  }

  /** One request on both sides. */
  decide(sample: SampleRequest): Record<View, OutcomePair> {
    const { base, head } = this.#loaded();
    return this.#pairs(base.decide(sample), head.decide(sample));
  }

  run(index: number): void {
    const { base, head } = this.#loaded();
    const tally = this.#tally;
    const { pair, operation } = this.#job(index);
    const { members } = pair;
    const classes = this.#classes(index);
    const named = namedMembers(members, { base: this.#input.base.table, head: this.#input.head.table });
    const comparisons = {
      declared: new JobComparison(tally.declared, this.#destinations, members, named),
      promoted: new JobComparison(tally.promoted, this.#destinations, members, named),
    };
    const candidates = { base: new JobCandidates(), head: new JobCandidates() };
    const assertions = this.#assertions();
    base.beginJob();
    head.beginJob();
    let order = index * CLASSES_PER_JOB;
    for (const { sample, size, stateKeys, describe } of classes.classes()) {
      const before = base.decideClass(stateKeys[0] ?? "", sample);
      const after = head.decideClass(stateKeys[1] ?? "", sample);
      const pairs = this.#pairs(before, after);
      const shapes = size * BigInt(members.length);
      comparisons.declared.add(pairs.declared, sample, size, order, describe);
      comparisons.promoted.add(pairs.promoted, sample, size, order, describe);
      candidates.base.add(before.declared);
      candidates.head.add(after.declared);
      assertions?.visit({ sample, members, shapes, ...pairs, reaching: this.#reaching(sample, before, after) });
      tally.classes += 1;
      order += 1;
    }
    tally.shapes += classes.shapes * BigInt(members.length);
    comparisons.declared.end(operation);
    comparisons.promoted.end(operation);
    candidates.base.writeTo(tally.baseUsage, this.#input.base.table, members);
    candidates.head.writeTo(tally.headUsage, this.#input.head.table, members);
    if (assertions !== null) tally.assertions.set(index, assertions.snapshot());
  }

  #reaching(sample: SampleRequest, before: SideOutcomes, after: SideOutcomes): Record<View, OutcomePair> | null {
    const { base } = this.#loaded();
    const isMisnamed = before.declared.denial?.reason === "unknown_preference";
    const compared = comparedRequest(base.table, sample, isMisnamed);
    return compared === null ? null : this.#pairs(base.decide(compared), after);
  }

  /** Deciders give the same object for the same outcomes, so that most pairs have been compared before. */
  #pairs(before: SideOutcomes, after: SideOutcomes): Record<View, OutcomePair> {
    const known = this.#compared.get(before) ?? new WeakMap<SideOutcomes, Record<View, OutcomePair>>();
    this.#compared.set(before, known);
    const made = known.get(after) ?? this.#compare(before, after);
    known.set(after, made);
    return made;
  }

  #compare(before: SideOutcomes, after: SideOutcomes): Record<View, OutcomePair> {
    const declared = this.#pair(before.declared, after.declared);
    const same = before.promoted === before.declared && after.promoted === after.declared;
    return { declared, promoted: same ? declared : this.#pair(before.promoted, after.promoted) };
  }

  #pair(base: SideOutcomes["declared"], head: SideOutcomes["declared"]): OutcomePair {
    return { base, head, kinds: changeKinds(base, head, this.#destinations) };
  }

  #assertions(): AssertionRun | null {
    const { assertions, base, head } = this.#input;
    return assertions.length === 0 ? null : new AssertionRun(assertions, { base: base.table, head: head.table });
  }

  #classes(index: number): JobClasses {
    const kept = this.#kept.get(index);
    this.#kept.delete(index);
    if (kept !== undefined) return kept;
    return new JobClasses(this.#plan.space, this.#job(index));
  }

  #job(index: number): PlannedSpace["jobs"][number] {
    const job = this.#plan.jobs[index];
    if (job === undefined) throw new RangeError(`simulation: there is no job ${index}`);
    return job;
  }

  #loaded(): { readonly base: SideDecider; readonly head: SideDecider } {
    if (this.#deciders === null) throw new Error("simulation: the policies are not loaded");
    return this.#deciders;
  }
}
