import type { Diagnostic, Source } from "../../../canon/diagnostic.ts";
import { compilePolicies } from "../../../policy/compile-policies.ts";
import type { CompileCache } from "../../../policy/toolchain/compile-cache.ts";
import {
  ToolchainError,
  type TestResponse,
  type TestResult,
} from "../../../policy/toolchain/protocol.ts";
import { createToolchain, type Toolchain } from "../../../policy/toolchain/toolchain.ts";
import { CommandError, EXIT, UsageError, type CommandIo } from "../../terminal/command-io.ts";
import { DEFAULT_CACHE_TEXT, openCache } from "../../terminal/configuration.ts";
import { formatDiagnostics } from "../../terminal/report.ts";
import {
  defaultFlags,
  flagCommand,
  readNumber,
  readValue,
  textFlags,
  type FlagValues,
} from "../../terminal/command-line.ts";
import {
  DEFAULT_DIRECTORY,
  readPolicyFolder,
  usingToolchain,
  type PolicyFolder,
} from "../policy-folder.ts";
import { wantsColour } from "../../terminal/printing.ts";
import {
  formatJunit,
  formatTestJson,
  formatRun,
  isFailure,
  type TestRun,
  type PolicyTest,
  type Coverage,
  type TestedPolicy,
} from "./test-report.ts";
import { randomBytes } from "node:crypto";
import type { CompiledPolicy } from "../../../policy/compiled.ts";
import { readContract } from "../../../policy/contract/contract.ts";
import { classifySources, type PolicyFile } from "../../../policy/contract/sources.ts";
import {
  coveredConstraints,
  gapsOf,
  readSightings,
  thresholdGap,
  watchedSources,
  type GapLocations,
} from "./coverage.ts";

const FORMATS = ["terminal", "json", "junit", "github"] as const;

/** Seconds. */
const DEFAULT_TIMEOUT = 120;
const LONGEST_TIMEOUT = 3_600;

const HELP = `Usage: signalbox policy test [options]

Runs the tests of the policies: every rule of a <id>_test.rego whose name begins with test_.

  --dir DIRECTORY       folder of the policies (default: ${DEFAULT_DIRECTORY})
  --run REGEX           only tests whose <id>.<name> matches, such as eu-residency or '\\.test_reason'
  --verbose             lists the tests that pass too, with what they print
  --format FORMAT       ${FORMATS.join(", ")} (default: terminal)
  --coverage            also lists the lines, verdicts and reasons that no test covers
  --threshold PERCENT   fails if the tests cover fewer of the lines; implies --coverage
  --timeout SECONDS     for the whole run, compiling included; 1 to 3600 (default: ${DEFAULT_TIMEOUT})
  --strict              fails if a verdict or a reason is not covered, or a policy has no tests; implies --coverage
  --cache DIRECTORY     compiled policies (default: ${DEFAULT_CACHE_TEXT})
  --help                this text

Exit codes: 0 all passed, 1 a test or a demand failed, or the policies do not compile, 2 usage.
`;

const FLAGS = {
  ...textFlags("run", "threshold", "cache"),
  ...defaultFlags({
    dir: DEFAULT_DIRECTORY,
    format: "terminal",
    coverage: false,
    timeout: String(DEFAULT_TIMEOUT),
    strict: false,
  }),
  verbose: { type: "boolean", short: "v", default: false },
} as const;

type TestOptions = ReturnType<typeof readOptions>;

/** `signalbox policy test`; gives the exit code. The report goes to stdout in every format. */
export const testPolicies = flagCommand(
  {
    name: "policy test",
    help: HELP,
    flags: FLAGS,
    flagsOnly: "name tests with --run, the folder with --dir",
  },
  async (values, io) => {
    return await run(readOptions(values), io);
  },
);

type Values = FlagValues<typeof FLAGS>;

function readOptions(values: Values) {
  const format = readValue("--format", values.format, FORMATS);
  const coverage = values.coverage || values.strict || values.threshold !== undefined;
  if (coverage && values.run !== undefined) {
    throw new UsageError(
      "--run: coverage is that of all tests; leave out --run, or --coverage, --threshold and --strict",
    );
  }
  return {
    ...values,
    run: values.run === undefined ? null : readPattern(values.run),
    format,
    coverage,
    /** 0 to 100. */
    threshold: readNumber(
      "--threshold",
      values.threshold ?? "0",
      [0, 100],
      ", such as 95",
      "number",
    ),
    /** Milliseconds for the whole run. */
    timeout: 1_000 * readNumber("--timeout", values.timeout, [1, LONGEST_TIMEOUT], ", in seconds"),
  };
}

function readPattern(text: string): RegExp {
  try {
    return new RegExp(text, "u");
  } catch {
    throw new UsageError(
      "--run: is not a regular expression; escape literal characters with a backslash",
    );
  }
}

async function run(options: TestOptions, io: CommandIo) {
  const due = performance.now() + options.timeout;
  const folder = await readPolicyFolder(io, options.dir);
  const cache = await openCache(options.cache, io);
  const toolchain = createToolchain({ cache, timeLimit: options.timeout });
  const compiled = await compilePolicies(folder.sources, { cache, toolchain });
  const errors = compiled.diagnostics.filter(({ severity }) => severity === "error");
  const report = (result: TestRun | null, findings: readonly Diagnostic[]) =>
    io.stdout(formatReport(options, folder, result, findings, wantsColour(io)));
  if (errors.length > 0) {
    report(null, errors);
    return EXIT.failed;
  }
  const tested = await usingToolchain(() =>
    runWithin(due, options, compiled.policies, folder.sources, cache),
  );
  const result = matching(tested, options.run);
  if (result.policies.every(({ tests }) => tests.length === 0)) {
    throw new CommandError(
      options.run === null
        ? `${folder.shown}: there are no tests; write <id>_test.rego, or create a policy with: signalbox policy new ID`
        : `--run: no test of ${folder.shown} matches; names look like eu-residency.test_fallback, --verbose lists them`,
    );
  }
  const findings = demands(result, options);
  report(result, findings);
  const failed =
    failuresOf(result).length > 0 || findings.some(({ severity }) => severity === "error");
  return failed ? EXIT.failed : EXIT.ok;
}

/**
 * @throws {CommandError} where the tests do not end in time. @param due on the clock of
 * `performance.now()`.
 */
async function runWithin(
  due: number,
  { coverage, timeout }: TestOptions,
  policies: readonly CompiledPolicy[],
  sources: readonly Source[],
  cache: CompileCache | null,
) {
  const timeLimit = Math.max(1, due - performance.now());
  try {
    return await runTests(policies, sources, createToolchain({ cache, timeLimit }), coverage);
  } catch (error) {
    if (!(error instanceof ToolchainError) || error.code !== "TOOLCHAIN_TIMEOUT") throw error;
    const files = sources.map(({ path }) => path).filter((path) => path.endsWith("_test.rego"));
    throw new CommandError(
      `--timeout: the tests did not end within ${timeout / 1000} s, so there are no results. One of these files has a test that takes too long or never ends: ${files.join(", ")}. Move files away to find it, or give more time.`,
    );
  }
}

/** Without a pattern, policies without tests stay, because the report names them. */
function matching(result: TestRun, pattern: RegExp | null): TestRun {
  if (pattern === null) return result;
  const policies = result.policies.map((policy) => ({
    ...policy,
    tests: policy.tests.filter(({ name }) => pattern.test(`${policy.id}.${name}`)),
  }));
  return { ...result, policies: policies.filter(({ tests }) => tests.length > 0) };
}

/** Gaps and the threshold as findings; those that fail the run are errors. */
function demands({ coverage }: TestRun, { strict, threshold }: TestOptions): readonly Diagnostic[] {
  if (coverage === null) return [];
  const below = thresholdGap(coverage.files, threshold);
  const gaps = coverage.gaps.map((gap): Diagnostic =>
    strict ? { ...gap, severity: "error" } : gap,
  );
  return below === null ? gaps : [...gaps, below];
}

/** @param result `null` where the policies do not compile, for the reasons in the findings. */
function formatReport(
  { format, verbose }: TestOptions,
  { sources }: PolicyFolder,
  result: TestRun | null,
  findings: readonly Diagnostic[],
  colour: boolean,
): string {
  switch (format) {
    case "terminal": {
      const tests = result === null ? "" : formatRun(result, { verbose, colour });
      const found = formatDiagnostics("terminal", findings, { sources, colour });
      return tests === "" || found === "" ? `${tests}${found}` : `${tests}\n${found}`;
    }
    case "json":
      return formatTestJson(result, findings);
    case "junit":
      return formatJunit(
        result,
        findings.filter(({ severity }) => severity === "error"),
      );
    case "github":
      return formatDiagnostics("github", [
        ...(result === null ? [] : failuresOf(result)),
        ...findings,
      ]);
  }
}

/** Tests that did not pass, as findings for annotations. */
function failuresOf({ policies }: TestRun) {
  return policies.flatMap(({ tests }) => tests.flatMap(failureOf));
}

function failureOf(test: PolicyTest) {
  const { name, file, line, column, outcome, cases, printed, error } = test;
  if (!isFailure(test)) return [];
  const hint = [...error, ...printed.map((text) => `printed: ${text}`)].join("\n");
  const which = cases.length === 0 ? "" : ` for ${cases.join(", ")}`;
  const [code, message] =
    outcome === "error"
      ? ["POLICY_TEST_ERROR", `${name} ended with an error`]
      : ["POLICY_TEST_FAILED", `${name} failed${which}`];
  return [{ severity: "error" as const, code, message, file, line, column, hint }];
}

/**
 * Runs every test once. Coverage takes a second run at the same time, with instrumented policies;
 * results and lines come from the first run.
 *
 * @throws {CommandError} when the tests cannot be run, or have other results with instrumentation.
 */
async function runTests(
  compiled: readonly CompiledPolicy[],
  given: readonly Source[],
  toolchain: Toolchain,
  coverage: boolean,
): Promise<TestRun> {
  const started = performance.now();
  const { files } = classifySources(given);
  const sources = files.map(({ source }) => source);
  const [response, watched] = await Promise.all([
    runOnce(sources, toolchain),
    coverage ? runWatched(compiled, files, toolchain) : null,
  ]);
  const policies = groupTests(response.results, files);
  return {
    policies,
    coverage: watched === null ? null : coverageOf(compiled, policies, response, watched),
    milliseconds: performance.now() - started,
  };
}

async function runOnce(modules: readonly Source[], toolchain: Toolchain): Promise<TestResponse> {
  const response = await toolchain.test({ modules });
  const [first] = response.errors;
  if (first === undefined) return response;
  throw new CommandError(
    `the tests cannot be run: ${first.file}:${first.row}:${first.col}: ${first.message}`,
  );
}

type WatchedRun = Awaited<ReturnType<typeof runWatched>>;

async function runWatched(
  policies: readonly CompiledPolicy[],
  files: readonly PolicyFile[],
  toolchain: Toolchain,
) {
  // Random, so that no policy can print it and pretend to record a verdict.
  const mark = `seen${randomBytes(12).toString("hex")}`;
  const policyFiles = files.filter(({ kind }) => kind === "policy");
  const modules = policyFiles.map(({ source }) => source);
  const checked = await toolchain.check({ modules, units: [], input_schema: null });
  const facts = new Map(checked.modules.map((module) => [module.path, module]));
  const watched = policyFiles.flatMap((file) => {
    const policy = policies.find(({ contract }) => contract.id === file.name);
    const module = facts.get(file.source.path);
    return policy === undefined || module === undefined
      ? []
      : [{ policy, source: file.source, facts: module, file }];
  });
  const others = files.filter(({ kind }) => kind !== "policy").map(({ source }) => source);
  const sources = [...others, ...watched.flatMap((one) => watchedSources(one, mark))];
  const response = await toolchain.test({ modules: sources });
  if (response.errors.length > 0)
    throw cannotWatch("the policies refer to their own rules in a way that");
  return { policies: watched, response, mark };
}

function coverageOf(
  compiled: readonly CompiledPolicy[],
  tested: readonly TestedPolicy[],
  plain: TestResponse,
  { policies, response, mark }: WatchedRun,
): Coverage {
  const outcomes = new Map(response.results.map((result) => [identityOf(result), result.outcome]));
  const different = plain.results.find(
    (result) => outcomes.get(identityOf(result)) !== result.outcome,
  );
  if (different !== undefined)
    throw cannotWatch(`${different.file}: ${different.name} reads a policy in a way that`);
  const locations = new Map(
    policies.map(({ policy, file, facts }): [string, GapLocations] => {
      const start = { file: facts.path, line: facts.package_at.row, column: facts.package_at.col };
      const constraintAt = readContract(file, facts).located?.constraintAt ?? (() => start);
      return [policy.contract.id, { policy: start, constraintAt }];
    }),
  );
  const sightings = response.results.map(({ output }) => readSightings(linesOf(output), mark));
  const constraints = coveredConstraints(compiled, sightings);
  const untested = tested.filter(({ tests }) => tests.length === 0).map(({ id }) => id);
  return {
    files: plain.coverage,
    constraints,
    gaps: gapsOf(constraints, untested, locations),
  };
}

function cannotWatch(what: string) {
  return new CommandError(
    `--coverage: ${what} cannot be measured; name pass.<constraint> and reason.<constraint>, not the whole package`,
  );
}

/** Rules of one name are one test in OPA, so results are compared by location too. */
function identityOf({ file, name, row }: TestResult) {
  return JSON.stringify([file, row, name]);
}

function groupTests(
  results: readonly TestResult[],
  files: readonly PolicyFile[],
): readonly TestedPolicy[] {
  const homes = new Map(
    files.map(({ kind, name, source }) => [source.path, kind === "library" ? `lib/${name}` : name]),
  );
  const byHome = Map.groupBy(results, ({ file, package: name }) => homes.get(file) ?? name);
  const testFiles = new Map(
    files
      .filter(({ kind }) => kind === "policy")
      .map(({ name, source }) => [name, source.path.replace(/\.rego$/, "_test.rego")]),
  );
  return [...new Set([...testFiles.keys(), ...byHome.keys()])].toSorted().map((id) => {
    const tests = byHome.get(id) ?? [];
    return { id, file: testFiles.get(id) ?? tests[0]?.file ?? "", tests: tests.map(testOf) };
  });
}

function testOf({
  name,
  file,
  row,
  col,
  outcome,
  cases,
  output,
  error,
  duration,
}: TestResult): PolicyTest {
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
