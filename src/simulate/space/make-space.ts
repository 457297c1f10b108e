import { OPERATIONS, type Operation } from "../../canon/operation.ts";
import { readsPath } from "../../policy/policy-set.ts";
import { destinationsOf } from "../compare/change-kinds.ts";
import type { Distinctions } from "../sample-request.ts";
import { zonesOfSides, type CompiledSide } from "../side-contents.ts";
import {
  type AssertionReader,
  type Job,
  type Space,
  pairClasses,
  type PairSide,
} from "./job-space.ts";
import { Recent, remembered } from "../remembered.ts";
import {
  AmbiguousNames,
  distinctionReader,
  policyReader,
  Projection,
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

/** The distinctions of one assertion, and the requests that it concerns. */
export interface AssertionDistinctions extends Distinctions, Omit<AssertionReader, "reader"> {}

/**
 * @param narrowed makes the universe smaller; every value that it leaves out is one that is not
 * decided.
 */
export function planSpace(
  base: CompiledSide,
  head: CompiledSide,
  distinctions: readonly AssertionDistinctions[],
  narrowed: (universe: Universe) => Universe = (universe) => universe,
): PlannedSpace {
  const assertions = distinctions.map(({ strings, reads, ...rest }): AssertionReader => {
    return { ...rest, reader: distinctionReader({ strings, reads }) };
  });
  const sides = [base, head].map(({ table, contents }): PairSide => {
    const destinations = destinationsOf(table);
    return {
      table,
      readers: contents.flatMap(({ rules }) => (rules === null ? [] : [policyReader(rules)])),
      ambiguous: new AmbiguousNames(table),
      destinationOf: ({ id }) => destinations.get(id)?.identity ?? id,
    };
  });
  const readers = [
    ...sides.flatMap((side) => side.readers),
    ...assertions.map(({ reader }) => reader),
  ];
  const readsBudget = readers.some((reader) => readsPath(reader, "input.budget"));
  const times = timesOf(readers, zonesOfSides([base, head]));
  const universe = narrowed(universeOf(base.table, head.table, readsBudget, times));
  const pairs = pairClasses(
    universe.workspaces,
    universe.models,
    sides,
    assertions.map(({ reader }) => reader),
  );
  const concerning = ({ pair, operation }: Job): readonly AssertionReader[] =>
    assertions.filter(({ concerns }) => pair.members.some((member) => concerns(member, operation)));
  const space: Space = {
    universe,
    assertions,
    sides: sides.map(({ table, readers: sideReaders, ambiguous }) => {
      const projections = new Map<Operation, Projection>();
      const projectionOf = (operation: Operation) =>
        remembered(projections, operation, () => new Projection(sideReaders, operation, ambiguous));
      return { table, ambiguous, projectionOf };
    }),
    prefersRegion: [base, head].some(({ contents }) =>
      contents.some(({ contract }) =>
        contract.obligations.some(({ kind }) => kind === "prefer_region"),
      ),
    ),
    recent: { states: new Recent(KEPT_STATES), preferences: new Recent(KEPT_PREFERENCES) },
    concerning,
    assertionsOf: (job) =>
      new Projection(
        concerning(job).map(({ reader }) => reader),
        job.operation,
      ),
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
