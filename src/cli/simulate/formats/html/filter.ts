import { CHANGE_WORDS } from "../../../../simulate/point.ts";
import { CHANGE_WORDING } from "../wording/change-words.ts";
import { capitalised } from "../wording/amounts.ts";
import { html, type Markup } from "./markup.ts";

const FIELDS = ["route", "workspace", "operation", "provider", "region"] as const;

/** Hidden until the script has filled it: a form that does nothing would mislead a reader without scripts. */
export function filterMarkup(): Markup {
  return html` <form id="filter" role="search" aria-label="Filter the changes" autocomplete="off" hidden>
    <label class="wide"
      ><span>Search</span
      ><input id="filter-q" type="search" placeholder="any name, policy, reason or id" spellcheck="false"
    /></label>
    <label
      ><span>Change</span
      ><select id="filter-word">
        <option value="">any</option>
        ${CHANGE_WORDS.map((word) => html`<option value="${word}">${CHANGE_WORDING[word].title}</option>`)}
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
