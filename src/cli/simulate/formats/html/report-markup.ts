import {
  NOTHING,
  blocksMarkup,
  html,
  markupOf,
  sectionMarkup,
  type Markup,
} from "../../../document/html.ts";
import { CHANGE_KINDS } from "../../../../simulate/change-kind.ts";
import { capitalised } from "../../../terminal/printing.ts";
import type { ReportDocument } from "../report-document.ts";
import { changeWording } from "../wording/comparison.ts";
import { figureMarkup } from "./figure-markup.ts";

/** The report without the frame of a page: the console shows it too. */
export function reportMarkup(document: ReportDocument): Markup {
  const { base, head, screen, figures, opening, notices, summary, sections, footer } = document;
  return html`<header class="masthead">
      <p class="kicker">Signalbox simulation</p>
      <h1><code>${base}</code> <span role="img" aria-label="to">→</span> <code>${head}</code></h1>
    </header>
    <main>
      <section aria-labelledby="first">
        <h2 id="first"><span class="${screen.tone}">${screen.verdict}</span> ${screen.headline}</h2>
        ${blocksMarkup(opening.slice(1))} ${figures.map(figureMarkup)}
      </section>
      ${notices.length === 0 ? NOTHING : html`<div class="alert">${blocksMarkup(notices)}</div>`}
      <section class="choice" aria-labelledby="verdict">
        <h2 id="verdict" class="unseen">Verdict</h2>
        ${viewsMarkup(document)} ${blocksMarkup(summary)}
      </section>
      ${contentsMarkup(document)}
      <div id="results">${filterMarkup()} ${panelsMarkup(document)}</div>
      ${sections.filter(({ view }) => view === undefined).map((section) => sectionMarkup(section, 2))}
    </main>
    <footer>${footer.map((text) => html`<p>${markupOf(text)}</p>`)}</footer>`;
}

/** The tabs between the views. */
function viewsMarkup({ views }: ReportDocument) {
  return html`<fieldset class="views">
    <legend>Candidate policies; choose the view shown below</legend>
    ${views.map(
      ({ view, title, verdict, sentence, tone }) =>
        html`<label class="verdict ${tone}"
          ><input
            type="radio"
            name="view"
            id="show-${view}"
            autocomplete="off"
            ${view === "declared" ? html` checked` : NOTHING}
          /><span class="view">${title}</span><strong>${verdict}</strong
          ><span>${sentence}</span></label
        >`,
    )}
  </fieldset>`;
}

/** Views with the tabs under which they are shown. */
function panelsOf({ views, isSameView }: ReportDocument) {
  return isSameView
    ? [
        {
          view: "declared",
          shownFor: "declared promoted",
          title: "As declared, and as if promoted",
        },
      ]
    : views.map(({ view, title }) => ({ view, shownFor: view, title }));
}

function panelsMarkup(document: ReportDocument): readonly Markup[] {
  return panelsOf(document).map(
    ({ view, shownFor, title }) =>
      html`<section class="panel ${shownFor}" aria-labelledby="${view}-title">
        <h2 id="${view}-title">${title}</h2>
        ${document.sections.filter((section) => section.view === view).map((section) => sectionMarkup(section, 3))}
        <p class="none unmatched" hidden>No change matches the filter.</p>
      </section>`,
  );
}

function contentsMarkup(document: ReportDocument): Markup {
  const shownFor = new Map<string | undefined, string>(
    panelsOf(document).map(({ view, shownFor: tabs }) => [view, tabs]),
  );
  return html`<nav aria-label="On this page">
    <ul>
      ${document.sections.map(({ id, title, view }) => html`<li class="only ${shownFor.get(view) ?? ""}"><a href="#${id}">${title}</a></li>`)}
    </ul>
  </nav>`;
}
const FIELDS = ["route", "workspace", "operation", "provider", "region"] as const;

/**
 * Hidden until the script has filled it: a form that does nothing would mislead a reader without
 * scripts.
 */
function filterMarkup() {
  return html` <form
    id="filter"
    role="search"
    aria-label="Filter the changes"
    autocomplete="off"
    hidden
  >
    <label class="wide"
      ><span>Search</span
      ><input
        id="filter-q"
        type="search"
        placeholder="any name, policy, reason or id"
        spellcheck="false"
    /></label>
    <label
      ><span>Change</span
      ><select id="filter-change">
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
    <p>
      <output id="filter-count" aria-live="polite"></output> <button type="reset">Clear</button>
    </p>
  </form>`;
}
