import { isShowable, quote } from "../../compile/authored/literal-secrets.ts";
import type { UsageError } from "./command-io.ts";
import { isAbsolute, relative, sep } from "node:path";

/** Their values may hold a password in a form that cannot be recognised. */
const NEVER_SHOWN: ReadonlySet<string> = new Set(["database", "server"]);

/** A key that was cut off is still most of a secret. */
const KEY_START = /^(?:sbx_|sk-)/;

/**
 * ` (given: \`many\`)`, for the end of a message; empty where one of the values could be a
 * credential.
 */
export function asTyped(values: readonly string[]): string {
  if (values.length === 0 || !values.every((value) => isShowable(value) && !KEY_START.test(value)))
    return "";
  return ` (given: ${values.map(quote).join(", ")})`;
}

/**
 * The value of the flag that a usage error is about, as it was typed.
 *
 * @param error whose message begins with the flag.
 */
export function flagAsTyped({ message }: UsageError, argv: readonly string[]): string {
  const [, flag] =
    /^--([a-z][a-z-]*): (?!takes no value|needs a value|there is no such flag|is now )/.exec(
      message,
    ) ?? [];
  return flag === undefined || NEVER_SHOWN.has(flag) ? "" : asTyped(valuesOf(flag, argv));
}

function valuesOf(flag: string, argv: readonly string[]): readonly string[] {
  const long = `--${flag}`;
  return argv.flatMap((argument, index) => {
    if (argument.startsWith(`${long}=`)) return [argument.slice(long.length + 1)];
    const next = argv[index + 1];
    return argument === long && next !== undefined && !next.startsWith("-") ? [next] : [];
  });
}

/**
 * Relative and with `/`, so that annotations find the file in a checkout; absolute where it lies
 * outside; `.` for the folder itself.
 */
export function shownPath(cwd: string, path: string): string {
  const below = relative(cwd, path);
  if (below === "") return ".";
  return below.startsWith("..") || isAbsolute(below) ? path : below.split(sep).join("/");
}
