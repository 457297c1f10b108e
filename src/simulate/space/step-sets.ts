/** A set of the steps of a walk. */
export type StepSet = number;

/** Sets have so many steps at most, and there are fewer sets than fit beside one of them into a number without loss. */
const SETS = 2 ** 26;

/** Sets of steps as numbers: equal sets are one number, and what was joined once is remembered. */
export class StepSets {
  readonly #lists: (readonly number[])[] = [[]];
  readonly #known = new Map<string, StepSet>([["", 0]]);
  readonly #longer = new Map<number, StepSet>();
  readonly #common = new Map<number, StepSet>();

  readonly none: StepSet = 0;

  /** @param step higher than every step of the set. */
  with(set: StepSet, step: number): StepSet {
    return remembered(this.#longer, set * SETS + step, () => this.#numberOf([...this.at(set), step]));
  }

  both(left: StepSet, right: StepSet): StepSet {
    if (left === right) return left;
    return remembered(this.#common, left * SETS + right, () => {
      const others = new Set(this.at(right));
      return this.#numberOf(this.at(left).filter((step) => others.has(step)));
    });
  }

  /** The steps, rising. */
  at(set: StepSet): readonly number[] {
    const steps = this.#lists[set];
    if (steps === undefined) throw new RangeError(`simulation: there is no set of steps ${set}`);
    return steps;
  }

  sizeOf(set: StepSet): number {
    return this.at(set).length;
  }

  /** Below 0 where the left set comes first: of two sets the one without the highest step in which they differ. */
  order(left: StepSet, right: StepSet): number {
    const [one, other] = [this.at(left), this.at(right)];
    for (let back = 1; back <= Math.min(one.length, other.length); back += 1) {
      const difference = (one.at(-back) ?? 0) - (other.at(-back) ?? 0);
      if (difference !== 0) return difference;
    }
    return one.length - other.length;
  }

  #numberOf(steps: readonly number[]): StepSet {
    return remembered(this.#known, steps.join(), () => this.#lists.push(steps) - 1);
  }
}

function remembered<Key>(known: Map<Key, number>, key: Key, make: () => number): number {
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = make();
  known.set(key, made);
  return made;
}
