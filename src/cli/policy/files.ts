import { resolve } from "node:path";
import type { Source } from "../../canon/diagnostic.ts";
import { compilePolicies } from "../../policy/compile-policies.ts";
import { diagnosticOf } from "../../policy/codes.ts";
import { classifySources } from "../../policy/contract/sources.ts";
import { createToolchain } from "../../policy/toolchain/toolchain.ts";
import { EXIT } from "../terminal/command-io.ts";
import { defaultFlags, flagCommand, readValue, textFlags } from "../terminal/command-line.ts";
import { DEFAULT_CACHE_TEXT, openCache } from "../terminal/configuration.ts";
import { amountText } from "../terminal/printing.ts";
import { replaceFile } from "../terminal/write-file.ts";
import { printFindings, printReport, REPORT_FORMATS } from "../terminal/report.ts";
import { DEFAULT_DIRECTORY, readPolicyFolder, usingToolchain } from "./policy-folder.ts";

const FOLDER = "name the folder with --dir";

const CHECK_HELP = `Usage: signalbox policy check [options]

Compiles policies, their tests and their libraries, and prints everything that is wrong. Runs no tests.

  --dir DIRECTORY     folder of the policies (default: ${DEFAULT_DIRECTORY})
  --format FORMAT     ${REPORT_FORMATS.join(", ")} (default: terminal)
  --strict            warnings fail too
  --cache DIRECTORY   compiled policies (default: ${DEFAULT_CACHE_TEXT})
  --help              this text

Exit codes: 0 no errors, 1 errors (or warnings with --strict), 2 usage.
`;

const CHECK_FLAGS = {
  ...defaultFlags({ dir: DEFAULT_DIRECTORY, format: "terminal", strict: false }),
  ...textFlags("cache"),
};

export const checkPolicies = flagCommand(
  { name: "policy check", help: CHECK_HELP, flags: CHECK_FLAGS, flagsOnly: FOLDER },
  async (values, io) => {
    const format = readValue("--format", values.format, REPORT_FORMATS);
    const { shown, sources } = await readPolicyFolder(io, values.dir);
    const cache = await openCache(values.cache, io);
    const compiled = await compilePolicies(sources, { cache });
    const { policies } = compiled;
    const { hasErrors, exit } = printReport(
      format,
      compiled.diagnostics,
      sources,
      values.strict,
      io,
    );
    if (format === "terminal" && !hasErrors) {
      const constraints = policies.flatMap(({ contract }) => contract.constraints).length;
      const tested = classifySources(sources).files.filter(({ kind }) => kind === "test").length;
      io.stdout(
        `${shown}: ${amountText(policies.length, "policy", "policies")}, ${amountText(constraints, "constraint")}, ${tested} with tests\n`,
      );
    }
    return exit;
  },
);

const FORMAT_HELP = `Usage: signalbox policy fmt [options]

Formats policies, their tests and their libraries in place, and prints the files that changed.

  --dir DIRECTORY   folder of the policies (default: ${DEFAULT_DIRECTORY})
  --check           changes nothing; prints the files that would change
  --help            this text

Exit codes: 0 done, 1 a file cannot be read as Rego, or would change with --check, 2 usage.
`;

const FORMAT_FLAGS = defaultFlags({ dir: DEFAULT_DIRECTORY, check: false });

/** Prints the names of changed files on stdout, and syntax errors on stderr. */
export const formatPolicies = flagCommand(
  { name: "policy fmt", help: FORMAT_HELP, flags: FORMAT_FLAGS, flagsOnly: FOLDER },
  async (values, io) => {
    const { sources } = await readPolicyFolder(io, values.dir);
    const toolchain = createToolchain({ cache: null });
    const { modules, errors } = await usingToolchain(() => toolchain.format({ modules: sources }));
    const formatted = new Map(modules.map(({ path, text }) => [path, text]));
    const changed = sources.flatMap((source) => changeOf(source, formatted.get(source.path)));
    for (const { path, text } of changed) {
      if (!values.check) await replaceFile({ path: resolve(io.cwd, path), shown: path, text });
      io.stdout(`${path}\n`);
    }
    if (errors.length > 0) printFindings(errors.map(diagnosticOf), io, sources);
    return errors.length > 0 || (values.check && changed.length > 0) ? EXIT.failed : EXIT.ok;
  },
);

/**
 * Keeps the line endings of the file: a checkout on Windows may have others than the repository.
 */
function changeOf({ path, text }: Source, formatted: string | undefined): readonly Source[] {
  if (formatted === undefined || text.replaceAll("\r\n", "\n") === formatted) return [];
  return [{ path, text: text.includes("\r\n") ? formatted.replaceAll("\n", "\r\n") : formatted }];
}
