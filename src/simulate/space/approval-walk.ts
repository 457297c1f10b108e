import { remembered } from "../remembered.ts";
import type { Capability, Feature } from "../../canon/capability.ts";
import type { Operation } from "../../canon/operation.ts";
import { capabilityApprovals, featureApproval, type Approval } from "../../decide/approvals.ts";
import { routeCandidates } from "../../decide/candidates.ts";
import type { SampleRequest } from "../sample-request.ts";
import type { Aspect } from "./approval-state.ts";
import type { Projection } from "./readers.ts";
import {
  needToken,
  type LastShape,
  type NodeId,
  type SideStep,
  type SideView,
  type SideWalk,
} from "./side-walk.ts";
import type { OperationUniverse } from "./universe.ts";

/** A need or a feature, which a request has or has not. */
export interface Step {
  readonly need: Capability | null;
  readonly feature: Feature | null;
  /** What assertions see of it; empty for nothing. */
  readonly asserted: string;
  /** Every request has it. */
  readonly isForced: boolean;
  /** Nothing that anybody looks at changes: only the number of requests does. */
  readonly isIdle: boolean;
  /** In the order of the views. */
  readonly sides: readonly SideStep[];
}

/**
 * Needs and features, in the order in which approvals are checked.
 *
 * @param constrained whether the requests have a response schema that no tool can stand in for;
 * `null` where it does not matter.
 */
export function approvalSteps(
  { operation }: SampleRequest,
  universe: OperationUniverse,
  views: readonly SideView[],
  assertions: Projection,
  constrained: boolean | null,
): readonly Step[] {
  const shape = { features: constrained === true ? (["constrained_schema"] as const) : [] };
  const stepOf = (
    name: { readonly need: Capability | null; readonly feature: Feature | null },
    asserted: string,
    isForced: boolean,
    sides: readonly SideStep[],
  ): Step => {
    const isSeen = asserted !== "" || sides.some(({ token }) => token !== "");
    // Signed reasoning has a family, which approvals look at later.
    const isSigned = name.feature === SIGNED;
    return {
      ...name,
      asserted,
      isForced,
      isIdle: !isSeen && !isForced && !isSigned && passesAll(views, sides),
      sides,
    };
  };
  const needs = universe.needs.map((need) => {
    const sides = views.map((view): SideStep => {
      const { opened } = view;
      const approvals =
        opened === null
          ? []
          : capabilityApprovals(opened.workspace, opened.route, { needs: [need], ...shape }, need);
      return { approvals, token: needToken(view, need) };
    });
    return stepOf({ need, feature: null }, assertedName(assertions, "needs", need), false, sides);
  });
  const features = [...universe.features, ...universe.always]
    .toSorted()
    .filter((feature) => feature !== "constrained_schema" || constrained !== false)
    .filter((feature) => feature !== SIGNED || universe.signatureFamilies.length > 0)
    .map((feature) => {
      const sides = views.map((): SideStep => ({
        approvals: [featureApproval(operation, feature)],
        token: "",
      }));
      const isForced =
        universe.always.includes(feature) ||
        (feature === "constrained_schema" && constrained === true);
      return stepOf(
        { need: null, feature },
        assertedName(assertions, "features", feature),
        isForced,
        sides,
      );
    });
  return [...needs, ...features];
}

const SIGNED = "signed_reasoning";

/** Names that no assertion has are equal to it; but it may see that there is one. */
function assertedName(assertions: Projection, kind: "needs" | "features", name: string): string {
  if (!assertions.sees(`input.request.${kind}`)) return "";
  return assertions.names(name) ? `${kind} ${name}` : `${kind} ~`;
}

function passesAll(views: readonly SideView[], sides: readonly SideStep[]): boolean {
  return views.every(({ table, opened }, index) => {
    if (opened === null) return true;
    const candidates = routeCandidates(table, opened.route);
    const passes = ({ passes: pass }: Approval): boolean => candidates.every(pass);
    return sides[index]?.approvals.every(passes) !== false;
  });
}

/**
 * A set of the steps of a walk, a bit each. Of two sets the lower one is that without the highest
 * step in which they differ.
 */
export type StepSet = bigint;

/** Requests that began alike and reached the same nodes. */
interface Walked {
  /** The node on each side. */
  readonly nodes: readonly NodeId[];
  readonly isSigned: boolean;
  /** What assertions have seen. */
  readonly asserted: AssertedSet;
  /** Steps of the plainest of them, and how many there are. */
  readonly part: StepSet;
  readonly names: number;
  /** Steps of all of them. */
  readonly common: StepSet;
  /** Steps of the first of them, the lowest set, without those that every request has. */
  readonly first: StepSet;
  readonly size: bigint;
}

interface Walker extends Omit<Walked, "nodes"> {
  /** Number of the nodes of all sides. */
  readonly joint: number;
}

/** So many sets of asserted names, times two, fit beside the number of a joint. */
const ASSERTED = 2 ** 26;

/**
 * Walks from nodes over all steps. Steps are taken one by one, and requests that reach the
 * same nodes go on as one: so the subsets of a hundred features are not written out. What every
 * side has denied goes no further: the remaining steps only count its requests.
 */
export class ApprovalWalk {
  readonly #sides: readonly SideWalk[];
  readonly #steps: readonly Step[];
  readonly #names: AssertedNames;
  readonly #idle: bigint;
  /** The first step after which assertions look at no further one. */
  readonly #assertedUntil: number;
  readonly #joints: { readonly nodes: readonly NodeId[]; readonly isDenied: boolean }[] = [];
  readonly #jointNumbers = new Map<string, number>();
  readonly #next: (number | undefined)[][];
  readonly #check: () => void;

  constructor(
    sides: readonly SideWalk[],
    steps: readonly Step[],
    names: AssertedNames,
    check: () => void,
  ) {
    this.#sides = sides;
    this.#steps = steps.filter(({ isIdle }) => !isIdle);
    this.#names = names;
    this.#check = check;
    this.#idle = BigInt(steps.length - this.#steps.length);
    this.#assertedUntil = this.#steps.findLastIndex(({ asserted }) => asserted !== "") + 1;
    this.#next = this.#steps.map(() => []);
  }

  /** The steps that the sets of {@link Walked} mean. */
  get steps(): readonly Step[] {
    return this.#steps;
  }

  /** In any order. */
  from(nodes: readonly NodeId[]): readonly Walked[] {
    const sets = { part: 0n, names: 0, common: 0n, first: 0n };
    const start = {
      joint: this.#jointOf(nodes),
      asserted: this.#names.none,
      isSigned: false,
      ...sets,
    };
    const done: Walker[] = [];
    let walkers = this.#settled([{ ...start, size: 1n << this.#idle }], 0, done);
    for (const [index, step] of this.#steps.entries()) {
      this.#check();
      const taken = step.isForced
        ? walkers.map((walker) => this.#take(walker, index, step))
        : walkers.flatMap((walker) => this.#takenOrNot(walker, index, step));
      walkers = this.#settled(merged(taken), index + 1, done);
    }
    return merged([...done, ...walkers]).map(({ joint, ...walker }) => ({
      ...walker,
      nodes: this.#at(joint).nodes,
    }));
  }

  /** Without a step and with it; as one where it leads nowhere else. */
  #takenOrNot(walker: Walker, index: number, step: Step): readonly Walker[] {
    const taken = this.#take(walker, index, step);
    return keyOf(taken) === keyOf(walker)
      ? [{ ...walker, size: walker.size * 2n }]
      : [walker, taken];
  }

  #take(walker: Walker, index: number, step: Step): Walker {
    const bit = 1n << BigInt(index);
    return {
      joint: this.#nextJoint(walker.joint, index, step),
      asserted: this.#names.with(walker.asserted, step),
      isSigned: walker.isSigned || step.feature === SIGNED,
      part: walker.part | bit,
      names: walker.names + 1,
      common: walker.common | bit,
      first: step.isForced ? walker.first : walker.first | bit,
      size: walker.size,
    };
  }

  /**
   * Takes those out that every side has denied, if nothing looks at what they do from a step on.
   */
  #settled(walkers: readonly Walker[], from: number, done: Walker[]): readonly Walker[] {
    return walkers.filter((walker) => {
      const isSettled = from >= this.#assertedUntil || this.#names.isSettled(walker.asserted);
      if (!isSettled || !this.#at(walker.joint).isDenied) return true;
      done.push(...this.#ended(walker, from));
      return false;
    });
  }

  /**
   * The result of taking every step from one on. A request with signed reasoning is one for
   * each family, denied or not.
   */
  #ended(walker: Walker, from: number): readonly Walker[] {
    let ended: readonly Walker[] = [walker];
    let free = 0n;
    for (let index = from; index < this.#steps.length; index += 1) {
      const step = this.#steps[index];
      if (step === undefined) break;
      if (step.isForced) ended = ended.map((one) => this.#take(one, index, step));
      else if (step.feature === SIGNED)
        ended = ended.flatMap((one) => [one, this.#take(one, index, step)]);
      else free += 1n;
    }
    return ended.map((one) => ({ ...one, size: one.size << free }));
  }

  #nextJoint(joint: number, index: number, step: Step): number {
    const known = this.#next[index];
    if (known === undefined) throw new RangeError(`simulation: there is no step ${index}`);
    return (known[joint] ??= this.#jointOf(
      this.#at(joint).nodes.map((node, side) => {
        const own = step.sides[side];
        return own === undefined ? node : (this.#sides[side]?.next(own, node) ?? node);
      }),
    ));
  }

  #jointOf(nodes: readonly NodeId[]): number {
    const key = nodes.join();
    return remembered(this.#jointNumbers, key, () => {
      const isDenied = nodes.every((node, side) => this.#sides[side]?.isDenied(node) === true);
      return this.#joints.push({ nodes, isDenied }) - 1;
    });
  }

  #at(joint: number): { readonly nodes: readonly NodeId[]; readonly isDenied: boolean } {
    const found = this.#joints[joint];
    if (found === undefined) throw new RangeError(`simulation: there is no joint ${joint}`);
    return found;
  }
}

/** Equal for requests that go on as one. */
function keyOf({ joint, asserted, isSigned }: Walker): number {
  return joint * ASSERTED + asserted * 2 + Number(isSigned);
}

function merged(walkers: readonly Walker[]): readonly Walker[] {
  const found = new Map<number, Walker>();
  for (const walker of walkers) {
    const key = keyOf(walker);
    const same = found.get(key);
    found.set(key, same === undefined ? walker : asOne(same, walker));
  }
  return [...found.values()];
}

/** Requests that reached the same nodes; the plainest of them represents them. */
function asOne<Reached extends Pick<FinalState, "names" | "part" | "common" | "first" | "size">>(
  one: Reached,
  other: Reached,
): Reached {
  const isPlainer = other.names < one.names || (other.names === one.names && other.part < one.part);
  return {
    ...(isPlainer ? other : one),
    common: one.common & other.common,
    first: one.first < other.first ? one.first : other.first,
    size: one.size + other.size,
  };
}

/**
 * Number of a set of names that assertions see of needs and features. Sets have one number where
 * the assertions mean the same requests by them, whatever further names a request has:
 * `needs: {only: [tools]}` is settled with the first other need.
 */
type AssertedSet = number;

/** How assertions see needs, features and the families of signed reasoning. */
export type RequirementAspects = (
  steps: readonly Step[],
  families: readonly string[],
) => readonly Aspect[];

/** With more names it would take longer to join their sets than to walk over them. */
const MOST_NAMES = 8;

/** The sets of names that a walk over steps comes to. */
export class AssertedNames {
  readonly none: AssertedSet;
  readonly #aspectsOf: RequirementAspects;
  /** A step of each name: assertions see all steps of a name alike. */
  readonly #examples: readonly Step[];
  readonly #indices: ReadonlyMap<string, number>;
  readonly #sets: Set<number>[] = [];
  readonly #settled: boolean[] = [];
  readonly #next: (AssertedSet | undefined)[][] = [];
  readonly #numbers = new Map<string, AssertedSet>();
  readonly #aspects = new Map<string, readonly Aspect[]>();
  readonly #distinct = new Map<string, readonly Aspect[]>();
  /** What assertions make of each set of at most {@link MOST_NAMES} names, a bit each. */
  readonly #meanings: string[] = [];

  /** @param families of signed reasoning that a request may have; the first one is none. */
  constructor(
    steps: readonly Step[],
    families: readonly (readonly string[])[],
    aspectsOf: RequirementAspects,
  ) {
    const byName = new Map(
      steps.flatMap((step) => (step.asserted === "" ? [] : [[step.asserted, step] as const])),
    );
    this.#examples = [...byName.values()];
    this.#indices = new Map([...byName.keys()].map((name, index) => [name, index]));
    this.#aspectsOf = aspectsOf;
    if (byName.size <= MOST_NAMES) {
      for (let bits = 0; bits < 2 ** byName.size; bits += 1) {
        this.#meanings.push(
          families.map((own) => aspectsOf(this.#stepsOf(bits), own).join()).join(";"),
        );
      }
    }
    this.none = this.#numberOf(new Set());
  }

  with(set: AssertedSet, { asserted }: Step): AssertedSet {
    const index = this.#indices.get(asserted);
    if (index === undefined) return set;
    const next = (this.#next[set] ??= []);
    return (next[index] ??= this.#numberOf(new Set(this.#sets[set]).add(index)));
  }

  /** Whether no further name changes what assertions make of a request. */
  isSettled(set: AssertedSet): boolean {
    return this.#settled[set] === true;
  }

  /** What assertions make of requests; the same object for the same aspects. */
  aspects(set: AssertedSet, families: readonly string[]): readonly Aspect[] {
    const key = `${set} ${families.join()}`;
    const known = this.#aspects.get(key);
    if (known !== undefined) return known;
    const steps = [...(this.#sets[set] ?? [])].flatMap((index) => this.#examples[index] ?? []);
    const own = this.#aspectsOf(steps, families);
    const made = remembered(this.#distinct, own.join(), () => own);
    this.#aspects.set(key, made);
    return made;
  }

  #stepsOf(bits: number): readonly Step[] {
    return this.#examples.filter((_step, index) => (bits & (1 << index)) !== 0);
  }

  #numberOf(names: Set<number>): AssertedSet {
    const bits = [...names].reduce((all, index) => all | (1 << index), 0);
    const futures = this.#meanings.map((_meaning, others) => this.#meanings[bits | others] ?? "");
    const key =
      futures.length === 0
        ? [...names].toSorted((left, right) => left - right).join()
        : futures.join("\n");
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const made = this.#sets.push(names) - 1;
    this.#settled.push(futures.length > 0 && futures.every((future) => future === futures[0]));
    this.#numbers.set(key, made);
    return made;
  }
}

/**
 * Requests that began alike, reached the same nodes after the last check, and mean the same to
 * assertions.
 */
export interface FinalState extends Pick<Walked, "common" | "first" | "size" | "part"> {
  readonly ends: FinalNodes;
  readonly aspects: readonly Aspect[];
  /** Families of the plainest of them; and how many names it has with these. */
  readonly families: readonly string[];
  readonly names: number;
  readonly steps: readonly Step[];
}

interface FinalNodes {
  /** Equal for equal nodes. */
  readonly number: number;
  /** Of all sides, for each length of vectors. */
  readonly nodes: readonly (readonly NodeId[])[];
  /** Sides on which it matters what preferences have left. */
  readonly live: readonly boolean[];
}

/** So many lists of aspects fit beside the number of ends. */
const ASPECTS = 2 ** 26;

const NO_FAMILIES: readonly (readonly string[])[] = [[]];

/**
 * Walks, makes the last check of families and of the length of vectors, and joins what no decision
 * and no assertion distinguishes any more.
 */
export class FinalStates {
  readonly #sides: readonly SideWalk[];
  readonly #operation: Operation;
  readonly #universe: OperationUniverse;
  readonly #shapes = new Map<string, LastShape>();
  readonly #ends = new Map<string, FinalNodes>();
  /** By the nodes of a walk, which are the same object where they are the same. */
  readonly #endsByNodes = new Map<readonly NodeId[], Map<readonly string[], FinalNodes>>();
  readonly #aspectNumbers = new Map<readonly Aspect[], number>();

  constructor(sides: readonly SideWalk[], operation: Operation, universe: OperationUniverse) {
    this.#sides = sides;
    this.#operation = operation;
    this.#universe = universe;
  }

  /** The final states of requests that begin at nodes. */
  of(nodes: readonly NodeId[], walk: ApprovalWalk, asserted: AssertedNames): readonly FinalState[] {
    const found = new Map<number, FinalState>();
    for (const walked of walk.from(nodes)) {
      const { part, common, first, size } = walked;
      for (const families of walked.isSigned ? this.#universe.signatureFamilies : NO_FAMILIES) {
        const ends = this.#endsOf(walked.nodes, families);
        const aspects = asserted.aspects(walked.asserted, families);
        const names = walked.names + families.length;
        const own = {
          ends,
          aspects,
          families,
          names,
          steps: walk.steps,
          part,
          common,
          first,
          size,
        };
        const key = ends.number * ASPECTS + this.#aspectNumber(aspects);
        const same = found.get(key);
        found.set(key, same === undefined ? own : asOne(same, own));
      }
    }
    return [...found.values()];
  }

  #endsOf(nodes: readonly NodeId[], families: readonly string[]): FinalNodes {
    const byFamilies = remembered(
      this.#endsByNodes,
      nodes,
      () => new Map<readonly string[], FinalNodes>(),
    );
    return remembered(byFamilies, families, () => this.#makeEnds(nodes, families));
  }

  #makeEnds(nodes: readonly NodeId[], families: readonly string[]): FinalNodes {
    const ends = this.#universe.dimensions.map((dimensions) => {
      const shape = this.#shapeOf(dimensions, families);
      return nodes.map((node, side) => this.#sides[side]?.last(node, shape) ?? node);
    });
    const key = ends.join(";");
    return remembered(this.#ends, key, () => {
      const live = nodes.map((_node, side) =>
        ends.some((own) => this.#sides[side]?.isDenied(own[side] ?? 0) !== true),
      );
      return { number: this.#ends.size, nodes: ends, live };
    });
  }

  /** Equal for equal lists; `AssertedNames` gives one object for each. */
  #aspectNumber(aspects: readonly Aspect[]): number {
    return remembered(this.#aspectNumbers, aspects, () => this.#aspectNumbers.size);
  }

  #shapeOf(dimensions: number | null, signatureFamilies: readonly string[]): LastShape {
    const key = `${dimensions} ${signatureFamilies.join()}`;
    return remembered(this.#shapes, key, () => ({
      operation: this.#operation,
      dimensions,
      signatureFamilies,
    }));
  }
}
