/** A command's access to the world outside of the process; tests pass their own. */
export interface CommandIo {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Reads standard input to its end. */
  readonly stdin?: () => Promise<string>;
  /** Prompts for a line; default: on the terminal of the process. */
  readonly ask?: (question: string) => Promise<string>;
  /** Whether stdout is a terminal; colours are for terminals only. */
  readonly terminal?: boolean;
  /** Columns of that terminal. */
  readonly columns?: number;
  /** Whether stderr is a terminal; a line that is rewritten is for terminals only. */
  readonly stderrTerminal?: boolean;
  /** Stops a command that runs until it is stopped, such as `evidence tail --follow`. */
  readonly signal?: AbortSignal;
}

/** Exit codes of every command. */
export const EXIT = { ok: 0, failed: 1, usage: 2, notNow: 3 } as const;

/** A wrong command line. The message states the flag and the fix. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The command failed. The message states the problem and the fix. */
export class CommandError extends Error {
  override readonly name: string = "CommandError";
  readonly exit: number = EXIT.failed;
}

/**
 * Nothing is broken, and nothing was done: something is missing, or another change was first. A
 * pipeline can wait for it.
 */
export class NotNowError extends CommandError {
  override readonly name = "NotNowError";
  override readonly exit = EXIT.notNow;
}

/** Code of a Node error, such as `ENOENT`; anything else has none. */
export function errorCode(error: unknown): unknown {
  return error instanceof Error ? Reflect.get(error, "code") : undefined;
}

/** Runs one command. @returns the exit code. */
export type Command = (argv: readonly string[], io: CommandIo) => Promise<number>;

/** Commands by name, each loaded when it is run. */
export type CommandTable = Readonly<
  Record<string, { readonly summary: string; readonly load: () => Promise<Command> }>
>;
