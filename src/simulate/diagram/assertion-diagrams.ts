import type { SampleRequest } from "../sample-request.ts";
import type { PolicyOnly } from "../space/levels.ts";
import type { AssertionReader, JobSpace, Space } from "../space/job-space.ts";
import { AmbiguousNames, Sight } from "../space/readers.ts";
import { buildDiagram, isBlind, type OperationDiagrams } from "./build-diagram.ts";
import { leafOf, type Node, PairedLeaves } from "./diagrams.ts";

interface LevelAssertion {
  readonly assertion: AssertionReader;
  readonly seen: readonly (readonly string[])[];
}

/**
 * Which assertions mean a request, as diagrams: only those that select by members which levels
 * have.
 */
export class AssertionDiagrams {
  readonly #shared: OperationDiagrams;
  readonly #byLevels: readonly LevelAssertion[];
  readonly #pairs: PairedLeaves;

  constructor(space: Space, shared: OperationDiagrams) {
    this.#shared = shared;
    this.#pairs = new PairedLeaves(shared.diagrams);
    const none = new AmbiguousNames(null);
    this.#byLevels = space.assertions.flatMap((assertion) => {
      const sight = new Sight([assertion.reader], shared.operation, none);
      // A key's names are read in the vocabulary of each side.
      const seen = shared.levels.map((level) =>
        level.values.map((_, value) =>
          space.sides.map(({ table }) => level.seen({ sight, table }, value)).join("/"),
        ),
      );
      return seen.every(isBlind) ? [] : [{ assertion, seen }];
    });
  }

  /**
   * A root whose leaves differ where one assertion means a request and not another. @param sample
   * of a state.
   */
  of({ job }: JobSpace, sample: SampleRequest): Node {
    let root: Node = leafOf(0);
    for (const { assertion, seen } of this.#byLevels) {
      if (!job.pair.members.some((member) => assertion.concerns(member, job.operation))) continue;
      const { diagrams, levels } = this.#shared;
      const own = buildDiagram(diagrams, levels, seen, sample, (other: PolicyOnly) => ({
        number: Number(assertion.means({ ...sample, ...other })),
        dependsOn: () => true,
      }));
      root = this.#pairs.of(root, own);
    }
    return root;
  }
}
