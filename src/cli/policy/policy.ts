import { EXIT, UsageError, type CommandIo } from "../terminal/command-io.ts";
import { runCommand } from "../terminal/run.ts";

type Command = (argv: readonly string[], io: CommandIo) => Promise<number>;

interface Row {
  /** ID, for a command that is about one policy. */
  readonly argument?: "ID";
  readonly summary: string;
  /** Commands are loaded one by one: `new` need not wait for the compiler. */
  readonly load: () => Promise<Command>;
}

/** All commands, by what they are about, in the order of the help. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, Row>>>> = {
  "Of the files": {
    new: {
      argument: "ID",
      summary: "Writes a policy and its tests to begin with.",
      load: async () => (await import("./new.ts")).newPolicy,
    },
    check: {
      summary: "Compiles the policies and reports every problem.",
      load: async () => (await import("./check.ts")).checkPolicies,
    },
    test: {
      summary: "Runs the tests of the policies, and tells what they leave out.",
      load: async () => (await import("./testing/test.ts")).testPolicies,
    },
    fmt: {
      summary: "Formats policies, tests and libraries.",
      load: async () => (await import("./format.ts")).formatPolicies,
    },
  },
  "Of a store": {
    verify: {
      summary: "Compiles all stored policies again and compares them with what the store keeps.",
      load: async () => (await import("./verify.ts")).verifyPolicies,
    },
  },
  "Of a running server (docs/policy-lifecycle.md)": {
    list: {
      summary: "What acts, what is watched, and what is missing for it to act.",
      load: async () => (await import("./lifecycle/readings.ts")).listPolicies,
    },
    show: {
      argument: "ID",
      summary: "Everything about one policy, and what to type next.",
      load: async () => (await import("./lifecycle/readings.ts")).showPolicy,
    },
    diff: {
      argument: "ID",
      summary: "What the candidate changes, in words and line by line.",
      load: async () => (await import("./lifecycle/diff.ts")).diffPolicy,
    },
    simulate: {
      argument: "ID",
      summary: "What the promotion of the candidate would change, as the server computes it.",
      load: async () => (await import("./lifecycle/readings.ts")).simulatePromotion,
    },
    approve: {
      argument: "ID",
      summary: "Approves the candidate's content.",
      load: async () => (await import("./lifecycle/approve.ts")).approvePolicy,
    },
    promote: {
      argument: "ID",
      summary: "Makes the candidate act.",
      load: async () => (await import("./lifecycle/changes.ts")).promotePolicy,
    },
    rollback: {
      argument: "ID",
      summary: "Makes act again what acted before.",
      load: async () => (await import("./lifecycle/changes.ts")).rollBackPolicy,
    },
    withdraw: {
      argument: "ID",
      summary: "Takes an approval back; with --candidate, the candidate.",
      load: async () => (await import("./lifecycle/changes.ts")).withdrawPolicy,
    },
    release: {
      argument: "ID",
      summary: "Lets content be promoted again that was rolled back.",
      load: async () => (await import("./lifecycle/changes.ts")).releasePolicy,
    },
    history: {
      argument: "ID",
      summary: "What happened, when, and by whom.",
      load: async () => (await import("./lifecycle/readings.ts")).policyHistory,
    },
  },
};

const COMMANDS: ReadonlyMap<string, Row> = new Map(Object.values(GROUPS).flatMap((group) => Object.entries(group)));

function help(): string {
  const groups = Object.entries(GROUPS).map(([title, commands]) => {
    const lines = Object.entries(commands).map(
      ([name, { argument, summary }]) => `  ${`${name} ${argument ?? ""}`.padEnd(15)}${summary}\n`,
    );
    return `${title}\n${lines.join("")}`;
  });
  return `Usage: signalbox policy <command> [options]

${groups.join("\n")}
signalbox policy COMMAND --help tells more.
`;
}

/** `signalbox policy`; gives the exit code. */
export async function policy(argv: readonly string[], io: CommandIo): Promise<number> {
  const [name, ...rest] = argv;
  if (name === "--help" || name === "-h") {
    io.stdout(help());
    return EXIT.ok;
  }
  const command = COMMANDS.get(name ?? "");
  if (command !== undefined) return (await command.load())(rest, io);
  return runCommand("policy", io, () => {
    throw new UsageError(`command: give one of ${[...COMMANDS.keys()].join(", ")}`);
  });
}
