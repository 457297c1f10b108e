import { ZoneReading } from "../../../src/simulate/space/times.ts";
import type { Operation } from "../../../src/canon/operation.ts";
import { SOME_TIME } from "../../../src/simulate/decide-sample.ts";
import { PLAIN_SCALARS } from "../../../src/simulate/request-scalars.ts";
import { PLAIN_SAMPLE, type SampleRequest } from "../../../src/simulate/sample-request.ts";
import type { ApprovalState } from "./approval-state.ts";
import { approvalStates } from "./approval-states.ts";
import type { LevelReader, PolicyOnly } from "../../../src/simulate/space/levels.ts";
import type { Projection } from "../../../src/simulate/space/readers.ts";
import { policyOnlyDimensions, type Block, type Dimension } from "./blocks.ts";
import type { PairClass } from "../../../src/simulate/space/job-space.ts";
import { preferenceEffects } from "../../../src/simulate/space/preference-effects.ts";
import type { ClassDetails, Job, Space } from "../../../src/simulate/space/job-space.ts";
import { openSide, stateKey } from "./side-state.ts";
import { OUTSIDE_VOCABULARY, type Universe } from "../../../src/simulate/space/universe.ts";

/** Requests that neither the sides nor the assertions distinguish. */
export interface RequestClass {
  readonly sample: SampleRequest;
  /** For one member of the pair class. */
  readonly size: bigint;
  /** For each side its `stateKey`: what a decision there depends on besides policies' verdicts. */
  readonly stateKeys: readonly string[];
  /** Call it before the next class is taken. */
  readonly describe: () => ClassDetails;
}

/**
 * The engine before decision diagrams: the product of all values that anybody distinguishes, each
 * decided on both sides. The classes of one job: first what the table makes of requests, then what
 * only policies and assertions look at.
 */
export class JobClasses {
  readonly #start: SampleRequest;
  readonly #states: readonly ApprovalState[];
  readonly #dimensions: (state: ApprovalState) => readonly Dimension[];
  /** Requests of one member. */
  readonly shapes: bigint;
  /** `needs tools`, `features sampling`: names that distinguish requests. */
  readonly matters: ReadonlySet<string>;

  constructor(space: Space, job: Job) {
    const { pair, operation } = job;
    const own = space.universe.operations.get(operation);
    if (own === undefined)
      throw new Error(`simulation: the universe has no operation ${operation}`);
    const [member] = pair.members;
    this.#start = startSample(member, operation, space.universe);
    const views = space.sides.map(({ table, projectionOf }) =>
      openSide(table, projectionOf(operation), this.#start),
    );
    const assertions = space.assertionsOf(job);
    const matters = new Set<string>();
    this.matters = matters;
    const readers = {
      seesOrder: views.some(({ projection }) => projection.seesOrder),
      prefersRegion: space.prefersRegion,
    };
    const preferences = preferenceEffects(space.universe.preferences, views, readers);
    this.#states = approvalStates(this.#start, own, preferences, views, assertions, matters);
    const known = new Map<string, readonly Dimension[]>();
    this.#dimensions = (state) => {
      const live = state.sides.map(({ denied }) => denied === null);
      const key = live.join();
      const made =
        known.get(key) ??
        policyOnlyDimensions(space.universe, own, eyesOf(space, operation, live, assertions));
      known.set(key, made);
      return made;
    };
    this.shapes = this.#count((state) =>
      this.#dimensions(state).reduce((all, { values }) => all * values, state.size),
    );
  }

  get count(): number {
    return this.#states.reduce(
      (sum, state) =>
        sum + this.#dimensions(state).reduce((all, { blocks }) => all * blocks.length, 1),
      0,
    );
  }

  #count(of: (state: ApprovalState) => bigint): bigint {
    return this.#states.reduce((sum, state) => sum + of(state), 0n);
  }

  *classes(): Generator<RequestClass> {
    for (const state of this.#states) {
      const { signatureFamilies, ...part } = state.part;
      const sample: SampleRequest = { ...this.#start, ...part, signatureFamilies };
      yield* combinations(state, sample, this.#dimensions(state));
    }
  }
}

function* combinations(
  state: ApprovalState,
  start: SampleRequest,
  dimensions: readonly Dimension[],
): Generator<RequestClass> {
  const stateKeys = state.sides.map(stateKey);
  const chosen: Block[] = [];
  const walk = function* (
    depth: number,
    sample: PolicyOnly,
    size: bigint,
  ): Generator<RequestClass> {
    const dimension = dimensions[depth];
    if (dimension === undefined) {
      const describe = (): ClassDetails => {
        const taken = new Map(state.taken);
        for (const [index, { name }] of dimensions.entries()) {
          if (name !== "key_labels") taken.set(name, chosen[index]?.values ?? []);
        }
        return {
          common: { ...state.common, labels: labelsOf(dimensions, chosen) },
          taken: [taken],
          plain: null,
        };
      };
      yield { sample: { ...start, ...sample }, size, stateKeys, describe };
      return;
    }
    for (const block of dimension.blocks) {
      chosen.push(block);
      yield* walk(depth + 1, block.set(sample), size * block.size);
      chosen.pop();
    }
  };
  const { key, time } = start;
  yield* walk(0, { ...PLAIN_SCALARS, key, time }, state.size);
}

function labelsOf(dimensions: readonly Dimension[], chosen: readonly Block[]): readonly string[] {
  const labelIndex = dimensions.findIndex(({ name }) => name === "key_labels");
  return chosen[labelIndex]?.values ?? [];
}

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

/**
 * The readers of requests of an operation. A side that has denied already evaluates no policies:
 * what they can see does not matter there. Assertions read the keys' attributes in each side's
 * vocabulary.
 */
function eyesOf(
  space: Space,
  operation: Operation,
  live: readonly boolean[],
  assertions: Projection,
): readonly LevelReader[] {
  const sides = space.sides.map(({ table, projectionOf }, depth): LevelReader => {
    return { table, projection: live[depth] === true ? projectionOf(operation) : BLIND };
  });
  return [...sides, ...space.sides.map(({ table }) => ({ table, projection: assertions }))];
}

const BLIND: LevelReader["projection"] = {
  sees: () => false,
  seesAllOf: () => false,
  distinguishes: () => false,
  zone: (name) => new ZoneReading([], name),
};
