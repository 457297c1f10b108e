import type { Command } from "../terminal/command-io.ts";

/** What may follow a command. */
export interface CommandWords {
  readonly summary: string;
  /** With their dashes, sorted. */
  readonly flags: readonly string[];
  /** Name → its flags; none for most commands. */
  readonly subcommands: ReadonlyMap<string, readonly string[]>;
}

/** Reads the arguments from the output of `--help`, so that completion offers exactly the documented ones. */
export async function wordsOf(summary: string, command: Command): Promise<CommandWords> {
  const help = await helpOf(command, ["--help"]);
  const subcommands = new Map<string, readonly string[]>();
  if (/^Usage: signalbox [a-z]+ <command>/m.test(help)) {
    for (const [, name = ""] of help.matchAll(/^ {2}([a-z]+)(?: [A-Z]+)? {2,}\S/gm)) {
      subcommands.set(name, flagsIn(await helpOf(command, [name, "--help"])));
    }
  }
  return { summary, flags: flagsIn(help), subcommands };
}

async function helpOf(command: Command, argv: readonly string[]): Promise<string> {
  let text = "";
  const silent = { stdout: (written: string) => void (text += written), stderr: () => {}, environment: {}, cwd: "." };
  await command(argv, silent);
  return text;
}

function flagsIn(help: string): readonly string[] {
  const flags = [...help.matchAll(/(?<![\w-])--[a-z][a-z-]*[a-z]/g)].map(([flag]) => flag);
  return [...new Set([...flags, "--help"])].toSorted();
}
