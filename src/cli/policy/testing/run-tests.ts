import { randomBytes } from "node:crypto";

import type { Source } from "../../../canon/diagnostic.ts";
import type { CompiledPolicy } from "../../../policy/compiled.ts";
import { readContract } from "../../../policy/contract/contract.ts";
import { classifySources, type PolicyFile } from "../../../policy/contract/sources.ts";
import type { ModuleFacts, TestResponse, TestResult } from "../../../policy/toolchain/protocol.ts";
import type { Toolchain } from "../../../policy/toolchain/toolchain.ts";
import { CommandError } from "../../terminal/command-io.ts";
import { coveredConstraints, gapsOf, type GapLocations } from "./coverage.ts";
import type { Coverage, PolicyTest, TestedPolicy, TestRun } from "./test-run.ts";
import { readSightings, watchedSources, type WatchedPolicy } from "./watched-sources.ts";

/** What is tested: policies that compile, with all sources of their folder. */
export interface TestSubject {
  readonly policies: readonly CompiledPolicy[];
  readonly sources: readonly Source[];
}

/**
 * Runs every test once. With coverage it is run a second time with the policies watched, at the same time; what that
 * changes nothing about, the first run says.
 *
 * @throws {CommandError} when the tests cannot be run, or do not end alike when they are watched.
 */
export async function runTests(subject: TestSubject, toolchain: Toolchain, coverage: boolean): Promise<TestRun> {
  const started = performance.now();
  const { files } = classifySources(subject.sources);
  const sources = files.map(({ source }) => source);
  const [response, watched] = await Promise.all([
    runOnce(sources, toolchain),
    coverage ? runWatched(subject.policies, files, toolchain) : null,
  ]);
  const policies = groupTests(response.results, files);
  return {
    policies,
    coverage: watched === null ? null : coverageOf(subject.policies, policies, response, watched),
    milliseconds: performance.now() - started,
  };
}

async function runOnce(modules: readonly Source[], toolchain: Toolchain): Promise<TestResponse> {
  const response = await toolchain.test({ modules });
  const [first] = response.errors;
  if (first === undefined) return response;
  throw new CommandError(`the tests cannot be run: ${first.file}:${first.row}:${first.col}: ${first.message}`);
}

interface WatchedRun {
  readonly policies: readonly (WatchedPolicy & { readonly file: PolicyFile })[];
  readonly response: TestResponse;
  readonly mark: string;
}

async function runWatched(
  policies: readonly CompiledPolicy[],
  files: readonly PolicyFile[],
  toolchain: Toolchain,
): Promise<WatchedRun> {
  // It cannot occur in a source, so no print of a policy can be mistaken for a recorded verdict.
  const mark = `seen${randomBytes(12).toString("hex")}`;
  const policyFiles = files.filter(({ kind }) => kind === "policy");
  const modules = policyFiles.map(({ source }) => source);
  const facts = new Map<string, ModuleFacts>();
  for (const module of (await toolchain.check({ modules, units: [], input_schema: null })).modules) {
    facts.set(module.path, module);
  }
  const watched = policyFiles.flatMap((file) => {
    const policy = policies.find(({ contract }) => contract.id === file.name);
    const known = facts.get(file.source.path);
    return policy === undefined || known === undefined ? [] : [{ policy, source: file.source, facts: known, file }];
  });
  const others = files.filter(({ kind }) => kind !== "policy").map(({ source }) => source);
  const sources = [...others, ...watched.flatMap((one) => watchedSources(one, mark))];
  const response = await toolchain.test({ modules: sources });
  if (response.errors.length > 0) throw cannotWatch("the policies refer to their own rules in a way that");
  return { policies: watched, response, mark };
}

function coverageOf(
  compiled: readonly CompiledPolicy[],
  tested: readonly TestedPolicy[],
  plain: TestResponse,
  { policies, response, mark }: WatchedRun,
): Coverage {
  const outcomes = new Map(response.results.map((result) => [identityOf(result), result.outcome]));
  const different = plain.results.find((result) => outcomes.get(identityOf(result)) !== result.outcome);
  if (different !== undefined) throw cannotWatch(`${different.file}: ${different.name} reads a policy in a way that`);
  const locations = new Map(
    policies.map(({ policy, file, facts }): [string, GapLocations] => {
      const start = { file: facts.path, line: facts.package_at.row, column: facts.package_at.col };
      const constraintAt = readContract(file, facts).located?.constraintAt ?? (() => start);
      return [policy.contract.id, { policy: start, constraintAt }];
    }),
  );
  const sightings = response.results.map(({ output }) => readSightings(linesOf(output), mark).sightings);
  const constraints = coveredConstraints(compiled, sightings);
  const untested = tested.filter(({ tests }) => tests.length === 0).map(({ id }) => id);
  return {
    files: plain.coverage,
    constraints,
    gaps: gapsOf(constraints, untested, locations),
  };
}

function cannotWatch(what: string): CommandError {
  return new CommandError(
    `--coverage: ${what} cannot be measured; name pass.<constraint> and reason.<constraint>, not the whole package`,
  );
}

/** Two rules of one name may be the same test; what they end with is compared by location. */
function identityOf({ file, name, row }: TestResult): string {
  return JSON.stringify([file, row, name]);
}

function groupTests(results: readonly TestResult[], files: readonly PolicyFile[]): readonly TestedPolicy[] {
  const groups = new Map<string, { file: string; tests: PolicyTest[] }>();
  for (const { kind, name, source } of files) {
    if (kind === "policy") groups.set(name, { file: source.path.replace(/\.rego$/, "_test.rego"), tests: [] });
  }
  const homes = new Map(
    files.map(({ kind, name, source }) => [source.path, kind === "library" ? `lib/${name}` : name]),
  );
  for (const result of results) {
    const home = homes.get(result.file) ?? result.package;
    const group = groups.get(home) ?? { file: result.file, tests: [] };
    group.tests.push(testOf(result));
    groups.set(home, group);
  }
  return [...groups]
    .map(([id, { file, tests }]) => ({ id, file, tests }))
    .toSorted((left, right) => (left.id < right.id ? -1 : 1));
}

function testOf({ name, file, row, col, outcome, cases, output, error, duration }: TestResult): PolicyTest {
  return {
    name,
    file,
    line: Math.max(1, row),
    column: Math.max(1, col),
    outcome,
    cases,
    printed: linesOf(output),
    error: linesOf(error?.message ?? ""),
    milliseconds: duration / 1_000_000,
  };
}

function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}
