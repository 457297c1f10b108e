import { html, type Markup, NOTHING, visible } from "../../../document/html.ts";
import { numberText } from "../../../terminal/printing.ts";
import type { CandidateReport, ChangeGroup } from "../../../../simulate/report/report.ts";
import { OTHER_SIDE, type SideName } from "../../../../simulate/sample-request.ts";
import type { ReportModel } from "../model.ts";
import { effectsOf } from "../screen/effects.ts";

const ROW = 26;
const TOP = 34;
/** Left edges of workspaces, route and endpoints, and the picture's width. */
const COLUMNS = { workspaces: 8, route: 230, base: 400, head: 640, width: 880 } as const;
const MOST_WORKSPACES = 8;
const MOST_CHARACTERS = 30;

/** Without script and colours of its own. */
export function figureMarkup({ workspaces, route, before, after, text }: Figure): Markup {
  const omitted = workspaces.length - MOST_WORKSPACES;
  const names = [
    ...workspaces.slice(0, MOST_WORKSPACES),
    ...(omitted > 0 ? [`and ${numberText(omitted)} more`] : []),
  ];
  const rows = Math.max(names.length, before.length, after.length);
  const middle = TOP + ((rows - 1) * ROW) / 2;
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
      <title>${text}</title>
      ${heading(COLUMNS.workspaces, "Workspaces")} ${heading(COLUMNS.route, "Route")}
      ${heading(COLUMNS.base, "Before")} ${heading(COLUMNS.head, "After")}
      ${names.map((name, index) => html`${label(COLUMNS.workspaces, TOP + index * ROW, name)}${edge(150, TOP + index * ROW, COLUMNS.route - 8, middle, "same")}`)}
      ${label(COLUMNS.route, middle, route)}
      ${before.map((end, index) => endMarkup(COLUMNS.base, index, end, middle))}
      ${after.map((end, index) => endMarkup(COLUMNS.head, index, end, middle))}
    </svg>
  </figure>`;
}

const SIGNS = { same: "", gained: "+ ", lost: "− " } as const;

function endMarkup(x: number, index: number, { text, mark }: FigureEnd, middle: number): Markup {
  const y = TOP + index * ROW;
  const from = x === COLUMNS.base ? COLUMNS.base - 50 : COLUMNS.head - 30;
  return html`${edge(from, x === COLUMNS.base ? middle : y, x - 8, y, mark)}${label(x, y, `${SIGNS[mark]}${text}`, mark)}`;
}

/** New endpoints are bold with a thick line, lost ones dashed: colour carries no meaning. */
function edge(x1: number, y1: number, x2: number, y2: number, mark: FigureEnd["mark"]): Markup {
  const width = mark === "gained" ? 3 : 1;
  const dash = mark === "lost" ? html` stroke-dasharray="4 4"` : NOTHING;
  return html`<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke-width="${width}" ${dash} />`;
}

function heading(x: number, text: string) {
  return html`<text x="${x}" y="12" fill="currentColor" stroke="none" font-size="11"
    >${text}</text
  >`;
}

function label(x: number, y: number, text: string, mark: FigureEnd["mark"] = "same"): Markup {
  const weight = mark === "gained" ? "700" : "400";
  const shown = visible(text);
  const fitted =
    shown.length <= MOST_CHARACTERS ? shown : `${shown.slice(0, MOST_CHARACTERS - 1)}…`;
  return html`<text x="${x}" y="${y + 4}" fill="currentColor" stroke="none" font-weight="${weight}"
    >${fitted}</text
  >`;
}

/** The requests of an effect: who sends them, the route, and the endpoints before and after. */
type Figure = ReturnType<typeof figuresOf>[number];

interface FigureEnd {
  readonly text: string;
  readonly mark: "same" | "gained" | "lost";
}

/** More are no overview any more. */
const MOST_CAUSES = 4;
const MOST_EFFECTS = 3;

/** Of the worst effects of each cause. */
export function figuresOf(report: ReportModel) {
  return report.causes.slice(0, MOST_CAUSES).flatMap((cause) =>
    effectsOf(cause, report)
      .effects.slice(0, MOST_EFFECTS)
      .map(({ group, workspaces, routes }) => ({
        workspaces,
        route: routes.join(", "),
        before: endsOf(group, "base"),
        after: endsOf(group, "head"),
        /** The same as a sentence. */
        text: `${workspaces.join(", ")} asking ${routes.join(", ")}: before ${planText(group.base)}; after ${planText(group.head)}`,
      })),
  );
}

function endsOf(group: ChangeGroup, side: SideName): readonly FigureEnd[] {
  const { plan, denial } = group[side];
  const other = group[OTHER_SIDE[side]].plan;
  const mark = ({ endpoint }: CandidateReport) =>
    other.some((there) => there.endpoint === endpoint)
      ? "same"
      : side === "head"
        ? "gained"
        : "lost";
  if (denial !== null)
    return [{ text: `refused: ${denial.policy}`, mark: side === "head" ? "lost" : "same" }];
  return plan.map((candidate, index) => ({
    text: `${index + 1}. ${candidate.endpoint} (${candidate.region})`,
    mark: mark(candidate),
  }));
}

function planText({ plan, denial }: ChangeGroup["base"]) {
  return denial === null ? plan.map(({ endpoint }) => endpoint).join(", then ") : "refused";
}
