import { asWord, type Word } from "../evidence/record.ts";
import { Cell } from "./cell.ts";
import type { Dimension, Grouping } from "./dimensions.ts";
import type { Facet, RollUpRow } from "./increments.ts";
import { placeMeasures, requestMeasures, verdictMeasures, type Measures } from "./measures.ts";
import { formatHour } from "./window.ts";
import { readLabels, ShadowCounts, type ShadowPolicy } from "./shadow-counts.ts";

/** Groups, and lines of a list, that are given at most; the largest ones. */
export const MAXIMUM_GROUPS = 1_000;

/** Cells by facet, pages of them: the store's `read` for one workspace and one window. */
export type CellSource = (facet: Facet) => AsyncIterable<readonly RollUpRow[]>;

export interface Group {
  /** Only the dimensions asked for; `null`: of none, such as requests that called no provider. Days and hours are their start, RFC 3339. */
  readonly group: Readonly<Partial<Record<Dimension, Word | null>>>;
  readonly measures: Measures;
}

/** Requests that were denied or refused for one and the same reason. */
export interface VerdictLine {
  readonly policy: Word | null;
  readonly constraint: Word | null;
  readonly reason_code: Word | null;
  readonly denied: number;
  readonly refused: number;
}

export interface Summary {
  readonly totals: Measures;
  readonly groups: readonly Group[];
  /** There were more groups; these have the most requests. */
  readonly truncated: boolean;
  readonly verdicts: readonly VerdictLine[];
  readonly shadows: readonly ShadowPolicy[];
  /** The first hour with a running request, hours since the epoch; `null` where all have ended. */
  readonly firstRunning: number | null;
}

/** Adds up cells. Every request counts once in the totals, and once in the groups of its grouping (docs/governance.md has the exceptions). */
export async function summarise(source: CellSource, grouping: Grouping): Promise<Summary> {
  const totals = new Cell();
  const running = new Map<number, number>();
  const groups = new Groups(grouping);
  for await (const rows of source("total")) {
    for (const { hour, labels, cell } of rows) {
      const one = new Cell();
      one.addEncoded(cell);
      totals.addEncoded(cell);
      running.set(hour, (running.get(hour) ?? 0) + one.get("requests") - one.get("ended"));
      if (grouping.facet === "total" && grouping.time !== null) groups.add(hour, labels, cell);
    }
  }
  if (grouping.facet === "traffic" || grouping.facet === "place" || grouping.facet === "key") {
    for await (const rows of source(grouping.facet)) {
      for (const { hour, labels, cell } of rows) groups.add(hour, labels, cell);
    }
  }
  const verdicts = new Map<string, Cell>();
  for await (const rows of source("verdict")) {
    for (const { hour, labels, cell } of rows) {
      cellOf(verdicts, labels).addEncoded(cell);
      if (grouping.facet === "verdict") groups.add(hour, labels, cell);
    }
  }
  const shadows = new ShadowCounts();
  for await (const rows of source("shadow")) {
    for (const { hour, labels, cell } of rows) {
      shadows.add(labels, cell);
      if (grouping.facet === "verdict") groups.addShadow(hour, labels, cell);
    }
  }
  const hours = [...running].filter(([, count]) => count > 0).map(([hour]) => hour);
  return {
    totals: requestMeasures(totals),
    ...groups.finish(),
    verdicts: verdictLines(verdicts),
    shadows: shadows.finish(MAXIMUM_GROUPS),
    firstRunning: hours.length === 0 ? null : Math.min(...hours),
  };
}

interface GroupCells {
  readonly group: Group["group"];
  readonly cell: Cell;
  readonly shadow: ShadowCounts;
}

class Groups {
  readonly #grouping: Grouping;
  readonly #groups = new Map<string, GroupCells>();
  /** Labels repeat in every hour; so do the groups that they belong to. */
  readonly #parts = new Map<string, { readonly group: Group["group"]; readonly key: string }>();
  #time: { readonly hour: number; readonly text: string | null } = { hour: -1, text: null };
  /** What was judged, by policy and revision, in each bucket of time: `judged` of a group is that of the revisions in it. */
  readonly #judged = new Map<string, number>();

  constructor(grouping: Grouping) {
    this.#grouping = grouping;
  }

  add(hour: number, labels: string, cell: Uint8Array): void {
    this.#group(hour, labels, readLabels).cell.addEncoded(cell);
  }

  /** The labels of a shadow's verdict have the revision in between. */
  addShadow(hour: number, labels: string, cell: Uint8Array): void {
    const [policy = null, revision = null, ...verdict] = readLabels(labels);
    const time = this.#timeOf(hour) ?? "";
    if (verdict.length === 0) {
      const one = new Cell();
      one.addEncoded(cell);
      const key = `${time}\n${policy ?? ""}\n${revision ?? ""}`;
      this.#judged.set(key, (this.#judged.get(key) ?? 0) + one.get("judged"));
    }
    const perPolicy = this.#grouping.labels.every(({ dimension }) => dimension === "policy");
    // By policy a request counts once however many constraints it fails; finer, its verdicts count.
    if (perPolicy !== (verdict.length === 0)) return;
    const group = this.#group(hour, labels, () => [policy, ...verdict]);
    group.shadow.add(labels, cell);
    group.shadow.judgedBy.add(`${time}\n${policy ?? ""}\n${revision ?? ""}`);
  }

  finish(): { readonly groups: readonly Group[]; readonly truncated: boolean } {
    const bySize = [...this.#groups]
      .map(([key, cells]) => ({ key, cells, size: sizeOf(cells) }))
      .toSorted((left, right) => right.size - left.size || (left.key < right.key ? -1 : 1));
    const largest = bySize.slice(0, MAXIMUM_GROUPS).map(({ cells }) => cells);
    const { time } = this.#grouping;
    const shown =
      time === null
        ? largest
        : largest.toSorted((left, right) =>
            (left.group[time] ?? "") < (right.group[time] ?? "") ? -1 : left.group[time] === right.group[time] ? 0 : 1,
          );
    return {
      groups: shown.map((cells) => ({ group: cells.group, measures: this.#measures(cells) })),
      truncated: bySize.length > MAXIMUM_GROUPS,
    };
  }

  #measures({ cell, shadow }: GroupCells): Measures {
    switch (this.#grouping.facet) {
      case "place":
        return placeMeasures(cell);
      case "verdict": {
        let judged = 0;
        for (const key of shadow.judgedBy) judged += this.#judged.get(key) ?? 0;
        return verdictMeasures(cell, shadow.sum(judged));
      }
      case "total":
      case "traffic":
      case "key":
        return requestMeasures(cell);
    }
  }

  #group(hour: number, labels: string, read: (labels: string) => readonly (Word | null)[]): GroupCells {
    const part = this.#parts.get(labels) ?? this.#readPart(labels, read(labels));
    const time = this.#timeOf(hour);
    const key = `${time ?? ""}${part.key}`;
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    const group = time === null ? part.group : { ...part.group, [this.#grouping.time ?? "hour"]: asWord(time) };
    const made = { group: inOrder(this.#grouping.dimensions, group), cell: new Cell(), shadow: new ShadowCounts() };
    this.#groups.set(key, made);
    return made;
  }

  #readPart(labels: string, words: readonly (Word | null)[]): { readonly group: Group["group"]; readonly key: string } {
    const group: Partial<Record<Dimension, Word | null>> = {};
    for (const { dimension, position } of this.#grouping.labels) group[dimension] = words[position] ?? null;
    const part = { group, key: JSON.stringify(group) };
    this.#parts.set(labels, part);
    return part;
  }

  #timeOf(hour: number): string | null {
    const { time } = this.#grouping;
    if (time === null) return null;
    if (this.#time.hour !== hour) {
      const start = formatHour(hour);
      this.#time = { hour, text: time === "day" ? start.slice(0, 10) : start };
    }
    return this.#time.text;
  }
}

function sizeOf({ cell, shadow }: GroupCells): number {
  return cell.get("requests") + shadow.size;
}

function inOrder(dimensions: readonly Dimension[], group: Group["group"]): Group["group"] {
  return Object.fromEntries(dimensions.map((dimension) => [dimension, group[dimension] ?? null]));
}

function verdictLines(verdicts: ReadonlyMap<string, Cell>): readonly VerdictLine[] {
  const lines = [...verdicts].map(([labels, cell]) => {
    const [policy = null, constraint = null, reason = null] = readLabels(labels);
    return { policy, constraint, reason_code: reason, denied: cell.get("denied"), refused: cell.get("refused") };
  });
  return lines
    .toSorted((left, right) => right.denied + right.refused - left.denied - left.refused)
    .slice(0, MAXIMUM_GROUPS);
}

function cellOf(cells: Map<string, Cell>, key: string): Cell {
  const known = cells.get(key) ?? new Cell();
  cells.set(key, known);
  return known;
}
