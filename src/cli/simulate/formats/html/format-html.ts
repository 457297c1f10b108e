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

/**
 * The part of the page's script without a document: it reads the fragment, matches and counts. A
 * string, because the compiled program must carry it to a browser unchanged; the tests run this
 * very text.
 *
 * `parseState(fragment)` gives `null` for a fragment that is an ordinary anchor.
 * `tally(rows, state)` takes rows `{facets, text, counts}` and gives which of them are shown, and
 * for every facet how many counting rows each value would leave with the other filters as they are.
 */
export const FILTER_SCRIPT = String.raw`
const FACETS = ["change", "route", "workspace", "operation", "provider", "region"];
const NO_FILTER = { tab: "declared", q: "", change: "", route: "", workspace: "", operation: "", provider: "", region: "" };

function parseState(fragment) {
  const text = fragment.replace(/^#/, "");
  if (!text.includes("=")) return null;
  const parameters = new URLSearchParams(text);
  const state = { ...NO_FILTER };
  for (const name of ["q", ...FACETS]) state[name] = parameters.get(name) ?? "";
  if (parameters.get("tab") === "promoted") state.tab = "promoted";
  return state;
}

function formatState(state) {
  const parameters = new URLSearchParams({ tab: state.tab });
  for (const name of ["q", ...FACETS]) if (state[name] !== "") parameters.set(name, state[name]);
  return parameters.toString();
}

function tally(rows, state) {
  const terms = state.q.toLowerCase().split(/\s+/).filter((term) => term !== "");
  const counts = new Map(FACETS.map((facet) => [facet, new Map()]));
  const shown = [];
  for (const row of rows) {
    const failing = FACETS.filter((facet) => fails(row.facets[facet], state[facet]));
    const found = terms.length === 0 || includesAll(row.text(), terms);
    shown.push(found && failing.length === 0);
    for (const facet of FACETS) {
      const leaves = found && row.counts && (failing.length === 0 || (failing.length === 1 && failing[0] === facet));
      const values = counts.get(facet);
      for (const value of row.facets[facet] ?? []) values.set(value, (values.get(value) ?? 0) + (leaves ? 1 : 0));
    }
  }
  return { shown, counts };
}

function fails(values, wanted) {
  return wanted !== "" && values !== undefined && !values.includes(wanted);
}

function includesAll(text, terms) {
  return terms.every((term) => text.includes(term));
}
`;

/**
 * The rest of the page's script. The page is complete without it; it filters, keeps the filter in
 * the address, and copies.
 */
const CONTROL_SCRIPT = String.raw`
const form = document.getElementById("filter");
const search = document.getElementById("filter-q");
const selects = new Map(FACETS.map((facet) => [facet, document.getElementById("filter-" + facet)]));
const count = document.getElementById("filter-count");
const radios = new Map(["declared", "promoted"].map((tab) => [tab, document.getElementById("show-" + tab)]));
const collator = new Intl.Collator("en", { numeric: true });
const rowsOfTab = new Map();
let state = { ...NO_FILTER };

function rowsOf(tab) {
  if (!rowsOfTab.has(tab)) rowsOfTab.set(tab, [...document.querySelectorAll("." + tab + " [data-facets]")].map(rowOf));
  return rowsOfTab.get(tab);
}

function rowOf(element) {
  const facets = JSON.parse(element.dataset.facets);
  let text = null;
  return { element, facets, counts: facets.change !== undefined, text: () => (text ??= element.textContent.toLowerCase()) };
}

function apply() {
  const rows = rowsOf(state.tab);
  const { shown, counts } = tally(rows, state);
  rows.forEach((row, index) => {
    if (row.element.hidden === shown[index]) row.element.hidden = !shown[index];
  });
  for (const [facet, select] of selects) offer(select, counts.get(facet), state[facet]);
  search.value = state.q;
  radios.get(state.tab).checked = true;
  const all = rows.filter((row) => row.counts).length;
  const left = rows.filter((row, index) => row.counts && shown[index]).length;
  count.value = left === all ? all.toLocaleString("en") + (all === 1 ? " change" : " changes") : left.toLocaleString("en") + " of " + all.toLocaleString("en") + " changes";
  const unmatched = document.querySelector("." + state.tab + " .unmatched");
  if (unmatched !== null) unmatched.hidden = left > 0 || all === 0;
  form.classList.toggle("filtering", left !== all);
}

function offer(select, values, chosen) {
  const names = [...values.keys()];
  if (chosen !== "" && !values.has(chosen)) names.push(chosen);
  names.sort(collator.compare);
  const isOffered = select.dataset.offered === state.tab && select.options.length === names.length + 1;
  if (!isOffered) {
    select.length = 1;
    for (const name of names) select.append(new Option(name, name));
    select.dataset.offered = state.tab;
  }
  for (const option of [...select.options].slice(1)) {
    const label = (CHANGES.get(option.value) ?? option.value) + " (" + (values.get(option.value) ?? 0).toLocaleString("en") + ")";
    if (option.text !== label) option.text = label;
  }
  select.value = chosen;
}

function change(next) {
  state = { ...state, ...next };
  apply();
  history.replaceState(null, "", "#" + formatState(state));
}

function follow() {
  const linked = parseState(location.hash);
  if (linked !== null) {
    state = linked;
    apply();
    return;
  }
  const target = document.getElementById(decoded(location.hash.slice(1)));
  const panel = target === null ? null : target.closest(".panel");
  if (panel !== null) {
    state = { ...state, tab: panel.classList.contains("promoted") ? "promoted" : "declared" };
    apply();
    target.hidden = false;
    target.scrollIntoView();
  }
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function copy(button) {
  const source = button.previousElementSibling;
  const say = (text) => {
    button.textContent = text;
    setTimeout(() => (button.textContent = "Copy"), 2000);
  };
  const byHand = () => {
    getSelection().selectAllChildren(source);
    say(document.execCommand("copy") ? "Copied" : "Selected");
  };
  if (navigator.clipboard === undefined) byHand();
  else navigator.clipboard.writeText(source.textContent).then(() => say("Copied"), byHand);
}

const CHANGES = new Map([...selects.get("change").options].slice(1).map((option) => [option.value, option.text]));
let waiting = 0;
search.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => change({ q: search.value }), 120);
});
for (const [facet, select] of selects) select.addEventListener("change", () => change({ [facet]: select.value }));
for (const [tab, radio] of radios) radio.addEventListener("change", () => change({ tab }));
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", (event) => {
  event.preventDefault();
  change({ ...NO_FILTER, tab: state.tab });
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button !== null) copy(button);
});
addEventListener("hashchange", follow);
document.documentElement.classList.add("scripted");
form.hidden = false;
apply();
follow();
`;

/** The page's whole script. */
export const PAGE_SCRIPT = `"use strict";(() => {${FILTER_SCRIPT}${CONTROL_SCRIPT}})();`;
