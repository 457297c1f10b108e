import type { Command, CommandIo } from "../terminal/command-io.ts";
import { noSuchCommand, runCommand } from "../terminal/command-line.ts";

interface Row {
  readonly name: string;
  readonly argument?: string;
  readonly summary: string;
  /** Each loads its own modules: `new` need not wait for the compiler. */
  readonly load: () => Promise<Command>;
}

const OF_FILES: readonly Row[] = [
  {
    name: "new",
    argument: "ID",
    summary: "Writes an example policy with its tests.",
    load: async () => (await import("./new.ts")).newPolicy,
  },
  {
    name: "check",
    summary: "Compiles the policies and reports every problem.",
    load: async () => (await import("./files.ts")).checkPolicies,
  },
  {
    name: "test",
    summary: "Runs the tests of the policies, and lists what they do not cover.",
    load: async () => (await import("./testing/test.ts")).testPolicies,
  },
  {
    name: "fmt",
    summary: "Formats policies, tests and libraries.",
    load: async () => (await import("./files.ts")).formatPolicies,
  },
];

const OF_A_STORE: readonly Row[] = [
  {
    name: "verify",
    summary: "Compiles all stored policies again and compares them with what the store keeps.",
    load: async () => (await import("./verify.ts")).verifyPolicies,
  },
];

async function ofAServer() {
  return (await import("./lifecycle/commands.ts")).LIFECYCLE_COMMANDS;
}

export async function policy(argv: readonly string[], io: CommandIo): Promise<number> {
  const [name, ...rest] = argv;
  const local = [...OF_FILES, ...OF_A_STORE];
  const rows = local.some((row) => row.name === name) ? local : [...local, ...(await ofAServer())];
  const row = rows.find((one) => one.name === name);
  if (row !== undefined) return (await row.load())(rest, io);
  return runCommand(
    { name: "policy", help },
    name?.startsWith("-") === true ? argv : [],
    io,
    () => {
      throw noSuchCommand(
        name,
        rows.map((one) => one.name),
      );
    },
  );
}

async function help(): Promise<string> {
  return `Usage: signalbox policy <command> [options]

Commands for policy files
${linesOf(OF_FILES)}
Commands for a store
${linesOf(OF_A_STORE)}
Commands for a running server (docs/policy-lifecycle.md)
${linesOf(await ofAServer())}
signalbox policy COMMAND --help explains a command.
`;
}

function linesOf(rows: readonly Row[]) {
  return rows
    .map(({ name, argument = "", summary }) => `  ${`${name} ${argument}`.padEnd(15)}${summary}\n`)
    .join("");
}
