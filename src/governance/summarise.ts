import { isOperation } from "../canon/operation.ts";
import { asIdentifier, type Identifier } from "../evidence/record.ts";
import { Cell, addTo, encodedCount } from "./cell.ts";
import type { Dimension, Facet, Grouping, RollUpRow } from "./increments.ts";
import {
  ShadowCounts,
  compare,
  endpointMeasures,
  readLabels,
  requestMeasures,
  spendMeasures,
  verdictMeasures,
  type Measures,
  type ShadowPolicy,
  type SpendMeasures,
} from "./measures.ts";
import { HOUR, MINUTE, formatStart } from "./roll-up.ts";
import { remember } from "../canon/remember.ts";

/** Groups, and lines of a list, that are given at most; the largest ones. */
export const MAXIMUM_GROUPS = 1_000;

export interface Group {
  /**
   * Only the requested dimensions; `null`: of none, such as requests that called no provider. Days,
   * hours and minutes are their start, RFC 3339.
   */
  readonly group: Readonly<Partial<Record<Dimension, Identifier | null>>>;
  readonly measures: Measures;
  readonly spend: SpendMeasures;
}

interface GroupCells {
  /** With `part`, the identity of the group. */
  readonly time: string;
  readonly part: string;
  readonly group: Group["group"];
  readonly cell: Cell;
  readonly shadow: ShadowCounts;
}

/**
 * Adds up cells by group, for a bounded number of groups. When there are more, it only adds up
 * sizes from there on, and the cells have to be read again into a `Groups` that knows the winners.
 */
class Groups {
  readonly #grouping: Grouping;
  readonly #winners: ReadonlySet<string> | null;
  readonly #groups = new Map<string, GroupCells>();
  #ranking: GroupRanking | null = null;
  /** Labels repeat in every hour; so do the groups that they belong to. */
  readonly #parts = new Map<string, { readonly group: Group["group"]; readonly key: string }>();
  #time = { hour: -1, text: "" };
  /**
   * Requests judged, by policy and revision, in each bucket of time: `judged` of a group is that of
   * the revisions in it.
   */
  readonly #judged = new Map<string, number>();

  readonly #most: number;

  /**
   * @param most groups that are kept. @param winners keys of the groups to keep; `null`: not known
   * yet.
   */
  constructor(grouping: Grouping, most: number, winners: ReadonlySet<string> | null = null) {
    this.#grouping = grouping;
    this.#most = most;
    this.#winners = winners;
  }

  /** The largest groups, where there were too many to keep; otherwise `null`. */
  winners(): ReadonlySet<string> | null {
    return this.#ranking?.largest(this.#most) ?? null;
  }

  add(hour: number, labels: string, cell: Uint8Array): void {
    this.#group(hour, labels, readLabels, () => encodedCount(cell, "requests"))?.cell.addEncoded(
      cell,
    );
  }

  /** The labels of a shadow's verdict have the revision in between. */
  addShadow(hour: number, labels: string, cell: Uint8Array): void {
    const [policy = null, revision = null, ...verdict] = readLabels(labels);
    const time = this.#timeOf(hour);
    if (verdict.length === 0) {
      const key = `${time}\n${policy ?? ""}\n${revision ?? ""}`;
      this.#judged.set(key, (this.#judged.get(key) ?? 0) + encodedCount(cell, "judged"));
    }
    const perPolicy = this.#grouping.labels.every(({ dimension }) => dimension === "policy");
    // By policy a request counts once however many constraints it fails; finer, its verdicts count.
    if (perPolicy !== (verdict.length === 0)) return;
    const size = () => encodedCount(cell, "would_deny") + encodedCount(cell, "would_narrow");
    const group = this.#group(hour, labels, () => [policy, ...verdict], size);
    if (group === null) return;
    group.shadow.add(labels, cell);
    group.shadow.judgedBy.add(`${time}\n${policy ?? ""}\n${revision ?? ""}`);
  }

  /** Once all cells are added, and {@link winners} gives none. */
  finish(): readonly Group[] {
    const largest = [...this.#groups]
      .map(([key, cells]) => ({ key, cells, size: sizeOf(cells) }))
      .toSorted(bySize)
      .map(({ cells }) => cells);
    const { time } = this.#grouping;
    const shown =
      time === null ? largest : largest.toSorted((left, right) => compare(left.time, right.time));
    return shown.map((cells) => ({
      group: cells.group,
      measures: this.#measures(cells),
      spend: spendMeasures(cells.cell),
    }));
  }

  #measures({ cell, shadow }: GroupCells): Measures {
    switch (this.#grouping.facet) {
      case "place":
        return endpointMeasures(cell);
      case "verdict": {
        let judged = 0;
        for (const key of shadow.judgedBy) judged += this.#judged.get(key) ?? 0;
        return verdictMeasures(cell, shadow.sum(judged));
      }
      case "denial":
        return verdictMeasures(cell, null);
      case "total":
      case "traffic":
      case "minute":
      case "key":
      case "spend":
        return requestMeasures(cell);
    }
  }

  /** `null` where the group is not kept. */
  #group(
    hour: number,
    labels: string,
    read: (labels: string) => readonly (Identifier | null)[],
    size: () => number,
  ): GroupCells | null {
    const part = remember(this.#parts, labels, () => this.#partOf(read(labels)));
    const time = this.#timeOf(hour);
    if (this.#ranking !== null) {
      this.#ranking.add(time, part.key, size());
      return null;
    }
    const key = groupKey(time, part.key);
    const existing = this.#groups.get(key);
    if (existing !== undefined) return existing;
    if (this.#winners !== null && !this.#winners.has(key)) return null;
    if (this.#groups.size === this.#most) {
      this.#rank().add(time, part.key, size());
      return null;
    }
    const { dimensions, time: unit } = this.#grouping;
    const group = unit === null ? part.group : { ...part.group, [unit]: asIdentifier(time) };
    const entry = {
      time,
      part: part.key,
      group: Object.fromEntries(dimensions.map((one) => [one, group[one] ?? null])),
      cell: new Cell(),
      shadow: new ShadowCounts(),
    };
    this.#groups.set(key, entry);
    return entry;
  }

  #rank(): GroupRanking {
    const ranking = new GroupRanking();
    for (const cells of this.#groups.values()) ranking.add(cells.time, cells.part, sizeOf(cells));
    this.#groups.clear();
    this.#ranking = ranking;
    return ranking;
  }

  #partOf(values: readonly (Identifier | null)[]) {
    const group: Group["group"] = Object.fromEntries(
      this.#grouping.labels.map(({ dimension, position }) => [
        dimension,
        values.at(position) ?? null,
      ]),
    );
    return { group, key: JSON.stringify(group) };
  }

  /** The start of the step; empty without a grouping by time. */
  #timeOf(hour: number): string {
    const { time } = this.#grouping;
    if (time === null) return "";
    if (this.#time.hour !== hour) {
      const start = formatStart(hour, time === "minute" ? MINUTE : HOUR);
      this.#time = { hour, text: time === "day" ? start.slice(0, 10) : start };
    }
    return this.#time.text;
  }
}

function sizeOf({ cell, shadow }: GroupCells) {
  return cell.get("requests") + shadow.size;
}

/** Identity of a group. */
function groupKey(time: string, part: string) {
  return `${time}\n${part}`;
}

interface Ranked {
  readonly key: string;
  readonly size: number;
}

/** Sizes of any number of groups: a number each, under texts that groups share. */
class GroupRanking {
  readonly #sizes = new Map<string, Map<string, number>>();

  add(time: string, part: string, size: number): void {
    const parts = remember(this.#sizes, time, () => new Map<string, number>());
    parts.set(part, (parts.get(part) ?? 0) + size);
  }

  /** Keys of the `limit` largest; of two of one size, the one with the smaller key. */
  largest(limit: number): ReadonlySet<string> {
    let found: Ranked[] = [];
    for (const [time, parts] of this.#sizes) {
      for (const [part, size] of parts) {
        found.push({ key: groupKey(time, part), size });
        if (found.length >= 8 * limit) found = found.toSorted(bySize).slice(0, limit);
      }
    }
    return new Set(
      found
        .toSorted(bySize)
        .slice(0, limit)
        .map(({ key }) => key),
    );
  }
}

function bySize(left: Ranked, right: Ranked) {
  return right.size - left.size || compare(left.key, right.key);
}

/** Cells by facet, pages of them: the store's `read` for some workspaces and one window. */
type CellSource = (facet: Facet) => AsyncIterable<readonly RollUpRow[]>;

export interface Summary {
  readonly totals: Measures;
  readonly spend: SpendMeasures;
  readonly groups: readonly Group[];
  /** There were more groups; these have the most requests. */
  readonly truncated: boolean;
  readonly verdicts: ReturnType<typeof verdictLines>;
  readonly shadows: readonly ShadowPolicy[];
  /** The first hour (minute) with a running request, since the epoch; `null`: all have ended. */
  readonly firstRunning: number | null;
}

/**
 * Adds up cells. Every request counts once in the totals, and once in the groups of its grouping
 * (docs/governance.md has the exceptions). Memory is bounded by the groups that are given; where
 * there are more, the groups' cells are read twice.
 *
 * @param most groups that are given.
 */
export async function summarise(
  source: CellSource,
  grouping: Grouping,
  most: number = MAXIMUM_GROUPS,
): Promise<Summary> {
  const totals = new Cell();
  const running = new Map<number, number>();
  const verdicts = new Map<string, Cell>();
  const shadows = new ShadowCounts();
  const groups = new Groups(grouping, most);
  const grouped = facetsOf(grouping);
  const all = grouping.facet === "minute" ? "minute" : "total";
  for (const facet of new Set<Facet>([all, ...grouped, "verdict", "shadow"])) {
    for await (const rows of source(facet)) {
      for (const row of rows) {
        const { hour, labels, cell } = row;
        if (facet === all) {
          totals.addEncoded(cell);
          running.set(
            hour,
            (running.get(hour) ?? 0) + encodedCount(cell, "requests") - encodedCount(cell, "ended"),
          );
        } else if (facet === "verdict") {
          addTo(verdicts, labels, cell);
        } else if (facet === "shadow") {
          shadows.add(labels, cell);
        }
        if (grouped.includes(facet)) addRow(groups, grouping, facet, row);
      }
    }
  }
  const winners = groups.winners();
  const hours = [...running].filter(([, count]) => count > 0).map(([hour]) => hour);
  return {
    totals: requestMeasures(totals),
    spend: spendMeasures(totals),
    groups: (winners === null ? groups : await gather(source, grouping, most, winners)).finish(),
    truncated: winners !== null,
    verdicts: verdictLines(verdicts),
    shadows: shadows.finish(MAXIMUM_GROUPS),
    firstRunning: hours.length === 0 ? null : Math.min(...hours),
  };
}

/** Where the groups' cells are. */
function facetsOf({ facet, dimensions }: Grouping): readonly Facet[] {
  if (facet === "total") return dimensions.length === 0 ? [] : ["total"];
  return facet === "verdict" ? ["verdict", "shadow"] : [facet];
}

async function gather(
  source: CellSource,
  grouping: Grouping,
  most: number,
  winners: ReadonlySet<string>,
): Promise<Groups> {
  const groups = new Groups(grouping, most, winners);
  for (const facet of facetsOf(grouping)) {
    for await (const rows of source(facet)) {
      for (const row of rows) addRow(groups, grouping, facet, row);
    }
  }
  return groups;
}

function addRow(groups: Groups, { labels: groupedBy }: Grouping, facet: Facet, row: RollUpRow) {
  const { hour, labels, cell, workspace } = row;
  // By route only, the router's own answers would be traffic without a route.
  if (facet === "traffic" && groupedBy.every(({ dimension }) => dimension !== "operation")) {
    if (!isOperation(readLabels(labels)[0] ?? "")) return;
  }
  if (facet === "shadow") groups.addShadow(hour, labels, cell);
  else if (groupedBy.some(({ dimension }) => dimension === "workspace")) {
    groups.add(
      hour,
      `${labels.slice(0, -1)}${labels === "[]" ? "" : ","}${JSON.stringify(workspace)}]`,
      cell,
    );
  } else groups.add(hour, labels, cell);
}

/** Requests that were denied or refused for one and the same reason; ties are sorted by labels. */
function verdictLines(verdicts: ReadonlyMap<string, Cell>) {
  const sorted = [...verdicts].toSorted(([left], [right]) => compare(left, right));
  const lines = sorted.map(([labels, cell]) => {
    const [policy = null, constraint = null, reason = null] = readLabels(labels);
    return {
      policy,
      constraint,
      reason_code: reason,
      denied: cell.get("denied"),
      refused: cell.get("refused"),
    };
  });
  return lines
    .toSorted((left, right) => right.denied + right.refused - left.denied - left.refused)
    .slice(0, MAXIMUM_GROUPS);
}
