import type { Cell } from "./routes.ts";

/**
 * Cells that are known to fail. A row whose cells all pass fails the suite, so that it is taken
 * out.
 */
export interface Known {
  readonly reason: string;
  readonly cells: (cell: Cell) => boolean;
}

export const KNOWN: readonly Known[] = [];

export function isKnown(cell: Cell): boolean {
  return KNOWN.some(({ cells }) => cells(cell));
}
