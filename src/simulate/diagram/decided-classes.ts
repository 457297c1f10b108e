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
import type { LoadedSide, SideOutcomes } from "../decide-sample.ts";
import type { ApprovalState, ValuesByDimension } from "../space/approval-states.ts";
import type { ClassDetails, JobSpace, PlainRequests, Space } from "../space/job-space.ts";
import { candidatesKey, stateKey, type SideState } from "../space/side-walk.ts";
import { assertionDiagrams, type OperationDiagrams } from "./policy-diagrams.ts";
import type { Budget } from "./budget.ts";
import { KEY_LABELS, levelsOf } from "../space/levels.ts";
import { valuesOf } from "../space/universe.ts";
import {
  newDiagrams,
  leafOf,
  pairedLeaves,
  profilesOf,
  type LeafProfile,
  type Node,
} from "./diagrams.ts";
import { diagramUsage, requestAt, sideDiagrams, type StateVerdicts } from "./side-diagrams.ts";

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

export type DecidedClasses = ReturnType<typeof decidedClasses>;

/**
 * Decides the requests of jobs: every state of the table's approvals as diagrams over the members
 * that policies and assertions read.
 */
export function decidedClasses(space: Space, sides: OfSides<LoadedSide>, budget: Budget) {
  const operations = new Map<Operation, ReturnType<typeof operationClasses>>();
  return {
    ofOperation(operation: Operation): ReturnType<typeof operationClasses> {
      const existing = operations.get(operation);
      if (existing !== undefined && existing.diagrams.size() <= MOST_NODES) return existing;
      const classes = operationClasses(space, operation, sides, budget);
      operations.set(operation, classes);
      return classes;
    },
    /** Verdicts are noted once for each tally. */
    beginTally(): void {
      for (const { usages } of operations.values()) for (const usage of usages) usage.forget();
    },
  };
}

/** The levels' part of {@link ClassDetails}. */
interface LevelDetails {
  readonly valuesByDimension: ValuesByDimension;
  readonly labels: readonly string[];
}

function operationClasses(
  space: Space,
  operation: Operation,
  loaded: OfSides<LoadedSide>,
  budget: Budget,
) {
  const diagrams = newDiagrams();
  const levels = levelsOf(space.universe, valuesOf(space.universe, operation));
  const profiles = profilesOf(
    diagrams,
    levels.map(({ values }) => values.length),
  );
  const pairs = pairedLeaves(diagrams);
  const shared: OperationDiagrams = { operation, diagrams, levels, profiles, pairs, budget };
  const sides = {
    base: sideDiagrams(loaded.base, shared),
    head: sideDiagrams(loaded.head, shared),
  };
  const noted = {
    base: diagramUsage(sides.base, shared, true),
    head: diagramUsage(sides.head, shared, true),
  };
  /** Notes verdicts of head as base's, where both sides are equal. */
  const notedAsBase = diagramUsage(sides.head, shared, false);
  const assertionsOf = assertionDiagrams(space, shared);
  const details = new WeakMap<PlainRequests["counts"], LevelDetails>();

  const verdictsOf = (
    at: SideName,
    side: SideState,
    sample: SampleRequest,
    cache: Map<string, StateVerdicts>,
    usage: UsageTally | null,
  ) =>
    remembered(cache, stateKey(side), () => {
      const input = loaded[at].decider.inputOf(sample, side.candidates);
      const verdicts = sides[at].verdictsOf(input, sample);
      if (usage !== null) noted[at].note(usage, verdicts);
      return verdicts;
    });

  const rootOf = (
    at: SideName,
    side: SideState,
    sample: SampleRequest,
    cache: Map<string, StateVerdicts>,
    usage: UsageTally | null,
  ): Node => {
    if (side.denied !== null) {
      // Why a route is refused depends on workspace and route.
      const whose = side.denied.includes("/") ? "" : `${sample.workspace} ${sample.model}`;
      return sides[at].outcomesOf(`!${side.denied} ${whose}`, sample, null);
    }
    const verdicts = verdictsOf(at, side, sample, cache, usage);
    const isSingle = sample.preferences?.allow_fallbacks === false;
    const key = `${candidatesKey(side.candidates)}${isSingle ? "|single" : ""}`;
    return sides[at].outcomesOf(key, sample, verdicts);
  };

  const classOf = (
    state: ApprovalState,
    sample: SampleRequest,
    root: Node,
    { leaf, size, path }: LeafProfile,
    isReached: boolean,
  ): DecidedClass => {
    const [joined] = pairs.at(leaf);
    const [outcomes, reached] = pairs.at(joined);
    const [base, head] = pairs.at(outcomes);
    return {
      sample: requestAt(sample, levels, path),
      size: state.size * size,
      base: sides.base.outcomesAt(base),
      head: sides.head.outcomesAt(head),
      reached: isReached ? sides.base.outcomesAt(reached) : null,
      describe: () => detailsOf(state, profiles.countsOf(root, leaf)),
    };
  };

  const detailsOf = (state: ApprovalState, counts: PlainRequests["counts"]): ClassDetails => {
    const { common, valuesByDimension } = state.details();
    const ofLevels = remembered(details, counts, () => levelDetails(counts));
    return {
      common: { ...common, labels: ofLevels.labels },
      valuesByDimension: [valuesByDimension, ofLevels.valuesByDimension],
      plain: isPlain(state) ? { levels, counts } : null,
    };
  };

  /** Whether requests of a state have nothing beyond every request of the operation. */
  const isPlain = ({ part }: ApprovalState) => {
    const always = ALWAYS_USED[operation]?.length ?? 0;
    return conditionCount({ ...PLAIN_SAMPLE, ...part }) === always && part.dimensions === null;
  };

  const levelDetails = (counts: PlainRequests["counts"]): LevelDetails => {
    const valuesByDimension = new Map<string, readonly string[]>();
    const labels: string[] = [];
    for (const [depth, { name, values }] of levels.entries()) {
      const hasRequests = (value: number) => (counts[depth]?.[value] ?? 0n) > 0n;
      if (name !== KEY_LABELS)
        valuesByDimension.set(
          name,
          values.filter((_, value) => hasRequests(value)),
        );
      else if (!hasRequests(0)) labels.unshift(values[1] ?? "");
    }
    return { valuesByDimension, labels };
  };

  return {
    diagrams,
    usages: [noted.base, noted.head, notedAsBase],

    /**
     * In an order that depends on the job alone. @param usage receives the policies' verdicts.
     * @throws {TimeUpError}
     */
    *of(job: JobSpace, usage: OfSides<UsageTally>): Generator<DecidedClass> {
      const verdicts = {
        base: new Map<string, StateVerdicts>(),
        head: new Map<string, StateVerdicts>(),
      };
      const reachVerdicts = new Map<string, StateVerdicts>();
      for (const state of job.states) {
        budget.check();
        const sample = job.sampleOf(state);
        const [base, head, reach] = state.sides;
        if (base === undefined || head === undefined)
          throw new Error("simulation: a state has two sides");
        const outcomes = pairs.of(
          rootOf("base", base, sample, verdicts.base, usage.base),
          rootOf("head", head, sample, verdicts.head, usage.head),
        );
        const reached =
          reach === undefined || state.reachingPreferences === sample.preferences
            ? null
            : rootOf("base", reach, job.reachingSampleOf(state), reachVerdicts, null);
        const joined = pairs.of(outcomes, reached ?? leafOf(0));
        const root = pairs.of(joined, assertionsOf(job, sample));
        for (const leaf of profiles.of(root))
          yield classOf(state, sample, root, leaf, reached !== null);
      }
    },

    /**
     * Notes the policies' verdicts on the requests of a job without deciding them.
     *
     * @param job of which both sides are equal: verdicts of head are noted for base too.
     * @param isComplete called repeatedly; true ends it. @throws {TimeUpError}
     */
    note(job: JobSpace, usage: OfSides<UsageTally>, isComplete: () => boolean): void {
      const cache = new Map<string, StateVerdicts>();
      for (const state of job.states) {
        budget.check();
        const [, head] = state.sides;
        const { size } = cache;
        if (head?.denied !== null) continue;
        const verdicts = verdictsOf("head", head, job.sampleOf(state), cache, usage.head);
        if (cache.size === size) continue;
        notedAsBase.note(usage.base, verdicts);
        if (isComplete()) return;
      }
    },
  };
}
