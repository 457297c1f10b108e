import { mixed, PairTable } from "./pair-table.ts";

/**
 * A node of {@link Diagrams}: from 0 an inner one, below 0 a leaf. Equal functions of a request are
 * the same node.
 */
export type Node = number;

/** The leaf that holds a number from 0. */
export function leafOf(value: number): Node {
  return -1 - value;
}

export function isLeaf(node: Node): boolean {
  return node < 0;
}

/** The number of a leaf. */
export function leafValue(node: Node): number {
  return -1 - node;
}

/**
 * Functions of the members of a request, as decision diagrams: an inner node has a level, which is
 * one member, and a child for each value of it; a leaf has the answer. On every path levels rise,
 * and a level that does not matter is left out. Nodes are never made twice, so equal functions have
 * one number (R. Bryant, Graph-Based Algorithms for Boolean Function Manipulation, 1986; with
 * several values for a member, as Margrave has them).
 */
export class Diagrams {
  readonly #levels: number[] = [];
  readonly #children: (readonly Node[])[] = [];
  /** Numbers of nodes by the hash of what they are made of, each plus 1. */
  #slots = new Int32Array(FIRST_SLOTS);

  /** How many inner nodes there are. */
  get size(): number {
    return this.#levels.length;
  }

  /** `Infinity` for a leaf. */
  levelOf(node: Node): number {
    return this.#levels[node] ?? Infinity;
  }

  childrenOf(node: Node): readonly Node[] {
    return this.#children[node] ?? [];
  }

  /** @param children one for each value of the level; their levels are higher. */
  branch(level: number, children: readonly Node[]): Node {
    const [first] = children;
    if (first === undefined) throw new RangeError("diagrams: a level without values");
    if (children.every((child) => child === first)) return first;
    const at = this.#slotOf(level, children);
    const known = this.#slots[at] ?? 0;
    if (known > 0) return known - 1;
    const made = this.#levels.push(level) - 1;
    this.#children.push(children);
    this.#slots[at] = made + 1;
    if (this.size * 2 > this.#slots.length) this.#grow();
    return made;
  }

  /**
   * The function that is one of the children by the value of a level. @param children one for each
   * value of the level; none depends on it.
   */
  select(level: number, children: readonly Node[]): Node {
    const known = new Map<string, Node>();
    const of = (chosen: readonly Node[]): Node => {
      const top = Math.min(...chosen.map((child) => this.levelOf(child)));
      if (top > level) return this.branch(level, chosen);
      const key = chosen.join();
      const same = known.get(key);
      if (same !== undefined) return same;
      const [first] = chosen.filter((child) => this.levelOf(child) === top);
      const made = this.branch(
        top,
        this.childrenOf(first ?? 0).map((_, value) =>
          of(
            chosen.map((child) =>
              this.levelOf(child) === top ? (this.childrenOf(child)[value] ?? child) : child,
            ),
          ),
        ),
      );
      known.set(key, made);
      return made;
    };
    return of(children);
  }

  /** Where a node is, or where it would be. */
  #slotOf(level: number, children: readonly Node[]): number {
    const mask = this.#slots.length - 1;
    let hash = level;
    for (const child of children) hash = mixed(hash, child);
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      const node = (this.#slots[at] ?? 0) - 1;
      if (
        node < 0 ||
        (this.#levels[node] === level && isSame(this.#children[node] ?? [], children))
      )
        return at;
    }
  }

  #grow(): void {
    this.#slots = new Int32Array(this.#slots.length * 2);
    for (const [node, level] of this.#levels.entries()) {
      this.#slots[this.#slotOf(level, this.#children[node] ?? [])] = node + 1;
    }
  }

  /** The numbers of all leaves below a node, each once. */
  leavesOf(root: Node): readonly number[] {
    const found = new Set<number>();
    const seen = new Set<Node>();
    const visit = (node: Node): void => {
      if (isLeaf(node)) {
        found.add(leafValue(node));
        return;
      }
      if (seen.has(node)) return;
      seen.add(node);
      for (const child of this.childrenOf(node)) visit(child);
    };
    visit(root);
    return [...found];
  }
}

/** Slots for the first nodes; twice as many whenever half are taken. */
const FIRST_SLOTS = 1_024;

function isSame(left: readonly Node[], right: readonly Node[]): boolean {
  return left.length === right.length && left.every((child, index) => child === right[index]);
}

/** Joins two functions, leaf by leaf. What was joined once is remembered. */
export class Combination {
  readonly #diagrams: Diagrams;
  readonly #join: (left: number, right: number) => number;
  readonly #known = new PairTable();

  /** @param join the number of the leaf for two leaves; the same for the same numbers, always. */
  constructor(diagrams: Diagrams, join: (left: number, right: number) => number) {
    this.#diagrams = diagrams;
    this.#join = join;
  }

  of(left: Node, right: Node): Node {
    const known = this.#known.get(left, right);
    if (known !== undefined) return known;
    const made =
      isLeaf(left) && isLeaf(right)
        ? leafOf(this.#join(leafValue(left), leafValue(right)))
        : this.#branch(left, right);
    this.#known.set(left, right, made);
    return made;
  }

  #branch(left: Node, right: Node): Node {
    const [one, other] = [this.#diagrams.levelOf(left), this.#diagrams.levelOf(right)];
    const level = Math.min(one, other);
    const mine = one === level ? this.#diagrams.childrenOf(left) : null;
    const others = other === level ? this.#diagrams.childrenOf(right) : null;
    const children = (mine ?? others ?? []).map((_, value) =>
      this.of(mine?.[value] ?? left, others?.[value] ?? right),
    );
    return this.#diagrams.branch(level, children);
  }
}

/** The function with other leaves. What was changed once is remembered. */
export class Relabelling {
  readonly #diagrams: Diagrams;
  readonly #change: (leaf: number) => number;
  readonly #known = new Map<Node, Node>();

  constructor(diagrams: Diagrams, change: (leaf: number) => number) {
    this.#diagrams = diagrams;
    this.#change = change;
  }

  of(node: Node): Node {
    const known = this.#known.get(node);
    if (known !== undefined) return known;
    const made = isLeaf(node)
      ? leafOf(this.#change(leafValue(node)))
      : this.#diagrams.branch(
          this.#diagrams.levelOf(node),
          this.#diagrams.childrenOf(node).map((child) => this.of(child)),
        );
    this.#known.set(node, made);
    return made;
  }
}

/** Gives equal values one number, from 0. */
export class Numbered<Value> {
  readonly #values: Value[] = [];
  readonly #known = new Map<string, number>();

  /** @param key equal for equal values only. */
  numberOf(key: string, value: () => Value): number {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const number = this.#values.push(value()) - 1;
    this.#known.set(key, number);
    return number;
  }

  at(number: number): Value {
    const value = this.#values[number];
    if (value === undefined) throw new RangeError(`diagrams: nothing has the number ${number}`);
    return value;
  }
}

/** Two functions as one: its leaves stand for pairs of leaves. */
export class PairedLeaves {
  readonly #pairs: (readonly [left: number, right: number])[] = [];
  readonly #joined: Combination;

  constructor(diagrams: Diagrams) {
    // A combination joins each pair of leaves once.
    this.#joined = new Combination(diagrams, (left, right) => this.#pairs.push([left, right]) - 1);
  }

  of(left: Node, right: Node): Node {
    return this.#joined.of(left, right);
  }

  /** The leaves that a leaf of {@link of} stands for. */
  at(leaf: number): readonly [left: number, right: number] {
    const pair = this.#pairs[leaf];
    if (pair === undefined) throw new RangeError(`diagrams: no leaf has the number ${leaf}`);
    return pair;
  }
}
