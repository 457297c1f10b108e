import { readdir, readFile } from "node:fs/promises";
import { resolve } from "node:path";

/** Where configurations are read from: a folder on disk, or a commit. Paths have `/` and begin at the tree's root. */
export interface FileTree {
  /** `null` for what is not there, is not a file, or is not UTF-8. */
  readonly readText: (path: string) => Promise<string | null>;
  /** Names of what stands in a folder, in no order; `null` where there is no such folder. */
  readonly namesIn: (folder: string) => Promise<readonly string[] | null>;
}

/** A folder on disk. Links are followed, as mounted volumes have them, and paths may lead out of it. */
export function directoryTree(root: string): FileTree {
  return {
    readText: async (path) => {
      try {
        return decodeText(await readFile(resolve(root, path)));
      } catch {
        return null;
      }
    },
    namesIn: async (folder) => {
      try {
        return await readdir(resolve(root, folder));
      } catch {
        return null;
      }
    },
  };
}

/** The text without a byte order mark; `null` where the bytes are not UTF-8. */
export function decodeText(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
