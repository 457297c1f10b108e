import { printable } from "../../terminal/printing.ts";

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/**
 * Markup that is safe to put into a page as it is. Only this file makes it, from templates of ours
 * and escaped text.
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

/** The values of a template. Nothing is written for `null`. */
type Content = Markup | string | number | null | readonly Content[];

export const NOTHING = new Markup("");

const LINE_BREAKS = /\s*\n\s*/g;
/** Templates without their indentation, which would be a third of a large page. */
const piecesOf = new WeakMap<TemplateStringsArray, readonly string[]>();

/**
 * A piece of a page. Everything put into it that is not markup itself is escaped, for text and for
 * quoted attributes alike: without that a name of the configuration could add elements and scripts
 * to the report. Attributes in templates must therefore be in double quotes.
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
 * Text as a reader sees it; half a surrogate pair, which neither a file nor an address can hold, is
 * replaced as well.
 */
export function visible(text: string): string {
  return printable(text).toWellFormed();
}

/**
 * Text for an element or a quoted attribute. Characters that are not seen, or that turn what
 * follows around, are shown as replaced.
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
 * A `style` or `script`, whose content HTML reads without escapes: it must not hold what ends it.
 * Nothing is added, so that its hash stays true.
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
 * Wide tables scroll by themselves, which the keyboard must reach. @param headings with a `#` at
 * the end where a column holds amounts.
 */
export function table(
  caption: string,
  headings: readonly string[],
  rows: readonly Content[],
): Markup {
  const heading = (text: string): Markup =>
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
