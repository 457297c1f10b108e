import { availableParallelism } from "node:os";
import { canonicalJson } from "../../src/canon/json.ts";
import type { BuildResponse } from "../../src/policy/toolchain/protocol.ts";
import type { Toolchain } from "../../src/policy/toolchain/toolchain.ts";
import type { ConformanceCase } from "./cases/case.ts";
import { judge, ofToolchainError, type Outcome } from "./judge.ts";
import { questionOf } from "./question.ts";

export interface CaseResult {
  readonly testCase: ConformanceCase;
  readonly outcome: Outcome;
}

/**
 * Compiles and evaluates every case alone: cases share package names and data, and joining them
 * would change what `data` holds. Results are in the order of the cases.
 *
 * @param progress receives how many are done, after each.
 * @throws {ToolchainError} when the toolchain is not installed properly.
 */
export async function runCases(
  cases: readonly ConformanceCase[],
  toolchain: Pick<Toolchain, "build">,
  progress: (done: number) => void = () => undefined,
): Promise<readonly CaseResult[]> {
  const responses = new Map<string, Promise<BuildResponse>>();
  const outcomeOf = async (testCase: ConformanceCase): Promise<Outcome> => {
    const question = questionOf(testCase);
    const key = canonicalJson(question);
    // Some cases differ in input and data only.
    const response = responses.get(key) ?? toolchain.build(question);
    responses.set(key, response);
    let answer: BuildResponse;
    try {
      answer = await response;
    } catch (error) {
      return ofToolchainError(error);
    }
    return await judge(testCase, question, answer);
  };
  const results: CaseResult[] = [];
  const waiting = cases.entries();
  let done = 0;
  const work = async (): Promise<void> => {
    for (const [index, testCase] of waiting) {
      results[index] = { testCase, outcome: await outcomeOf(testCase) };
      done += 1;
      progress(done);
    }
  };
  // A build is a thread of its own: more at once than there are cores only wait for each other.
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return results;
}
