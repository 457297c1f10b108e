import { createHash } from "node:crypto";
import type { FormatContext, ReportModel } from "../model.ts";
import {
  blocksMarkup,
  html,
  type Markup,
  markupOf,
  NOTHING,
  rawElement,
  sectionMarkup,
} from "../../../document/html.ts";
import { documentOf, type ReportDocument } from "../report-document.ts";
import { PAGE_SCRIPT } from "./script.ts";
import { PAGE_STYLE } from "./style.ts";
import { CHANGE_KINDS } from "../../../../simulate/change-kind.ts";
import { capitalised } from "../../../terminal/printing.ts";
import { changeWording } from "../wording/comparison.ts";
import { figureMarkup } from "./figure-markup.ts";

/**
 * The report as one page without external resources: its policy allows its own style and script, by
 * their hashes, and nothing else. Complete without script; the same bytes for the same
 * report.
 */
export function formatHtml(report: ReportModel, context: FormatContext): string {
  const { base, head } = report;
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content="${contentPolicy()}" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="referrer" content="no-referrer" />
        <meta name="color-scheme" content="light dark" />
        <title>Simulation: ${base.name} → ${head.name}</title>
        ${rawElement("style", PAGE_STYLE)}
      </head>
      <body>
        <a class="skip" href="#results">Skip to the changes</a>
        ${reportMarkup(documentOf(report, context))} ${rawElement("script", PAGE_SCRIPT)}
      </body>
    </html> `;
  return page.toString();
}

function contentPolicy() {
  return `default-src 'none'; script-src '${hashOf(PAGE_SCRIPT)}'; style-src '${hashOf(PAGE_STYLE)}'; base-uri 'none'; form-action 'none'`;
}

function hashOf(text: string) {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}

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
