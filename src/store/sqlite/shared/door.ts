import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SECRET } from "./frames.ts";

/** Where the workers of a server reach the store's thread. */
export interface Door {
  /** Of a Unix socket. */
  readonly address: string;
  /** The first bytes of a worker. */
  readonly workerSecret: Uint8Array;
  /** The thread's answer: a process that takes the address after its end does not know it. */
  readonly threadSecret: Uint8Array;
  /** The folder to remove afterwards; `null` where the address is no file. */
  readonly folder: string | null;
}

/**
 * A new one for each thread. On Linux the address is a name without a file: it needs no folder that
 * can be written, has no length to exceed, and ends with the thread even if the process is killed.
 * A process in the same network namespace may connect; the secrets keep them out. Elsewhere it is a
 * file in a private folder.
 */
export function newDoor(): Door {
  const folder = process.platform === "linux" ? null : mkdtempSync(join(tmpdir(), "signalbox-"));
  const address =
    folder === null ? `\0signalbox-${randomBytes(16).toString("hex")}` : join(folder, "store");
  return { address, workerSecret: randomBytes(SECRET), threadSecret: randomBytes(SECRET), folder };
}

export function removeDoor({ folder }: Door): void {
  if (folder !== null) rmSync(folder, { recursive: true, force: true });
}
