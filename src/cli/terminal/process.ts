import { EXIT } from "./command-io.ts";
/** Resolves on the signal to stop: SIGINT, SIGTERM, or the signal of a test. */
export function stopRequested(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const stop = (): void => {
      process.off("SIGINT", stop);
      process.off("SIGTERM", stop);
      signal?.removeEventListener("abort", stop);
      resolve();
    };
    process.once("SIGINT", stop);
    process.once("SIGTERM", stop);
    signal?.addEventListener("abort", stop);
    if (signal?.aborted === true) stop();
  });
}

/**
 * How long a server's process may live after its command has ended, milliseconds: threads and
 * connections take seconds to end on a busy machine.
 */
const LAST_WAIT = 5_000;

/**
 * Ends this process even where a socket, timer or child holds it, names that, and gives an exit
 * code of a failure.
 */
export function endWhereHeld(): void {
  const end = (): void => {
    const held = [...new Set(process.getActiveResourcesInfo())].join(", ");
    process.stderr.write(
      `signalbox: everything is stopped, and something holds the process; ended it (open: ${held})\n`,
    );
    // oxlint-disable-next-line unicorn/no-process-exit -- it would never end
    process.exit(EXIT.failed);
  };
  setTimeout(end, LAST_WAIT).unref();
}

/** Commands that serve others: who reads their output may go, and they go on. */
const SERVING: readonly string[] = ["serve", "mock"];

/**
 * Handles a closed output; without listeners such an error would end every command with a stack
 * trace. A command that only prints ends: quietly where its reader has closed the pipe, as after
 * `head`, and otherwise with a message.
 *
 * @param command the first argument of the command line
 */
export function listenToOutput(command: string | undefined): void {
  const serves = command !== undefined && SERVING.includes(command);
  process.stderr.on("error", () => {});
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (serves) return;
    if (error.code !== "EPIPE") {
      process.stderr.write(
        `signalbox: standard output cannot be written (${error.code ?? "unknown error"})\n`,
      );
    }
    // oxlint-disable-next-line unicorn/no-process-exit -- no reader is left for the rest
    process.exit(EXIT.failed);
  });
}
