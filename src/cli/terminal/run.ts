import { KeyOptionError } from "../../keys/key-option-error.ts";
import { StartError } from "../../server/start-error.ts";
import { DuplicateKeyError, KeyNotActiveError, KeyRotatedError } from "../../keys/key-errors.ts";
import { StoreUnavailableError } from "../../canon/errors/store-unavailable.ts";
import { readArguments, type Options } from "./arguments.ts";
import { flagAsTyped } from "./as-typed.ts";
import { CommandError, EXIT, UsageError, type CommandIo } from "./command-io.ts";

/** A command as its line is read. */
export interface CommandLine {
  /** As it is typed after `signalbox`. */
  readonly name: string;
  readonly help: string | (() => string | Promise<string>);
  /** Exit code of a line that cannot be used; 2 unless given. */
  readonly usage?: number;
}

/** Prints the help where the line requests it; else runs the command's work, and turns errors made for people into one line on stderr and the exit code. */
export async function runCommand(
  { name, help, usage = EXIT.usage }: CommandLine,
  argv: readonly string[],
  io: CommandIo,
  work: () => Promise<number>,
): Promise<number> {
  // Before anything is read: help is for a person whose line is not right yet.
  if (requestsHelp(argv)) {
    io.stdout(typeof help === "string" ? help : await help());
    return EXIT.ok;
  }
  try {
    return await work();
  } catch (error) {
    if (error instanceof UsageError) {
      io.stderr(
        `signalbox ${name}: ${error.message}${flagAsTyped(error, argv)}\nRun "signalbox ${name} --help" for help.\n`,
      );
      return usage;
    }
    if (
      error instanceof CommandError ||
      error instanceof StartError ||
      error instanceof KeyOptionError ||
      error instanceof StoreUnavailableError ||
      error instanceof KeyNotActiveError ||
      error instanceof KeyRotatedError ||
      error instanceof DuplicateKeyError
    ) {
      io.stderr(`signalbox ${name}: ${error.message}\n`);
      return EXIT.failed;
    }
    throw error;
  }
}

function requestsHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  const read = end === -1 ? argv : argv.slice(0, end);
  return read.includes("--help") || read.includes("-h");
}

/** Runs a command with its flags read. */
export function runFlagCommand<const Given extends Options>(
  { flags, ...line }: CommandLine & { readonly flags: Given },
  argv: readonly string[],
  io: CommandIo,
  work: (read: ReturnType<typeof readArguments<Given>>) => Promise<number>,
): Promise<number> {
  return runCommand(line, argv, io, () => work(readArguments(argv, flags)));
}
