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

const classOf = ({ number, sticky }: Pick<Column<never>, "number" | "sticky">) =>
  number === true ? "number" : sticky === true ? "sticky" : undefined;

/** A table that scrolls sideways by itself where it does not fit, by keyboard too. */
export function Table<Row>(props: {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
}) {
  const { label, columns, rows, keyOf } = props;
  return (
    <div class="scroll" role="region" aria-label={label} tabIndex={0}>
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
              {columns.map((column) => (
                <td key={column.head} class={classOf(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/**
 * Terms and their values, in as many columns as fit. @param wide for values that are longer than a
 * number.
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
      {rows.map(([term, value]) => (
        <div key={term}>
          <dt>{term}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
