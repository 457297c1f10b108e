import { SIGNED, type Step } from "./approval-steps.ts";
import type { NodeId, SideWalk } from "./side-walk.ts";
import type { StepSet, StepSets } from "./step-sets.ts";

/** Requests that began alike and have come to the same nodes. */
export interface Walked {
  /** The node on each side. */
  readonly nodes: readonly NodeId[];
  readonly isSigned: boolean;
  /** Steps of the plainest of them. */
  readonly part: StepSet;
  /** Steps of all of them. */
  readonly common: StepSet;
  /** Steps of the first of them, in the order of {@link StepSets.order}. */
  readonly first: StepSet;
  readonly size: bigint;
}

interface Walker extends Omit<Walked, "nodes"> {
  /** Number of the nodes of all sides. */
  readonly joint: number;
  /** What assertions have seen, numbered. */
  readonly asserted: number;
}

/** What assertions have seen is numbered too, and whether there is signed reasoning: so many of both fit beside the number of a joint. */
const ASSERTED = 2 ** 26;

/**
 * Walks from nodes over all steps. Steps are taken one by one, and requests that have come to the same nodes go on as one: so the subsets of a hundred
 * features are not written out. What every side has denied goes no further: the remaining steps only count its requests.
 */
export class ApprovalWalk {
  readonly #sides: readonly SideWalk[];
  readonly #steps: readonly Step[];
  readonly #sets: StepSets;
  readonly #idle: bigint;
  /** The first step after which what is denied everywhere need not go on. */
  readonly #parksFrom: number;
  readonly #joints: (readonly NodeId[])[] = [];
  readonly #jointNumbers = new Map<string, number>();
  readonly #next: (number | undefined)[][];
  readonly #asserted: (readonly string[])[] = [[]];
  readonly #assertedNumbers = new Map<string, number>([["", 0]]);
  readonly #check: () => void;

  constructor(sides: readonly SideWalk[], steps: readonly Step[], sets: StepSets, check: () => void) {
    this.#sides = sides;
    this.#steps = steps.filter(({ isIdle }) => !isIdle);
    this.#sets = sets;
    this.#check = check;
    this.#idle = BigInt(steps.length - this.#steps.length);
    this.#parksFrom = this.#steps.findLastIndex(({ asserted }) => asserted !== "") + 1;
    this.#next = this.#steps.map(() => []);
  }

  /** The steps that the sets of {@link Walked} mean. */
  get steps(): readonly Step[] {
    return this.#steps;
  }

  from(nodes: readonly NodeId[]): readonly Walked[] {
    const { none } = this.#sets;
    const start = { joint: this.#jointOf(nodes), asserted: 0, isSigned: false, part: none, common: none, first: none };
    const done: Walker[] = [];
    let walkers = this.#parked([{ ...start, size: 1n << this.#idle }], 0, done);
    for (const [index, step] of this.#steps.entries()) {
      this.#check();
      const taken = walkers.map((walker) => this.#take(walker, index, step));
      walkers = this.#parked(this.#merged(step.isForced ? taken : [...walkers, ...taken]), index + 1, done);
    }
    return [...done, ...walkers].map(({ joint, ...walker }) => ({ ...walker, nodes: this.#nodesOf(joint) }));
  }

  #take({ joint, asserted, isSigned, part, common, first, size }: Walker, index: number, step: Step): Walker {
    return {
      joint: this.#nextJoint(joint, index, step),
      asserted: step.asserted === "" ? asserted : this.#assertedWith(asserted, step.asserted),
      isSigned: isSigned || step.feature === SIGNED,
      part: this.#sets.with(part, index),
      common: this.#sets.with(common, index),
      first: step.isForced ? first : this.#sets.with(first, index),
      size,
    };
  }

  /** In the order of their first requests, as they come. */
  #merged(walkers: readonly Walker[]): readonly Walker[] {
    const found = new Map<number, Walker>();
    for (const walker of walkers) {
      const key = walker.joint * ASSERTED + walker.asserted * 2 + Number(walker.isSigned);
      const same = found.get(key);
      found.set(key, same === undefined ? walker : this.#asOne(same, walker));
    }
    return [...found.values()];
  }

  #asOne(one: Walker, other: Walker): Walker {
    const isPlainer = this.#sets.sizeOf(other.part) < this.#sets.sizeOf(one.part);
    return {
      ...one,
      part: isPlainer ? other.part : one.part,
      common: this.#sets.both(one.common, other.common),
      size: one.size + other.size,
    };
  }

  /** Takes those out that every side has denied, if nothing looks at what they do from a step on. */
  #parked(walkers: readonly Walker[], from: number, done: Walker[]): readonly Walker[] {
    if (from < this.#parksFrom) return walkers;
    const others: Walker[] = [];
    for (const walker of walkers) {
      const isDenied = this.#nodesOf(walker.joint).every((node, side) => this.#sides[side]?.isDenied(node) === true);
      if (isDenied) done.push(...this.#ended(walker, from));
      else others.push(walker);
    }
    return others;
  }

  /** What taking every step from one on would come to. A request with signed reasoning is one for each family, denied or not. */
  #ended(walker: Walker, from: number): readonly Walker[] {
    let ended: readonly Walker[] = [walker];
    for (let index = from; index < this.#steps.length; index += 1) {
      const step = this.#steps[index];
      if (step === undefined) break;
      if (step.isForced) ended = ended.map((one) => this.#take(one, index, step));
      else if (step.feature === SIGNED) ended = ended.flatMap((one) => [one, this.#take(one, index, step)]);
      else ended = ended.map((one) => ({ ...one, size: one.size * 2n }));
    }
    return ended;
  }

  #nextJoint(joint: number, index: number, step: Step): number {
    const known = this.#next[index];
    if (known === undefined) throw new RangeError(`simulation: there is no step ${index}`);
    return (known[joint] ??= this.#jointOf(
      this.#nodesOf(joint).map((node, side) => {
        const own = step.sides[side];
        return own === undefined ? node : (this.#sides[side]?.next(own, node) ?? node);
      }),
    ));
  }

  #jointOf(nodes: readonly NodeId[]): number {
    const key = nodes.join();
    const known = this.#jointNumbers.get(key);
    if (known !== undefined) return known;
    const made = this.#joints.push(nodes) - 1;
    this.#jointNumbers.set(key, made);
    return made;
  }

  #nodesOf(joint: number): readonly NodeId[] {
    const nodes = this.#joints[joint];
    if (nodes === undefined) throw new RangeError(`simulation: there is no joint ${joint}`);
    return nodes;
  }

  /** A set: an assertion does not count. */
  #assertedWith(asserted: number, name: string): number {
    const names = this.#asserted[asserted] ?? [];
    if (names.includes(name)) return asserted;
    const longer = [...names, name].toSorted();
    const key = longer.join("\n");
    const known = this.#assertedNumbers.get(key);
    if (known !== undefined) return known;
    const made = this.#asserted.push(longer) - 1;
    this.#assertedNumbers.set(key, made);
    return made;
  }
}
