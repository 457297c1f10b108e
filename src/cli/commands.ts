import { EXIT, type Command, type CommandIo, type CommandTable } from "./terminal/command-io.ts";
import {
  givenText,
  didYouMean,
  flagCommand,
  onlyArgument,
  readValue,
} from "./terminal/command-line.ts";
import { readVersion } from "./terminal/process.ts";

/** Loads each command when it runs: `keys list` must not wait for the compiler. */
export const COMMANDS: CommandTable = {
  init: {
    summary: "write a first routes.yaml with policies",
    load: async () => (await import("./init.ts")).init,
  },
  import: {
    summary: "write routes.yaml and policies from the configuration of another gateway",
    load: async () => (await import("./import/import.ts")).importConfiguration,
  },
  serve: {
    summary: "serve the routes and policies of a folder",
    load: async () => (await import("./serve/serve.ts")).serve,
  },
  check: {
    summary: "compile the configuration and report every problem",
    load: async () => (await import("./check.ts")).check,
  },
  simulate: {
    summary: "show what a change of the configuration does to requests, before it is merged",
    load: async () => (await import("./simulate/simulate.ts")).simulate,
  },
  explain: {
    summary: "show where one request would go, and why",
    load: async () => (await import("./explain/explain.ts")).explainRequest,
  },
  why: {
    summary: "show why a recorded request was decided as it was, its calls and its cost",
    load: async () => (await import("./why.ts")).why,
  },
  policy: {
    summary: "create, check, test and format policies; approve, promote and roll them back",
    load: async () => (await import("./policy/policy.ts")).policy,
  },
  keys: {
    summary: "create, list, rotate and revoke service keys",
    load: async () => (await import("./keys.ts")).keys,
  },
  evidence: {
    summary: "read, verify, export and prune the evidence: every decision and its outcome",
    load: async () => (await import("./evidence/evidence.ts")).evidence,
  },
  summary: {
    summary: "print counts, denials and latencies of requests, by route, key, policy and more",
    load: async () => (await import("./summary.ts")).summary,
  },
  spend: {
    summary: "print what requests cost by list price, by route, provider, key and day",
    load: async () => (await import("./summary.ts")).spend,
  },
  report: {
    summary: "print what policies enforced and denied in a month, for an auditor",
    load: async () => (await import("./report.ts")).report,
  },
  limits: {
    summary: "show how much of the limits of workspaces and keys is used",
    load: async () => (await import("./limits.ts")).limits,
  },
  prices: {
    summary: "compare the prices of endpoints with the list prices of providers",
    load: async () => (await import("./prices.ts")).prices,
  },
  completion: {
    summary: "print a script for completion in a shell",
    load: () => Promise.resolve(completion),
  },
  mock: { summary: "run a simulated provider", load: async () => (await import("./mock.ts")).mock },
};

/** Runs one command. @returns the exit code. */
export async function runCommands(argv: readonly string[], io: CommandIo): Promise<number> {
  const [name, ...rest] = argv;
  const [first] = rest;
  const isHelp = name === "--help" || name === "-h" || name === "help";
  if (isHelp && first !== undefined && !first.startsWith("-"))
    return runCommands([...rest, "--help"], io);
  if (name === "--version" || name === "version") return version(rest, io);
  if (name === undefined || isHelp) {
    io.stdout(commandList());
    return name === undefined ? EXIT.usage : EXIT.ok;
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    const suggestion = didYouMean(name, Object.keys(COMMANDS));
    io.stderr(
      `signalbox: there is no command of that name${suggestion}${givenText([name])}\n\n${commandList()}`,
    );
    return EXIT.usage;
  }
  return (await command.load())(rest, io);
}

const version = flagCommand(
  {
    name: "version",
    help: "Usage: signalbox version\n\nPrints the version.\n",
    flags: {},
    flagsOnly: "",
  },
  (_values, io) => Promise.resolve(io.stdout(`${readVersion()}\n`)),
);

function commandList(): string {
  const lines = Object.entries(COMMANDS).map(
    ([name, { summary }]) => `  ${name.padEnd(12)}${summary}`,
  );
  return `Usage: signalbox COMMAND [options]\n\n${lines.join("\n")}\n\nsignalbox COMMAND --help explains a command.\n`;
}

const SHELLS = ["bash", "zsh", "fish"] as const;

const HELP = `Usage: signalbox completion ${SHELLS.join("|")}

Prints a script that lets a shell complete commands, subcommands and flags.

  bash   source <(signalbox completion bash)
  zsh    source <(signalbox completion zsh)
  fish   signalbox completion fish | source

Exit codes: 0 printed, 2 usage.
`;

export const completion = flagCommand(
  { name: "completion", help: HELP, flags: {} },
  async (_values, io, positionals) => {
    const shell = readValue("SHELL", onlyArgument(positionals, "SHELL"), SHELLS);
    const completions = new Map<string, Completions>();
    for (const [name, { summary, load }] of Object.entries(COMMANDS))
      completions.set(name, await readCompletions(summary, await load()));
    io.stdout(SCRIPTS[shell](completions));
  },
);

/** Completions after a command. */
interface Completions {
  readonly summary: string;
  /** With their dashes, sorted. */
  readonly flags: readonly string[];
  /** Name → flags; most commands have no subcommands. */
  readonly subcommands: ReadonlyMap<string, readonly string[]>;
}

/** Reads the output of `--help`, so that completion offers exactly the documented arguments. */
export async function readCompletions(summary: string, command: Command): Promise<Completions> {
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
    stdout: (output: string) => void (text += output),
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

type Commands = ReadonlyMap<string, Completions>;

/** Scripts by shell. They contain no untrusted text. */
const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], (commands: Commands) => string>> = {
  bash,
  zsh: (commands) =>
    `#compdef signalbox\nautoload -Uz bashcompinit && bashcompinit\n${bash(commands)}`,
  fish,
};

function bash(commands: Commands): string {
  const cases = [...commands].flatMap(([name, { flags, subcommands }]) => [
    ...[...subcommands].map(([sub, list]) => `    "${name} ${sub}") words="${list.join(" ")}" ;;`),
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
