import { CHANGE_KINDS } from "../../../../simulate/change-kind.ts";
import { VIEWS } from "../../../../simulate/sample-request.ts";
import type { SideReport } from "../../../../simulate/report/report.ts";
import type { FormatContext, ReportModel } from "../model.ts";
import { capitalised } from "../../../terminal/amounts.ts";
import { changeWording } from "../wording/change-wording.ts";
import { assertionsMarkup } from "./assertions.ts";
import { comparisonsMarkup, seeTheSame } from "./comparison.ts";
import { firstScreenMarkup } from "./first-screen.ts";
import { html, NOTHING, type Markup } from "./markup.ts";
import { code } from "./names.ts";
import {
  dimensionsMarkup,
  evidenceMarkup,
  findingsMarkup,
  latentMarkup,
  settingsMarkup,
  sidesMarkup,
} from "./details.ts";
import { verdictMarkup } from "./verdict.ts";

/** The report without the frame of a page: the console shows it too. */
export function reportMarkup(report: ReportModel, context: FormatContext): Markup {
  const { base, head } = report;
  return html`<header class="masthead">
      <p class="kicker">Signalbox simulation</p>
      <h1>${sideTitle(base)} <span role="img" aria-label="to">→</span> ${sideTitle(head)}</h1>
    </header>
    <main>
      ${firstScreenMarkup(report, context)} ${verdictMarkup(report)} ${contentsMarkup(report)}
      <div id="results">${filterMarkup()} ${comparisonsMarkup(report)}</div>
      ${assertionsMarkup(report.assertions, report.complete)} ${latentMarkup(report)} ${findingsMarkup(report)}
      ${settingsMarkup(report.changed_settings)} ${evidenceMarkup(report.evidence)} ${dimensionsMarkup(report)}
      ${sidesMarkup(report, context.reportDigest)}
    </main>
    <footer>
      <p>
        ${report.format}${context.reportDigest === null ? NOTHING : html` · SHA-256 <code>${context.reportDigest}</code>`}
      </p>
    </footer>`;
}

function sideTitle({ name, commit }: SideReport): Markup {
  return html`<span class="ref"
    >${code(name)}${commit === null || commit.startsWith(name) ? NOTHING : html` <small>${commit.slice(0, 12)}</small>`}</span
  >`;
}

function contentsMarkup(report: ReportModel): Markup {
  const panels = seeTheSame(report)
    ? [["declared", "declared promoted"] as const]
    : VIEWS.map((each) => [each, each] as const);
  return html`<nav aria-label="On this page">
    <ul>
      ${panels.map(
        ([panel, shownFor]) =>
          html`<li class="only ${shownFor}"><a href="#${panel}-new-paths">New data paths</a></li>
            <li class="only ${shownFor}"><a href="#${panel}-changes">Changes</a></li>`,
      )}
      <li><a href="#assertions">Assertions</a></li>
      <li><a href="#findings">Unused parts of head</a></li>
      <li><a href="#changed-settings">Changed settings</a></li>
      ${report.evidence === null ? NOTHING : html`<li><a href="#evidence">Evidence</a></li>`}
      <li><a href="#dimensions">Dimensions</a></li>
      <li><a href="#sides">Both sides</a></li>
    </ul>
  </nav>`;
}

const FIELDS = ["route", "workspace", "operation", "provider", "region"] as const;

/** Hidden until the script has filled it: a form that does nothing would mislead a reader without scripts. */
function filterMarkup(): Markup {
  return html` <form id="filter" role="search" aria-label="Filter the changes" autocomplete="off" hidden>
    <label class="wide"
      ><span>Search</span
      ><input id="filter-q" type="search" placeholder="any name, policy, reason or id" spellcheck="false"
    /></label>
    <label
      ><span>Change</span
      ><select id="filter-word">
        <option value="">any</option>
        ${CHANGE_KINDS.map((kind) => html`<option value="${kind}">${changeWording(kind).title}</option>`)}
      </select></label
    >
    ${FIELDS.map(
      (field) =>
        html`<label
          ><span>${capitalised(field)}</span
          ><select id="filter-${field}">
            <option value="">any</option>
          </select></label
        >`,
    )}
    <p><output id="filter-count" aria-live="polite"></output> <button type="reset">Clear</button></p>
  </form>`;
}
