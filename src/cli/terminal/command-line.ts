import { isAbsolute, relative, sep } from "node:path";
import { parseArgs, type ParseArgsConfig } from "node:util";
import { StoreUnavailableError } from "../../canon/error.ts";
import { nearestName } from "../../canon/nearest-name.ts";
import { readTime } from "../../canon/rfc3339.ts";
import {
  CommandError,
  EXIT,
  UsageError,
  errorCode,
  type Command,
  type CommandIo,
} from "./command-io.ts";
import { isShowable, quote, suggest } from "../../compile/authored/literal-secrets.ts";
import { KeyOptionError } from "../../keys/key-record.ts";
import { DuplicateKeyError, KeyNotActiveError, KeyRotatedError } from "../../keys/key-store.ts";
import { StartError } from "../../server/start-error.ts";

/** A command, for its help and its messages. */
interface CommandLine {
  /** As typed after `signalbox`. */
  readonly name: string;
  readonly help: string | (() => string | Promise<string>);
  /** Exit code of a usage error; 2 unless given. */
  readonly usage?: number;
}

/**
 * Prints the help if the command line requests it. Otherwise runs `work` and prints errors that are
 * meant for users as one line on stderr.
 *
 * @param work its exit code; default: done.
 * @returns the exit code.
 */
export async function runCommand(
  { name, help, usage = EXIT.usage }: CommandLine,
  argv: readonly string[],
  io: CommandIo,
  work: () => Promise<number | void>,
): Promise<number> {
  // Before the flags are parsed: users request help while the command line is still wrong.
  if (requestsHelp(argv)) {
    io.stdout(typeof help === "string" ? help : await help());
    return EXIT.ok;
  }
  try {
    return (await work()) ?? EXIT.ok;
  } catch (error) {
    if (error instanceof UsageError) {
      io.stderr(
        `signalbox ${name}: ${error.message}${givenFlag(error, argv)}\nRun "signalbox ${name} --help" for help.\n`,
      );
      return usage;
    }
    if (!(error instanceof Error) || !USER_ERRORS.some((kind) => error instanceof kind))
      throw error;
    io.stderr(`signalbox ${name}: ${error.message}\n`);
    return error instanceof CommandError ? error.exit : EXIT.failed;
  }
}

/** Errors whose messages state the problem and the fix. Any other error is a bug. */
const USER_ERRORS = [
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

/** The parsed values of a table of flags. */
export type FlagValues<Given extends Options> = ReturnType<typeof readArguments<Given>>["values"];

/**
 * A command with a table of flags.
 *
 * @example
 *   export const limits = flagCommand(
 *     { name: "limits", help: HELP, flags: FLAGS, flagsOnly: "" },
 *     async ({ workspace }, io) => io.stdout(`limits of ${workspace}`),
 *   );
 *
 * @param line `flagsOnly`: positional arguments are refused; the text states the flag to use
 *   instead.
 */
export function flagCommand<const Given extends Options>(
  {
    flags,
    flagsOnly,
    ...line
  }: CommandLine & { readonly flags: Given; readonly flagsOnly?: string },
  work: (
    values: FlagValues<Given>,
    io: CommandIo,
    positionals: readonly string[],
  ) => Promise<number | void>,
): Command {
  return (argv, io) =>
    runCommand(line, argv, io, () => {
      const { values, positionals } = readArguments(argv, flags);
      if (flagsOnly !== undefined) noArguments(positionals, flagsOnly);
      return work(values, io, positionals);
    });
}

/** A command below another one. */
interface Subcommand<Values> {
  /** Its flags besides the common ones. Others are refused: they would have no effect. */
  readonly flags: readonly string[];
  /** Name of its only argument; absent for a command without arguments. */
  readonly argument?: string;
  readonly run: (values: Values, io: CommandIo, argument: string) => Promise<number | void>;
}

/**
 * A command whose first argument names a subcommand. @param line `common`: flags of all of them.
 */
export function commandGroup<const Given extends Options>({
  common,
  commands,
  ...line
}: CommandLine & {
  readonly flags: Given;
  readonly common: readonly string[];
  readonly commands: Readonly<Record<string, Subcommand<FlagValues<Given>>>>;
}): Command {
  return flagCommand(line, async (values, io, [name, ...rest]) => {
    const command =
      name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (command === undefined) throw noSuchCommand(name, Object.keys(commands));
    for (const flag of Object.keys(values)) {
      if (common.includes(flag) || command.flags.includes(flag)) continue;
      throw new UsageError(`--${flag}: has no effect on ${line.name} ${name}; leave it out`);
    }
    const { argument } = command;
    if (argument === undefined) noArguments(rest);
    const only = argument === undefined ? "" : onlyArgument(rest, argument);
    return await command.run(values, io, only);
  });
}

/** A table of flags. */
export type Options = NonNullable<ParseArgsConfig["options"]>;

/** Flags of one kind, by their names. */
function flagsOf<Flag>(flag: Flag) {
  return <const Name extends string>(...names: readonly Name[]) =>
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has these names and no others
    Object.fromEntries(names.map((name) => [name, flag])) as Readonly<Record<Name, Flag>>;
}

/** Flags with a value. */
export const textFlags = flagsOf({ type: "string" } as const);

/** Flags without a value. */
export const switches = flagsOf({ type: "boolean" } as const);

/** Flags with a value that can be given several times. */
export const listFlags = flagsOf({ type: "string", multiple: true } as const);

/** Flags with a default value: a text, or `false` for one without a value. */
export function defaultFlags<const Values extends Readonly<Record<string, string | false>>>(
  values: Values,
) {
  const flags = Object.entries(values).map(([name, value]) => [
    name,
    { type: value === false ? "boolean" : "string", default: value },
  ]);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has these names and no others
  return Object.fromEntries(flags) as {
    readonly [Name in keyof Values]: Values[Name] extends false
      ? { readonly type: "boolean"; readonly default: false }
      : { readonly type: "string"; readonly default: string };
  };
}

/**
 * `util.parseArgs`, with errors that name the flag and never repeat a value, because it may be a
 * key.
 */
export function readArguments<const Given extends Options>(
  argv: readonly string[],
  options: Given,
) {
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(describeError(error, Object.keys(options)));
  }
}

function describeError(error: unknown, names: readonly string[]): string {
  const text = error instanceof Error ? error.message : "";
  const flag = /'(?:-[a-z], )?(--?[a-z][a-z-]{0,40})(?:[ =][^']*)?'/.exec(text)?.[1] ?? "a flag";
  const code = errorCode(error);
  if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION") {
    const flags = names.map((name) => `--${name}`);
    return `${flag}: there is no such flag${didYouMean(flag, flags)}`;
  }
  return `${flag}: ${text.includes("does not take an argument") ? "takes no value" : "needs a value"}`;
}

/** The error of a missing or unknown subcommand. */
export function noSuchCommand(name: string | undefined, commands: readonly string[]): UsageError {
  const near = name === undefined ? "" : `${didYouMean(name, commands)}${givenText([name])}`;
  return new UsageError(`command: give one of ${commands.join(", ")}${near}`);
}

/** Longest list of values that a message prints. */
const MOST_LISTED = 16;

/** Parses an enum value. @throws {UsageError} with the flag, its values and the nearest one. */
export function readValue<Value extends string>(
  flag: string,
  text: string,
  values: readonly Value[],
): Value {
  const found = values.find((one) => one === text);
  if (found !== undefined) return found;
  if (values.length > MOST_LISTED)
    throw new UsageError(`${flag}: is not an allowed value; ${suggest(text, values)}`);
  throw new UsageError(`${flag}: must be one of ${values.join(", ")}${didYouMean(text, values)}`);
}

/** The end of a message; empty if no value is similar. */
export function didYouMean(text: string, values: readonly string[]): string {
  const near = nearestName(text, values);
  return near === null ? "" : `; did you mean ${near}?`;
}

/** Formats of commands that print a table for people and JSON for programs. */
export const TABLE_FORMATS = ["terminal", "json"] as const;

/** The line of the help about `--format`, without its indentation. */
export const TABLE_FORMAT_HELP = `${TABLE_FORMATS.join(", ")} (default: terminal)`;

/** The lines of the help about `--database`. */
export const DATABASE_HELP = `  --database PATH   An SQLite file or a postgres:// URL. Default: SIGNALBOX_DATABASE_URL, else SIGNALBOX_DATABASE,
                    else .signalbox/signalbox.db.`;

/** Whether `--format json` was given. @throws {UsageError} */
export function wantsJson(format: string | undefined): boolean {
  return readValue("--format", format ?? "terminal", TABLE_FORMATS) === "json";
}

/** Refuses positional arguments. @param instead the flag to use. @throws {UsageError} */
export function noArguments(positionals: readonly string[], instead: string = ""): void {
  if (positionals.length === 0) return;
  throw new UsageError(
    `takes no arguments, only flags${instead === "" ? "" : `; ${instead}`}${givenText(positionals)}`,
  );
}

/** The value of a required flag. @throws {UsageError} */
export function required(value: string | undefined, flag: string, example: string): string {
  if (value === undefined || value === "")
    throw new UsageError(`${flag}: is missing; give it, such as ${flag} ${example}`);
  return value;
}

/** The items of a comma-separated list; empty items are dropped. */
export function listItems(value: string | undefined): readonly string[] {
  return (value ?? "")
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

/** The only argument of a command. @throws {UsageError} */
export function onlyArgument(positionals: readonly string[], name: string): string {
  const [first, ...rest] = positionals;
  if (first === undefined) throw new UsageError(`${name}: is missing`);
  if (rest.length > 0) throw new UsageError(`${name}: give exactly one${givenText(positionals)}`);
  return first;
}

const UNITS: ReadonlyMap<string, number> = new Map([
  ["s", 1_000],
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
]);

/** Milliseconds of `90d`, `24h`, `30m`, `45s` or `0`; `null` for anything else. */
export function readDuration(text: string): number | null {
  if (text === "0") return 0;
  const [, amount, unit] = /^([0-9]{1,6})([smhd])$/.exec(text) ?? [];
  const factor = UNITS.get(unit ?? "");
  return amount === undefined || factor === undefined ? null : Number(amount) * factor;
}

/**
 * Milliseconds since the epoch, of an RFC 3339 time or a duration from now.
 *
 * @param sign 1: the duration ends then; -1: it began then.
 * @throws {UsageError}
 */
export function readInstant(flag: string, text: string, sign: 1 | -1, example: string): number {
  const duration = readDuration(text);
  const time = duration === null ? readTime(text) : Date.now() + sign * duration;
  if (time === null)
    throw new UsageError(`${flag}: give a duration such as ${example}, or an RFC 3339 time`);
  return time;
}

const NUMBERS = { number: /^\d{1,9}(?:\.\d{1,6})?$/, "whole number": /^\d{1,15}$/ };

/**
 * @param note end of the message: unit, example or another value.
 * @throws {UsageError} for a number that is not from `least` to `most`.
 */
export function readNumber(
  flag: string,
  text: string,
  [least, most]: readonly [least: number, most: number],
  note: string = "",
  kind: keyof typeof NUMBERS = "whole number",
): number {
  const number = NUMBERS[kind].test(text) ? Number(text) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw new UsageError(`${flag}: must be a ${kind} from ${least} to ${most}${note}`);
}

/** Ids of workspaces, providers, regions and labels in routes.yaml. */
export const ID_FORM = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/** The name of a workspace for a new routes.yaml. @throws {UsageError} */
export function readWorkspaceName(text: string): string {
  if (ID_FORM.test(text) && !Object.hasOwn(Object.prototype, text)) return text;
  throw new UsageError(
    "--workspace: must be 1 to 63 lower-case letters, digits, - or _, beginning with a letter or digit, and no reserved name",
  );
}

/** TCP ports; 0 takes a free one. */
export const PORTS = [0, 65_535] as const;

/** Default of `--environment`. */
const ENVIRONMENT_VARIABLE = "SIGNALBOX_ENVIRONMENT";

/** The flag's help text. */
export const ENVIRONMENT_HELP = `  --environment NAME  merge routes.NAME.yaml over it (default: ${ENVIRONMENT_VARIABLE}, else none)`;

/** The environment whose overlay is merged; `null` for none. @param flag of `--environment`. */
export function readEnvironment(
  flag: string | undefined,
  { environment }: Pick<CommandIo, "environment">,
): string | null {
  if (flag === "")
    throw new UsageError("--environment: needs a name, such as --environment production");
  const variable = environment[ENVIRONMENT_VARIABLE] ?? "";
  return flag ?? (variable === "" ? null : variable);
}

/** Flags whose values may contain a password. */
const NEVER_SHOWN: ReadonlySet<string> = new Set(["database", "server"]);

/** Keys are not printed, not even truncated. */
const KEY_START = /^(?:sbx_|sk-)/;

/**
 * ` (given: \`many\`)`, the end of a message; empty if a value could be a credential.
 */
export function givenText(values: readonly string[]): string {
  if (values.length === 0 || !values.every((value) => isShowable(value) && !KEY_START.test(value)))
    return "";
  return ` (given: ${values.map(quote).join(", ")})`;
}

/** The given value of the flag at the beginning of the error's message. */
function givenFlag({ message }: UsageError, argv: readonly string[]): string {
  const [, flag] =
    /^--([a-z][a-z-]*): (?!takes no value|needs a value|there is no such flag)/.exec(message) ?? [];
  return flag === undefined || NEVER_SHOWN.has(flag) ? "" : givenText(valuesOf(flag, argv));
}

function valuesOf(flag: string, argv: readonly string[]): readonly string[] {
  const long = `--${flag}`;
  return argv.flatMap((argument, index) => {
    if (argument.startsWith(`${long}=`)) return [argument.slice(long.length + 1)];
    const next = argv[index + 1] ?? "-";
    return argument === long && !next.startsWith("-") ? [next] : [];
  });
}

/**
 * Relative and with `/`, as annotations need it; absolute outside of the folder; `.` for the folder
 * itself.
 */
export function shownPath(cwd: string, path: string): string {
  const below = relative(cwd, path);
  if (below === "") return ".";
  return below.startsWith("..") || isAbsolute(below) ? path : below.split(sep).join("/");
}
