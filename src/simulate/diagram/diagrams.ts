import { recent, remembered } from "../remembered.ts";

/** The requests of one leaf. */
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

/** How many requests have each value of each level. */
type LevelCounts = readonly (readonly bigint[])[];

export type Profiles = ReturnType<typeof profilesOf>;

/**
 * Counts and finds the requests behind the leaves of diagrams; every root is looked at once.
 *
 * @param sizes how many values each level has.
 */
export function profilesOf(diagrams: Diagrams, sizes: readonly number[]) {
  const profiles = new Map<Node, readonly LeafProfile[]>();
  /** Of the last root only: its leaves are described one after the other. */
  const reached = recent<ReadonlyMap<Node, bigint>>(1);
  /** By root, then by leaf. */
  const counts = new Map<Node, Map<number, LevelCounts>>();
  /** How many combinations the levels before each one have. */
  const before = [1n];
  for (const size of sizes) before.push((before.at(-1) ?? 1n) * BigInt(size));

  /** Combinations of the levels from one to before another. */
  const combinations = (from: number, to: number) => (before[to] ?? 1n) / (before[from] ?? 1n);
  const levelOf = (node: Node) => Math.min(diagrams.levelOf(node), sizes.length);
  /** Children by value, with the combinations of the levels that are left out before them. */
  const edgesOf = (node: Node) => {
    const next = levelOf(node) + 1;
    return diagrams
      .childrenOf(node)
      .map((child) => [child, combinations(next, levelOf(child))] as const);
  };

  /** How many combinations of the levels before it reach each node. */
  const reachedFrom = (root: Node) =>
    reached(String(root), () => {
      const found = new Map([[root, combinations(0, levelOf(root))]]);
      // Numbers of nodes rise from the leaves to the root.
      for (const node of diagrams.below(root).inner.toSorted((left, right) => right - left))
        for (const [child, between] of edgesOf(node))
          found.set(child, (found.get(child) ?? 0n) + (found.get(node) ?? 0n) * between);
      return found;
    });

  const count = (root: Node, leaf: number): LevelCounts => {
    const leads = new Map<Node, bigint>();
    /** Combinations of the levels from this node's on that end at the leaf. */
    const below = (node: Node): bigint => {
      if (isLeaf(node)) return BigInt(leafValue(node) === leaf);
      return remembered(leads, node, () =>
        edgesOf(node).reduce((sum, [child, between]) => sum + between * below(child), 0n),
      );
    };
    const above = reachedFrom(root);
    const found = sizes.map((values) => Array.from({ length: values }, () => 0n));
    for (const [node, size] of above) {
      const perValue = found[levelOf(node)];
      if (perValue === undefined || below(node) === 0n) continue;
      for (const [value, [child, between]] of edgesOf(node).entries())
        perValue[value] = (perValue[value] ?? 0n) + size * between * below(child);
    }
    const all = above.get(leafOf(leaf)) ?? 0n;
    // Requests that take no node of a level have each of its values alike.
    return found.map((perValue) => {
      const skipped = perValue.reduce((rest, some) => rest - some, all) / BigInt(perValue.length);
      return perValue.map((some) => some + skipped);
    });
  };

  const firstPaths = (root: Node): ReadonlyMap<number, readonly number[]> => {
    const found = new Map<number, readonly number[]>();
    const seen = new Set<Node>();
    const path = sizes.map(() => 0);
    const visit = (node: Node): void => {
      if (isLeaf(node)) {
        if (!found.has(leafValue(node))) found.set(leafValue(node), [...path]);
        return;
      }
      // Its leaves were found on an earlier path.
      if (seen.has(node)) return;
      seen.add(node);
      const level = diagrams.levelOf(node);
      for (const [value, child] of diagrams.childrenOf(node).entries()) {
        path[level] = value;
        visit(child);
      }
      path[level] = 0;
    };
    visit(root);
    return found;
  };

  return {
    /** In the order of their first requests. */
    of: (root: Node): readonly LeafProfile[] =>
      remembered(profiles, root, () =>
        [...firstPaths(root)].map(([leaf, path]) => ({
          leaf,
          size: reachedFrom(root).get(leafOf(leaf)) ?? 0n,
          path,
        })),
      ),
    /** For each level, how many requests of a leaf have each value. One object for each leaf. */
    countsOf(root: Node, leaf: number): LevelCounts {
      const ofRoot = remembered(counts, root, () => new Map<number, LevelCounts>());
      return remembered(ofRoot, leaf, () => count(root, leaf));
    },
  };
}

/** Initial slots of a table; they double when half of them are in use. */
const FIRST_SLOTS = 1_024;
/** Numbers of a slot: left, right, value. */
const WIDTH = 3;
/** No pair has this value. */
const NONE = -(2 ** 31);

/**
 * Numbers by pairs of numbers, all of 32 bits. A `Map` would need a text for each look, or a number
 * that does not fit in a pointer, which V8 allocates: combining diagrams looks millions of pairs
 * up.
 */
export function pairTable() {
  let slots = emptySlots(FIRST_SLOTS);
  let mask = FIRST_SLOTS - 1;
  let size = 0;

  /** Where a pair is, or where it would be. */
  const slotOf = (left: number, right: number) => {
    let at = mixed(left, right) & mask;
    const table = slots;
    for (;;) {
      const from = at * WIDTH;
      if (table[from + 2] === NONE || (table[from] === left && table[from + 1] === right))
        return from;
      at = (at + 1) & mask;
    }
  };

  const grow = () => {
    const old = slots;
    mask = (mask + 1) * 2 - 1;
    slots = emptySlots(mask + 1);
    for (let from = 0; from < old.length; from += WIDTH) {
      if (old[from + 2] === NONE) continue;
      const at = slotOf(old[from] ?? 0, old[from + 1] ?? 0);
      for (let offset = 0; offset < WIDTH; offset += 1)
        slots[at + offset] = old[from + offset] ?? 0;
    }
  };

  return {
    get(left: number, right: number): number | undefined {
      const value = slots[slotOf(left, right) + 2];
      return value === NONE ? undefined : value;
    },
    /** @param value above -2 ** 31. */
    set(left: number, right: number, value: number): void {
      const at = slotOf(left, right);
      if (slots[at + 2] === NONE) {
        size += 1;
        slots[at] = left;
        slots[at + 1] = right;
      }
      slots[at + 2] = value;
      if (size * 2 > mask) grow();
    },
  };
}

function emptySlots(slots: number): Int32Array {
  return new Int32Array(slots * WIDTH).fill(NONE);
}

/**
 * A hash in 32 bits, in which every bit of both numbers reaches the low ones (the finish of
 * MurmurHash3).
 */
function mixed(left: number, right: number): number {
  let hash = Math.imul(left, 0x9e3779b1) ^ right;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

/**
 * A node of {@link Diagrams}: from 0 an inner one, below 0 a leaf. Equal functions of a request are
 * the same node.
 */
export type Node = number;

/** The leaf of a number from 0. */
export function leafOf(value: number): Node {
  return -1 - value;
}

function isLeaf(node: Node): boolean {
  return node < 0;
}

/** The number of a leaf. */
function leafValue(node: Node): number {
  return -1 - node;
}

/**
 * Functions of the members of a request, as decision diagrams: an inner node has a level, which is
 * one member, and a child for each value of it; a leaf has the answer. On every path levels rise,
 * and a level that does not matter is left out. Nodes are never made twice, so equal functions have
 * one number (R. Bryant, Graph-Based Algorithms for Boolean Function Manipulation, 1986; with
 * several values for a member, as Margrave has them).
 */
export function newDiagrams() {
  const levels: number[] = [];
  const childrenByNode: (readonly Node[])[] = [];
  /** Numbers of nodes by the hash of level and children, each plus 1. */
  let slots = new Int32Array(FIRST_SLOTS);

  /** `Infinity` for a leaf. */
  const levelOf = (node: Node): number => levels[node] ?? Infinity;
  const childrenOf = (node: Node): readonly Node[] => childrenByNode[node] ?? [];

  /** Where a node is, or where it would be. */
  const slotOf = (level: number, children: readonly Node[]) => {
    const mask = slots.length - 1;
    let hash = level;
    for (const child of children) hash = mixed(hash, child);
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      const node = (slots[at] ?? 0) - 1;
      if (node < 0 || (levels[node] === level && sameNodes(childrenOf(node), children))) return at;
    }
  };

  const grow = () => {
    slots = new Int32Array(slots.length * 2);
    for (const [node, level] of levels.entries()) slots[slotOf(level, childrenOf(node))] = node + 1;
  };

  /** @param children one for each value of the level; their levels are higher. */
  const branch = (level: number, children: readonly Node[]): Node => {
    const [first] = children;
    if (first === undefined) throw new RangeError("diagrams: a level without values");
    if (children.every((child) => child === first)) return first;
    const at = slotOf(level, children);
    const existing = slots[at] ?? 0;
    if (existing > 0) return existing - 1;
    const node = levels.push(level) - 1;
    childrenByNode.push(children);
    slots[at] = node + 1;
    if (levels.length * 2 > slots.length) grow();
    return node;
  };

  return {
    /** How many inner nodes there are. */
    size: (): number => levels.length,
    levelOf,
    childrenOf,
    branch,

    /**
     * The function that is one of the children by the value of a level. @param children one for
     * each value of the level; none depends on it.
     */
    select(level: number, children: readonly Node[]): Node {
      const cache = new Map<string, Node>();
      const selected = (nodes: readonly Node[]): Node => {
        const top = Math.min(...nodes.map(levelOf));
        if (top > level) return branch(level, nodes);
        return remembered(cache, nodes.join(), () => {
          const first = nodes.find((child) => levelOf(child) === top);
          const values = childrenOf(first ?? 0).map((_, value) =>
            nodes.map((child) =>
              levelOf(child) === top ? (childrenOf(child)[value] ?? child) : child,
            ),
          );
          return branch(top, values.map(selected));
        });
      };
      return selected(children);
    },

    /** A node and all below it, each once; leaves by their numbers. */
    below(root: Node): { readonly inner: readonly Node[]; readonly leaves: readonly number[] } {
      const seen = new Set<Node>();
      const visit = (node: Node): void => {
        if (seen.has(node)) return;
        seen.add(node);
        for (const child of childrenOf(node)) visit(child);
      };
      visit(root);
      const nodes = [...seen];
      return {
        inner: nodes.filter((node) => !isLeaf(node)),
        leaves: nodes.filter(isLeaf).map(leafValue),
      };
    },
  };
}

export type Diagrams = ReturnType<typeof newDiagrams>;

function sameNodes(left: readonly Node[], right: readonly Node[]): boolean {
  return left.length === right.length && left.every((child, index) => child === right[index]);
}

/**
 * Joins two functions, leaf by leaf. Results are remembered.
 *
 * @param join the number of the leaf for two leaves; always the same for the same numbers.
 */
export function combination(
  diagrams: Diagrams,
  join: (left: number, right: number) => number,
): (left: Node, right: Node) => Node {
  const cache = pairTable();
  const branch = (left: Node, right: Node): Node => {
    const [one, other] = [diagrams.levelOf(left), diagrams.levelOf(right)];
    const level = Math.min(one, other);
    const leftChildren = one === level ? diagrams.childrenOf(left) : null;
    const rightChildren = other === level ? diagrams.childrenOf(right) : null;
    const children = (leftChildren ?? rightChildren ?? []).map((_, value) =>
      combined(leftChildren?.[value] ?? left, rightChildren?.[value] ?? right),
    );
    return diagrams.branch(level, children);
  };
  const combined = (left: Node, right: Node): Node => {
    const same = cache.get(left, right);
    if (same !== undefined) return same;
    const joined =
      isLeaf(left) && isLeaf(right)
        ? leafOf(join(leafValue(left), leafValue(right)))
        : branch(left, right);
    cache.set(left, right, joined);
    return joined;
  };
  return combined;
}

/** The function with other leaves. Results are remembered. */
export function relabelling(
  diagrams: Diagrams,
  change: (leaf: number) => number,
): (node: Node) => Node {
  const cache = new Map<Node, Node>();
  const relabelled = (node: Node): Node =>
    remembered(cache, node, () =>
      isLeaf(node)
        ? leafOf(change(leafValue(node)))
        : diagrams.branch(diagrams.levelOf(node), diagrams.childrenOf(node).map(relabelled)),
    );
  return relabelled;
}

export type PairedLeaves = ReturnType<typeof pairedLeaves>;

/** Two functions as one: each of its leaves is a pair of leaves. */
export function pairedLeaves(diagrams: Diagrams) {
  const pairs: (readonly [left: number, right: number])[] = [];
  return {
    // A combination joins each pair of leaves once.
    of: combination(diagrams, (left, right) => pairs.push([left, right]) - 1),
    /** The pair of a leaf of {@link of}. */
    at(leaf: number): readonly [left: number, right: number] {
      const pair = pairs[leaf];
      if (pair === undefined) throw new RangeError(`diagrams: no leaf has the number ${leaf}`);
      return pair;
    },
  };
}
