import { Increments } from "../../src/governance/increments.ts";
import {
  decisionFacts,
  HOUR,
  rollUpDecision,
  rollUpOutcome,
} from "../../src/governance/roll-up.ts";
import { randomFrom, request, WORKSPACES } from "./fixture.ts";

export const RECORDS = 10_000_000;
export const DAYS = 30;
export const UNTIL = Math.floor(Date.UTC(2026, 10, 21) / HOUR);
export const FROM = UNTIL - DAYS * 24;

/** A row of the table of cells. */
export type StoredCell = readonly [
  workspace: string,
  facet: string,
  hour: number,
  labels: string,
  cell: Uint8Array,
];

/**
 * The cells that the requests would have made: those of 24 hours, counted one by one, again for
 * each day.
 */
export function* fixtureCells(): Generator<StoredCell> {
  const random = randomFrom(1);
  const perHour = RECORDS / (DAYS * 24 * WORKSPACES.length);
  for (const workspace of WORKSPACES) {
    for (let hour = 0; hour < 24; hour += 1) {
      const increments = new Increments();
      for (let id = 0; id < perHour; id += 1) {
        const { decision, outcome } = request(id, hour * HOUR, workspace, random);
        rollUpDecision(increments, decision);
        rollUpOutcome(increments, decisionFacts(decision), outcome);
      }
      for (const { facet, labels, cell } of increments.entries()) {
        const encoded = cell.encode();
        for (let day = 0; day < DAYS; day += 1)
          yield [workspace, facet, FROM + day * 24 + hour, labels, encoded];
      }
    }
  }
}
