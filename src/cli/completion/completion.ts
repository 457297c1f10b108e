import { onlyArgument, readArguments } from "../terminal/arguments.ts";
import { EXIT, UsageError, type Command, type CommandTable } from "../terminal/command-io.ts";
import { runCommand } from "../terminal/run.ts";
import { completionScript, isShell, SHELLS } from "./scripts.ts";
import { wordsOf, type CommandWords } from "./words.ts";

const HELP = `Usage: signalbox completion ${SHELLS.join("|")}

Prints a script that lets a shell complete commands, subcommands and flags.

  bash   source <(signalbox completion bash)
  zsh    source <(signalbox completion zsh)
  fish   signalbox completion fish | source

Exit codes: 0 printed, 2 usage.
`;

/** Gives `signalbox completion`, which prints a script for these commands. */
export function completionOf(commands: CommandTable): Command {
  return (argv, io) =>
    runCommand("completion", io, async () => {
      const { values, positionals } = readArguments(argv, { help: { type: "boolean", short: "h" } });
      if (values.help === true) {
        io.stdout(HELP);
        return EXIT.ok;
      }
      const shell = onlyArgument(positionals, "the shell");
      if (!isShell(shell)) throw new UsageError(`the shell: must be one of ${SHELLS.join(", ")}`);
      const words = new Map<string, CommandWords>();
      for (const [name, { summary, load }] of Object.entries(commands))
        words.set(name, await wordsOf(summary, await load()));
      io.stdout(completionScript(shell, words));
      return EXIT.ok;
    });
}
