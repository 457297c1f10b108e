import type { SourceLocation } from "../../simulate/report/report.ts";
import { listText, numberText } from "../terminal/printing.ts";

/**
 * Severity for a reviewer: requests stop, data reaches new destinations, fewer destinations, the
 * same result in another way, an improvement.
 */
export type Tone = "stop" | "widen" | "narrow" | "quiet" | "good";
export type Mark = "+" | "-" | "~" | "!";

/**
 * A piece of text. Strings and `strong` are trusted; `quoted` is a sentence with names from files
 * and `names` are such names, which every printer escapes. `null` is not printed.
 */
type Inline =
  | string
  | null
  | {
      readonly kind: "strong";
      readonly text: string;
      readonly tone: Tone | null;
      readonly href: string | null;
    }
  | { readonly kind: "quoted" | "location"; readonly text: string }
  | { readonly kind: "names"; readonly names: readonly string[]; readonly most: number | null };
export type Text = Inline | readonly Inline[];

/** Bold or a badge. @param href a fragment of the page; other formats have no links. */
export function strong(text: string, tone: Tone | null = null, href: string | null = null): Inline {
  return { kind: "strong", text, tone, href };
}

/** `null` for the empty string, and for `null`. */
export function quoted(text: string | number | null): Inline {
  return text === "" || text === null ? null : { kind: "quoted", text: String(text) };
}

/** @param most where a list is cut in every format; without it the page has all names. */
export function names(all: readonly string[], most: number | null = null): Inline {
  return { kind: "names", names: all, most };
}

export function name(text: string): Inline {
  return names([text]);
}

/** `routes.yaml:12:5 in base` */
export function at(location: (SourceLocation & { readonly side?: string }) | null): Inline {
  if (location === null) return null;
  const { file, line, column, side } = location;
  return {
    kind: "location",
    text: `${file}:${line}:${column}${side === "base" ? " in base" : ""}`,
  };
}

/** A line of a comparison; `null`: the same on both sides. */
export interface DiffLine {
  readonly mark: Mark | null;
  readonly text: string;
  /** The difference where both sides have the entry; empty otherwise. */
  readonly note: string;
  readonly tone: Tone;
}

/** `page`: too long for a terminal or a comment. Not printed where the text is `null`. */
type Detail = readonly [label: string, text: Text, only?: "page"];

export interface Item {
  readonly mark?: Mark;
  readonly tone?: Tone;
  /** Columns of a terminal. */
  readonly cells: readonly Text[];
  readonly details?: readonly Detail[];
  readonly lines?: readonly DiffLine[];
  /** To paste. A comment has it in folds only. */
  readonly command?: string;
  /** Anchor in the page, and values for its filters. */
  readonly id?: string;
  readonly facets?: Facets;
  /**
   * `page`: in the page only. `repeated`: printed in an earlier view; the page repeats it, because
   * it shows one view at a time. `variant`: behind `--all`.
   */
  readonly shown?: "page" | "repeated" | "variant";
  /** Never cut from a list. */
  readonly alwaysShown?: boolean;
}

/** Values by the name of a facet. A filter does not hide items without the facet. */
export type Facets = Readonly<Record<string, readonly string[]>>;

interface Sentence {
  readonly text: Text;
  readonly only?: "page";
}

export interface List {
  /** Noun for the number of omitted items, such as "path". */
  readonly noun: string;
  readonly items: readonly Item[];
  /** A table in Markdown and in the page. `#` at the end: a column of amounts. */
  readonly headings?: readonly string[];
  /** Items outside of the page, 20 without it. */
  readonly most?: number;
  /** Each item is a block of its own, folded in a comment. */
  readonly fold?: boolean;
  readonly only?: "page";
}

/** A command to paste. A comment omits a command that is too long for it. */
interface Command {
  readonly command: string;
  readonly only?: "page";
}

export type Block = Sentence | List | Command;

export interface Section {
  readonly id: string;
  readonly title: string;
  /** The title where items of an earlier view are not repeated. */
  readonly titleOfRest?: string;
  /** In parentheses; without it the number of items. */
  readonly note?: string;
  /** One of the document's views, of which the page shows one at a time. */
  readonly view?: string;
  /** Behind `--all` in a terminal. */
  readonly detail?: boolean;
  /** The page's sentence about a section without content, which the other formats omit. */
  readonly empty?: string;
  /** Characters of a comment that stay free for the sections after it. */
  readonly reserve?: number;
  readonly blocks: readonly Block[];
}

/** A list as a terminal and a comment print it. */
interface CutList extends List {
  /** Omitted because the list is long, and because they are variants. */
  readonly omitted: number;
  readonly variants: number;
}

export type CutBlock = Sentence | CutList | Command;

const MOST_ITEMS = 20;

/**
 * Sections for a format without views and folds: every item once, long lists cut.
 *
 * @param all with variants and sections of details.
 */
export function cutSections(sections: readonly Section[], all: boolean) {
  return sections.flatMap((section) => {
    if (section.empty !== undefined || (section.detail === true && !all)) return [];
    const blocks = cutBlocks(section.blocks, all);
    const lists = blocks.filter((block) => "items" in block);
    if (
      blocks.length === 0 ||
      (lists.length > 0 && lists.every(({ items, variants }) => items.length + variants === 0))
    )
      return [];
    const { title, titleOfRest = title } = section;
    const count = lists.reduce((sum, { items, omitted }) => sum + items.length + omitted, 0);
    return [
      {
        ...section,
        title: titleOfRest,
        note: section.note ?? (count === 0 ? "" : numberText(count)),
        blocks,
      },
    ];
  });
}

export function cutBlocks(blocks: readonly Block[], all: boolean): readonly CutBlock[] {
  return blocks.flatMap((block): readonly CutBlock[] => {
    if (block.only !== undefined || ("text" in block && isEmptyText(block.text))) return [];
    if (!("items" in block)) return [block];
    const printed = block.items.filter(({ shown }) => shown === undefined || shown === "variant");
    const items = all ? printed : printed.filter(({ shown }) => shown !== "variant");
    let room = (block.most ?? MOST_ITEMS) - items.filter(({ alwaysShown }) => alwaysShown).length;
    const shownItems = items.filter(({ alwaysShown }) => alwaysShown === true || room-- > 0);
    return [
      {
        ...block,
        items: shownItems,
        omitted: items.length - shownItems.length,
        variants: printed.length - items.length,
      },
    ];
  });
}

const MOST_LINES = 12;

/** Shortens a long comparison; equal lines go first. */
export function shortLines(all: readonly DiffLine[]): {
  readonly lines: readonly DiffLine[];
  readonly omitted: number;
} {
  if (all.length <= MOST_LINES + 1) return { lines: all, omitted: 0 };
  const lines = all.filter(({ mark }) => mark !== null).slice(0, MOST_LINES);
  return { lines, omitted: all.length - lines.length };
}

export function diffText({ mark, text, note }: DiffLine): string {
  return `${mark ?? " "} ${text}${note && ` (${note})`}`;
}

/** Writes each kind of text in one format. */
export interface InlineWriter<Out> {
  readonly plain: (text: string) => Out;
  readonly strong: (text: string, tone: Tone | null, href: string | null) => Out;
  readonly quoted: (text: string, kind: "quoted" | "location") => Out;
  readonly names: (all: readonly string[], most: number | null) => Out;
}

export function writeText<Out>(text: Text, writer: InlineWriter<Out>): readonly Out[] {
  const parts: readonly Inline[] = isList(text) ? text : [text];
  return parts.flatMap((part) => {
    if (part === null || part === "") return [];
    if (typeof part === "string") return [writer.plain(part)];
    switch (part.kind) {
      case "strong":
        return [writer.strong(part.text, part.tone, part.href)];
      case "names":
        return [writer.names(part.names, part.most)];
      case "quoted":
      case "location":
        return [writer.quoted(part.text, part.kind)];
    }
  });
}

function isList(text: Text): text is readonly Inline[] {
  return Array.isArray(text);
}

/** Whether the text prints as an empty string. */
export function isEmptyText(text: Text): boolean {
  return writeText(text, PLAIN).join("") === "";
}

const PLAIN: InlineWriter<string> = {
  plain: (text) => text,
  strong: (text) => text,
  quoted: (text) => text,
  names: (all, most) => listText(all, most ?? undefined),
};
