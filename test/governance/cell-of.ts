import { Addition, COUNTER_NUMBERS, Cell, type Counter } from "../../src/governance/cell.ts";

/** A cell with these counts. */
export function cellOf(amounts: Readonly<Partial<Record<Counter, number>>>): Cell {
  const addition = new Addition();
  for (const counter of Object.keys(COUNTER_NUMBERS).filter(isCounter))
    addition.count(counter, amounts[counter] ?? 0);
  const cell = new Cell();
  cell.add(addition);
  return cell;
}

function isCounter(name: string): name is Counter {
  return Object.hasOwn(COUNTER_NUMBERS, name);
}
