import { EXIT, UsageError, type CommandIo } from "../terminal/command-io.ts";
import { runCommand } from "../terminal/run.ts";

const HELP = `Usage: signalbox policy <command> [options]

Of the files
  new ID         Writes a policy and its tests to begin with.
  check          Compiles the policies and reports every problem.
  test           Runs the tests of the policies, and tells what they leave out.
  fmt            Formats policies, tests and libraries.

Of a store
  verify         Compiles all stored policies again and compares them with what the store keeps.

Of a running server (docs/policy-lifecycle.md)
  list           What acts, what is watched, and what is missing for it to act.
  show ID        Everything about one policy, and what to type next.
  diff ID        What the candidate changes, in words and line by line.
  simulate ID    What the promotion of the candidate would change, as the server computes it.
  approve ID     Approves the candidate's content.
  promote ID     Makes the candidate act.
  rollback ID    Makes act again what acted before.
  withdraw ID    Takes an approval back; with --candidate, the candidate.
  release ID     Lets content be promoted again that was rolled back.
  history ID     What happened, when, and by whom.

signalbox policy COMMAND --help tells more.
`;

type Command = (argv: readonly string[], io: CommandIo) => Promise<number>;

/** Loaded when asked for: `new` need not wait for the compiler. */
const COMMANDS: ReadonlyMap<string, () => Promise<Command>> = new Map([
  ["new", async () => (await import("./new.ts")).newPolicy],
  ["check", async () => (await import("./check.ts")).checkPolicies],
  ["test", async () => (await import("./testing/test.ts")).testPolicies],
  ["fmt", async () => (await import("./format.ts")).formatPolicies],
  ["verify", async () => (await import("./verify.ts")).verifyPolicies],
  ["list", async () => (await import("./lifecycle/list.ts")).listPolicies],
  ["show", async () => (await import("./lifecycle/show.ts")).showPolicy],
  ["diff", async () => (await import("./lifecycle/diff.ts")).diffPolicy],
  ["simulate", async () => (await import("./lifecycle/simulate.ts")).simulatePromotion],
  ["approve", async () => (await import("./lifecycle/approve.ts")).approvePolicy],
  ["promote", async () => (await import("./lifecycle/promote.ts")).promotePolicy],
  ["rollback", async () => (await import("./lifecycle/rollback.ts")).rollBackPolicy],
  ["withdraw", async () => (await import("./lifecycle/withdraw.ts")).withdrawPolicy],
  ["release", async () => (await import("./lifecycle/release.ts")).releasePolicy],
  ["history", async () => (await import("./lifecycle/history.ts")).policyHistory],
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
