/**
 * The part of the page's script without a document: it reads the fragment, matches and counts. A string, because the compiled program
 * must carry it to a browser unchanged; the tests run this very text.
 *
 * `parseState(fragment)` gives `null` for a fragment that is an ordinary anchor. `tally(rows, state)` takes rows `{facets, text, counts}` and
 * gives which of them are shown, and for every facet how many counting rows each value would leave with the other filters as they are.
 */
export const FILTER_SCRIPT = String.raw`
const FACETS = ["word", "route", "workspace", "operation", "provider", "region"];
const NO_FILTER = { tab: "declared", q: "", word: "", route: "", workspace: "", operation: "", provider: "", region: "" };

function parseState(fragment) {
  const text = fragment.replace(/^#/, "");
  if (!text.includes("=")) return null;
  const said = new URLSearchParams(text);
  const state = { ...NO_FILTER };
  for (const name of ["q", ...FACETS]) state[name] = said.get(name) ?? "";
  if (said.get("tab") === "promoted") state.tab = "promoted";
  return state;
}

function formatState(state) {
  const said = new URLSearchParams({ tab: state.tab });
  for (const name of ["q", ...FACETS]) if (state[name] !== "") said.set(name, state[name]);
  return said.toString();
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
