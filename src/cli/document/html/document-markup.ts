import { listText, numberText } from "../../terminal/amounts.ts";
import {
  diffText,
  isEmptyText,
  writeText,
  type Block,
  type DiffLine,
  type InlineWriter,
  type Item,
  type List,
  type Section,
  type Text,
} from "../document.ts";
import { html, NOTHING, table, type Markup } from "./markup.ts";
import { facetsAttribute, nameList, shownName } from "./names.ts";

const MARKUP: InlineWriter<Markup> = {
  plain: (text) => html`${text}`,
  strong: (text, tone, href) => {
    const shown =
      tone === null
        ? html`<strong>${text}</strong>`
        : html`<span class="badge ${tone}">${text}</span>`;
    return href === null ? shown : html`<a href="#${href}">${shown}</a>`;
  },
  quoted: (text, kind) =>
    kind === "location" ? html`<code class="location">${text}</code>` : html`${text}`,
  names: (all, most) =>
    most === null ? nameList(all) : html`<code>${listText(all.map(shownName), most)}</code>`,
};

export function markupOf(text: Text): Markup {
  return html`${writeText(text, MARKUP)}`;
}

/** @param level of the heading, 2 or 3. */
export function sectionMarkup({ id, title, note, blocks, empty }: Section, level: 2 | 3): Markup {
  const amount = blocks.reduce(
    (sum, block) => sum + ("items" in block && block.only === undefined ? block.items.length : 0),
    0,
  );
  const shown = note ?? (amount === 0 ? "" : numberText(amount));
  const text = html`${title}${shown === "" ? NOTHING : html` <span class="count">${shown}</span>`}`;
  return html`<section aria-labelledby="${id}">
    ${level === 2 ? html`<h2 id="${id}">${text}</h2>` : html`<h3 id="${id}">${text}</h3>`}
    ${empty === undefined ? blocksMarkup(blocks) : html`<p class="none">${empty}</p>`}
  </section>`;
}

export function blocksMarkup(blocks: readonly Block[]): readonly Markup[] {
  return blocks.map((block) => {
    if ("items" in block) return listMarkup(block);
    if ("command" in block) return commandMarkup(block.command);
    return isEmptyText(block.text)
      ? NOTHING
      : html`<div class="lead">${markupOf(block.text)}</div>`;
  });
}

function listMarkup({ items, noun, headings, fold }: List): Markup {
  if (items.length === 0) return NOTHING;
  if (headings !== undefined) {
    const numbers = headings.map((heading) => heading.endsWith("#"));
    const row = ({ cells }: Item): Markup =>
      html`<tr>
        ${cells.map((cell, column) => (column === 0 ? html`<th scope="row">${markupOf(cell)}</th>` : html`<td class="${numbers[column] === true ? "number" : ""}">${markupOf(cell)}</td>`))}
      </tr>`;
    return table(headings.join(", ").replaceAll("#", ""), headings, items.map(row));
  }
  // Browsers number the items of an element of lists anew for each that is hidden: minutes for
  // thousands.
  return html`<div class="items" role="list">
    ${items.map((item) => itemMarkup(item, noun, fold === true))}
  </div>`;
}

function itemMarkup(item: Item, noun: string, isBlock: boolean): Markup {
  const { mark, tone, cells, details = [], lines = [], command, id, facets } = item;
  const sign = mark === undefined ? NOTHING : html`<b class="${tone ?? "quiet"}">${mark}</b> `;
  const head = html`${sign}${cells.filter((cell) => !isEmptyText(cell)).map((cell) => html`${markupOf(cell)} `)}`;
  const of = (only: "page" | undefined): readonly Markup[] =>
    details.flatMap(([label, text, where]) =>
      where !== only || isEmptyText(text) ? [] : [factMarkup(label, text)],
    );
  const [facts, folded] = [of(undefined), of("page")];
  return html`<div
    role="listitem"
    class="${noun}${isBlock ? " block" : ""}"
    ${id === undefined ? NOTHING : html` id="${id}"`}${facets === undefined ? NOTHING : html` data-facets="${facetsAttribute(facets)}"`}
  >
    ${isBlock ? html`<h4>${head}</h4>` : html`<div class="way">${head}</div>`}
    ${
      lines.length === 0
        ? NOTHING
        : html`<ul class="diff">
            ${lines.map(lineMarkup)}
          </ul>`
    }
    ${facts.length === 0 ? NOTHING : html`<dl class="facts">${facts}</dl>`}
    ${
      folded.length === 0 && command === undefined
        ? NOTHING
        : html`<details class="example">
            <summary>Example</summary>
            ${folded.length === 0 ? NOTHING : html`<dl class="facts">${folded}</dl>`}${command === undefined ? NOTHING : commandMarkup(command)}
          </details>`
    }
    ${id === undefined ? NOTHING : html`<a class="anchor" href="#${id}" aria-label="Link to ${id}">#</a>`}
  </div>`;
}

function factMarkup(label: string, text: Text): Markup {
  return html`<div>
    <dt>${label}</dt>
    <dd>${markupOf(text)}</dd>
  </div>`;
}

function lineMarkup(line: DiffLine): Markup {
  return html`<li class="${line.tone}"><code>${diffText(line)}</code></li>`;
}

function commandMarkup(command: string): Markup {
  return html`<div class="command">
    <code>${command}</code><button type="button" data-copy>Copy</button>
  </div>`;
}
