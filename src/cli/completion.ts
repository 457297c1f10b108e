import { asTyped } from "./terminal/as-typed.ts";
import { didYouMean, onlyArgument } from "./terminal/arguments.ts";
import { EXIT, UsageError, type Command, type CommandTable } from "./terminal/command-io.ts";
import { runFlagCommand } from "./terminal/run.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;
type Shell = (typeof SHELLS)[number];

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
    runFlagCommand(
      { name: "completion", help: HELP, flags: {} },
      argv,
      io,
      async ({ positionals }) => {
        const shell = readShell(onlyArgument(positionals, "SHELL"));
        const words = new Map<string, CommandWords>();
        for (const [name, { summary, load }] of Object.entries(commands))
          words.set(name, await wordsOf(summary, await load()));
        io.stdout(completionScript(shell, words));
        return EXIT.ok;
      },
    );
}

function readShell(text: string): Shell {
  const shell = SHELLS.find((one) => one === text);
  if (shell !== undefined) return shell;
  throw new UsageError(
    `SHELL: must be one of ${SHELLS.join(", ")}${didYouMean(text, SHELLS)}${asTyped([text])}`,
  );
}

/** What may follow a command. */
interface CommandWords {
  readonly summary: string;
  /** With their dashes, sorted. */
  readonly flags: readonly string[];
  /** Name → its flags; none for most commands. */
  readonly subcommands: ReadonlyMap<string, readonly string[]>;
}

/**
 * Reads the arguments from the output of `--help`, so that completion offers exactly the documented
 * ones.
 */
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
  const silent = {
    stdout: (written: string) => void (text += written),
    stderr: () => {},
    environment: {},
    cwd: ".",
  };
  await command(argv, silent);
  return text;
}

function flagsIn(help: string): readonly string[] {
  const flags = [...help.matchAll(/(?<![\w-])--[a-z][a-z-]*[a-z]/g)].map(([flag]) => flag);
  return [...new Set([...flags, "--help"])].toSorted();
}

type Commands = ReadonlyMap<string, CommandWords>;

/** The script that a shell reads; every string in it is one of ours. */
function completionScript(shell: Shell, commands: Commands): string {
  switch (shell) {
    case "bash":
      return bash(commands);
    case "zsh":
      return `#compdef signalbox\nautoload -Uz bashcompinit && bashcompinit\n${bash(commands)}`;
    case "fish":
      return fish(commands);
  }
}

function bash(commands: Commands): string {
  const cases = [...commands].flatMap(([name, { flags, subcommands }]) => [
    ...[...subcommands].map(([sub, own]) => `    "${name} ${sub}") words="${own.join(" ")}" ;;`),
    `    "${name} "*) words="${[...subcommands.keys(), ...flags].join(" ")}" ;;`,
  ]);
  return `_signalbox() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words=""
  if [ "$COMP_CWORD" -le 1 ]; then
    words="${[...commands.keys(), "help", "version"].join(" ")}"
  else
    local second=""
    [ "$COMP_CWORD" -gt 2 ] && second="\${COMP_WORDS[2]}"
    case "\${COMP_WORDS[1]} $second" in
${cases.join("\n")}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _signalbox signalbox
`;
}

function fish(commands: Commands): string {
  const none = "__fish_use_subcommand";
  const lines = [...commands].flatMap(([name, { summary, flags, subcommands }]) => [
    `complete -c signalbox -n ${none} -f -a ${name} -d '${summary.replaceAll("'", "")}'`,
    ...[...subcommands.keys()].map(
      (sub) => `complete -c signalbox -n '__fish_seen_subcommand_from ${name}' -f -a ${sub}`,
    ),
    ...[...new Set([...flags, ...[...subcommands.values()].flat()])].map(
      (flag) =>
        `complete -c signalbox -n '__fish_seen_subcommand_from ${name}' -l ${flag.slice(2)}`,
    ),
  ]);
  return `${lines.join("\n")}\n`;
}
