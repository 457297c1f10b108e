import { statSync } from "node:fs";

import { IN_MEMORY } from "./database.ts";

export const LOST_FILE =
  "the database file was deleted or replaced while it was open; put it back, or restart the process to use what is there now";

/**
 * Whether the path still leads to the file that is open. SQLite goes on writing to a file that has lost its name, and what
 * it writes there is gone with the process.
 */
export class FileIdentity {
  readonly #path: string;
  readonly #opened: string | null;

  /** Call it once the file is open. */
  constructor(path: string) {
    this.#path = path;
    this.#opened = path === IN_MEMORY ? null : identityOf(path);
  }

  /** True where the folder cannot be looked into: the file that is open may well be there. */
  holds(): boolean {
    if (this.#opened === null) return true;
    try {
      return identityOf(this.#path) === this.#opened;
    } catch {
      return true;
    }
  }
}

/** Device and inode; empty where there is no file. */
function identityOf(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? "" : `${found.dev}:${found.ino}`;
}
