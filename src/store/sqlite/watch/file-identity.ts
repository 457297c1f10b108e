import { statSync } from "node:fs";
import type { EvidenceFaultCause } from "../../../evidence/evidence-store.ts";

/**
 * Whether a path still leads to the file that is open. SQLite goes on writing to a file that has lost its name, and what
 * it writes there is gone with the process.
 */
export class FileIdentity {
  readonly path: string;
  readonly #opened: { readonly dev: bigint; readonly ino: bigint } | null;
  /** At the newest look, bytes; `null` where nothing could be known. */
  #size: bigint | null = null;

  /** Call it once the file is open. A file that is not there is not watched. */
  constructor(path: string) {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    this.path = path;
    this.#opened = found === undefined ? null : { dev: found.dev, ino: found.ino };
  }

  /** What happened to the file, and its size in bytes where nothing did. `null` where nothing can be known of it. */
  look(): { readonly cause: EvidenceFaultCause } | { readonly size: number } | null {
    if (this.#opened === null) return null;
    this.#size = null;
    try {
      const found = statSync(this.path, { bigint: true, throwIfNoEntry: false });
      if (found === undefined) return { cause: "file_removed" };
      if (found.ino !== this.#opened.ino || found.dev !== this.#opened.dev) return { cause: "file_replaced" };
      this.#size = found.size;
      return { size: Number(found.size) };
    } catch {
      // The folder cannot be looked into: the file that is open may well be there.
      return null;
    }
  }

  /** Whether the path still leads to the file, and its size is that of the newest look, or more where it may grow. */
  isThere(mayGrow: boolean): boolean {
    if (this.#opened === null) return true;
    const before = this.#size;
    const found = this.look();
    return (
      before !== null &&
      found !== null &&
      "size" in found &&
      (mayGrow ? found.size >= before : found.size === Number(before))
    );
  }
}
