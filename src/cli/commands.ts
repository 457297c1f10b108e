import { EXIT, type CommandIo, type CommandTable } from "./terminal/command-io.ts";
import { nearestName } from "../canon/nearest-name.ts";
import { noArguments } from "./terminal/arguments.ts";
import { asTyped } from "./terminal/as-typed.ts";
import { runFlagCommand } from "./terminal/run.ts";
import { readVersion } from "./terminal/package.ts";

/** Commands are loaded when they are requested: `keys list` need not wait for the compiler. */
export const COMMANDS: CommandTable = {
  init: {
    summary: "write a first routes.yaml with policies",
    load: async () => (await import("./init/init.ts")).init,
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
    load: async () => (await import("./summary/summary.ts")).summary,
  },
  spend: {
    summary: "print what requests cost by list price, by route, provider, key and day",
    load: async () => (await import("./summary/spend.ts")).spend,
  },
  limits: {
    summary: "show how much of the limits of workspaces and keys is used",
    load: async () => (await import("./limits.ts")).limits,
  },
  completion: {
    summary: "print a script for completion in a shell",
    load: async () => (await import("./completion.ts")).completionOf(COMMANDS),
  },
  mock: { summary: "run a simulated provider", load: async () => (await import("./mock.ts")).mock },
};

/** Runs one command; gives the exit code. */
export async function runCommands(argv: readonly string[], io: CommandIo): Promise<number> {
  const [name, ...rest] = argv;
  const [first] = rest;
  const isHelp = name === "--help" || name === "-h" || name === "help";
  if (isHelp && first !== undefined && !first.startsWith("-"))
    return runCommands([...rest, "--help"], io);
  if (name === "--version" || name === "version") return version(rest, io);
  if (name === undefined || isHelp) {
    io.stdout(help());
    return name === undefined ? EXIT.usage : EXIT.ok;
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    const near = nearestName(name, Object.keys(COMMANDS));
    const meant = near === null ? "" : `; did you mean ${near}?`;
    io.stderr(`signalbox: there is no command of that name${meant}${asTyped([name])}\n\n${help()}`);
    return EXIT.usage;
  }
  return (await command.load())(rest, io);
}

function version(argv: readonly string[], io: CommandIo): Promise<number> {
  const line = {
    name: "version",
    help: "Usage: signalbox version\n\nPrints the version.\n",
    flags: {},
  };
  return runFlagCommand(line, argv, io, ({ positionals }) => {
    noArguments(positionals);
    io.stdout(`${readVersion()}\n`);
    return Promise.resolve(EXIT.ok);
  });
}

function help(): string {
  const lines = Object.entries(COMMANDS).map(
    ([name, { summary }]) => `  ${name.padEnd(12)}${summary}`,
  );
  return `Usage: signalbox COMMAND [options]\n\n${lines.join("\n")}\n\nsignalbox COMMAND --help explains a command.\n`;
}
