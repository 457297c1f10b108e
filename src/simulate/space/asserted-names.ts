import type { Aspect } from "./approval-state.ts";
import type { Step } from "./approval-steps.ts";

/**
 * Number of a set of names that assertions see of needs and features. Sets have one number where
 * the assertions mean the same requests by them, whatever further names a request has:
 * `needs: {only: [tools]}` is settled with the first other need.
 */
export type AssertedSet = number;

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
    const made = this.#distinct.get(own.join()) ?? own;
    this.#distinct.set(own.join(), made);
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
