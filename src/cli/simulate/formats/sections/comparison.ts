import {
  type Item,
  type List,
  type Section,
  at,
  name,
  names,
  quoted,
  strong,
} from "../../../document/document.ts";
import { explainCommand } from "../../../../simulate/explain/explain-arguments.ts";
import type {
  ChangeGroup,
  ComparisonReport,
  DataPath,
  RoutePath,
} from "../../../../simulate/report/report.ts";
import type { View } from "../../../../simulate/sample-request.ts";
import {
  amountText,
  listText,
  numberText,
  scopeText,
  seenText,
  shapesText,
} from "../../../terminal/printing.ts";
import type { ReportModel } from "../model.ts";
import { routeText } from "../screen/effect-text.ts";
import { effectsOf } from "../screen/effects.ts";
import { changeWording, titleOf, worstChange } from "../wording/comparison.ts";
import { compareResults, sampleText } from "../wording/results.ts";

export const VIEW_LABELS = { declared: "As declared", promoted: "As if promoted" } as const;

/** Both views; one of them where they are the same. */
export function comparisonSections(report: ReportModel): readonly Section[] {
  const described = new Set(
    report.causes.flatMap((cause) => effectsOf(cause, report).effects.map(({ group }) => group.id)),
  );
  // Where a cause is not known, nothing stands for its groups.
  const traced = new Set(
    report.causes.flatMap(({ groups, promoted_groups: later }) => [...groups, ...later]),
  );
  const isVariant = ({ id }: ChangeGroup) => traced.has(id) && !described.has(id);
  return [
    ...viewSections(report, "declared", isVariant),
    ...(report.difference.any ? viewSections(report, "promoted", isVariant) : []),
  ];
}

function viewSections(
  report: ReportModel,
  view: View,
  isVariant: (group: ChangeGroup) => boolean,
): readonly Section[] {
  const comparison = report[view];
  const { difference, complete } = report;
  const isDeclared = view === "declared";
  const section = (id: string, title: string, none: string, lists: readonly List[]): Section => ({
    id: `${view}-${id}`,
    view,
    title: `${title}${isDeclared ? "" : " as if promoted"}`,
    titleOfRest: `${title}${isDeclared ? "" : " only as if promoted"}`,
    reserve: isDeclared ? 20_000 : 12_000,
    blocks: lists,
    ...(lists.every(({ items }) => items.length === 0)
      ? { empty: complete ? none : "None among the classes that were decided." }
      : {}),
  });
  const repeated = (one: ChangeGroup | DataPath | RoutePath): Pick<Item, "shown"> =>
    isDeclared || difference.only.has(one) ? {} : { shown: "repeated" };
  const paths = (direction: "new" | "lost"): List => ({
    noun: "path",
    most: 30,
    items: comparison[`${direction}_data_paths`].map((path) => ({
      ...dataPathItem(path, direction === "new" ? "+" : "-"),
      ...repeated(path),
    })),
  });
  const routes: List = {
    noun: "path",
    most: 30,
    items: comparison.new_route_paths.map((path) => ({
      ...routePathItem(path),
      ...repeated(path),
    })),
  };
  return [
    section("route-paths", "Routes that reach a new destination", "None.", [routes]),
    section(
      "new-paths",
      "New data paths",
      "None: no workspace reaches, by any operation, a provider in a region that it did not reach before.",
      [paths("new")],
    ),
    section("lost-paths", "Lost data paths", "None.", [paths("lost")]),
    section("changes", "Changes", "No request is decided differently.", [
      kindsList(comparison, view),
      {
        noun: "group",
        most: 50,
        fold: true,
        items: comparison.groups.map((group) => ({
          ...groupItem(group, view),
          ...(isVariant(group) ? { shown: "variant" as const } : {}),
          ...repeated(group),
        })),
      },
    ]),
  ];
}

function kindsList({ kinds }: ComparisonReport, view: View): List {
  return {
    noun: "kind",
    only: "page",
    headings: ["Change", "Meaning", "Classes#", "Request shapes#"],
    items: kinds.map(({ kind, classes, shapes }) => {
      const { title, sentence, tone } = changeWording(kind);
      const cell = strong(title, tone, `tab=${view}&change=${encodeURIComponent(kind)}`);
      return { cells: [cell, sentence, numberText(classes), shapesText(shapes)] };
    }),
  };
}

function routePathItem(path: RoutePath): Item {
  const { route, operations, location } = path;
  const where = location && ", ";
  const text = [quoted(routePathText(path)), where, at(location)];
  return pathItem({ ...path, routes: [route] }, operations, "+", [text]);
}

function dataPathItem(path: DataPath, mark: "+" | "-"): Item {
  const { workspace, operation, routes } = path;
  return pathItem(path, [operation], mark, [
    name(workspace),
    name(operation),
    ["→ ", quoted(destinationText(path)), " by ", names(routes.map(routeText))],
  ]);
}

function pathItem(
  {
    workspace,
    routes,
    provider,
    region,
    example,
    explain,
  }: Pick<DataPath, "routes" | keyof (DataPath | RoutePath)>,
  operation: readonly string[],
  mark: "+" | "-",
  cells: Item["cells"],
): Item {
  return {
    mark,
    tone: mark === "+" ? "widen" : "narrow",
    cells,
    details: [["example", quoted(sampleText(example)), "page"]],
    command: explainCommand(explain),
    facets: {
      route: routes,
      workspace: [workspace],
      operation,
      provider: [provider],
      region: [region],
    },
  };
}

/** Headed by "- chat-eu  newly denied  4f2a9c01d4e5". */
function groupItem(group: ChangeGroup, view: View): Item {
  const { id, kinds, routes, workspaces, operations, base, head, location, example } = group;
  const evidenceText = seenText(group.seen, group.seen_usage);
  const { symbol, tone } = changeWording(worstChange(kinds));
  const candidates = [...base.plan, ...head.plan];
  return {
    mark: symbol,
    tone,
    cells: [
      routes.length === 0 ? "no route" : names(routes.map(routeText), 4),
      strong(titleOf(kinds), tone),
      evidenceText === null ? scopeText(group) : `${scopeText(group)}, ${evidenceText}`,
      name(id),
    ],
    details: [
      [workspaces.length === 1 ? "workspace" : "workspaces", names(workspaces)],
      [operations.length === 1 ? "operation" : "operations", names(operations)],
      ...group.conditions.map(({ dimension, values }) => [dimension, names(values)] as const),
      ["routes", routes.length > 4 ? names(routes.map(routeText)) : null],
      ["look at", at(location)],
      ["example", quoted(sampleText(example)), "page"],
    ],
    lines: compareResults(group),
    command: explainCommand(group.explain),
    id: `${view}-${id}`,
    facets: {
      change: kinds,
      route: routes,
      workspace: workspaces,
      operation: operations,
      provider: [...new Set(candidates.map(({ provider }) => provider))],
      region: [...new Set(candidates.map(({ region }) => region))],
    },
  };
}

/** "openai-us in us", with both hosts where the provider's host differs. */
function destinationText({ provider, region, host, other_host: other }: DataPath | RoutePath) {
  return `${provider} in ${region}${other === null ? "" : ` at ${host} (${other} on the other side)`}`;
}

/** "chat-eu for shop → openai-us in us (4 operations)" */
function routePathText(path: RoutePath): string {
  const { route, workspace, operations } = path;
  const what =
    operations.length > 2 ? amountText(operations.length, "operation") : listText(operations);
  return `${routeText(route)} for ${workspace} → ${destinationText(path)} (${what})`;
}
