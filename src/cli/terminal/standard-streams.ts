import { EXIT } from "./command-io.ts";

/** Commands that serve others: who reads their output may go, and they go on. */
const SERVING: readonly string[] = ["serve", "mock"];

/**
 * What becomes of a command whose output nobody takes; without listeners such an error would end any of them with a stack.
 * A command that only prints ends: quietly where its reader has gone, as after `head`, and otherwise with a word.
 *
 * @param command the first word of the command line
 */
export function listenToOutput(command: string | undefined): void {
  const serves = command !== undefined && SERVING.includes(command);
  process.stderr.on("error", () => {});
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (serves) return;
    if (error.code !== "EPIPE") {
      process.stderr.write(`signalbox: standard output cannot be written (${error.code ?? "unknown error"})\n`);
    }
    // oxlint-disable-next-line unicorn/no-process-exit -- there is nobody left to do the rest for
    process.exit(EXIT.failed);
  });
}
