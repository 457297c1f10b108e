import type { Operation } from "../../canon/operation.ts";
import type { Aspect } from "./approval-state.ts";
import type { Step } from "./approval-steps.ts";
import type { ApprovalWalk, Walked } from "./approval-walk.ts";
import type { AssertedNames } from "./asserted-names.ts";
import type { LastShape, NodeId, SideWalk } from "./side-walk.ts";
import type { OperationUniverse } from "./universe.ts";

/**
 * Requests that began alike, have come to the same nodes after the last check, and mean the same to
 * assertions.
 */
export interface Arrived extends Pick<Walked, "common" | "first" | "size" | "part"> {
  readonly ends: Ends;
  readonly aspects: readonly Aspect[];
  /** Families of the plainest of them; and how many names it has with these. */
  readonly families: readonly string[];
  readonly names: number;
  readonly steps: readonly Step[];
}

interface Ends {
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
export class Arrivals {
  readonly #sides: readonly SideWalk[];
  readonly #operation: Operation;
  readonly #universe: OperationUniverse;
  readonly #shapes = new Map<string, LastShape>();
  readonly #ends = new Map<string, Ends>();
  /** By the nodes of a walk, which are the same object where they are the same. */
  readonly #endsByNodes = new Map<readonly NodeId[], Map<readonly string[], Ends>>();
  readonly #aspectNumbers = new Map<readonly Aspect[], number>();

  constructor(sides: readonly SideWalk[], operation: Operation, universe: OperationUniverse) {
    this.#sides = sides;
    this.#operation = operation;
    this.#universe = universe;
  }

  /** What requests come to that begin at nodes. */
  of(nodes: readonly NodeId[], walk: ApprovalWalk, asserted: AssertedNames): readonly Arrived[] {
    const found = new Map<number, Arrived>();
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

  #endsOf(nodes: readonly NodeId[], families: readonly string[]): Ends {
    const byFamilies = this.#endsByNodes.get(nodes) ?? new Map<readonly string[], Ends>();
    this.#endsByNodes.set(nodes, byFamilies);
    const made = byFamilies.get(families) ?? this.#makeEnds(nodes, families);
    byFamilies.set(families, made);
    return made;
  }

  #makeEnds(nodes: readonly NodeId[], families: readonly string[]): Ends {
    const ends = this.#universe.dimensions.map((dimensions) => {
      const shape = this.#shapeOf(dimensions, families);
      return nodes.map((node, side) => this.#sides[side]?.last(node, shape) ?? node);
    });
    const key = ends.join(";");
    const known = this.#ends.get(key);
    if (known !== undefined) return known;
    const live = nodes.map((_node, side) =>
      ends.some((own) => this.#sides[side]?.isDenied(own[side] ?? 0) !== true),
    );
    const made = { number: this.#ends.size, nodes: ends, live };
    this.#ends.set(key, made);
    return made;
  }

  /** Equal for equal lists; `AssertedNames` gives one object for each. */
  #aspectNumber(aspects: readonly Aspect[]): number {
    const known = this.#aspectNumbers.get(aspects) ?? this.#aspectNumbers.size;
    this.#aspectNumbers.set(aspects, known);
    return known;
  }

  #shapeOf(dimensions: number | null, signatureFamilies: readonly string[]): LastShape {
    const key = `${dimensions} ${signatureFamilies.join()}`;
    const known = this.#shapes.get(key);
    if (known !== undefined) return known;
    const made = { operation: this.#operation, dimensions, signatureFamilies };
    this.#shapes.set(key, made);
    return made;
  }
}

/** Whichever comes first. */
function asOne(one: Arrived, other: Arrived): Arrived {
  const isPlainer = other.names < one.names || (other.names === one.names && other.part < one.part);
  const { part, names, families } = isPlainer ? other : one;
  return {
    ...one,
    part,
    names,
    families,
    common: one.common & other.common,
    first: one.first < other.first ? one.first : other.first,
    size: one.size + other.size,
  };
}
