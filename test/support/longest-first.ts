import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const ROOT = resolve(import.meta.dirname, "../..");

/**
 * Files that take a minute or more of a core, the longest first. Begun last, one of them leaves the
 * other cores without work: a fresh checkout has no times of its own, and Vitest then goes by size.
 */
const LONGEST: readonly string[] = [
  "test/simulate/brute-force.scaled.test.ts",
  "test/simulate/styles/brute-force.long.test.ts",
  "test/evidence/kill.scaled.test.ts",
  "test/simulate/skipped-jobs.long.test.ts",
  "test/console/pages.long.test.ts",
  "test/cli/simulate/formats/random-conditions.scaled.test.ts",
  "test/store/postgres/postgres.long.test.ts",
  "test/docs/pull-requests.long.test.ts",
  "test/docs/simulate.long.test.ts",
  "test/simulate/styles/evaluations.long.test.ts",
  "test/console/faults.long.test.ts",
  "test/docs/commands/commands.long.test.ts",
  "test/console/keys.long.test.ts",
  "test/store/postgres/faults.long.test.ts",
  "test/console/policies.long.test.ts",
  "test/store/crash.long.test.ts",
].map((file) => resolve(ROOT, file));

export class LongestFirst extends BaseSequencer {
  /** @throws {Error} where a file of the list has another name by now */
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const absent = LONGEST.filter((file) => !existsSync(file));
    if (absent.length > 0)
      throw new Error(`test/support/longest-first.ts: no ${absent.join(", ")}`);
    // oxlint-disable-next-line unicorn/no-array-sort -- of the sequencer, not of an array
    const sorted = await super.sort(files);
    return sorted.toSorted((left, right) => rank(left) - rank(right));
  }
}

function rank({ moduleId }: TestSpecification): number {
  const index = LONGEST.indexOf(moduleId);
  return index === -1 ? LONGEST.length : index;
}
