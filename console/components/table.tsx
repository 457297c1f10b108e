import { ABSENT } from "../format/amounts.ts";
import { printable } from "../format/printable.ts";
import type { ComponentChildren } from "preact";

export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Aligned to the right with digits of one width. */
  readonly number?: boolean;
  /** Stays in sight while the table scrolls: for actions. */
  readonly sticky?: boolean;
}

/** A column of numbers. */
export const numbers = <Row,>(
  head: string,
  cell: (row: Row) => ComponentChildren,
): Column<Row> => ({ head, cell, number: true });

const classOf = ({ number, sticky }: Pick<Column<never>, "number" | "sticky">) =>
  number === true ? "number" : sticky === true ? "sticky" : undefined;

const isNone = (value: ComponentChildren): boolean => value === "0" || value === ABSENT;

/** A table that scrolls sideways where it does not fit, by keyboard too. */
export function Table<Row>(props: {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** On a narrow screen each row is a card, or a few lines without the heads of names. */
  readonly cards?: boolean | "brief";
}) {
  const { label, columns, rows, keyOf, cards = false } = props;
  const look = cards === "brief" ? "scroll cards brief" : cards ? "scroll cards" : "scroll";
  return (
    <div class={look} role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.head} scope="col" class={classOf(column)}>
                {printable(column.head)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => {
                const content = column.cell(row);
                const kind = classOf(column);
                return (
                  <td
                    key={column.head}
                    class={kind === "number" && isNone(content) ? "number none" : kind}
                    data-head={printable(column.head)}
                    data-absent={isAbsent(content) ? "" : undefined}
                  >
                    {content}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** True for no value, and for a component that shows an empty name or list. */
function isAbsent(value: ComponentChildren): boolean {
  if (value === null || value === ABSENT) return true;
  if (typeof value !== "object" || !("props" in value)) return false;
  const { props }: { readonly props: object } = value;
  return Object.entries(props).some(
    ([name, of]) =>
      (name === "of" || name === "at") &&
      (of === null || of === undefined || of === "" || (Array.isArray(of) && of.length === 0)),
  );
}

/**
 * Terms and their values, without those that are absent, in as many columns as fit. @param wide for
 * values that are longer than a number.
 */
export function Facts({
  rows,
  wide = false,
}: {
  readonly rows: readonly (readonly [term: string, value: ComponentChildren])[];
  readonly wide?: boolean;
}) {
  return (
    <dl class={wide ? "facts wide" : "facts"}>
      {rows
        .filter(([, value]) => !isAbsent(value))
        .map(([term, value]) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** Buttons to the pages before and after the one that is shown, named in the order of the rows. */
export function Pager<Cursor>(props: {
  readonly label: string;
  readonly names: readonly [before: string, after: string];
  /** Where each page up to this one begins. */
  readonly pages: readonly Cursor[];
  /** Where the next page begins; `null` without one. */
  readonly next: Cursor | null;
  readonly onChange: (pages: readonly Cursor[]) => void;
  readonly children?: ComponentChildren;
}) {
  const { label, names, pages, next, onChange } = props;
  return (
    <nav class="pager" aria-label={label}>
      <button
        type="button"
        disabled={pages.length < 2}
        onClick={() => onChange(pages.slice(0, -1))}
      >
        {names[0]}
      </button>
      <span role="status">{props.children}</span>
      <button
        type="button"
        disabled={next === null}
        onClick={() => next !== null && onChange([...pages, next])}
      >
        {names[1]}
      </button>
    </nav>
  );
}
