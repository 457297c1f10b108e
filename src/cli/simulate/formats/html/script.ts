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
