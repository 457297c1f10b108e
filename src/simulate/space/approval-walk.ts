import { SIGNED, type Step } from "./approval-steps.ts";
import type { AssertedNames, AssertedSet } from "./asserted-names.ts";
import type { NodeId, SideWalk } from "./side-walk.ts";

/**
 * A set of the steps of a walk, a bit each. Of two sets the lower one is that without the highest
 * step in which they differ.
 */
export type StepSet = bigint;

/** Requests that began alike and have come to the same nodes. */
export interface Walked {
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
 * Walks from nodes over all steps. Steps are taken one by one, and requests that have come to the
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
    let walkers = this.#parked([{ ...start, size: 1n << this.#idle }], 0, done);
    for (const [index, step] of this.#steps.entries()) {
      this.#check();
      const taken = step.isForced
        ? walkers.map((walker) => this.#take(walker, index, step))
        : walkers.flatMap((walker) => this.#takenOrNot(walker, index, step));
      walkers = this.#parked(merged(taken), index + 1, done);
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
  #parked(walkers: readonly Walker[], from: number, done: Walker[]): readonly Walker[] {
    return walkers.filter((walker) => {
      const isSettled = from >= this.#assertedUntil || this.#names.isSettled(walker.asserted);
      if (!isSettled || !this.#at(walker.joint).isDenied) return true;
      done.push(...this.#ended(walker, from));
      return false;
    });
  }

  /**
   * What taking every step from one on would come to. A request with signed reasoning is one for
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
    const known = this.#jointNumbers.get(key);
    if (known !== undefined) return known;
    const isDenied = nodes.every((node, side) => this.#sides[side]?.isDenied(node) === true);
    const made = this.#joints.push({ nodes, isDenied }) - 1;
    this.#jointNumbers.set(key, made);
    return made;
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

/** Whichever comes first. */
function asOne(one: Walker, other: Walker): Walker {
  const isPlainer = other.names < one.names || (other.names === one.names && other.part < one.part);
  const { part, names } = isPlainer ? other : one;
  return {
    ...one,
    part,
    names,
    common: one.common & other.common,
    first: one.first < other.first ? one.first : other.first,
    size: one.size + other.size,
  };
}
