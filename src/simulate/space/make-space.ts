import { OPERATIONS, type Operation } from "../../canon/operation.ts";
import { readsPath } from "../../policy/policy-set.ts";
import { destinationsOf } from "../compare/change-kinds.ts";
import { zonesOfSides, type CompiledSide } from "../side-contents.ts";
import {
  type AssertionReader,
  type Job,
  type Space,
  type SpaceSide,
  pairClasses,
} from "./job-space.ts";
import { recent, remembered } from "../remembered.ts";
import {
  ambiguousNames,
  policyReader,
  projectionFor,
  type Projection,
  type Reader,
} from "./readers.ts";
import { timesOf } from "./times.ts";
import { universeOf, type Universe } from "./universe.ts";

/**
 * The space of two sides, and the jobs that enumerate it. The same sides give the same jobs in the
 * same order, in every thread.
 */
export interface PlannedSpace {
  readonly space: Space;
  readonly jobs: readonly Job[];
  readonly readers: readonly Reader[];
}

/**
 * Jobs that are alike are decided one after the other. Each has hundreds of states, with the parts
 * that they were made of.
 */
const KEPT_STATES = 4;
const KEPT_PREFERENCES = 256;

/**
 * @param narrowed makes the universe smaller; every value that it leaves out is one that is not
 * decided.
 */
export function planSpace(
  base: CompiledSide,
  head: CompiledSide,
  assertions: readonly AssertionReader[],
  narrowed: (universe: Universe) => Universe = (universe) => universe,
): PlannedSpace {
  const sides = [base, head].map(({ table, contents }): SpaceSide => {
    const destinations = destinationsOf(table);
    const readers = contents.flatMap(({ rules }) => (rules === null ? [] : [policyReader(rules)]));
    const ambiguous = ambiguousNames(table);
    const projections = new Map<Operation, Projection>();
    return {
      table,
      readers,
      ambiguous,
      projectionOf: (operation) =>
        remembered(projections, operation, () => projectionFor(readers, operation, ambiguous)),
      destinationOf: ({ id }) => destinations.get(id)?.identity ?? id,
    };
  });
  const assertionReaders = assertions.map(({ reader }) => reader);
  const readers = [...sides.flatMap((side) => side.readers), ...assertionReaders];
  const readsBudget = readers.some((reader) => readsPath(reader, "input.budget"));
  const times = timesOf(readers, zonesOfSides([base, head]));
  const universe = narrowed(universeOf(base.table, head.table, readsBudget, times));
  const pairs = pairClasses(universe, sides, assertionReaders);
  const space: Space = {
    universe,
    assertions,
    sides,
    prefersRegion: [base, head].some(({ contents }) =>
      contents.some(({ contract }) =>
        contract.obligations.some(({ kind }) => kind === "prefer_region"),
      ),
    ),
    recent: { states: recent(KEPT_STATES), preferences: recent(KEPT_PREFERENCES) },
  };
  const jobs = pairs
    .flatMap((pair) =>
      OPERATIONS.filter((operation) => universe.operations.has(operation))
        .filter((operation) => pair.members[0].model !== "" || operation === "moderations")
        .map((operation) => ({ pair, operation })),
    )
    .map((job, index): Job => ({ index, ...job }));
  return { space, jobs, readers };
}
