import { remembered, type Recent } from "../remembered.ts";
import type { Operation } from "../../canon/operation.ts";
import type { RouteRow } from "../../canon/table.ts";
import { SOME_TIME } from "../decide-sample.ts";
import { PLAIN_SAMPLE, type Member, type SampleRequest } from "../sample-request.ts";
import type { ApprovalState, Common as ApprovalCommon, Taken, Aspect } from "./approval-state.ts";
import { approvalStates, type JobAssertions } from "./approval-states.ts";
import type { Level } from "./levels.ts";
import type { PairClass } from "./make-space.ts";
import type { AmbiguousNames, Reader, Projection } from "./readers.ts";
import { openSide, type SideView } from "./side-walk.ts";
import { OUTSIDE_VOCABULARY, type OperationUniverse, type Universe } from "./universe.ts";
import {
  preferenceEffects,
  viewedPreferences,
  withReach,
  type PreferenceEffect,
} from "./preference-effects.ts";

/** One class of pairs under one operation: the unit of enumeration. */
export interface Job {
  readonly pair: PairClass;
  readonly operation: Operation;
}

/** Names that every request of a class has. */
interface Common extends ApprovalCommon {
  readonly labels: readonly string[];
}

export interface ClassDetails {
  /** Names that all requests of the class have. */
  readonly common: Common;
  /**
   * Of the dimensions that have one value each: those that requests of the class take. A dimension
   * is in one of the parts, which many classes share.
   */
  readonly taken: readonly Taken[];
  /** Of a class of plain requests: their other members. */
  readonly plain: PlainRequests | null;
}

/** Requests without preferences, needs, features and dimensions. */
export interface PlainRequests {
  readonly levels: readonly Pick<Level, "name" | "values">[];
  /** How many of them have each value of each level. */
  readonly counts: readonly (readonly bigint[])[];
}

/** The parts of a side that classes depend on. */
interface SpaceSide {
  readonly table: Parameters<typeof openSide>[0];
  /** Names that mean two things in the table. */
  readonly ambiguous: AmbiguousNames;
  readonly projectionOf: (operation: Operation) => Projection;
}

/** The distinctions of one assertion, and the requests that it concerns. */
export interface AssertionReader {
  readonly id: string;
  readonly reader: Reader;
  /** Whether it may mean a request of a member and an operation. */
  readonly concerns: (member: Member, operation: Operation) => boolean;
  /** Whether it means a request. */
  readonly means: (sample: SampleRequest) => boolean;
  /** How it sees parts of a request. */
  readonly aspects: {
    readonly [Part in "ofRequirements" | "ofPreferences"]: (sample: SampleRequest) => Aspect;
  };
  /** Whether it holds wherever a request has the same result on both sides. */
  readonly comparesSides: boolean;
  /** Whether it compares the destinations of requests on both sides. */
  readonly comparesReach: boolean;
}

export interface Space {
  readonly universe: Universe;
  readonly assertions: readonly AssertionReader[];
  readonly sides: readonly SpaceSide[];
  /** Whether an obligation of either side puts candidates of a region first. */
  readonly prefersRegion: boolean;
  readonly recent: RecentSpaces;
  /** The assertions that may mean a request of the job. */
  readonly concerning: (job: Job) => readonly AssertionReader[];
  /** Their projection. */
  readonly assertionsOf: (job: Job) => Projection;
}

/** Results of recent jobs: many jobs differ only in facts of the workspace that policies read. */
interface RecentSpaces {
  readonly states: Recent<Pick<JobSpace, "states" | "matters">>;
  readonly preferences: Recent<readonly PreferenceEffect[]>;
}

/** Jobs in an order in which most come behind one that is {@link RecentSpaces alike}. */
export function jobsTogether(
  space: Space,
  jobs: readonly Job[],
  indices: readonly number[],
): readonly number[] {
  const alike = Map.groupBy(indices, (index) => {
    const job = jobs[index];
    return job === undefined
      ? ""
      : alikeKey(
          space,
          job,
          openedSides(space, job, startSample(job.pair.members[0], job.operation, space.universe)),
        );
  });
  return [...alike.values()].flat();
}

function openedSides(space: Space, { operation }: Job, start: SampleRequest): readonly SideView[] {
  return space.sides.map(({ table, projectionOf }) =>
    openSide(table, projectionOf(operation), start),
  );
}

/** Everything that the states of a job depend on. */
function alikeKey(space: Space, job: Job, sides: readonly SideView[]): string {
  const facts = sides.map(({ opened }) => {
    if (opened === null) return null;
    const { routes: _routes, ...approve } = opened.workspace.approve;
    return [approve, routeFacts(opened.route), opened.route.onGap, opened.route.emulateSchema];
  });
  return JSON.stringify([job.operation, facts, space.concerning(job).map(({ id }) => id)]);
}

function routeFacts({ tiers, primary }: RouteRow): unknown {
  return [tiers, primary];
}

/** Effects of callers' preferences on the requests of a job. */
function preferencesOf(
  { universe, prefersRegion, recent }: Space,
  sides: readonly SideView[],
  check: () => void = () => {},
): readonly PreferenceEffect[] {
  const readers = {
    seesOrder: sides.some(({ projection }) => projection.seesOrder),
    prefersRegion,
  };
  const facts = sides.map(({ opened }) => {
    if (opened === null) return null;
    const {
      routes: _,
      capabilities: _capabilities,
      dimensions: _dimensions,
      ...approve
    } = opened.workspace.approve;
    return [approve, routeFacts(opened.route)];
  });
  return recent.preferences.of(JSON.stringify([readers.seesOrder, facts]), () =>
    preferenceEffects(universe.preferences, sides, readers, check),
  );
}

function jobAssertions(space: Space, job: Job): JobAssertions {
  const aspects = space.concerning(job).map((assertion) => assertion.aspects);
  return {
    projection: space.assertionsOf(job),
    ofRequirements: (sample) => aspects.map(({ ofRequirements }) => ofRequirements(sample)),
    ofPreferences: (sample) => aspects.map(({ ofPreferences }) => ofPreferences(sample)),
  };
}

/**
 * The requests of one job, as the table treats them. Members that only policies and assertions read
 * are left open.
 */
export class JobSpace {
  readonly job: Job;
  /** The simplest request of the job. */
  readonly start: SampleRequest;
  /**
   * Of base and head; where an assertion compares reach, also of base with the preferences that show
   * it.
   */
  readonly states: readonly ApprovalState[];
  /** Whether an assertion compares the destinations of the job's requests on both sides. */
  readonly comparesReach: boolean;
  /** `needs tools`, `features sampling`: names that distinguish requests. */
  readonly matters: ReadonlySet<string>;

  /** @param check called repeatedly; its errors end the walk. */
  constructor(space: Space, job: Job, check: () => void = () => {}) {
    const { pair, operation } = job;
    const own = space.universe.operations.get(operation);
    if (own === undefined)
      throw new Error(`simulation: the universe has no operation ${operation}`);
    const [member] = pair.members;
    this.job = job;
    this.start = startSample(member, operation, space.universe);
    const sides = openedSides(space, job, this.start);
    this.comparesReach = space.concerning(job).some((assertion) => assertion.comparesReach);
    const { states, matters } = space.recent.states.of(alikeKey(space, job, sides), () => {
      const [base] = sides;
      const names = new Set<string>();
      const effects = viewedPreferences(preferencesOf(space, sides, check));
      const reaches = this.comparesReach && base !== undefined;
      const preferences = reaches ? withReach(effects, base, this.start) : effects;
      const views = reaches ? [...sides, base] : sides;
      const assertions = jobAssertions(space, job);
      return {
        states: approvalStates(this.start, own, preferences, views, assertions, names, check),
        matters: names,
      };
    });
    this.states = states;
    this.matters = matters;
  }

  /** One request of a state. */
  sampleOf({ part }: ApprovalState): SampleRequest {
    return { ...this.start, ...part };
  }

  /** The same for the third side of a state: base with the preferences that show reach. */
  reachingSampleOf(state: ApprovalState): SampleRequest {
    return { ...this.sampleOf(state), preferences: state.reachingPreferences };
  }
}

/** The simplest request of a member and an operation. */
function startSample(
  { workspace, model }: PairClass["members"][number],
  operation: Operation,
  { environments, workloads }: Universe,
): SampleRequest {
  return {
    ...PLAIN_SAMPLE,
    workspace,
    model,
    operation,
    key: {
      environment: environments[0] ?? OUTSIDE_VOCABULARY,
      workload: workloads[0] ?? "",
      labels: [],
    },
    time: SOME_TIME,
  };
}

/** How many requests one member of a job has, without looking at any. */
export function shapesOfJob(space: Space, { pair, operation }: Job): bigint {
  const { universe } = space;
  const own = universe.operations.get(operation);
  if (own === undefined) return 0n;
  const start = startSample(pair.members[0], operation, universe);
  const effects = preferencesOf(space, openedSides(space, { pair, operation }, start));
  const preferences = remembered(sizes, effects, () =>
    effects.reduce((sum, { size }) => sum + size, 0n),
  );
  return preferences * shapesWithoutPreferences(universe, own);
}

const sizes = new WeakMap<readonly PreferenceEffect[], bigint>();

/** Everything besides preferences. A request with signed reasoning is one for each family. */
function shapesWithoutPreferences(universe: Universe, own: OperationUniverse): bigint {
  const { needs, features, dimensions, signatureFamilies } = own;
  const signed = features.includes("signed_reasoning") ? 1n + BigInt(signatureFamilies.length) : 1n;
  const free = features.filter((name) => name !== "signed_reasoning").length;
  const counts = [
    dimensions.length,
    own.stream.length,
    own.context.length,
    own.maxOutput.length,
    own.reasoningEffort.length,
    universe.environments.length,
    universe.workloads.length,
    universe.owners.length,
    universe.budgets.length,
    universe.times.length,
  ];
  return counts.reduce(
    (all, count) => all * BigInt(count),
    signed << BigInt(needs.length + free + universe.labels.length),
  );
}
