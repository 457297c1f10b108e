import type { CommandWords } from "./words.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

type Commands = ReadonlyMap<string, CommandWords>;

/** The script that a shell reads; every string in it is one of ours. */
export function completionScript(shell: Shell, commands: Commands): string {
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
      (flag) => `complete -c signalbox -n '__fish_seen_subcommand_from ${name}' -l ${flag.slice(2)}`,
    ),
  ]);
  return `${lines.join("\n")}\n`;
}
