import { UsageError, type CommandIo } from "./command-io.ts";

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
  if (flag === "") throw new UsageError("--environment: needs a name, such as --environment production");
  const variable = environment[ENVIRONMENT_VARIABLE] ?? "";
  return flag ?? (variable === "" ? null : variable);
}
