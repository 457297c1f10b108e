import { asTyped } from "../terminal/as-typed.ts";
import { didYouMean, onlyArgument } from "../terminal/arguments.ts";
import { EXIT, UsageError, type Command, type CommandTable } from "../terminal/command-io.ts";
import { runFlagCommand } from "../terminal/run.ts";
import { completionScript, type Shell, SHELLS } from "./scripts.ts";
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
    runFlagCommand({ name: "completion", help: HELP, flags: {} }, argv, io, async ({ positionals }) => {
      const shell = readShell(onlyArgument(positionals, "SHELL"));
      const words = new Map<string, CommandWords>();
      for (const [name, { summary, load }] of Object.entries(commands))
        words.set(name, await wordsOf(summary, await load()));
      io.stdout(completionScript(shell, words));
      return EXIT.ok;
    });
}

function readShell(text: string): Shell {
  const shell = SHELLS.find((one) => one === text);
  if (shell !== undefined) return shell;
  throw new UsageError(`SHELL: must be one of ${SHELLS.join(", ")}${didYouMean(text, SHELLS)}${asTyped([text])}`);
}
