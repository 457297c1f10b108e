import { KeyOptionError } from "../../keys/key-grants.ts";
import { StartError } from "../../server/start-error.ts";
import { DuplicateKeyError, KeyNotActiveError, KeyRotatedError } from "../../keys/key-store.ts";
import { StoreUnavailableError } from "../../canon/error.ts";
import { noSuchCommand, readArguments, type Options } from "./arguments.ts";
import { flagAsTyped } from "./as-typed.ts";
import { CommandError, EXIT, UsageError, type CommandIo } from "./command-io.ts";

/** A command as its line is read. */
interface CommandLine {
  /** As it is typed after `signalbox`. */
  readonly name: string;
  readonly help: string | (() => string | Promise<string>);
  /** Exit code of a line that cannot be used; 2 unless given. */
  readonly usage?: number;
}

/**
 * Prints the help where the line requests it; else runs the command's work, and turns errors made
 * for people into one line on stderr and the exit code.
 */
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
    if (!(error instanceof Error) || !FOR_PEOPLE.some((kind) => error instanceof kind)) throw error;
    io.stderr(`signalbox ${name}: ${error.message}\n`);
    return EXIT.failed;
  }
}

/** Errors whose messages name what went wrong and the fix; any other one is a bug. */
const FOR_PEOPLE = [
  CommandError,
  StartError,
  KeyOptionError,
  StoreUnavailableError,
  KeyNotActiveError,
  KeyRotatedError,
  DuplicateKeyError,
];

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

/** A command below another one. */
export interface Subcommand<Values> {
  /**
   * The flags that it reads, beside those of all; any other one is refused, because a flag without
   * effect misleads.
   */
  readonly flags: readonly string[];
  readonly run: (values: Values, positionals: readonly string[], io: CommandIo) => Promise<number>;
}

/**
 * Runs the command that the first argument names. @param line `common`: flags that all of them
 * read.
 */
export function runSubcommand<const Given extends Options>(
  {
    common,
    commands,
    ...line
  }: CommandLine & {
    readonly flags: Given;
    readonly common: readonly string[];
    readonly commands: Readonly<
      Record<string, Subcommand<ReturnType<typeof readArguments<Given>>["values"]>>
    >;
  },
  argv: readonly string[],
  io: CommandIo,
): Promise<number> {
  return runFlagCommand(line, argv, io, async ({ values, positionals }) => {
    const [name, ...rest] = positionals;
    const command =
      name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (command === undefined) throw noSuchCommand(name, Object.keys(commands));
    for (const flag of Object.keys(values)) {
      if (common.includes(flag) || command.flags.includes(flag)) continue;
      throw new UsageError(`--${flag}: has no effect on ${line.name} ${name}; leave it out`);
    }
    return await command.run(values, rest, io);
  });
}
