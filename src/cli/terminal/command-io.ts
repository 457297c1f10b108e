/** What a command may touch of the outside; tests hand in their own. */
export interface CommandIo {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Everything on standard input, as text; absent where a command has none. */
  readonly stdin?: () => Promise<string>;
  /** Whether stdout is a terminal; colours are for terminals only. */
  readonly terminal?: boolean;
  /** Columns of that terminal. */
  readonly columns?: number;
  /** Whether stderr is a terminal; a line that is rewritten is for terminals only. */
  readonly stderrTerminal?: boolean;
  /** Ends a command that would otherwise run on, such as `evidence tail --follow`. */
  readonly signal?: AbortSignal;
}

/** Exit codes of every command. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;

/** The command line cannot be used. The message names the flag and the fix. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The command could not do its work. The message names what and the fix. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}

/** Runs one command; gives the exit code. */
export type Command = (argv: readonly string[], io: CommandIo) => Promise<number>;

/** Commands by name, each loaded when it is run. */
export type CommandTable = Readonly<
  Record<string, { readonly summary: string; readonly load: () => Promise<Command> }>
>;
