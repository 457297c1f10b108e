import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";

import { CommandError, type CommandIo } from "../terminal/command-io.ts";

/**
 * Writes to a new file, or to stdout where `path` is `null`; a file is there only once `write` is through.
 *
 * @throws {CommandError} when it cannot be written
 */
export async function writeExport(
  path: string | null,
  io: CommandIo,
  write: (out: (text: string) => void) => Promise<void>,
): Promise<void> {
  if (path === null) {
    await write(io.stdout);
    return;
  }
  const file = new ExportFile(path);
  try {
    await write((text) => file.write(text));
    file.finish();
  } catch (error) {
    file.discard();
    throw error;
  }
}

/** A file that has its name only once it is whole and on disk. */
export class ExportFile {
  readonly #path: string;
  readonly #partial: string;
  readonly #descriptor: number;

  /** @throws {CommandError} where a file of this name exists, or none can be made */
  constructor(path: string) {
    this.#path = path;
    this.#partial = `${path}.${process.pid}.partial`;
    if (existsSync(path)) throw existing();
    this.#descriptor = attempt(() => openSync(this.#partial, "wx", 0o600));
  }

  /** @throws {CommandError} when not all of it can be written */
  write(text: string): void {
    const bytes = Buffer.from(text, "utf8");
    // One call may write a part: a disk that is nearly full takes what it can.
    for (let written = 0; written < bytes.length;) {
      const from = written;
      written += attempt(() => writeSync(this.#descriptor, bytes, from));
    }
  }

  /** @throws {CommandError} */
  finish(): void {
    attempt(() => fsyncSync(this.#descriptor));
    attempt(() => closeSync(this.#descriptor));
    if (existsSync(this.#path)) {
      rmSync(this.#partial, { force: true });
      throw existing();
    }
    attempt(() => renameSync(this.#partial, this.#path));
    syncFolder(dirname(this.#path));
  }

  /** Leaves nothing behind. */
  discard(): void {
    try {
      closeSync(this.#descriptor);
    } catch {
      // It was closed already; the earlier error has been reported.
    }
    rmSync(this.#partial, { force: true });
  }
}

/** Some file systems cannot do it; then the name is on disk a little later. */
function syncFolder(folder: string): void {
  try {
    const descriptor = openSync(folder, "r");
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // See above.
  }
}

function attempt<Result>(action: () => Result): Result {
  try {
    return action();
  } catch (error) {
    const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
    const shown = typeof code === "string" && /^[A-Z0-9_]{2,20}$/.test(code) ? ` (${code})` : "";
    throw new CommandError(
      `--output: the file cannot be written${shown}; check the path, its access rights and the free space on the disk`,
    );
  }
}

function existing(): CommandError {
  return new CommandError("--output: the file exists already; give the path of a new file");
}
