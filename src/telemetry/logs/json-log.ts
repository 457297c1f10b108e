import type { Log, LogLevel } from "./log-record.ts";

export interface JsonLogOptions {
  readonly level: LogLevel;
  /** File descriptor; 1 is standard output. */
  readonly descriptor: number;
  /** Most bytes that wait for a slow reader; a line that does not fit is dropped. */
  readonly bufferBytes?: number;
}

export interface JsonLog extends Log {
  /** Lines that nobody took in time. */
  dropped(): number;
  /** Writes what waits and closes the descriptor (not that of standard output), for at most `patience` milliseconds. */
  close(patience: number): Promise<void>;
}

/** Some thousand lines. */
const BUFFER = 1024 * 1024;

/**
 * A log of JSON lines (pino). Lines are written beside the event loop, and wait in bounded memory: a reader that does not read costs lines, and no request.
 */
export async function openJsonLog(options: JsonLogOptions): Promise<JsonLog> {
  const { pino } = await import("pino");
  let dropped = 0;
  const destination = pino.destination({
    fd: options.descriptor,
    sync: false,
    maxLength: options.bufferBytes ?? BUFFER,
  });
  destination.on("drop", () => (dropped += 1));
  // Without a listener an error of the descriptor would end the process.
  destination.on("error", () => {});
  const logger = pino(
    {
      level: options.level,
      // The host's name and the like are the collector's to add.
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
  return {
    write: (level, record) => logger[level](record),
    takes: (level) => logger.isLevelEnabled(level),
    dropped: () => dropped,
    close: (patience) =>
      new Promise((resolve) => {
        // Destroyed, it keeps no process alive that a reader has left.
        const timer = setTimeout(() => {
          destination.destroy();
          resolve();
        }, patience);
        destination.once("close", () => {
          clearTimeout(timer);
          resolve();
        });
        destination.end();
      }),
  };
}
