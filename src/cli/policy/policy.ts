import { EXIT, UsageError, type CommandIo } from "../terminal/command-io.ts";
import { runCommand } from "../terminal/run.ts";

const HELP = `Usage: signalbox policy <command> [options]

Commands
  new ID     Writes a policy and its tests to begin with.
  check      Compiles the policies and reports every problem.
  test       Runs the tests of the policies, and tells what they leave out.
  fmt        Formats policies, tests and libraries.

signalbox policy COMMAND --help tells more.
`;

type Command = (argv: readonly string[], io: CommandIo) => Promise<number>;

/** Loaded when asked for: `new` need not wait for the compiler. */
const COMMANDS: ReadonlyMap<string, () => Promise<Command>> = new Map([
  ["new", async () => (await import("./new.ts")).newPolicy],
  ["check", async () => (await import("./check.ts")).checkPolicies],
  ["test", async () => (await import("./testing/test.ts")).testPolicies],
  ["fmt", async () => (await import("./format.ts")).formatPolicies],
]);

/** `signalbox policy`; gives the exit code. */
export async function policy(argv: readonly string[], io: CommandIo): Promise<number> {
  const [name, ...rest] = argv;
  if (name === "--help" || name === "-h") {
    io.stdout(HELP);
    return EXIT.ok;
  }
  const load = COMMANDS.get(name ?? "");
  if (load !== undefined) return (await load())(rest, io);
  return runCommand("policy", io, () => {
    throw new UsageError(`command: give one of ${[...COMMANDS.keys()].join(", ")}`);
  });
}
