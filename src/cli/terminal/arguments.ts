import { parseArgs, type ParseArgsConfig } from "node:util";
import { nearestName } from "../../canon/nearest-name.ts";
import { suggest } from "../../compile/authored/literal-secrets.ts";
import { asTyped } from "./as-typed.ts";
import { UsageError, type CommandIo } from "./command-io.ts";

export { readTime } from "../../canon/rfc3339.ts";

export type Options = NonNullable<ParseArgsConfig["options"]>;

/** Flags with a value, by their names. */
export function textFlags<const Name extends string>(...names: readonly Name[]) {
  return flagsOf(names, { type: "string" } as const);
}

/** Flags without a value. */
export function switches<const Name extends string>(...names: readonly Name[]) {
  return flagsOf(names, { type: "boolean" } as const);
}

/** Flags with a value that can be given several times. */
export function listFlags<const Name extends string>(...names: readonly Name[]) {
  return flagsOf(names, { type: "string", multiple: true } as const);
}

function flagsOf<Name extends string, Flag>(
  names: readonly Name[],
  flag: Flag,
): Readonly<Record<Name, Flag>> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has these names and no others
  return Object.fromEntries(names.map((name) => [name, flag])) as Record<Name, Flag>;
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

/** Former flags, with what is written now; the first one that the command has. */
const RENAMED: ReadonlyMap<string, readonly string[]> = new Map([
  ["--json", ["--format json"]],
  ["--csv", ["--format csv"]],
  ["--overlay", ["--environment"]],
]);

function describeError(error: unknown, known: readonly string[]): string {
  const text = error instanceof Error ? error.message : "";
  const flag = /'(?:-[a-z], )?(--?[a-z][a-z-]{0,40})(?:[ =][^']*)?'/.exec(text)?.[1] ?? "a flag";
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION") {
    const now = RENAMED.get(flag)?.find((form) =>
      known.some((name) => form.split(" ")[0] === `--${name}`),
    );
    if (now !== undefined) return `${flag}: is now ${now}`;
    const flags = known.map((name) => `--${name}`);
    return `${flag}: there is no such flag${didYouMean(flag, flags)}`;
  }
  return /does not take an argument/.test(text)
    ? `${flag}: takes no value`
    : `${flag}: needs a value`;
}

/** For a command that has others below it, where the one on the command line is none of them. */
export function noSuchCommand(name: string | undefined, known: readonly string[]): UsageError {
  const shown = asTyped(name === undefined ? [] : [name]);
  return new UsageError(
    `command: give one of ${known.join(", ")}${name === undefined ? "" : didYouMean(name, known)}${shown}`,
  );
}

/** Longest list of values that a message still has whole. */
const LISTED = 16;

/**
 * One of a flag's values. @throws {UsageError} that names the flag, its values, and the one that
 * was probably meant.
 */
export function readValue<Value extends string>(
  flag: string,
  text: string,
  values: readonly Value[],
): Value {
  const found = values.find((one) => one === text);
  if (found !== undefined) return found;
  if (values.length > LISTED)
    throw new UsageError(`${flag}: is not an allowed value; ${suggest(text, values)}`);
  throw new UsageError(`${flag}: must be one of ${values.join(", ")}${didYouMean(text, values)}`);
}

/** For the end of a message; empty where no value is near. */
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

/**
 * For a command that takes no arguments, only flags. @param instead how what was meant is given.
 * @throws {UsageError}
 */
export function noArguments(positionals: readonly string[], instead: string = ""): void {
  if (positionals.length === 0) return;
  throw new UsageError(
    `takes no arguments, only flags${instead === "" ? "" : `; ${instead}`}${asTyped(positionals)}`,
  );
}

/** The value of a flag that must be there. */
export function required(value: string | undefined, flag: string, example: string): string {
  if (value === undefined || value === "")
    throw new UsageError(`${flag}: is missing; give it, such as ${flag} ${example}`);
  return value;
}

/** The items of `a,b`, without the empty ones. */
export function listItems(value: string | undefined): readonly string[] {
  return (value ?? "")
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

/** The one argument of a command that takes exactly one. */
export function onlyArgument(positionals: readonly string[], name: string): string {
  const [first, ...rest] = positionals;
  if (first === undefined) throw new UsageError(`${name}: is missing`);
  if (rest.length > 0) throw new UsageError(`${name}: give exactly one${asTyped(positionals)}`);
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

/** A whole number within bounds. @throws {UsageError} */
export function readCount(flag: string, text: string, most: number): number {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > most)
    throw new UsageError(`${flag}: must be a whole number from 1 to ${most}`);
  return count;
}

/** The name of a workspace that is written into a new routes.yaml. @throws {UsageError} */
export function readWorkspaceName(text: string): string {
  if (/^[a-z0-9][a-z0-9_-]{0,62}$/.test(text) && !Object.hasOwn(Object.prototype, text))
    return text;
  throw new UsageError(
    "--workspace: must be 1 to 63 lower-case letters, digits, - or _, beginning with a letter or digit, and no reserved name",
  );
}

/** A TCP port; 0 takes a free one. */
export function readPort(text: string, flag: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Infinity;
  if (port > 65_535) throw new UsageError(`${flag}: must be a number from 0 to 65535`);
  return port;
}

/** Names the environment where a flag does not. */
const ENVIRONMENT_VARIABLE = "SIGNALBOX_ENVIRONMENT";

/** The flag's help text. */
export const ENVIRONMENT_HELP = `  --environment NAME  merge routes.NAME.yaml over it (default: ${ENVIRONMENT_VARIABLE}, else none)`;

/**
 * The environment whose overlay is meant; `null` for none.
 *
 * @param flag its value; `undefined` where it was not given.
 */
export function readEnvironment(
  flag: string | undefined,
  { environment }: Pick<CommandIo, "environment">,
): string | null {
  if (flag === "")
    throw new UsageError("--environment: needs a name, such as --environment production");
  const variable = environment[ENVIRONMENT_VARIABLE] ?? "";
  return flag ?? (variable === "" ? null : variable);
}
