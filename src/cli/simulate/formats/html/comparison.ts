import type { ChangeKind } from "../../../../simulate/change-kind.ts";
import { VIEWS, type View } from "../../../../simulate/sample-request.ts";
import type { ChangeGroup, ComparisonReport, DataPath, RoutePath } from "../../../../simulate/report/report.ts";
import type { SeenUsage } from "../../../../simulate/evidence/seen-usage.ts";
import type { ReportModel } from "../model.ts";
import { amountText, scopeText, numberText, seenText, shapesText } from "../../../terminal/amounts.ts";
import { changeWording, worstFirst } from "../wording/change-wording.ts";
import { destinationText, ROUTE_PATHS_TITLE, routePathText } from "../wording/settings.ts";
import { html, NOTHING, type Markup, table } from "./markup.ts";
import { code, facetsAttribute, nameList, shownName, type Facets } from "./names.ts";
import { plansMarkup } from "./plans.ts";
import { locationMarkup, exampleMarkup } from "./example-request.ts";

export const LABEL_OF_VIEW: Readonly<Record<View, string>> = {
  declared: "As declared",
  promoted: "As if promoted",
};

/** What both views see, one of them at a time; once where they see the same, which spares half of a large page. */
export function comparisonsMarkup(report: ReportModel): Markup {
  if (seeTheSame(report))
    return panelMarkup(report, "declared", "declared promoted", "As declared, and as if promoted");
  return html`${VIEWS.map((view) => panelMarkup(report, view, view, LABEL_OF_VIEW[view]))}`;
}

/** Whether promotion changes nothing that is shown. */
export function seeTheSame({ declared, promoted }: ReportModel): boolean {
  return JSON.stringify(declared) === JSON.stringify(promoted);
}

function panelMarkup(report: ReportModel, view: View, shownFor: string, title: string): Markup {
  const comparison = report[view];
  const paths = (direction: "new" | "lost"): Markup => pathsMarkup(report, view, direction);
  const { groups } = comparison;
  return html`
    <section class="panel ${shownFor}" aria-labelledby="${view}-title">
      <h2 id="${view}-title">${title}</h2>
      <div class="lead">${leadOf(report, view)}</div>
      ${routePathsMarkup(comparison.new_route_paths)} ${paths("new")} ${paths("lost")}
      <section aria-labelledby="${view}-changes">
        <h3 id="${view}-changes">Changes <span class="count">${numberText(groups.length)}</span></h3>
        ${changesMarkup(comparison, view)}
        ${groups.length === 0 ? html`<p class="none">${report.complete ? "No request is decided differently." : "None among the classes that were decided."}</p>` : NOTHING}
        ${groups.map((group) => groupMarkup(group, view))}
        <p class="none unmatched" hidden>No change matches the filter.</p>
      </section>
    </section>
  `;
}

function leadOf(report: ReportModel, view: View): Markup {
  const { promoted_policies: promoted } = report;
  if (view === "promoted") return html`What the change does with these candidates enforced: ${nameList(promoted)}`;
  if (!seeTheSame(report)) return html`Enforced policies decide; candidates decide nothing.`;
  if (promoted.length === 0) return html`There is no candidate to promote, so both views are equal.`;
  return html`Promotion of these candidates would change nothing here: ${nameList(promoted)}`;
}

function changesMarkup({ words }: ComparisonReport, view: View): Markup {
  if (words.length === 0) return NOTHING;
  const row = ({ word, classes, shapes }: ComparisonReport["words"][number]): Markup =>
    html`<tr>
      <th scope="row">
        <a class="filter-link" href="#tab=${view}&amp;word=${encodeURIComponent(word)}">${badge(word)}</a>
      </th>
      <td>${changeWording(word).sentence}</td>
      <td class="number">${numberText(classes)}</td>
      <td class="number">${shapesText(shapes)}</td>
    </tr>`;
  const caption = "Kinds of change; a class can be of several";
  return table("Kinds of change", ["Change", "Meaning", "Classes#", "Request shapes#"], words.map(row), caption);
}

function routePathsMarkup(paths: readonly RoutePath[]): Markup {
  if (paths.length === 0) return NOTHING;
  return html`<section class="paths new">
    <h3>${ROUTE_PATHS_TITLE} <span class="count">${numberText(paths.length)}</span></h3>
    <ul>
      ${paths.map((path) => html`<li class="path" data-facets="${facetsAttribute(routeFacets(path))}">${routePathText(path)} ${exampleMarkup(path.example, path.explain, "")}</li>`)}
    </ul>
  </section>`;
}

function routeFacets({ route, workspace, operations, provider, region }: RoutePath): Facets {
  return { route: [route], workspace: [workspace], operation: operations, provider: [provider], region: [region] };
}

const PATHS = {
  new: {
    title: "New data paths",
    meaning: "Where requests can go in head and could not in base.",
    nowhere: "None: no workspace reaches, by any operation, a provider in a region that it did not reach before.",
  },
  lost: {
    title: "Lost data paths",
    meaning: "Where requests could go in base and cannot in head.",
    nowhere: "None.",
  },
} as const;

function pathsMarkup(report: ReportModel, view: View, direction: "new" | "lost"): Markup {
  const paths = report[view][`${direction}_data_paths`];
  const id = `${view}-${direction}-paths`;
  const { title, meaning, nowhere } = PATHS[direction];
  const none = html`<p class="none">${report.complete ? nowhere : "None among the classes that were decided."}</p>`;
  return html`<section class="paths ${direction}" aria-labelledby="${id}">
    <h3 id="${id}">${title} <span class="count">${numberText(paths.length)}</span></h3>
    ${
      paths.length === 0
        ? none
        : html`<p class="lead">${meaning}</p>
            <ul>
              ${paths.map((path) => pathMarkup(path, direction))}
            </ul>`
    }
  </section>`;
}

function pathMarkup(path: DataPath, direction: "new" | "lost"): Markup {
  const { workspace, operation, provider, region, routes, example, explain, seen } = path;
  const facets: Facets = {
    route: routes,
    workspace: [workspace],
    operation: [operation],
    provider: [provider],
    region: [region],
  };
  return html`<li class="path" data-facets="${facetsAttribute(facets)}">
    <p class="way">
      <strong class="sign">${direction === "new" ? "+" : "−"} ${direction}</strong> ${code(workspace)}
      <span>${operation}</span> <span aria-label="to" role="img">→</span> ${code(provider)} <span>in ${region}</span>
      ${path.other_host === null ? NOTHING : html`<span>${destinationText(path)}</span>`}
    </p>
    <div class="note">by ${nameList(routes)}${seenMarkup(seen)}</div>
    ${exampleMarkup(example, explain, "")}
  </li>`;
}

function groupMarkup(group: ChangeGroup, view: View): Markup {
  const anchor = `${view}-${group.id}`;
  const candidates = [...group.base.plan, ...group.head.plan];
  const facets: Facets = {
    word: group.words,
    route: group.routes,
    workspace: group.workspaces,
    operation: group.operations,
    provider: distinct(candidates.map(({ provider }) => provider)),
    region: distinct(candidates.map(({ region }) => region)),
  };
  return html` <article class="change" id="${anchor}" data-facets="${facetsAttribute(facets)}">
    <header>
      <h4>${titleOf(group)}</h4>
      <p class="badges">${worstFirst(group.words).map(badge)}</p>
    </header>
    <dl class="facts">
      ${fact("workspaces", nameList(group.workspaces))}${fact("operations", nameList(group.operations))}${group.routes.length > 1 ? fact("routes", nameList(group.routes)) : NOTHING}${group.conditions.map(({ dimension, values }) => fact(dimension, nameList(values)))}
    </dl>
    ${plansMarkup(group)}
    <p class="note">
      ${scopeText(group)}${seenMarkup(group.seen, group.seen_usage)}
      <a class="anchor" href="#${anchor}" aria-label="Link to change ${group.id}">${group.id}</a>
      ${locationMarkup(group.place)}${group.place?.side === "base" ? " in base" : ""}
    </p>
    ${exampleMarkup(group.example, group.explain, exampleNote(group))}
  </article>`;
}

function titleOf({ routes }: ChangeGroup): Markup {
  const [first = ""] = routes;
  return routes.length > 1
    ? html`${code(first)} and ${amountText(routes.length - 1, "other route")}`
    : html`${code(first)}`;
}

function exampleNote({ example }: ChangeGroup): string {
  return `${shownName(example.workspace)}, ${example.operation}`;
}

function badge(kind: ChangeKind): Markup {
  const {
    title,
    look: { sign, tone },
  } = changeWording(kind);
  return html`<span class="badge ${tone}">${sign} ${title}</span>`;
}

function fact(name: string, value: Markup): Markup {
  return html`<div>
    <dt>${name}</dt>
    <dd>${value}</dd>
  </div>`;
}

function seenMarkup(seen: number | null, usage: SeenUsage | null = null): Markup {
  const text = seenText(seen, usage);
  if (text === null) return NOTHING;
  return seen === 0 ? html`; ${text}` : html`; <strong>${text}</strong>`;
}

function distinct(names: readonly string[]): readonly string[] {
  return [...new Set(names)];
}
