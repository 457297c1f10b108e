import type { Identifier } from "../evidence/record.ts";
import { ByteReader, ByteWriter } from "./byte-stream.ts";
import { Cell } from "./cell.ts";

/**
 * By what requests are counted apart. Within a facet every combination of its labels has a cell,
 * between facets there are none: so the number of cells in an hour is a sum of short lists and not
 * their product. Labels: `total` none; `traffic` operation, route; `place` provider, region, model;
 * `key` key; `verdict` policy, constraint, reason of denials and refusals; `shadow` policy,
 * revision (what was judged), and policy, revision, constraint, reason; `shadow_route` policy,
 * revision, route; `spend` key, route, model, with what requests used and cost and nothing else.
 * Databases hold no counts of the last two from before they were added. Stored increments name a
 * facet by its index in this list: append new ones, and never remove one.
 */
export const FACETS = [
  "total",
  "traffic",
  "place",
  "key",
  "verdict",
  "shadow",
  "shadow_route",
  "spend",
] as const;
export type Facet = (typeof FACETS)[number];

export type Labels =
  | readonly (Identifier | null)[]
  | readonly [operation: string, route: Identifier | null];

/** One cell as stored. */
export interface RollUpRow {
  /** `null`: of requests without an accepted key. */
  readonly workspace: string | null;
  readonly facet: Facet;
  /** Hours since the epoch. */
  readonly hour: number;
  /** JSON array of strings and `null`. */
  readonly labels: string;
  /** {@link Cell.encode} */
  readonly cell: Uint8Array;
}

/** Cells of one facet of one workspace, in a window. */
export interface RollUpQuery {
  /** `null`: the requests without an accepted key. */
  readonly workspace: string | null;
  readonly facet: Facet;
  /** Hours since the epoch; the first one counted. */
  readonly from: number;
  /** Hours since the epoch; the first one not counted. */
  readonly until: number;
}

/** A cell with its index. */
interface IncrementEntry {
  readonly workspace: string | null;
  readonly facet: Facet;
  readonly hour: number;
  readonly labels: string;
  readonly cell: Cell;
}

/** Cells that are to be added to those stored. */
export class Increments {
  readonly #entries = new Map<string, IncrementEntry>();
  /**
   * By workspace, facet, hour and labels with a NUL after each, which no identifier has: JSON takes
   * longer than counting.
   */
  readonly #cells = new Map<string, Cell>();
  readonly #together = new Map<object, readonly Cell[]>();
  readonly #newest = new Map<
    object,
    Map<Facet, { readonly labels: Labels; readonly cell: Cell }>
  >();

  get size(): number {
    return this.#entries.size;
  }

  /** The cell to count in; made at its first use. */
  cell(workspace: string | null, facet: Facet, hour: number, labels: Labels): Cell {
    let key = `${workspace ?? ""}\u0000${facet}\u0000${hour}\u0000`;
    for (const label of labels) key += label === null ? "\u0001" : `${label}\u0000`;
    const known = this.#cells.get(key);
    if (known !== undefined) return known;
    const { cell } = this.#entry(workspace, facet, hour, JSON.stringify(labels));
    this.#cells.set(key, cell);
    return cell;
  }

  /** The same, faster where the cell is the one that the same `key` and facet had the last time. */
  cellOf(key: object, workspace: string | null, facet: Facet, hour: number, labels: Labels): Cell {
    let newest = this.#newest.get(key);
    if (newest === undefined) this.#newest.set(key, (newest = new Map()));
    const known = newest.get(facet);
    if (known !== undefined && labels.every((label, index) => label === known.labels[index]))
      return known.cell;
    const cell = this.cell(workspace, facet, hour, labels);
    newest.set(facet, { labels, cell });
    return cell;
  }

  /**
   * Cells that belong together, made once for each `key`: finding them takes longer than counting
   * in them.
   */
  cellsOf(key: object, make: () => readonly Cell[]): readonly Cell[] {
    const known = this.#together.get(key);
    if (known !== undefined) return known;
    const cells = make();
    this.#together.set(key, cells);
    return cells;
  }

  /** Sorted by key, so that two writers take the rows in one order. */
  entries(): readonly IncrementEntry[] {
    return [...this.#entries]
      .toSorted(([left], [right]) => (left < right ? -1 : 1))
      .map(([, entry]) => entry);
  }

  /** All of it in one piece. */
  encode(): Uint8Array {
    const writer = new ByteWriter();
    for (const { workspace, facet, hour, labels, cell } of this.#entries.values()) {
      writer.text(workspace ?? "");
      writer.number(FACETS.indexOf(facet));
      writer.number(hour);
      writer.text(labels);
      cell.write(writer);
    }
    return writer.finish();
  }

  /** Adds what {@link encode} wrote. @throws {RangeError} for other bytes */
  addEncoded(bytes: Uint8Array): void {
    const reader = new ByteReader(bytes);
    while (!reader.done) {
      const workspace = reader.text();
      const facet = FACETS[reader.number()];
      const hour = reader.number();
      const labels = reader.text();
      if (facet === undefined)
        throw new RangeError("increments of a facet that this version does not know");
      this.#entry(workspace === "" ? null : workspace, facet, hour, labels).cell.addEncoded(
        reader.bytes(),
      );
    }
  }

  #entry(workspace: string | null, facet: Facet, hour: number, labels: string): IncrementEntry {
    const key = `${workspace ?? ""}\n${facet}\n${hour}\n${labels}`;
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const entry: IncrementEntry = { workspace, facet, hour, labels, cell: new Cell() };
    this.#entries.set(key, entry);
    return entry;
  }
}
