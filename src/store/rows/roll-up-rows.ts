import type { RollUpQuery, RollUpRow } from "../../governance/increments.ts";
import { readBytes, readNumber, readText, type Row } from "./row.ts";

/** Hour, labels and cell of each row, one after the other. */
export type RowFields = Pick<RollUpRow, "hour" | "labels" | "cell">;

export function readRollUp(row: Row): RowFields {
  return {
    hour: readNumber(row, "hour"),
    labels: readText(row, "labels"),
    cell: readBytes(row, "cell"),
  };
}

/**
 * The cells of a query page by page.
 *
 * @param size of a page: one that has fewer rows is the last. @param read gives the rows behind a
 * position in the order of hour and labels.
 */
export async function* rollUpPages(
  { from }: RollUpQuery,
  size: number,
  read: (after: Pick<RollUpRow, "hour" | "labels">) => Promise<readonly RollUpRow[]>,
): AsyncGenerator<readonly RollUpRow[]> {
  let after = { hour: from, labels: "" };
  for (;;) {
    const page = await read(after);
    if (page.length > 0) yield page;
    const last = page.at(-1);
    if (last === undefined || page.length < size) return;
    after = { hour: last.hour, labels: last.labels };
  }
}
