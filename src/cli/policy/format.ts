import { resolve } from "node:path";

import type { Source } from "../../canon/diagnostic.ts";
import { diagnosticOf } from "../../policy/contract/failures.ts";
import { createToolchain } from "../../policy/toolchain/toolchain.ts";
import { noArguments } from "../terminal/arguments.ts";
import { EXIT, type CommandIo } from "../terminal/command-io.ts";
import { printFindings } from "../terminal/report.ts";
import { runFlagCommand } from "../terminal/run.ts";
import { DEFAULT_DIRECTORY, readPolicyFolder, usingToolchain } from "./policy-folder.ts";
import { replaceFile } from "./write-file.ts";

const HELP = `Usage: signalbox policy fmt [options]

Formats policies, their tests and their libraries in place, and prints the files that changed.

  --dir DIRECTORY   folder of the policies (default: ${DEFAULT_DIRECTORY})
  --check           changes nothing; prints the files that would change
  --help            this text

Exit codes: 0 done, 1 a file cannot be read as Rego, or would change with --check, 2 usage.
`;

const FLAGS = {
  dir: { type: "string", default: DEFAULT_DIRECTORY },
  check: { type: "boolean", default: false },
} as const;

/**
 * `signalbox policy fmt`; gives the exit code. Names of files go to stdout, what cannot be read to
 * stderr.
 */
export function formatPolicies(argv: readonly string[], io: CommandIo): Promise<number> {
  return runFlagCommand(
    { name: "policy fmt", help: HELP, flags: FLAGS },
    argv,
    io,
    async ({ values, positionals }) => {
      noArguments(positionals, "name the folder with --dir");
      const { sources } = await readPolicyFolder(io, values.dir);
      const toolchain = createToolchain({ cache: null });
      const { modules, errors } = await usingToolchain(() =>
        toolchain.format({ modules: sources }),
      );
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
}

/**
 * A checkout on Windows may have other line endings than the repository; that alone is no change,
 * and it stays.
 */
function changeOf({ path, text }: Source, formatted: string | undefined): readonly Source[] {
  if (formatted === undefined || text.replaceAll("\r\n", "\n") === formatted) return [];
  return [{ path, text: text.includes("\r\n") ? formatted.replaceAll("\n", "\r\n") : formatted }];
}
