import type { Identifier } from "../evidence/record.ts";
import { Cell } from "./cell.ts";
import { remember } from "../canon/remember.ts";

/**
 * Dimensions of a summary, and where their labels are; the workspace is added after the facet's
 * own.
 */
const LABELS = {
  operation: { facet: "traffic", position: 0 },
  route: { facet: "traffic", position: 1 },
  provider: { facet: "place", position: 0 },
  region: { facet: "place", position: 1 },
  model: { facet: "place", position: 2 },
  key: { facet: "key", position: 0 },
  policy: { facet: "verdict", position: 0 },
  constraint: { facet: "verdict", position: 1 },
  reason_code: { facet: "verdict", position: 2 },
  workspace: { facet: "total", position: -1 },
} as const satisfies Readonly<Record<string, { readonly facet: Facet; readonly position: number }>>;

type LabelDimension = keyof typeof LABELS;
const TIME_DIMENSIONS = ["day", "hour", "minute"] as const;
type TimeDimension = (typeof TIME_DIMENSIONS)[number];
export type Dimension = LabelDimension | TimeDimension;

const LABEL_DIMENSIONS = Object.keys(LABELS).filter((name) => isLabelDimension(name));

/** In the order of the documentation. */
export const DIMENSIONS: readonly Dimension[] = [...LABEL_DIMENSIONS, ...TIME_DIMENSIONS];

/** Facets that have dimensions of several others, and where their labels are. */
const JOINED: Readonly<Record<"denial" | "spend", Partial<Record<LabelDimension, number>>>> = {
  denial: { policy: 0, constraint: 1, reason_code: 2, route: 3, workspace: -1 },
  spend: { key: 0, route: 1, model: 2, workspace: -1 },
};

/** Groupings of spend: not by verdicts, which cost nothing. */
export const SPEND_DIMENSIONS = [
  "operation",
  "route",
  "provider",
  "region",
  "model",
  "key",
  "workspace",
  "day",
  "hour",
] as const satisfies readonly Dimension[];

interface Grouped {
  readonly dimensions: readonly Dimension[];
  readonly maximum: number;
  /**
   * The combinations that are kept: dimensions of one line, with or without `workspace`, `day` or
   * `hour`.
   */
  readonly families: string;
}

/** Dimensions of each answer, and how many of them combine. */
export const GROUPED = {
  summary: {
    dimensions: DIMENSIONS,
    maximum: 3,
    families:
      "operation and route; provider, region and model; key; workspace; policy, constraint, reason_code and route",
  },
  spend: {
    dimensions: SPEND_DIMENSIONS,
    maximum: 5,
    families: "key, route and model; operation and route; provider, region and model; workspace",
  },
} as const satisfies Record<string, Grouped>;

export interface Grouping {
  /** As requested, each once. */
  readonly dimensions: readonly Dimension[];
  /** Where the groups' cells are. */
  readonly facet: Exclude<Facet, "shadow" | "shadow_route">;
  /** A negative position counts from the end. */
  readonly labels: readonly { readonly dimension: LabelDimension; readonly position: number }[];
  readonly time: TimeDimension | null;
}

/**
 * @param names as the caller wrote them. Gives a sentence for the caller where they cannot be had;
 * it repeats none of them.
 */
export function readGrouping(
  names: readonly string[],
  of: keyof typeof GROUPED,
): Grouping | { readonly problem: string } {
  const { dimensions: allowed, maximum, families }: Grouped = GROUPED[of];
  const dimensions: Dimension[] = [];
  for (const name of names) {
    if (!isDimension(name) || !allowed.includes(name))
      return { problem: `group_by must be one of ${allowed.join(", ")}` };
    if (dimensions.includes(name)) return { problem: `group_by names ${name} twice; name it once` };
    dimensions.push(name);
  }
  if (dimensions.length > maximum) {
    return { problem: `group_by must name at most ${maximum} of ${allowed.join(", ")}` };
  }
  const [time = null, ...moreTimes] = dimensions.filter(
    (dimension) => !isLabelDimension(dimension),
  );
  if (moreTimes.length > 0) {
    return { problem: "group_by must name one of day, hour and minute" };
  }
  const labelDimensions = dimensions.filter((dimension) => isLabelDimension(dimension));
  const facets = new Set(
    labelDimensions
      .filter((dimension) => dimension !== "workspace")
      .map((name) => LABELS[name].facet),
  );
  const [facet = "total", ...moreFacets] = facets;
  const one = (dimension: LabelDimension) => ({ dimension, position: LABELS[dimension].position });
  if (time === "minute") {
    return moreFacets.length === 0 && (facet === "total" || facet === "traffic")
      ? { dimensions, facet: "minute", labels: labelDimensions.map(one), time }
      : { problem: "group_by can combine minute with operation, route and workspace only" };
  }
  if (moreFacets.length === 0 && !(facet === "verdict" && labelDimensions.includes("workspace"))) {
    return { dimensions, facet, labels: labelDimensions.map(one), time };
  }
  const joined = of === "spend" ? "spend" : "denial";
  const labels = labelDimensions.flatMap((dimension) => {
    const position = JOINED[joined][dimension];
    return position === undefined ? [] : [{ dimension, position }];
  });
  if (labels.length === labelDimensions.length) return { dimensions, facet: joined, labels, time };
  return {
    problem: `group_by can combine these, each with workspace, and day or hour: ${families}`,
  };
}

function isDimension(name: string): name is Dimension {
  return isLabelDimension(name) || TIME_DIMENSIONS.some((time) => time === name);
}

function isLabelDimension(name: string): name is LabelDimension {
  return Object.hasOwn(LABELS, name);
}

/**
 * Hourly counts, kept when the evidence they were made of is pruned. In every engine the counts of
 * a record are there exactly when the record is, and once: written in its transaction, or counted
 * from the log up to a cursor.
 */
export interface SummaryStore {
  /**
   * Every cell of the facet in these hours, once, in pages, oldest hour first; they
   * include everything written before the call.
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
 * A way in which requests are counted apart. Within a facet every combination of its labels has a
 * cell, between facets there are none: so the number of cells in an hour is a sum of short lists
 * and not their product. Labels: `total` none; `traffic` operation, route; `place` provider,
 * region, model; `key` key; `verdict` policy, constraint, reason of denials and refusals; `denial`
 * the same with the route; `shadow` policy, revision (all judged requests), and policy, revision,
 * constraint, reason; `shadow_route` policy, revision, route; `spend` key, route, model, with the
 * use and the cost of requests and nothing else; `minute` operation, route, by the minute and for
 * {@link KEPT_MINUTES} only. Databases hold no counts of `denial` and the last three from before
 * they were added.
 */
export type Facet =
  | "total"
  | "traffic"
  | "place"
  | "key"
  | "verdict"
  | "denial"
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
interface IncrementEntry extends Omit<RollUpRow, "cell"> {
  readonly cell: Cell;
}

/** Cells that are to be added to those stored. */
export class Increments {
  /**
   * By workspace, facet, hour and labels with a NUL after each, which no identifier has: JSON takes
   * longer than counting.
   */
  readonly #entries = new Map<string, IncrementEntry>();
  readonly #together = new Map<object, readonly Cell[]>();

  /** The cell to count in; made at its first use. */
  cell(workspace: string | null, facet: Facet, hour: number, labels: Labels): Cell {
    let key = `${workspace ?? ""}\u0000${facet}\u0000${hour}\u0000`;
    for (const label of labels) key += label === null ? "\u0001" : `${label}\u0000`;
    const { cell } = remember(this.#entries, key, () => {
      return { workspace, facet, hour, labels: JSON.stringify(labels), cell: new Cell() };
    });
    return cell;
  }

  /**
   * Cells that belong together, made once for each `key`: finding them takes longer than counting
   * in them.
   */
  cellsOf(key: object, make: () => readonly Cell[]): readonly Cell[] {
    return remember(this.#together, key, make);
  }

  /** The newest minute in which something was counted; 0: none. */
  newestMinute(): number {
    let newest = 0;
    for (const { facet, hour } of this.#entries.values()) {
      if (facet === "minute") newest = Math.max(newest, hour);
    }
    return newest;
  }

  /** Sorted, so that two writers take the rows in one order. */
  entries(): readonly IncrementEntry[] {
    return [...this.#entries]
      .toSorted(([left], [right]) => (left < right ? -1 : 1))
      .map(([, entry]) => entry);
  }
}
