import { statSync } from "node:fs";
import type { EvidenceFaultCause } from "../../../evidence/evidence-store.ts";

/**
 * Whether a path still leads to the file that is open. SQLite goes on writing to a file that has
 * lost its name, and what it writes there is gone with the process.
 */
export class FileIdentity {
  readonly path: string;
  readonly #opened: { readonly dev: bigint; readonly ino: bigint } | null;

  /** Call it once the file is open. A file that is not there is not watched. */
  constructor(path: string) {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    this.path = path;
    this.#opened = found === undefined ? null : { dev: found.dev, ino: found.ino };
  }

  /** What happened to the file, or its size in bytes. `null` where nothing can be known of it. */
  look(): EvidenceFaultCause | number | null {
    if (this.#opened === null) return null;
    try {
      const found = statSync(this.path, { bigint: true, throwIfNoEntry: false });
      if (found === undefined) return "file_removed";
      const isSame = found.ino === this.#opened.ino && found.dev === this.#opened.dev;
      return isSame ? Number(found.size) : "file_replaced";
    } catch {
      // The folder cannot be looked into: the file that is open may well be there.
      return null;
    }
  }
}
