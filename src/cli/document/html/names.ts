import { numberText } from "../../terminal/amounts.ts";
import type { Facets } from "../document.ts";
import { html, visible, type Markup } from "./markup.ts";

/** How many names a line shows before the rest is folded. */
const IN_SIGHT = 12;

/**
 * The value of `data-facets`: JSON with the names as a reader sees them, so that a chosen value and
 * a shown one are the same text.
 */
export function facetsAttribute(facets: Facets): string {
  return JSON.stringify(facets, (_key, value: unknown) =>
    typeof value === "string" ? shownName(value) : value,
  );
}

/** A name in the page; moderation requests may name no model. */
export function shownName(name: string): string {
  return name === "" ? "(no model)" : visible(name);
}

/**
 * All the names, in as few elements as can be, because a page holds thousands of lists; those
 * beyond the first dozen behind a fold.
 */
export function nameList(names: readonly string[]): Markup {
  const first = names.slice(0, IN_SIGHT);
  const rest = names.slice(IN_SIGHT);
  if (rest.length === 0) return joined(first);
  return html`${joined(first)}
    <details class="more">
      <summary>and ${numberText(rest.length)} more</summary>
      ${joined(rest)}
    </details>`;
}

function joined(names: readonly string[]): Markup {
  return html`<code>${names.map(shownName).join(", ")}</code>`;
}
