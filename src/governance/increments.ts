import type { Identifier } from "../evidence/record.ts";
import { Cell } from "./cell.ts";

/**
 * Hourly counts, kept when the evidence they were made of is pruned. In every engine what a record
 * counts for is there exactly when the record is, and once: written in its transaction, or counted
 * from the log up to a cursor.
 */
export interface SummaryStore {
  /**
   * Every cell of the facet in these hours, once, in pages, oldest hour first; what was written
   * before the call is in them.
   *
   * @throws {StoreUnavailableError}
   */
  read(query: RollUpQuery): AsyncIterable<readonly RollUpRow[]>;
  /**
   * Those with a cell in any hour; `null` where there are requests without an accepted key. Sorted,
   * `null` first.
   */
  workspaces(): Promise<readonly (string | null)[]>;
}

/**
 * By what requests are counted apart. Within a facet every combination of its labels has a cell,
 * between facets there are none: so the number of cells in an hour is a sum of short lists and not
 * their product. Labels: `total` none; `traffic` operation, route; `place` provider, region, model;
 * `key` key; `verdict` policy, constraint, reason of denials and refusals; `shadow` policy,
 * revision (what was judged), and policy, revision, constraint, reason; `shadow_route` policy,
 * revision, route; `spend` key, route, model, with what requests used and cost and nothing else;
 * `minute` operation, route, by the minute and for {@link KEPT_MINUTES} only. Databases hold no
 * counts of the last three from before they were added.
 */
export type Facet =
  | "total"
  | "traffic"
  | "place"
  | "key"
  | "verdict"
  | "shadow"
  | "shadow_route"
  | "spend"
  | "minute";

/** How long minutes are kept: three hours, and some for clocks that differ. */
export const KEPT_MINUTES = 190;

export type Labels =
  | readonly (Identifier | null)[]
  | readonly [operation: string, route: Identifier | null];

/** One cell as stored. */
export interface RollUpRow {
  /** `null`: of requests without an accepted key. */
  readonly workspace: string | null;
  readonly facet: Facet;
  /** Hours since the epoch; minutes in `minute`. */
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
  /** Hours since the epoch, or minutes for `minute`; the first one counted. */
  readonly from: number;
  /** The first one not counted. */
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

  /** The newest minute in which something was counted; 0: none. */
  newestMinute(): number {
    let newest = 0;
    for (const { facet, hour } of this.#entries.values()) {
      if (facet === "minute") newest = Math.max(newest, hour);
    }
    return newest;
  }

  /** Sorted by key, so that two writers take the rows in one order. */
  entries(): readonly IncrementEntry[] {
    return [...this.#entries]
      .toSorted(([left], [right]) => (left < right ? -1 : 1))
      .map(([, entry]) => entry);
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
