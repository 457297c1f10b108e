import type { FormatContext, ReportModel } from "../model.ts";
import { screenOf, type ScreenRow } from "../screen/screen.ts";
import { html, NOTHING, type Markup, visible, tableElement } from "./markup.ts";
import { code } from "./names.ts";
import type { CauseReport } from "../../../../simulate/report/cause-report.ts";
import type { CandidateReport, ChangeGroup } from "../../../../simulate/report/report.ts";
import { numberText } from "../../../terminal/amounts.ts";
import { effectsOf, type Effect } from "../screen/effects.ts";
import { OTHER_SIDE, type SideName } from "../../../../simulate/sample-request.ts";

/** The verdict and the causes before everything else, with the routes that they touch drawn. */
export function firstScreenMarkup(report: ReportModel, context: FormatContext): Markup {
  const { verdict, tone, headline, location: where, facts, rows, decide, explain, more } = screenOf(report, context);
  return html`<section aria-labelledby="first">
    <h2 id="first"><span class="${tone}">${verdict}</span> ${headline}</h2>
    <p>${facts.join(" · ")}${where === "" ? NOTHING : html` · ${code(where)}`}</p>
    ${
      rows.length === 0
        ? NOTHING
        : tableElement(
            html`<caption class="unseen">
              What changes
            </caption>`,
            ["Effect", "Who", "What"],
            rows.map(rowMarkup),
          )
    }
    ${decide === "" ? NOTHING : html`<p><strong>Decide:</strong> ${decide}</p>`}
    ${explain === null ? NOTHING : html`<p>${code(explain)}</p>`}
    ${more === "" ? NOTHING : html`<p>Below: ${more}.</p>`}
    ${report.causes.slice(0, MOST_PICTURES).flatMap((cause) => picturesMarkup(cause, report))}
  </section>`;
}

/** More are no overview any more. */
const MOST_PICTURES = 4;

function rowMarkup({ tag, tone, who, text, calls, location: where }: ScreenRow): Markup {
  const right = [calls, where].filter((part) => part !== "");
  return html`<tr>
    <th scope="row"><span class="badge ${tone}">${tag}</span></th>
    <td>${who}</td>
    <td>${text}${right.map((part) => html` <small>${part}</small>`)}</td>
  </tr>`;
}

const ROW = 26;
const TOP = 34;
/** Left edges of workspaces, route and endpoints, and the picture's width. */
const COLUMNS = { workspaces: 8, route: 230, base: 400, head: 640, width: 880 } as const;
const MOST_EFFECTS = 3;
const MOST_WORKSPACES = 8;
const MOST_CHARACTERS = 30;

/** The requests of the worst effects of a cause: who sends them, the route, and the endpoints before and after; without script and colours of its own. */
function picturesMarkup(cause: CauseReport, report: ReportModel): readonly Markup[] {
  return effectsOf(cause, report).effects.slice(0, MOST_EFFECTS).map(pictureMarkup);
}

function pictureMarkup({ group, workspaces }: Effect): Markup {
  const left = workspaces.length - MOST_WORKSPACES;
  const names = [...workspaces.slice(0, MOST_WORKSPACES), ...(left > 0 ? [`and ${numberText(left)} more`] : [])];
  const [before, after] = [endsOf(group, "base"), endsOf(group, "head")];
  const rows = Math.max(names.length, before.length, after.length);
  const middle = TOP + ((rows - 1) * ROW) / 2;
  const route = group.routes.join(", ");
  return html`<figure>
    <svg
      role="img"
      viewBox="0 0 ${COLUMNS.width} ${TOP + rows * ROW}"
      width="100%"
      fill="none"
      stroke="currentColor"
      font-size="13"
      font-family="inherit"
    >
      <title>${altText(group, workspaces)}</title>
      ${heading(COLUMNS.workspaces, "Workspaces")} ${heading(COLUMNS.route, "Route")} ${heading(COLUMNS.base, "Before")}
      ${heading(COLUMNS.head, "After")}
      ${names.map((name, index) => html`${label(COLUMNS.workspaces, TOP + index * ROW, name)}${edge(150, TOP + index * ROW, COLUMNS.route - 8, middle, "same")}`)}
      ${label(COLUMNS.route, middle, route)} ${before.map((end, index) => endMarkup(COLUMNS.base, index, end, middle))}
      ${after.map((end, index) => endMarkup(COLUMNS.head, index, end, middle))}
    </svg>
  </figure>`;
}

type Mark = "same" | "gained" | "lost";

interface End {
  readonly text: string;
  readonly mark: Mark;
}

const SIGNS: Readonly<Record<Mark, string>> = { same: "", gained: "+ ", lost: "− " };

function endsOf(group: ChangeGroup, side: SideName): readonly End[] {
  const { plan, denial } = group[side];
  const other = group[OTHER_SIDE[side]].plan;
  const mark = ({ endpoint }: CandidateReport): Mark =>
    other.some((there) => there.endpoint === endpoint) ? "same" : side === "head" ? "gained" : "lost";
  if (denial !== null) return [{ text: `refused: ${denial.policy}`, mark: side === "head" ? "lost" : "same" }];
  return plan.map((candidate, index) => ({
    text: `${index + 1}. ${candidate.endpoint} (${candidate.region})`,
    mark: mark(candidate),
  }));
}

function endMarkup(x: number, index: number, { text, mark }: End, middle: number): Markup {
  const y = TOP + index * ROW;
  const from = x === COLUMNS.base ? COLUMNS.base - 50 : COLUMNS.head - 30;
  return html`${edge(from, x === COLUMNS.base ? middle : y, x - 8, y, mark)}${label(x, y, `${SIGNS[mark]}${text}`, mark)}`;
}

/** What is new is bold and its line thick, what is gone is dashed: nothing depends on a colour. */
function edge(x1: number, y1: number, x2: number, y2: number, mark: Mark): Markup {
  const width = mark === "gained" ? 3 : 1;
  const dash = mark === "lost" ? html` stroke-dasharray="4 4"` : NOTHING;
  return html`<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke-width="${width}" ${dash} />`;
}

function heading(x: number, text: string): Markup {
  return html`<text x="${x}" y="12" fill="currentColor" stroke="none" font-size="11">${text}</text>`;
}

function label(x: number, y: number, text: string, mark: Mark = "same"): Markup {
  const weight = mark === "gained" ? "700" : "400";
  const shown = visible(text);
  const cut = shown.length <= MOST_CHARACTERS ? shown : `${shown.slice(0, MOST_CHARACTERS - 1)}…`;
  return html`<text x="${x}" y="${y + 4}" fill="currentColor" stroke="none" font-weight="${weight}">${cut}</text>`;
}

function altText({ routes, base, head }: ChangeGroup, workspaces: readonly string[]): string {
  const plan = (of: ChangeGroup["base"]): string =>
    of.denial === null ? of.plan.map(({ endpoint }) => endpoint).join(", then ") : "refused";
  return `${workspaces.join(", ")} asking ${routes.join(", ")}: before ${plan(base)}; after ${plan(head)}`;
}
