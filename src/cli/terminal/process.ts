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

/** Commands that serve others: who reads their output may go, and they go on. */
const SERVING: readonly string[] = ["serve", "mock"];

/**
 * Handles a closed output; without listeners such an error would end every command with a stack trace.
 * A command that only prints ends: quietly where its reader has closed the pipe, as after `head`, and otherwise with a message.
 *
 * @param command the first argument of the command line
 */
export function listenToOutput(command: string | undefined): void {
  const serves = command !== undefined && SERVING.includes(command);
  process.stderr.on("error", () => {});
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (serves) return;
    if (error.code !== "EPIPE") {
      process.stderr.write(`signalbox: standard output cannot be written (${error.code ?? "unknown error"})\n`);
    }
    // oxlint-disable-next-line unicorn/no-process-exit -- no reader is left for the rest
    process.exit(EXIT.failed);
  });
}
