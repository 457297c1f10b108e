import { type Diagrams, isLeaf, leafValue, type Node } from "./diagrams.ts";

/** The requests that a leaf stands for. */
export interface LeafProfile {
  readonly leaf: number;
  /** How many requests there are. */
  readonly size: bigint;
  /**
   * The first of them: a value for each level. Of two requests the one with the lower value at the
   * first level in which they differ comes first.
   */
  readonly path: readonly number[];
}

/** Counts and finds the requests behind the leaves of diagrams; every root is looked at once. */
export class Profiles {
  readonly #diagrams: Diagrams;
  readonly #sizes: readonly number[];
  /** How many combinations the levels before each one have. */
  readonly #before: readonly bigint[];
  readonly #known = new Map<Node, readonly LeafProfile[]>();
  /** By root, then by leaf. */
  readonly #taken = new Map<Node, Map<number, readonly ReadonlySet<number>[]>>();

  /** @param sizes how many values each level has. */
  constructor(diagrams: Diagrams, sizes: readonly number[]) {
    this.#diagrams = diagrams;
    this.#sizes = sizes;
    const before = [1n];
    for (const size of sizes) before.push((before.at(-1) ?? 1n) * BigInt(size));
    this.#before = before;
  }

  /** In the order of their first requests. */
  of(root: Node): readonly LeafProfile[] {
    const known = this.#known.get(root);
    if (known !== undefined) return known;
    const paths = this.#firstPaths(root);
    const sizes = this.#sizesOf(root);
    const made = [...paths].map(([leaf, path]) => ({ leaf, size: sizes.get(leaf) ?? 0n, path }));
    this.#known.set(root, made);
    return made;
  }

  /** For each level the values that requests of a leaf take. */
  takenBy(root: Node, leaf: number): readonly ReadonlySet<number>[] {
    const ofRoot = this.#taken.get(root) ?? new Map<number, readonly ReadonlySet<number>[]>();
    this.#taken.set(root, ofRoot);
    const known = ofRoot.get(leaf);
    if (known !== undefined) return known;
    const taken = this.#sizes.map(() => new Set<number>());
    const leads = new Map<Node, boolean>();
    const whole = (from: number, to: number): void => {
      for (let level = from; level < to; level += 1) {
        for (let value = 0; value < (this.#sizes[level] ?? 0); value += 1) taken[level]?.add(value);
      }
    };
    const visit = (node: Node): boolean => {
      if (isLeaf(node)) return leafValue(node) === leaf;
      const seen = leads.get(node);
      if (seen !== undefined) return seen;
      const level = this.#diagrams.levelOf(node);
      let any = false;
      for (const [value, child] of this.#diagrams.childrenOf(node).entries()) {
        if (!visit(child)) continue;
        any = true;
        taken[level]?.add(value);
        whole(level + 1, this.#levelOf(child));
      }
      leads.set(node, any);
      return any;
    };
    if (visit(root)) whole(0, this.#levelOf(root));
    ofRoot.set(leaf, taken);
    return taken;
  }

  #levelOf(node: Node): number {
    return Math.min(this.#diagrams.levelOf(node), this.#sizes.length);
  }

  #firstPaths(root: Node): ReadonlyMap<number, readonly number[]> {
    const found = new Map<number, readonly number[]>();
    const seen = new Set<Node>();
    const path = this.#sizes.map(() => 0);
    const visit = (node: Node): void => {
      if (isLeaf(node)) {
        if (!found.has(leafValue(node))) found.set(leafValue(node), [...path]);
        return;
      }
      // Whatever is below was found on an earlier path.
      if (seen.has(node)) return;
      seen.add(node);
      const level = this.#diagrams.levelOf(node);
      for (const [value, child] of this.#diagrams.childrenOf(node).entries()) {
        path[level] = value;
        visit(child);
      }
      path[level] = 0;
    };
    visit(root);
    return found;
  }

  /** Numbers of nodes rise from the leaves to the root. */
  #sizesOf(root: Node): ReadonlyMap<number, bigint> {
    const reached = new Map<Node, bigint>([[root, this.#between(0, this.#levelOf(root))]]);
    const leaves = new Map<number, bigint>();
    const inner = this.#innerNodes(root).toSorted((left, right) => right - left);
    const pass = (node: Node, size: bigint): void => {
      if (isLeaf(node)) leaves.set(leafValue(node), (leaves.get(leafValue(node)) ?? 0n) + size);
      else reached.set(node, (reached.get(node) ?? 0n) + size);
    };
    if (isLeaf(root)) pass(root, this.#between(0, this.#sizes.length));
    for (const node of inner) {
      const size = reached.get(node) ?? 0n;
      const level = this.#diagrams.levelOf(node);
      for (const child of this.#diagrams.childrenOf(node)) {
        pass(child, size * this.#between(level + 1, this.#levelOf(child)));
      }
    }
    return leaves;
  }

  #innerNodes(root: Node): readonly Node[] {
    const seen = new Set<Node>();
    const visit = (node: Node): void => {
      if (isLeaf(node) || seen.has(node)) return;
      seen.add(node);
      for (const child of this.#diagrams.childrenOf(node)) visit(child);
    };
    visit(root);
    return [...seen];
  }

  /** Combinations of the levels from one to before another. */
  #between(from: number, to: number): bigint {
    const [before, all] = [this.#before[from] ?? 1n, this.#before[to] ?? 1n];
    return all / before;
  }
}
