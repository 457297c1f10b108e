import { KeyOptionError } from "../../keys/key-option-error.ts";
import { StartError } from "../../server/start-error.ts";
import { DuplicateKeyError, KeyNotActiveError, KeyRotatedError } from "../../keys/key-errors.ts";
import { StoreUnavailableError } from "../../canon/errors/store-unavailable.ts";
import { readArguments, type Options } from "./arguments.ts";
import { CommandError, EXIT, UsageError, type CommandIo } from "./command-io.ts";

/**
 * Runs a command's work and turns the errors made for people into one line on stderr and the exit code.
 *
 * @param usage the exit code of a command line that cannot be used, for commands whose 2 means something else
 */
export async function runCommand(
  name: string,
  io: CommandIo,
  work: () => Promise<number>,
  usage: number = EXIT.usage,
): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UsageError) {
      io.stderr(`signalbox ${name}: ${error.message}\nRun "signalbox ${name} --help" for help.\n`);
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

const HELP_FLAG = { help: { type: "boolean", short: "h" } } as const;

/** A command with one set of flags; `-h, --help` besides. */
interface FlagCommand<Given extends Options> {
  readonly name: string;
  readonly help: string;
  readonly flags: Given;
}

/** Runs a command with its flags read, or prints its help. */
export function runFlagCommand<const Given extends Options>(
  { name, help, flags }: FlagCommand<Given>,
  argv: readonly string[],
  io: CommandIo,
  work: (read: ReturnType<typeof readArguments<Given & typeof HELP_FLAG>>) => Promise<number>,
): Promise<number> {
  return runCommand(name, io, async () => {
    const read = readArguments(argv, { ...flags, ...HELP_FLAG });
    if (Reflect.get(read.values, "help") !== true) return work(read);
    io.stdout(help);
    return EXIT.ok;
  });
}
