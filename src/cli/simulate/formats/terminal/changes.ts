import type { ChangeGroup, DataPath, RoutePath } from "../../../../simulate/report/report.ts";
import type { SideLocation } from "../../../../simulate/report/location.ts";
import { amountText, scopeText, listText, numberText, seenText } from "../../../terminal/amounts.ts";
import { changeWording, titleOf, worstChange } from "../wording/change-wording.ts";
import { commonOf, shortResults, type ResultLine } from "../wording/results.ts";
import { destinationText, routePathText } from "../wording/settings.ts";
import { explainCommand } from "../../../../simulate/explain/explain-arguments.ts";
import {
  BLANK,
  columnsOf,
  commandLine,
  line,
  nameLine,
  padded,
  span,
  type Line,
  type Span,
  type Style,
} from "../../../terminal/layout.ts";
import { routesText } from "../screen/effect-text.ts";

/** What a person reads before she looks for a file; the other formats have all. */
const MOST_GROUPS = 50;
const MOST_PATHS = 30;
/** Wider columns would push what follows out of the window. */
const WIDEST_COLUMN = 32;
const DETAIL = 6;

export function pathLines(title: string, mark: "+" | "-", paths: readonly DataPath[]): readonly Line[] {
  if (paths.length === 0) return [];
  const shown = paths.slice(0, MOST_PATHS);
  const columns = (cell: (path: DataPath) => string): number => columnWidth(shown.map(cell));
  const [workspaces, operations] = [columns(({ workspace }) => workspace), columns(({ operation }) => operation)];
  const style: Style = mark === "+" ? "yellow" : "dim";
  const lines = shown.flatMap((path) => {
    const { workspace, operation, routes } = path;
    const seen = seenText(path.seen);
    return [
      line(
        2,
        span(`${mark} `, style, "bold"),
        span(`${padded(workspace, workspaces)}  ${padded(operation, operations)}  → `),
        span(destinationText(path), style, "bold"),
        span(`  by ${listText(routes, 3)}${seen === null ? "" : `, ${seen}`}`),
      ),
      ...(mark === "+" ? [commandLine(4, "try", 3, explainCommand(path.explain))] : []),
    ];
  });
  return [
    BLANK,
    line(0, span(title, "bold", style), span(` (${numberText(paths.length)})`)),
    ...lines,
    ...moreLine(paths.length - shown.length, "path"),
  ];
}

export function routePathLines(title: string, paths: readonly RoutePath[]): readonly Line[] {
  if (paths.length === 0) return [];
  const shown = paths.slice(0, MOST_PATHS);
  return [
    BLANK,
    line(0, span(title, "bold", "yellow"), span(` (${numberText(paths.length)})`)),
    ...shown.flatMap((path) => [
      line(2, span("+ ", "yellow", "bold"), span(routePathText(path))),
      commandLine(4, "try", 3, explainCommand(path.explain)),
    ]),
    ...moreLine(paths.length - shown.length, "path"),
  ];
}

export function groupLines(groups: readonly ChangeGroup[]): readonly Line[] {
  const shown = groups.slice(0, MOST_GROUPS);
  return [...shown.flatMap((group) => [BLANK, ...oneGroup(group)]), ...moreLine(groups.length - shown.length, "group")];
}

/** "  - chat-eu: newly denied": a group in one line. */
export function groupHead(group: ChangeGroup): Line {
  const { symbol, colour } = changeWording(worstChange(group.words));
  return line(
    2,
    span(`${symbol} `, colour, "bold"),
    span(group.routes.length === 0 ? "no route" : routesText(group.routes, 4), "bold"),
    span(": "),
    span(titleOf(group.words), colour),
    span(`  ${group.id}`, "dim"),
  );
}

function oneGroup(group: ChangeGroup): readonly Line[] {
  const common = commonOf(group);
  const columns = columnWidth(["look at", "result", ...common.map(({ name }) => name)]);
  const seen = seenText(group.seen, group.seen_usage);
  const scope = seen === null ? scopeText(group) : `${scopeText(group)}, ${seen}`;
  const { lines, left } = shortResults(group);
  const results = resultLines(lines, columns);
  return [
    groupHead(group),
    ...common.map(({ name, values }) => nameLine(DETAIL, name, columns, span(listText(values)))),
    ...results,
    ...(left === 0 ? [] : [nameLine(DETAIL, "", columns, span(`  … ${amountText(left, "more line")}`, "dim"))]),
    nameLine(DETAIL, "scope", columns, span(scope)),
    ...(group.place === null
      ? []
      : [nameLine(DETAIL, "look at", columns, span(placed(group.place)), span(sideNote(group.place), "dim"))]),
    commandLine(DETAIL, "try", columns, explainCommand(group.explain)),
  ];
}

/** A line of base is not where head's reader would look for it. */
function sideNote({ side }: SideLocation): string {
  return side === "base" ? "  in base" : "";
}

export function placed({
  file,
  line: row,
  column,
}: {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}): string {
  return `${file}:${row}:${column}`;
}

export const MARK_STYLES = { "+": "green", "-": "red", "~": "yellow" } as const satisfies Record<string, Style>;

/** A denial that is added takes something away. */
const DENIAL_STYLES = { "+": "red", "-": "green", "~": "yellow" } as const satisfies Record<string, Style>;

function resultLines(lines: readonly ResultLine[], columns: number): readonly Line[] {
  const candidates = lines.flatMap(({ candidate }) => (candidate === null ? [] : [candidate]));
  const endpoints = columnWidth(candidates.map(({ endpoint }) => endpoint));
  const models = columnWidth(candidates.map(({ model }) => model));
  return lines.map(({ about, mark, text, candidate, note }, index) => {
    const styles: readonly Style[] = mark === null ? [] : [(about === "denial" ? DENIAL_STYLES : MARK_STYLES)[mark]];
    const shown =
      candidate === null
        ? text
        : `${padded(candidate.endpoint, endpoints)}  ${padded(candidate.model, models)}  ${candidate.provider} in ${candidate.region}${note === "" ? "" : ` (${note})`}`;
    const spans: readonly Span[] = [span(`${mark ?? " "} `, ...styles), span(shown, ...styles)];
    const name = nameLine(DETAIL, index === 0 ? "result" : "", columns, ...spans);
    return { ...name, hang: name.hang + 2 };
  });
}

export function columnWidth(cells: readonly string[]): number {
  return Math.min(WIDEST_COLUMN, Math.max(0, ...cells.map(columnsOf)));
}

/** Says what is not shown, and where it is. */
export function moreLine(left: number, singular: string): readonly Line[] {
  if (left <= 0) return [];
  const text = `… ${amountText(left, `more ${singular}`)}; --format json and html have them all`;
  return [BLANK, line(2, span(text, "dim"))];
}
