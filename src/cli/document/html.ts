import {
  diffText,
  isEmptyText,
  writeText,
  type Block,
  type Facets,
  type InlineWriter,
  type Item,
  type List,
  type Section,
  type Text,
} from "./document.ts";
import { listText, numberText, printable } from "../terminal/printing.ts";

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/**
 * Safe markup. Only this file creates it, from its own templates and escaped text.
 */
export class Markup {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

/** Values of a template. `null` is not written. */
type Content = Markup | string | number | null | readonly Content[];

export const NOTHING = new Markup("");

const LINE_BREAKS = /\s*\n\s*/g;
/** Templates without their indentation, which would be a third of a large page. */
const piecesOf = new WeakMap<TemplateStringsArray, readonly string[]>();

/**
 * A piece of a page. All values but markup are escaped, for text and for quoted attributes:
 * otherwise a name of the configuration could add scripts to the report. Attributes in templates
 * must be in double quotes.
 */
export function html(template: TemplateStringsArray, ...contents: readonly Content[]): Markup {
  let pieces = piecesOf.get(template);
  if (pieces === undefined) {
    pieces = template.map((piece) => piece.replaceAll(LINE_BREAKS, "\n"));
    piecesOf.set(template, pieces);
  }
  let text = pieces[0] ?? "";
  for (const [index, content] of contents.entries())
    text += rendered(content) + (pieces[index + 1] ?? "");
  return new Markup(text);
}

/**
 * Printable text. Lone surrogates, which files and addresses cannot contain, are replaced too.
 */
export function visible(text: string): string {
  return printable(text).toWellFormed();
}

/**
 * Text for an element or a quoted attribute. Invisible characters and those that change the
 * direction of text are replaced.
 */
export function escapeText(text: string): string {
  // Nearly every name; a large page has a hundred thousand of them.
  if (/^[\w .,:/+()-]*$/.test(text)) return text;
  return withEntities(visible(text));
}

export function withEntities(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? "");
}

/**
 * A `style` or `script`, whose content HTML reads without escapes: it must not contain its end tag.
 * Nothing is added, so that its hash stays valid.
 */
export function rawElement(name: "style" | "script", content: string): Markup {
  if (/<\/|<!--/.test(content)) throw new Error(`the ${name} of the page would end early`);
  return new Markup(`<${name}>${content}</${name}>`);
}

function rendered(content: Content): string {
  if (content === null) return "";
  if (typeof content === "string") return escapeText(content);
  if (typeof content === "number") return String(content);
  if (content instanceof Markup) return content.toString();
  let text = "";
  for (const each of content) text += rendered(each);
  return text;
}

/**
 * A table that scrolls if it is wide, also by keyboard. @param headings with a `#` at the end for a
 * column of amounts.
 */
function table(caption: string, headings: readonly string[], rows: readonly Content[]): Markup {
  const heading = (text: string) =>
    text.endsWith("#")
      ? html`<th scope="col" class="number">${text.slice(0, -1)}</th>`
      : html`<th scope="col">${text}</th>`;
  return html`<div class="scroll" role="group" aria-label="${caption}" tabindex="0">
    <table>
      <caption class="unseen">
        ${caption}
      </caption>
      <thead>
        <tr>
          ${headings.map(heading)}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;
}

/** Names that a line shows; the rest is folded. */
const IN_SIGHT = 12;

/**
 * The value of `data-facets`: JSON with the names as a reader sees them, so that a chosen value and
 * a shown one are the same text.
 */
function facetsAttribute(facets: Facets) {
  return JSON.stringify(facets, (_key, value: unknown) =>
    typeof value === "string" ? shownName(value) : value,
  );
}

/** A name in the page; moderation requests may name no model. */
function shownName(name: string) {
  return name === "" ? "(no model)" : visible(name);
}

/**
 * All names, in few elements because a page has thousands of lists; those after the first dozen are
 * folded.
 */
function nameList(names: readonly string[]): Markup {
  const first = names.slice(0, IN_SIGHT);
  const rest = names.slice(IN_SIGHT);
  if (rest.length === 0) return joined(first);
  return html`${joined(first)}
    <details class="more">
      <summary>and ${numberText(rest.length)} more</summary>
      ${joined(rest)}
    </details>`;
}

function joined(names: readonly string[]) {
  return html`<code>${names.map(shownName).join(", ")}</code>`;
}

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
    const row = ({ cells }: Item) =>
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
      where !== only || isEmptyText(text)
        ? []
        : [
            html`<div>
              <dt>${label}</dt>
              <dd>${markupOf(text)}</dd>
            </div>`,
          ],
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
            ${lines.map((line) => html`<li class="${line.tone}"><code>${diffText(line)}</code></li>`)}
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

function commandMarkup(command: string) {
  return html`<div class="command">
    <code>${command}</code><button type="button" data-copy>Copy</button>
  </div>`;
}
