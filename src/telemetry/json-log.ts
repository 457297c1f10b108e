import type { Log, LogLevel } from "./log-record.ts";

interface JsonLogOptions {
  readonly level: LogLevel;
  /** File descriptor; 1 is standard output. */
  readonly descriptor: number;
  /** Most bytes that wait for a slow reader; a line that does not fit is dropped. */
  readonly bufferBytes?: number;
  /**
   * Other processes write to the same pipe: no write is so long that another's may come into its
   * middle. Default false.
   */
  readonly shared?: boolean;
}

export interface JsonLog extends Log {
  /**
   * Lines that were not read in time; after the reader has gone, every line, and those that it may
   * not have read.
   */
  dropped(): number;
  /**
   * Writes what waits and closes the descriptor (not that of standard output), for at most
   * `patience` milliseconds.
   */
  close(patience: number): Promise<void>;
}

/** What a pipe takes in one piece (PIPE_BUF), bytes. */
const ONE_PIECE = 4_096;

/** Some thousand lines. */
const BUFFER = 1024 * 1024;

/**
 * A log of JSON lines (pino). Lines are written beside the event loop, and wait in bounded memory:
 * a reader that does not read costs lines, and no request.
 */
export async function openJsonLog(options: JsonLogOptions): Promise<JsonLog> {
  const { pino } = await import("pino");
  let dropped = 0;
  /** Lines since nothing waited. */
  let waiting = 0;
  let isGone = false;
  let isClosing = false;
  let isAbandoned = false;
  const destination = pino.destination({
    fd: options.descriptor,
    sync: false,
    ...(options.shared === true && { maxWrite: ONE_PIECE }),
    maxLength: options.bufferBytes ?? BUFFER,
    // Tried again for ever, a line that a reader does not take would keep the process alive after
    // its log was closed.
    retryEAGAIN: () => !isAbandoned,
  });
  destination.on("drop", () => {
    dropped += 1;
    waiting -= 1;
  });
  destination.on("drain", () => (waiting = 0));
  // Without a listener an error of the descriptor would end the process.
  destination.on("error", (error: NodeJS.ErrnoException) => {
    // Of other errors, such as a full disk, the next line tries again.
    if (error.code !== "EPIPE" || isGone) return;
    isGone = true;
    dropped += waiting;
  });
  const lines = {
    write(line: string): void {
      if (isGone || isClosing) {
        dropped += 1;
        return;
      }
      waiting += 1;
      destination.write(line);
    },
  };
  const logger = pino(
    {
      level: options.level,
      // The host's name and the like are the collector's to add.
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    lines,
  );
  return {
    write: (level, record) => logger[level](record),
    takes: (level) => logger.isLevelEnabled(level),
    dropped: () => dropped,
    close: (patience) =>
      new Promise((resolve) => {
        const abandon = (): void => {
          isAbandoned = true;
          destination.destroy();
          resolve();
        };
        isClosing = true;
        if (isGone || isAbandoned) {
          abandon();
          return;
        }
        // Destroyed, it keeps no process alive that a reader has left.
        const timer = setTimeout(abandon, patience);
        destination.once("close", () => {
          clearTimeout(timer);
          resolve();
        });
        destination.end();
      }),
  };
}
