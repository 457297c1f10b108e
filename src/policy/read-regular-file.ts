import { constants } from "node:fs";
import { lstat, open, type FileHandle } from "node:fs/promises";

/** Why a file is not read. */
export type UnreadFile = "absent" | "irregular" | "too_large" | "unreadable";

/**
 * Neither follows a link at the end of the path nor waits for the other end of a FIFO. Windows has
 * neither flag.
 */
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * Reads a regular file. A link, a device, a FIFO, a socket and a folder are not opened: reading one
 * may never end. Never rejects.
 *
 * @param limit bytes that the file may have; what is larger is not read.
 */
export async function readRegularFile(
  path: string,
  limit: number,
): Promise<Uint8Array | UnreadFile> {
  let file: FileHandle | null = null;
  try {
    if (!(await lstat(path)).isFile()) return "irregular";
    file = await open(path, OPEN_FLAGS);
    // Another file may have taken the path meanwhile.
    const found = await file.stat();
    if (!found.isFile()) return "irregular";
    if (found.size > limit) return "too_large";
    return await readBounded(file, limit);
  } catch (error) {
    const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") return "absent";
    return code === "ELOOP" ? "irregular" : "unreadable";
  } finally {
    await file?.close().catch(() => undefined);
  }
}

/**
 * Reads a file that was named on the command line, of any kind: a link, a FIFO of a shell. Ends at
 * the limit where the file does not.
 *
 * @param limit bytes.
 * @throws the error of the file system.
 */
export async function readNamedFile(
  path: string,
  limit: number,
): Promise<Uint8Array | "too_large"> {
  const file = await open(path, "r");
  try {
    return await readBounded(file, limit);
  } finally {
    await file.close();
  }
}

/**
 * Files of some file systems, such as `/proc`, report a size of 0, and any file may grow while it
 * is read.
 */
async function readBounded(file: FileHandle, limit: number): Promise<Uint8Array | "too_large"> {
  const parts: Uint8Array[] = [];
  let total = 0;
  for (;;) {
    const { bytesRead, buffer } = await file.read({ buffer: Buffer.allocUnsafe(PART) });
    if (bytesRead === 0) return Buffer.concat(parts, total);
    total += bytesRead;
    if (total > limit) return "too_large";
    parts.push(buffer.subarray(0, bytesRead));
  }
}

/** Bytes of one reading. */
const PART = 65_536;
