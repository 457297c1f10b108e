import { isOperation } from "../canon/operation.ts";
import type { Identifier } from "../evidence/record.ts";
import { addTo, Cell, encodedCount } from "./cell.ts";
import type { Grouping } from "./dimensions.ts";
import { Groups, MAXIMUM_GROUPS, type Group } from "./groups.ts";
import type { Facet, RollUpRow } from "./increments.ts";
import { requestMeasures, type Measures, spendMeasures, type SpendMeasures } from "./measures.ts";
import { readLabels, ShadowCounts, type ShadowPolicy } from "./shadow-counts.ts";

/** Cells by facet, pages of them: the store's `read` for some workspaces and one window. */
type CellSource = (facet: Facet) => AsyncIterable<readonly RollUpRow[]>;

/** Requests that were denied or refused for one and the same reason. */
interface VerdictLine {
  readonly policy: Identifier | null;
  readonly constraint: Identifier | null;
  readonly reason_code: Identifier | null;
  readonly denied: number;
  readonly refused: number;
}

export interface Summary {
  readonly totals: Measures;
  readonly spend: SpendMeasures;
  readonly groups: readonly Group[];
  /** There were more groups; these have the most requests. */
  readonly truncated: boolean;
  readonly verdicts: readonly VerdictLine[];
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

function addRow(groups: Groups, { labels: wanted }: Grouping, facet: Facet, row: RollUpRow): void {
  const { hour, labels, cell, workspace } = row;
  // By route only, what the router answers itself would be traffic without a route.
  if (facet === "traffic" && wanted.every(({ dimension }) => dimension !== "operation")) {
    if (!isOperation(readLabels(labels)[0] ?? "")) return;
  }
  if (facet === "shadow") groups.addShadow(hour, labels, cell);
  else if (wanted.some(({ dimension }) => dimension === "workspace")) {
    groups.add(
      hour,
      `${labels.slice(0, -1)}${labels === "[]" ? "" : ","}${JSON.stringify(workspace)}]`,
      cell,
    );
  } else groups.add(hour, labels, cell);
}

function verdictLines(verdicts: ReadonlyMap<string, Cell>): readonly VerdictLine[] {
  const lines = [...verdicts].map(([labels, cell]) => {
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
