import { compilePolicies } from "../../policy/compile-policies.ts";
import { classifySources } from "../../policy/contract/sources.ts";
import { noArguments, readValue } from "../terminal/arguments.ts";
import { EXIT, type CommandIo } from "../terminal/command-io.ts";
import { DEFAULT_CACHE_TEXT, openCache } from "../compile-cache.ts";
import { formatDiagnostics, REPORT_FORMATS } from "../terminal/report.ts";
import { runFlagCommand } from "../terminal/run.ts";
import { DEFAULT_DIRECTORY, readPolicyFolder } from "./policy-folder.ts";
import { wantsColour, amountOf } from "../terminal/printing.ts";

const HELP = `Usage: signalbox policy check [options]

Compiles policies, their tests and their libraries, and prints everything that is wrong. Runs no tests.

  --dir DIRECTORY     folder of the policies (default: ${DEFAULT_DIRECTORY})
  --format FORMAT     ${REPORT_FORMATS.join(", ")} (default: terminal)
  --strict            warnings fail too
  --cache DIRECTORY   compiled policies (default: ${DEFAULT_CACHE_TEXT})
  --help              this text

Exit codes: 0 no errors, 1 errors (or warnings with --strict), 2 usage.
`;

const FLAGS = {
  dir: { type: "string", default: DEFAULT_DIRECTORY },
  format: { type: "string", default: "terminal" },
  strict: { type: "boolean", default: false },
  cache: { type: "string" },
} as const;

/** `signalbox policy check`; gives the exit code. The report goes to stdout in every format. */
export function checkPolicies(argv: readonly string[], io: CommandIo): Promise<number> {
  return runFlagCommand(
    { name: "policy check", help: HELP, flags: FLAGS },
    argv,
    io,
    async ({ values, positionals }) => {
      noArguments(positionals, "name the folder with --dir");
      const format = readValue("--format", values.format, REPORT_FORMATS);
      const { shown, sources } = await readPolicyFolder(io, values.dir);
      const cache = await openCache(values.cache, io);
      const { policies, diagnostics } = await compilePolicies(sources, { cache });
      io.stdout(
        formatDiagnostics(format, diagnostics, {
          sources,
          revision: null,
          colour: wantsColour(io),
        }),
      );
      const failed =
        diagnostics.some(({ severity }) => severity === "error") ||
        (values.strict && diagnostics.length > 0);
      if (format === "terminal" && !diagnostics.some(({ severity }) => severity === "error")) {
        const constraints = policies.flatMap(({ contract }) => contract.constraints).length;
        const tested = classifySources(sources).files.filter(({ kind }) => kind === "test").length;
        io.stdout(
          `${shown}: ${amountOf(policies.length, "policy", "policies")}, ${amountOf(constraints, "constraint")}, ${tested} with tests\n`,
        );
      }
      return failed ? EXIT.failed : EXIT.ok;
    },
  );
}
