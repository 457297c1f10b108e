import type { Diagnostic } from "../../../canon/diagnostic.ts";
import { compilePolicies } from "../../../policy/compile-policies.ts";
import type { CompileCache } from "../../../policy/toolchain/compile-cache.ts";
import { ToolchainError } from "../../../policy/toolchain/protocol.ts";
import { createToolchain } from "../../../policy/toolchain/toolchain.ts";
import { noArguments, readValue, type readArguments } from "../../terminal/arguments.ts";
import { CommandError, EXIT, UsageError, type CommandIo } from "../../terminal/command-io.ts";
import { DEFAULT_CACHE_TEXT, openCache } from "../../compile-cache.ts";
import { formatDiagnostics } from "../../terminal/report.ts";
import { runFlagCommand } from "../../terminal/run.ts";
import { DEFAULT_DIRECTORY, readPolicyFolder, usingToolchain, type PolicyFolder } from "../policy-folder.ts";
import { wantsColour } from "../../terminal/printing.ts";
import { thresholdGap } from "./coverage.ts";
import { formatJunit, formatTestJson, formatRun } from "./formats.ts";
import type { TestRun, PolicyTest } from "./test-run.ts";
import { runTests, type TestSubject } from "./run-tests.ts";

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
  dir: { type: "string", default: DEFAULT_DIRECTORY },
  run: { type: "string" },
  verbose: { type: "boolean", short: "v", default: false },
  format: { type: "string", default: "terminal" },
  coverage: { type: "boolean", default: false },
  threshold: { type: "string" },
  timeout: { type: "string", default: String(DEFAULT_TIMEOUT) },
  strict: { type: "boolean", default: false },
  cache: { type: "string" },
} as const;

type TestOptions = ReturnType<typeof readOptions>;

/** `signalbox policy test`; gives the exit code. The report goes to stdout in every format. */
export function testPolicies(argv: readonly string[], io: CommandIo): Promise<number> {
  return runFlagCommand(
    { name: "policy test", help: HELP, flags: FLAGS },
    argv,
    io,
    async ({ values, positionals }) => {
      noArguments(positionals, "name tests with --run, the folder with --dir");
      return await run(readOptions(values), io);
    },
  );
}

type Values = ReturnType<typeof readArguments<typeof FLAGS>>["values"];

function readOptions(values: Values) {
  const format = readValue("--format", values.format, FORMATS);
  const coverage = values.coverage || values.strict || values.threshold !== undefined;
  if (coverage && values.run !== undefined) {
    throw new UsageError(
      "--run: coverage is that of all tests; leave out --run, or --coverage, --threshold and --strict",
    );
  }
  return {
    directory: values.dir,
    run: values.run === undefined ? null : readPattern(values.run),
    verbose: values.verbose,
    format,
    coverage,
    /** 0 to 100. */
    threshold: values.threshold === undefined ? 0 : readThreshold(values.threshold),
    strict: values.strict,
    /** Milliseconds for the whole run. */
    timeout: readTimeout(values.timeout),
    cache: values.cache,
  };
}

function readPattern(text: string): RegExp {
  try {
    return new RegExp(text, "u");
  } catch {
    throw new UsageError("--run: is not a regular expression; escape literal characters with a backslash");
  }
}

function readThreshold(text: string): number {
  const percentage = /^\d{1,3}(?:\.\d{1,4})?$/.test(text) ? Number(text) : Infinity;
  if (percentage > 100) throw new UsageError("--threshold: must be a number from 0 to 100, such as 95");
  return percentage;
}

/** @returns milliseconds. */
function readTimeout(text: string): number {
  const seconds = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (seconds < 1 || seconds > LONGEST_TIMEOUT)
    throw new UsageError(`--timeout: must be a whole number of seconds from 1 to ${LONGEST_TIMEOUT}`);
  return seconds * 1_000;
}

async function run(options: TestOptions, io: CommandIo): Promise<number> {
  const due = performance.now() + options.timeout;
  const folder = await readPolicyFolder(io, options.directory);
  const cache = await openCache(options.cache, io);
  const toolchain = createToolchain({ cache, timeLimit: options.timeout });
  const compiled = await compilePolicies(folder.sources, { cache, toolchain });
  const errors = compiled.diagnostics.filter(({ severity }) => severity === "error");
  const report = (result: TestRun | null, findings: readonly Diagnostic[]): void =>
    io.stdout(formatReport(options, folder, result, findings, wantsColour(io)));
  if (errors.length > 0) {
    report(null, errors);
    return EXIT.failed;
  }
  const subject = { policies: compiled.policies, sources: folder.sources };
  const tested = await usingToolchain(() => runWithin(due, options, subject, cache));
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
  const failed = failuresOf(result).length > 0 || findings.some(({ severity }) => severity === "error");
  return failed ? EXIT.failed : EXIT.ok;
}

/** @throws {CommandError} where the tests do not end in time. @param due on the clock of `performance.now()`. */
async function runWithin(
  due: number,
  { coverage, timeout }: TestOptions,
  subject: TestSubject,
  cache: CompileCache | null,
): Promise<TestRun> {
  const timeLimit = Math.max(1, due - performance.now());
  try {
    return await runTests(subject, createToolchain({ cache, timeLimit }), coverage);
  } catch (error) {
    if (!(error instanceof ToolchainError) || error.code !== "TOOLCHAIN_TIMEOUT") throw error;
    const files = subject.sources.map(({ path }) => path).filter((path) => path.endsWith("_test.rego"));
    throw new CommandError(
      `--timeout: the tests did not end within ${timeout / 1000} s, so there are no results. One of these files has a test that takes too long or never ends: ${files.join(", ")}. Move files away to find it, or give more time.`,
    );
  }
}

/** Without a pattern, policies without tests stay: that they have none is worth a line. */
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
  const gaps = coverage.gaps.map((gap): Diagnostic => (strict ? { ...gap, severity: "error" } : gap));
  return below === null ? gaps : [...gaps, below];
}

/** @param result `null` where the policies do not compile; the findings say why. */
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
      return formatDiagnostics("github", [...(result === null ? [] : failuresOf(result)), ...findings]);
  }
}

type TestFailureCode = "POLICY_TEST_FAILED" | "POLICY_TEST_ERROR";

/** Tests that did not pass, as findings: what annotations are made of. */
function failuresOf({ policies }: TestRun): readonly Diagnostic<TestFailureCode>[] {
  return policies.flatMap(({ tests }) => tests.flatMap(failureOf));
}

function failureOf(test: PolicyTest): readonly Diagnostic<TestFailureCode>[] {
  const { name, file, line, column, outcome, cases, printed, error } = test;
  if (outcome !== "fail" && outcome !== "error") return [];
  const hint = [...error, ...printed.map((text) => `printed: ${text}`)].join("\n");
  const which = cases.length === 0 ? "" : ` for ${cases.join(", ")}`;
  const location = { severity: "error", file, line, column, hint } as const;
  return [
    outcome === "error"
      ? { code: "POLICY_TEST_ERROR", message: `${name} ended with an error`, ...location }
      : { code: "POLICY_TEST_FAILED", message: `${name} failed${which}`, ...location },
  ];
}
