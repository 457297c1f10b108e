import { parseArgs } from "node:util";
import { ARTEFACT_DIRECTORY, readManifest } from "../../src/policy/toolchain/artefact.ts";
import { ToolchainError } from "../../src/policy/toolchain/protocol.ts";
import { createToolchain } from "../../src/policy/toolchain/toolchain.ts";
import { assess, isAsKnown } from "./assessment.ts";
import type { ConformanceCase } from "./cases/case.ts";
import { casesAtHand } from "./cases/cases-at-hand.ts";
import { CasesError, readCases } from "./cases/read-cases.ts";
import { report } from "./report.ts";
import { runCases } from "./run.ts";

const HELP = `npm run tool -- conformance [PATH] [--every N] [--only TEXT]

Runs OPA's compliance cases through the compiler and the evaluator that policies run on.

  PATH         a folder of OPA's own files (v1/test/cases/testdata/v1 of its repository), one such file, or JSON lines;
               without it $SIGNALBOX_OPA_CASES
  --every N    only every Nth case
  --only TEXT  only cases whose note contains the text

Exit code: 0 as known, 1 a result that docs/how-we-know.md does not know about, 2 nothing was run.
`;

interface Options {
  readonly path: string;
  readonly every: number;
  readonly only: string;
}

/** @returns the options, or what is wrong with them; `null` where help was requested. */
function readOptions(argv: readonly string[]): Options | string | null {
  let parsed;
  try {
    parsed = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        every: { type: "string" },
        only: { type: "string" },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    return error instanceof Error ? error.message : "the arguments cannot be read";
  }
  const { positionals, values } = parsed;
  if (values.help === true) return null;
  if (positionals.length > 1) return "give one PATH only";
  const every = Number(values.every ?? "1");
  if (!Number.isSafeInteger(every) || every < 1) return "--every must be a whole number from 1";
  const path = positionals[0] ?? casesAtHand();
  if (path === null) return "PATH is missing, and SIGNALBOX_OPA_CASES is not set";
  return { path, every, only: values.only ?? "" };
}

async function selectedCases({ path, every, only }: Options): Promise<readonly ConformanceCase[]> {
  const cases = (await readCases(path)).filter(
    ({ note }, index) => index % every === 0 && note.includes(only),
  );
  if (cases.length === 0)
    throw new CasesError("no case is selected: --only or --every leaves none");
  return cases;
}

async function main(argv: readonly string[]): Promise<number> {
  const options = readOptions(argv);
  if (options === null) {
    process.stdout.write(HELP);
    return 0;
  }
  if (typeof options === "string") {
    process.stderr.write(`conformance: ${options}\n\n${HELP}`);
    return 2;
  }
  try {
    const cases = await selectedCases(options);
    const { opa } = await readManifest(ARTEFACT_DIRECTORY);
    const results = await runCases(cases, createToolchain({ cache: null }), (done) => {
      if (done % 100 === 0) process.stderr.write(`${done} of ${cases.length}\n`);
    });
    const assessment = assess(results);
    process.stdout.write(report(assessment, opa));
    return isAsKnown(assessment) ? 0 : 1;
  } catch (error) {
    // Anything else is a bug, and its stack says where.
    if (!(error instanceof CasesError || error instanceof ToolchainError)) throw error;
    process.stderr.write(`conformance: ${error.message}\n`);
    return 2;
  }
}

process.exitCode = await main(process.argv.slice(2));
